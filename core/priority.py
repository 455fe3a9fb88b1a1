"""Which turns compute in this process now, so that work for which nobody waits gives way to them.

A turn computes unless it waits for another machine: a model, the web, a chat platform. Python's threads share one
interpreter, and this machine's processors are shared by all, so that whatever else computes makes a turn slower.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

LONGEST_WAY = 0.25  # seconds that one piece of other work waits; turns that never end would keep it from ever being done

_changed = threading.Condition()
_current: ContextVar[_Turn | None] = ContextVar("turn", default=None)
_computing: set[int] = set()  # turns, by their identity


@dataclass(slots=True)
class _Turn:
    waits: int = 0  #: for how many replies it waits; calls may run side by side
    is_over: bool = False


@contextmanager
def computing() -> Iterator[None]:
    """For a turn, or a part of it."""
    turn = _Turn()
    token = _current.set(turn)
    _computing.add(id(turn))
    try:
        yield
    finally:
        _current.reset(token)
        turn.is_over = True
        _leave(turn)


@contextmanager
def waiting() -> Iterator[None]:
    """Within a turn: it waits for another machine. Without one, nothing."""
    turn = _current.get()
    if turn is None:
        yield
        return
    turn.waits += 1
    _leave(turn)
    try:
        yield
    finally:
        turn.waits -= 1
        if not turn.waits and not turn.is_over:  # a call that was cancelled may end after its turn
            _computing.add(id(turn))


def _leave(turn: _Turn) -> None:
    _computing.discard(id(turn))
    if not _computing:
        with _changed:
            _changed.notify_all()


def is_anybody_computing() -> bool:
    return bool(_computing)


def give_way() -> None:
    """Block until no turn computes, LONGEST_WAY at most."""
    if _computing:
        with _changed:
            _changed.wait_for(lambda: not _computing, LONGEST_WAY)
