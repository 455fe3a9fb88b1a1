"""The event loop of one command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from typing import Any

INTERRUPTED = 130  # exit code: 128 + SIGINT


def run(command: Coroutine[Any, Any, int]) -> int:
    """Like ``asyncio.run``, but after Ctrl-C it does not wait for threads that wait for somebody else.

    By then everything that was opened is closed again; a thread may still hang in a download or
    a search until its timeout, and the interpreter would wait for it.
    """
    runner = asyncio.Runner()
    try:
        code = runner.run(command)
        runner.close()
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    return code
