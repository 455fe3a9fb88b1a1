"""What an interpreter imports first where this folder is on its path: it counts what its event loop and SQLite do.

At SIGUSR1 and at its end it tells the counts so far on standard error, with the longest callbacks.
"""

import atexit
import json
import signal
import sqlite3
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from fakes.stalls import stalls_watched

_counted: Counter[str] = Counter()
_watched = ExitStack()
_stalls = _watched.enter_context(stalls_watched())
_connect, _submit = sqlite3.connect, ThreadPoolExecutor.submit


def _connect_counted(database, *arguments, **more):
    """Every statement counts for the file that it is sent to."""
    connection = _connect(database, *arguments, **more)
    name = f"statements, {Path(str(database).partition('?')[0]).name}"
    connection.set_trace_callback(lambda _: _counted.update((name,)))
    return connection


def _submit_counted(pool, *arguments, **more):
    _counted["calls in threads"] += 1
    return _submit(pool, *arguments, **more)


sqlite3.connect = sqlite3.dbapi2.connect = _connect_counted
ThreadPoolExecutor.submit = _submit_counted


@atexit.register
def tell(*_: object) -> None:
    longest = [[name, round(1000 * seconds, 1)] for seconds, name in _stalls.longest]
    counts = {**_counted, "callbacks of the event loop": _stalls.count}
    print(
        json.dumps({"level": "info", "longest_callbacks": longest, "counts": counts}),
        file=sys.stderr,
        flush=True,
    )


signal.signal(signal.SIGUSR1, tell)
