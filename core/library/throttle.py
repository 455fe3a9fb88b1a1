"""Slowing long computations down in a process that answers questions meanwhile.

Python's threads share one interpreter: a thread that computes without a pause delays all others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

REST = 3.0  # times as long as the work before it, so that it takes at most a quarter of the interpreter
LONGEST_REST = 0.05  # seconds

T = TypeVar("T")

_enabled = threading.Event()
_one_at_a_time = threading.Lock()


@contextmanager
def enable_throttling() -> Iterator[None]:
    """Let :func:`throttle` pause, until the end of the context."""
    _enabled.set()
    try:
        yield
    finally:
        _enabled.clear()


def throttle(items: Iterable[T]) -> Iterator[T]:
    """The items; while enabled, one at a time in all threads, with a pause after each."""
    for item in items:
        with resting():
            yield item


@contextmanager
def resting() -> Iterator[None]:
    """For a computation; while enabled, one at a time in all threads, with a pause after it."""
    if not _enabled.is_set():
        yield
        return
    with _one_at_a_time:
        began = time.thread_time()
        yield
        time.sleep(min(REST * (time.thread_time() - began), LONGEST_REST))
