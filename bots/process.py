"""The event loop of one command.

Where the log goes: standard error, as text or as one JSON object a line.

How the C library keeps memory that was given back.

How long the event loop keeps everybody waiting: told once a minute, and kept short.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from math import ceil
from typing import Any, NoReturn

from core.library.throttle import enable_throttling
from core.settings import Settings

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


#: What a LogRecord always carries; everything else was handed in as ``extra``.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


#: Whose details may be written down: libraries log what they send and store, and that is what people said.
_OURS = ("core.", "bots.")

#: Libraries that write down whole addresses, and with them what is searched for, as mere information.
_TALKATIVE = ("httpx", "httpcore", "primp", "ddgs", "urllib3", "aiohttp.access")


def log_to_stderr(settings: Settings, *, quiet: bool) -> None:
    """``quiet`` is for a person at a terminal, who is told everything as a sentence anyway:
    the log then speaks only when LOG_LEVEL asks for more than its default."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if settings.log_format == "json" else text)
    handler.addFilter(lambda record: record.levelno > logging.DEBUG or record.name.startswith(_OURS))
    is_default = settings.log_level == Settings().log_level
    level = logging.CRITICAL if quiet and is_default else logging.getLevelName(settings.log_level)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger(name).getEffectiveLevel()))


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: content for name, content in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


ARENAS = 2
M_ARENA_MAX = -8  # glibc's <malloc.h>


def keep_few_arenas() -> bool:
    """Whether glibc was told, before threads begin, to share its arenas: each keeps what it once held.

    By itself it makes eight for each processor. 5,600 questions left 19 MB in them that nobody used, and
    4 MB in two. Other C libraries have none.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (OSError, AttributeError):
        return False


logger = logging.getLogger(__name__)

BETWEEN = 0.05  # seconds between two looks
TOLD_EVERY = 60.0  # seconds
SHARE = 0.99
OFTEN = (700, 10, 10)  # Python's own: many short rounds of the garbage collector, none of them felt
HAND_OVER = 0.0005  # seconds after which a thread that computes lets the loop go on; Python's own are .005


@contextmanager
def loop_first() -> Iterator[None]:
    """Keep what is beside the loop from holding it up.

    What was built so far lives as long as the process: the garbage collector leaves it out of its rounds,
    which would look through 220,000 objects for 150 ms. And threads that compute hand over sooner.
    """
    gc.collect()
    gc.freeze()
    loading = gc.get_threshold()
    gc.set_threshold(*OFTEN)
    switching = sys.getswitchinterval()
    sys.setswitchinterval(HAND_OVER)
    try:
        with enable_throttling():
            yield
    finally:
        sys.setswitchinterval(switching)
        gc.set_threshold(*loading)
        gc.unfreeze()


@asynccontextmanager
async def lag_watched() -> AsyncIterator[None]:
    """Log, at the level of information, by how much the loop was late in the last minute."""
    watching = asyncio.create_task(_watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])


async def _watch() -> None:
    loop = asyncio.get_running_loop()
    late: list[float] = []
    told = loop.time()
    try:
        while True:
            due = loop.time() + BETWEEN
            await asyncio.sleep(BETWEEN)
            late.append(loop.time() - due)
            if loop.time() - told >= TOLD_EVERY:
                _tell(late)
                late, told = [], loop.time()
    finally:
        _tell(late)


def _tell(late: list[float]) -> None:
    if late:
        ordered = sorted(late)
        p99 = ordered[ceil(SHARE * len(ordered)) - 1]
        logger.info(
            "the event loop was late",
            extra={"p99_ms": round(1000 * p99, 1), "most_ms": round(1000 * ordered[-1], 1)},
        )
