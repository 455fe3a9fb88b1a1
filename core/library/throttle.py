"""Computing that lets others go first, in a process that serves them meanwhile.

Threads of Python share one interpreter: who computes without a break keeps everybody else waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

REST = 3.0  # times as long as the work before it: a quarter of the interpreter is the most that is taken
LONGEST_REST = 0.05  # seconds

T = TypeVar("T")

_others = threading.Event()  #: set where others are served
_line = threading.Lock()


@contextmanager
def enable_throttling() -> Iterator[None]:
    """From now on, work that is :func:`paced` rests."""
    _others.set()
    try:
        yield
    finally:
        _others.clear()


def throttle(items: Iterable[T]) -> Iterator[T]:
    """The items; where others are served, one at a time in all threads, with a rest after each."""
    for item in items:
        if not _others.is_set():
            yield item
            continue
        with _line:
            began = time.thread_time()
            yield item
            time.sleep(min(REST * (time.thread_time() - began), LONGEST_REST))
