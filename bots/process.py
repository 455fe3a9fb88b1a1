"""The process of a command: its event loop, its log on standard error, its memory."""

import asyncio
import ctypes
import gc
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from math import ceil
from typing import Any, NoReturn, TypeVar

from bots.chat.platform import LogLimit
from core.priority import enable_throttling
from core.settings import Settings

INTERRUPTED = 130  # exit code: 128 + SIGINT
JOIN_TIMEOUT = 1.0  # seconds that threads get to end when the work is done

#: What a LogRecord always carries; everything else was handed in as ``extra``.
_RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

#: Debug output is logged for our own code alone: libraries log what they send and store, which is what people said.
_OURS = ("core.", "bots.")

#: Libraries that log whole URLs, and with them search queries, at the level of information; Google's logs each call.
_TALKATIVE = ("httpx", "httpcore", "primp", "ddgs", "urllib3", "aiohttp.access", "google_genai")

NO_FILE_LEFT = "socket.accept() out of system resource"  # of asyncio's selector_events.py
#: How messages begin that asyncio and psycopg's pool repeat many times a second: no file is left, no server is there.
REPEATED = (NO_FILE_LEFT, "error connecting in", "reconnection attempt in pool")

FILES = 4096  # that a process which serves may have open

ARENAS = 2
M_ARENA_MAX = -8  # glibc's <malloc.h>

LAG_INTERVAL = 0.05  # seconds between two measurements
LAG_REPORT = 60.0  # seconds between two lines of the log
PERCENTILE = 0.99
GC_THRESHOLDS = (700, 10, 10)  # Python's own: many short collections instead of a few long ones
# Seconds after which a computing thread lets the loop run; Python's default is 0.005.
SWITCH_INTERVAL = 0.0005

logger = logging.getLogger(__name__)

T = TypeVar("T")


def run(command: Coroutine[Any, Any, int]) -> int:
    """Like ``asyncio.run``, but it does not wait for blocked threads.

    By then everything that was opened is closed again. A thread may still hang in a download or
    a search until its timeout, or wait for a full disk, and the interpreter would wait for it.
    """
    code, until = run_to_end(command), time.monotonic() + JOIN_TIMEOUT
    main = threading.main_thread()
    threads = [each for each in threading.enumerate() if each is not main and not each.daemon]
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in threads):  # which the interpreter would join
        _exit(code)
    return code


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run the work and return its result. Ctrl-C ends the process, whatever its threads wait for."""
    runner = asyncio.Runner()
    try:
        result = runner.run(work)
        runner.close()
    except KeyboardInterrupt:
        _exit(INTERRUPTED)
    except BaseException:
        runner.close()
        raise
    return result


@contextmanager
def clearing_up() -> Iterator[None]:
    """Ends the command on SIGTERM and a closed terminal as on Ctrl-C, with its clean-up."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    # What is ignored stays so: `nohup` asks for that.
    heeded = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for each in heeded:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in heeded:
            signal.signal(each, signal.SIG_DFL)


def _exit(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def log_to_stderr(settings: Settings, *, quiet: bool) -> None:
    """Log as text or as JSON lines. ``quiet`` logs nothing unless LOG_LEVEL is set: at a terminal, a person
    gets every message as a sentence anyway."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if settings.log_format == "json" else text)
    handler.addFilter(lambda record: record.levelno > logging.DEBUG or record.name.startswith(_OURS))
    handler.addFilter(once_a_minute())
    is_default = settings.log_level == Settings().log_level
    level = logging.CRITICAL if quiet and is_default else logging.getLevelName(settings.log_level)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger(name).getEffectiveLevel()))


def once_a_minute() -> Callable[[logging.LogRecord], bool]:
    """Filters what is repeated many times a second."""
    limit = LogLimit()

    def admits(record: logging.LogRecord) -> bool:
        about = str(record.msg).partition("\n")[0]
        return not about.startswith(REPEATED) or limit.admits(about)

    return admits


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: content for name, content in vars(record).items() if name not in _RECORD_FIELDS},
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def limit_arenas() -> bool:
    """Limit glibc's memory arenas, before threads start; False where the C library has none.

    By default glibc makes eight for each processor, and each keeps freed memory: 19 MB after
    5,600 questions, against 4 MB with two.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (OSError, AttributeError):
        return False


def raise_file_limit() -> int:
    """Raise the limit of open files as far as the system allows; returns it. macOS begins with 256."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    if files != resource.RLIM_INFINITY and files < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        files = wanted
    return files


@contextmanager
def favor_loop() -> Iterator[None]:
    """Keep the garbage collector and computing threads from delaying the event loop.

    What was built so far lives as long as the process. Without the freeze, each full collection would
    scan 220,000 objects for 150 ms.
    """
    gc.collect()
    gc.freeze()
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with enable_throttling():
            yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs the tasks until the end of the block."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def measure_lag() -> None:
    """Log, at the level of information, how late the event loop was in the last minute."""
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    reported_at = loop.time()
    try:
        while True:
            due = loop.time() + LAG_INTERVAL
            await asyncio.sleep(LAG_INTERVAL)
            delays.append(loop.time() - due)
            if loop.time() - reported_at >= LAG_REPORT:
                _log_delays(delays)
                delays, reported_at = [], loop.time()
    finally:
        _log_delays(delays)


def _log_delays(delays: list[float]) -> None:
    if delays:
        delays.sort()
        p99 = delays[ceil(PERCENTILE * len(delays)) - 1]
        logger.info(
            "the event loop was at most %.0f ms late in the last minute",
            1000 * delays[-1],
            extra={"p99_ms": round(1000 * p99, 1), "most_ms": round(1000 * delays[-1], 1)},
        )
