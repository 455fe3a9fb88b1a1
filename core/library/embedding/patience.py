"""Waiting a bounded time for what takes no timeout itself.

A name lookup, for one, lasts as long as the system's resolver likes. The work is done in a
daemon thread, which is left behind when it keeps still for too long and ends when it next stirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Ended:
    trouble: Exception | None  #: what ended it; None: there were no more items


def patiently(items: Generator[T, None, None], seconds: float) -> Iterator[T]:
    """The same items; TimeoutError when the next one takes longer than ``seconds`` to come."""
    inbox: SimpleQueue[T | _Ended] = SimpleQueue()
    left = threading.Event()

    def read() -> None:
        trouble = None
        try:
            with closing(items):
                for item in items:
                    inbox.put(item)
                    if left.is_set():
                        break
        except Exception as raised:  # noqa: BLE001 - raised again where it is awaited
            trouble = raised
        inbox.put(_Ended(trouble))

    threading.Thread(target=read, name="patiently", daemon=True).start()
    try:
        while not isinstance(item := _next(inbox, seconds), _Ended):
            yield item
    finally:
        left.set()
    if item.trouble:
        raise item.trouble


def _next(inbox: SimpleQueue[T], seconds: float) -> T:
    try:
        return inbox.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"nothing came for {seconds} s") from None


def within(seconds: float, call: Callable[[], T]) -> T:
    """What the call returns; TimeoutError when that takes longer than ``seconds``."""

    def answers() -> Generator[T, None, None]:
        yield call()

    return next(patiently(answers(), seconds))
