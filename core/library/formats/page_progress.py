"""How many pages of a file are read, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PageProgress = Callable[[int, int], None]  # pages read, and how many there are

_told: ContextVar[PageProgress | None] = ContextVar("told", default=None)


@contextmanager
def told_to(progress: PageProgress) -> Iterator[None]:
    """Within, ``progress`` is called after each page, in the thread that reads."""
    token = _told.set(progress)
    try:
        yield
    finally:
        _told.reset(token)


def tell(done: int, total: int) -> None:
    if progress := _told.get():
        progress(done, total)
