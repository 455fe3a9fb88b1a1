"""DBOS as this program runs it: one queue, JSON rows, a pinned version, closed in order."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from core.errors import SettingsError
from core.schema import Schema, prepare
from core.turns.disk_watch import DiskWatch, disk_trouble
from core.turns.order import UnhurriedClock

if TYPE_CHECKING:
    from dbos import DBOSConfig

logger = logging.getLogger(__name__)

SCHEMA = Schema()  # DBOS makes the tables; a turn in them that gets other fields needs a migration
APPLICATION_VERSION = "1"  # pinned: a deploy with changed code must find the turns of the one before
EXECUTOR = "footnote"  # stable: DBOS resumes what the executor of this name left
POLLING = 0.1  # seconds between looks at the queue; .05 costs 7% of a core when idle
CONCURRENCY = 1_000  # turns that have begun; each has given its first sign, and few of them think
LET_GO = 60  # seconds after which the database is closed even if a turn does not end
LOCKED = 2_000  # milliseconds that SQLite waits for another program; DBOS has it wait for 30 s in silence
LET_GO_UNWRITTEN = 5.0  # seconds of the same where the disk takes nothing
RETENTION = timedelta(days=14)  # that a finished turn is remembered, against late redeliveries
SWEEP_EVERY = 3600.0  # seconds
FINISHED = ["SUCCESS", "ERROR", "CANCELLED"]  # states that a workflow does not leave
SWEEP_BATCH = 1_000  # finished turns that are deleted at a time

#: SQLite has one writer, and every connection fills 2 MB with pages of its own: 20 of them, as DBOS would
#: have it, wait for each other in SQLite's pauses instead of in line. A file needs no asking whether it is there.
SQLITE_CONNECTIONS = 4
SQLITE_ENGINE = {"pool_pre_ping": False}

#: No error of SQLAlchemy's says what a statement was about: it would be logged.
DISCREET = {"hide_parameters": True}


@asynccontextmanager
async def launched(
    database_url: str, queue: str, *, disk: DiskWatch, close: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """DBOS in the running loop; at the end ``close`` ends what runs, before the database goes.

    What cannot be written once it runs is tried until it can, and ``disk`` says why it cannot.
    SettingsError for a database that cannot be opened or written in the beginning.
    """
    refuse_pickles()
    _launch(database_url)
    _log_as_all_others_do()
    sweeping = asyncio.create_task(_keep_sweeping())
    try:
        await _register(queue)
        with outlasting(disk):
            yield
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])
        await _close(close, disk)


def _launch(database_url: str) -> None:
    from dbos import DBOS
    from sqlalchemy.exc import SQLAlchemyError

    try:
        _let_readers_pass(database_url)
        _set_connections_up()
        DBOS(config=_config(database_url))
        DBOS.launch()
    except (sqlite3.Error, SQLAlchemyError) as fault:
        DBOS.destroy(destroy_registry=True)  # what is opened next begins anew
        logger.info("the database of the turns could not be opened", exc_info=True)
        raise SettingsError("DATABASE_URL names a database that cannot be opened.") from fault


async def _register(queue: str) -> None:
    from dbos import DBOS
    from sqlalchemy.exc import SQLAlchemyError

    try:
        await DBOS.register_queue_async(
            queue, worker_concurrency=CONCURRENCY, partition_concurrency=1, polling_interval_sec=POLLING
        )
    except SQLAlchemyError as fault:
        reason = disk_trouble(fault) or "the log says more"
        logger.info("the database of the turns could not be written", exc_info=True)
        raise SettingsError(f"DATABASE_URL names a database that cannot be used: {reason}.") from fault


def _config(database_url: str) -> DBOSConfig:
    from dbos._serialization import DBOSPortableJSON

    config: DBOSConfig = {
        "name": "footnote",
        "system_database_url": database_url,
        "application_version": APPLICATION_VERSION,
        "executor_id": EXECUTOR,
        "serializer": DBOSPortableJSON,
        "log_level": "ERROR",
        "db_engine_kwargs": DISCREET,
    }
    if database_url.startswith("sqlite"):
        config["sys_db_pool_size"] = SQLITE_CONNECTIONS
        config["db_engine_kwargs"] = DISCREET | SQLITE_ENGINE
    return config


def _let_readers_pass(database_url: str) -> None:
    """SQLite's write-ahead log: one flush to the disk for each turn that is stored, and readers do not wait.

    The file, and with it the log, is readable by its owner alone.
    """
    name = database_url.removeprefix("sqlite:///")
    if name != database_url:
        file = Path(name)
        with suppress(OSError):  # what cannot be made is told when it is opened
            file.touch(mode=0o600)
        with closing(sqlite3.connect(file)) as database:
            prepare(database, file, SCHEMA)


def _set_connections_up() -> None:
    """DBOS makes its connections by itself, and offers no way to have a word with them."""
    from sqlalchemy import Engine, event

    if not event.contains(Engine, "checkout", _set_up):
        event.listen(Engine, "checkout", _set_up)


def _set_up(connection: Any, *_: object) -> None:
    """SQLite leaves deleted rows in the file until others take their place; a forgotten thread must not stay."""
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA busy_timeout = {LOCKED}")


async def _close(close: Callable[[], Awaitable[None]], disk: DiskWatch) -> None:
    """No turn begins any more, those that run end, then the database is let go.

    Where the disk takes nothing, nothing more is recorded however long that is waited for.
    """
    from dbos import DBOS

    # DBOS makes its own threads the loop's and ends them with itself; what closes after it needs others.
    threads = ThreadPoolExecutor(thread_name_prefix="footnote")
    loop = asyncio.get_running_loop()
    destroyed = loop.run_in_executor(
        threads, lambda: DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=LET_GO)
    )
    await close()
    await asyncio.wait([destroyed], timeout=LET_GO_UNWRITTEN if disk.trouble else None)
    if destroyed.done():
        destroyed.result()
        loop.set_default_executor(threads)
    else:  # whoever closes the loop waits for its own threads, and these wait for the disk
        loop.set_default_executor(ThreadPoolExecutor())


def _log_as_all_others_do() -> None:
    log = logging.getLogger("dbos")
    log.handlers.clear()
    log.propagate = True


@contextmanager
def outlasting(disk: DiskWatch) -> Iterator[None]:
    """Try again what a full disk refuses, as DBOS does where another process holds the file.

    Else a turn whose step cannot be recorded would lie there until the next start, and nobody be told.
    """
    from dbos import _sys_db

    known = _sys_db.retriable_sqlite_exception  # type: ignore[attr-defined]
    _sys_db.retriable_sqlite_exception = disk.is_passing  # type: ignore[attr-defined, assignment]
    try:
        yield
    finally:
        _sys_db.retriable_sqlite_exception = known  # type: ignore[attr-defined]


def refuse_pickles() -> None:
    """Never unpickle a row. DBOS does so for any row that is marked as a pickle, whatever serializer it
    was given, so that whoever can write to the database could run code here.
    """
    from dbos._serialization import DefaultSerializer

    DefaultSerializer.deserialize = _refuse  # type: ignore[method-assign, assignment]


def _refuse(_self: object, _row: str) -> NoReturn:
    raise ValueError("pickled rows are not read")


async def delete_finished(partition: str) -> tuple[str, ...]:
    """Delete the finished workflows of one partition of the queue; their ids."""
    from dbos import DBOS

    # DBOS filters by no field that both SQLite and we could use, so all of them are looked through.
    ids: list[str] = []
    for offset in count(0, SWEEP_BATCH):
        finished: list[Any] = await DBOS.list_workflows_async(
            status=FINISHED, limit=SWEEP_BATCH, offset=offset, load_input=False, load_output=False
        )
        ids += [each.workflow_id for each in finished if each.queue_partition_key == partition]
        if len(finished) < SWEEP_BATCH:
            break
    if ids:
        await DBOS.delete_workflows_async(ids)
        await asyncio.to_thread(_empty_log)
    return tuple(ids)


def _empty_log() -> None:
    """What was deleted leaves SQLite's write-ahead log too; a reader who is busy with it puts that off."""
    from dbos._dbos import _get_dbos_instance

    engine = _get_dbos_instance()._sys_db.engine  # noqa: SLF001 - the file is DBOS's
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


async def sweep(older_than: timedelta = RETENTION, *, now: float | None = None) -> int:
    """Forget turns that finished longer before ``now``, in seconds since the epoch; how many."""
    from dbos import DBOS

    before = (datetime.fromtimestamp(time.time() if now is None else now, UTC) - older_than).isoformat()
    total = 0
    while True:
        finished: list[Any] = await DBOS.list_workflows_async(
            status=FINISHED,
            completed_before=before,
            limit=SWEEP_BATCH,
            load_input=False,
            load_output=False,
        )
        await DBOS.delete_workflows_async([workflow.workflow_id for workflow in finished])
        total += len(finished)
        if len(finished) < SWEEP_BATCH:
            return total


async def _keep_sweeping() -> None:
    clock = UnhurriedClock()
    while True:
        await asyncio.sleep(SWEEP_EVERY)
        try:
            logger.info("forgot finished turns", extra={"count": await sweep(now=clock.now())})
        except Exception:
            # Housekeeping that fails is tried again in an hour; no turn waits for it.
            logger.exception("could not forget finished turns")
