"""Waiting a bounded time for what takes no timeout itself.

A name look-up, for one, lasts as long as the system's resolver likes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """What the call returns; TimeoutError when that takes longer than ``seconds``.

    It runs in a daemon thread, which is then left behind and keeps no process from ending.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except Exception as trouble:  # noqa: BLE001 - raised again where it is awaited
            answer.set_exception(trouble)

    threading.Thread(target=run, name="within", daemon=True).start()
    return answer.result(seconds)
