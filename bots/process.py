"""The event loop of one command."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine
from typing import Any, NoReturn

INTERRUPTED = 130  # exit code: 128 + SIGINT
ENDING = 1.0  # seconds that threads get which have nothing left to do


def run(command: Coroutine[Any, Any, int]) -> int:
    """Like ``asyncio.run``, but it does not wait for threads that wait for somebody else.

    By then everything that was opened is closed again; a thread may still hang in a download or
    a search until its timeout, or wait for a full disk, and the interpreter would wait for it.
    """
    runner = asyncio.Runner()
    try:
        code = runner.run(command)
        runner.close()
    except KeyboardInterrupt:
        _leave(INTERRUPTED)
    if _is_waited_for():
        _leave(code)
    return code


def _is_waited_for() -> bool:
    """Whether a thread is left that the interpreter would join."""
    until = time.monotonic() + ENDING
    threads = [
        each for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon
    ]
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return any(thread.is_alive() for thread in threads)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
