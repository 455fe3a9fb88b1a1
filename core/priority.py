"""Work for which nobody waits gives way to turns that compute in this process.

Long computations are slowed down beside them.

A turn computes unless it waits for another machine: a model, the web, a chat platform. Python's threads share one
interpreter, and this machine's processors are shared by all, so that whatever else computes makes a turn slower, and a
thread that computes without a pause delays all others.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

LONGEST_WAY = 0.25  # seconds that one piece of other work waits; turns that never end would keep it from ever being done

_changed = threading.Condition()
_current: ContextVar["_Turn | None"] = ContextVar("turn", default=None)
_computing: set[int] = set()  # turns, by their identity


@dataclass(slots=True)
class _Turn:
    waits: int = 0  #: for how many replies it waits; calls may run side by side
    is_over: bool = False


@contextmanager
def computing() -> Iterator[None]:
    """Mark a turn, or a part of it, as computing."""
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
    """Mark the current turn as waiting for another machine; without a turn, do nothing."""
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


REST = 3.0  # times as long as the work before it, so that it takes at most a quarter of the interpreter
LONGEST_REST = 0.05  # seconds

T = TypeVar("T")

_enabled = threading.Event()
_one_at_a_time = threading.Lock()
_here = threading.local()  # has ``rests`` in a thread that is within :func:`resting`


@contextmanager
def enable_throttling() -> Iterator[None]:
    """Let :func:`throttle` pause, until the end of the context."""
    _enabled.set()
    try:
        yield
    finally:
        _enabled.clear()


def is_throttling() -> bool:
    """True if questions are answered in this process."""
    return _enabled.is_set()


def throttle(items: Iterable[T]) -> Iterator[T]:
    """The items; while enabled, one at a time in all threads, with a pause after each."""
    for item in items:
        with resting():
            yield item


@contextmanager
def resting() -> Iterator[None]:
    """Run one computation at a time in all threads while enabled, with a pause after it."""
    if not _enabled.is_set():
        yield
        return
    with _one_at_a_time:
        began, _here.rests = time.thread_time(), True
        try:
            yield
        finally:
            _here.rests = False
        time.sleep(min(REST * (time.thread_time() - began), LONGEST_REST))


@contextmanager
def elsewhere() -> Iterator[None]:
    """Let other threads compute while another process does the work of :func:`resting`."""
    if not getattr(_here, "rests", False):
        yield
        return
    _one_at_a_time.release()
    try:
        yield
    finally:
        _one_at_a_time.acquire()


class BackgroundTasks(set["asyncio.Task[Any]"]):
    """Tasks that nobody waits for; the set keeps each from being collected before it ends."""

    def start(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
        task = asyncio.create_task(work, context=context)
        self.add(task)
        task.add_done_callback(self.discard)
        return task
