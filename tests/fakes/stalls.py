"""How long one callback holds an event loop: in the processor time of its thread, which a busy machine does not lengthen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from time import thread_time

KEPT = 10


@dataclass
class Stalls:
    """The longest callbacks so far, and how many there were."""

    count: int = 0
    _heap: list[tuple[float, str]] = field(default_factory=list)

    @property
    def longest(self) -> list[tuple[float, str]]:
        """Seconds, and what was run; the longest first."""
        return sorted(self._heap, reverse=True)

    def note(self, seconds: float, handle: asyncio.Handle) -> None:
        self.count += 1
        if len(self._heap) < KEPT:
            heappush(self._heap, (seconds, _name_of(handle)))
        elif seconds > self._heap[0][0]:
            heappushpop(self._heap, (seconds, _name_of(handle)))


@contextmanager
def stalls_watched() -> Iterator[Stalls]:
    """Every callback of every loop of this process, until the end."""
    stalls, run = Stalls(), asyncio.Handle._run

    def run_timed(handle: asyncio.Handle) -> None:
        began = thread_time()
        run(handle)
        stalls.note(thread_time() - began, handle)

    asyncio.Handle._run = run_timed
    try:
        yield stalls
    finally:
        asyncio.Handle._run = run


def _name_of(handle: asyncio.Handle) -> str:
    """Of a task its coroutine, else of the callback."""
    callback = handle._callback
    task = getattr(callback, "__self__", None)
    named = task.get_coro() if isinstance(task, asyncio.Task) else callback
    return getattr(named, "__qualname__", repr(named))
