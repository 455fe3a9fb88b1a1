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
    """Whether questions are answered in this process."""
    return _enabled.is_set()


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
        began, _here.rests = time.thread_time(), True
        try:
            yield
        finally:
            _here.rests = False
        time.sleep(min(REST * (time.thread_time() - began), LONGEST_REST))


@contextmanager
def elsewhere() -> Iterator[None]:
    """Within :func:`resting`: another process computes, so that other threads may compute here meanwhile."""
    if not getattr(_here, "rests", False):
        yield
        return
    _one_at_a_time.release()
    try:
        yield
    finally:
        _one_at_a_time.acquire()
