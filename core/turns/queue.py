"""The setup of DBOS: one queue, rows in JSON, a pinned version, and an orderly shutdown."""

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from contextvars import Context
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import SettingsError
from core.storage.database import Schema, prepare
from core.storage.storage import SQLITE, DataSettings, file_of
from core.traces.log import NO_LOG
from core.turns.dbos_patches import check_patched, refuse_pickles, retrying_writes
from core.turns.replicas import ALONE, Replicas
from core.turns.waiting import STOPS, DiskWatch, TurnRun, UnhurriedClock, disk_trouble

if TYPE_CHECKING:
    from dbos import DBOSConfig
    from dbos._sys_db import SystemDatabase
    from sqlalchemy import Engine
    from sqlalchemy.pool import ConnectionPoolEntry

T = TypeVar("T")

logger = logging.getLogger(__name__)

SCHEMA = Schema()  # DBOS makes the tables; a change of a turn's fields needs a migration
QUEUE = "turns"
APPLICATION = "footnote"  # whose workflows DBOS begins
APPLICATION_VERSION = "1"  # pinned: after an update, the turns of the version before must be found
LAUNCHES = 3  # tries at the start, where a server ends the sessions
POLLING = 0.1  # seconds between looks at the queue, which cost 3% of a core when idle
CONCURRENCY = 1_000  # turns that run at once; most of them wait
SETTLED, SETTLING = 0.2, 0.01  # seconds that DBOS may take to write how a turn ended, and between two looks
CLOSE = 60  # seconds after which the database is closed even if a turn does not end
#: Milliseconds that SQLite waits for another program; DBOS's 30 s are too long without a sentence.
LOCKED = 2_000
CONFIGURED = "footnote"  # notes of a connection that it is configured
CLOSE_FULL_DISK = 5.0  # the same if the disk takes nothing
RETENTION = timedelta(days=14)  # that a finished turn is kept, against late redeliveries
SWEEP_EVERY = 3600.0  # seconds
FINISHED = ["SUCCESS", "ERROR", "CANCELLED"]  # states that a workflow does not leave
SWEEP_BATCH = 1_000  # finished turns that are deleted at a time

#: SQLite has one writer, and every connection caches 2 MB of pages. DBOS's 20 connections would wait for each
#: other in SQLite's pauses instead of in the pool. A file needs no ping.
SQLITE_CONNECTIONS = 4
SQLITE_ENGINE = {"pool_pre_ping": False}
#: A process uses as many again elsewhere; max_connections is 100 by default, for all processes.
POSTGRES_CONNECTIONS = 8
#: Without prepared statements PgBouncer may stand between; a dead server is noticed in about ten seconds.
POSTGRES_ENGINE = {
    "connect_args": {
        "prepare_threshold": None, "connect_timeout": 10,
        "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    }
}  # fmt: skip

#: Errors of SQLAlchemy are logged, so they must not show a statement's parameters.
DISCREET = {"hide_parameters": True}


def queue_url(settings: DataSettings) -> str:
    """The address of its database."""
    return settings.database_url or f"{SQLITE}{file_of(settings.data_dir.resolve(), 'turns')}"


@asynccontextmanager
async def launch(
    database_url: str, *, disk: DiskWatch, close: Callable[[], Awaitable[None]],
    replicas: Replicas = ALONE, watched: Callable[[], Awaitable[Collection[str]]] = NO_LOG.list_watched,
) -> AsyncIterator[None]:  # fmt: skip
    """DBOS in the running loop; at the end, ``close`` ends what runs before the database is closed.
    ``watched``: the turns whose outcomes are needed for longer than RETENTION. While it runs, failed writes
    are retried, and ``disk`` knows why they fail. Raises SettingsError if the database cannot be opened or
    written at the start."""
    check_patched()
    refuse_pickles()
    _launch(database_url, replicas.executor)
    log = logging.getLogger("dbos")
    log.handlers.clear()
    log.propagate = True
    if _is_fault not in log.filters:
        log.addFilter(_is_fault)
    sweeping = asyncio.create_task(replicas.lead("sweep", partial(_keep_sweeping, watched)))
    try:
        await _register()
        with retrying_writes(disk):
            yield
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])
        await _close(close, disk)


def _launch(database_url: str, executor: str) -> None:
    """Start DBOS. A server may end the session that makes the tables, as that of a process which slept for
    LEASE within a transaction; the next try goes on where it stopped."""
    from dbos import DBOS
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    from core.storage.postgres import making_tables

    is_file = database_url.startswith("sqlite")
    for tries_left in reversed(range(LAUNCHES)):
        try:
            prepare_file(database_url)
            configure_connections()
            DBOS(config=_config(database_url, executor))
            with nullcontext() if is_file else making_tables(database_url):
                DBOS.launch()
            return
        except (sqlite3.Error, SQLAlchemyError) as fault:
            logger.info("the database of the turns could not be opened", exc_info=True)
            if isinstance(fault, DBAPIError) and fault.connection_invalidated and tries_left:
                DBOS.destroy()
                continue
            DBOS.destroy(destroy_registry=True)  # the next launch starts from nothing
            raise SettingsError("DATABASE_URL names a database that cannot be opened.") from fault


async def _register() -> None:
    from dbos import DBOS
    from sqlalchemy.exc import SQLAlchemyError

    try:
        await DBOS.register_queue_async(
            QUEUE, worker_concurrency=CONCURRENCY, partition_concurrency=1, polling_interval_sec=POLLING
        )
    except SQLAlchemyError as fault:
        reason = disk_trouble(fault) or "the log says more"
        logger.info("the database of the turns could not be written", exc_info=True)
        raise SettingsError(f"DATABASE_URL names a database that cannot be used: {reason}.") from fault


def _config(database_url: str, executor: str) -> "DBOSConfig":
    from dbos._serialization import DBOSPortableJSON

    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": database_url,
        "application_version": APPLICATION_VERSION,
        "executor_id": executor,
        "serializer": DBOSPortableJSON,
        "log_level": "ERROR",
        "db_engine_kwargs": DISCREET,
    }
    if database_url.startswith("sqlite"):
        config["sys_db_pool_size"] = SQLITE_CONNECTIONS
        config["notification_listener_polling_interval_sec"] = POLLING  # a stop waits for the next one
        config["db_engine_kwargs"] = DISCREET | SQLITE_ENGINE
    else:
        from core.turns.leases import LEASE

        config["sys_db_pool_size"] = POSTGRES_CONNECTIONS
        # A process that sleeps within a transaction would hold up all others with its locks, for a minute by default.
        config["sys_db_idle_transaction_timeout_sec"] = LEASE
        config["db_engine_kwargs"] = DISCREET | POSTGRES_ENGINE
    return config


def prepare_file(database_url: str) -> None:
    """Turn on SQLite's write-ahead log: one flush for each stored turn, and readers do not wait. Only the
    owner may read the file, and with it the log."""
    name = database_url.removeprefix(SQLITE)
    if name != database_url:
        file = Path(name)
        with suppress(OSError):  # opening it reports the error
            file.touch(mode=0o600)
        with closing(sqlite3.connect(file)) as database:
            prepare(database, file, SCHEMA)


def configure_connections() -> None:
    """Configure connections as they are used: DBOS creates them itself and offers no hook."""
    from sqlalchemy import Engine, event

    if not event.contains(Engine, "checkout", _configure):
        event.listen(Engine, "checkout", _configure)


def _configure(connection: Any, record: "ConnectionPoolEntry", *_: object) -> None:
    """SQLite leaves deleted rows in the file until others replace them; a forgotten thread must not stay."""
    if CONFIGURED in record.info:  # which SQLAlchemy empties when it connects again
        return
    record.info[CONFIGURED] = True
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA busy_timeout = {LOCKED}")


def system_database() -> "SystemDatabase":
    """DBOS's database of this process, for what DBOS has no public call."""
    from dbos._dbos import _get_dbos_instance

    return _get_dbos_instance()._sys_db  # noqa: SLF001 - as said


def _destroy() -> None:
    """Destroy DBOS; without running turns it need not wait, which takes a second at least."""
    from dbos import DBOS
    from dbos._dbos import _get_dbos_instance

    # DBOS's own list, by which it waits: its public one asks the database, and for ever where that is away.
    running = _get_dbos_instance()._active_workflows_set.activeList  # noqa: SLF001
    until = time.monotonic() + SETTLED
    while running() and time.monotonic() < until:
        time.sleep(SETTLING)
    DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=CLOSE if running() else 0)


async def _close(close: Callable[[], Awaitable[None]], disk: DiskWatch) -> None:
    """Begin no more turns, let running ones end, then close the database. If the disk takes nothing, waiting
    longer would not record anything."""
    # DBOS installs its own threads in the loop and stops them with itself; later shutdown steps need others.
    threads = ThreadPoolExecutor(thread_name_prefix="footnote")
    loop = asyncio.get_running_loop()
    destroyed = loop.run_in_executor(threads, _destroy)
    await close()
    await asyncio.wait([destroyed], timeout=CLOSE_FULL_DISK if disk.trouble else None)
    if destroyed.done():
        destroyed.result()
        loop.set_default_executor(threads)
    else:  # closing the loop waits for its threads, and DBOS's wait for the disk
        loop.set_default_executor(ThreadPoolExecutor())


def _is_fault(record: logging.LogRecord) -> bool:
    """True if DBOS reports more than that somebody cancelled what ran, and perhaps deleted it since."""
    from dbos._error import DBOSAwaitedWorkflowCancelledError, DBOSNonExistentWorkflowError

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, DBOSAwaitedWorkflowCancelledError | DBOSNonExistentWorkflowError)


def requeue_left(living: Collection[str]) -> None:
    """Put back into the queue what runs in no living process; what another process took meanwhile stays
    there. DBOS's public call for it, ``resume_workflow``, forgets how often a turn was tried. Raises
    psycopg's error where the server does not answer."""
    from dbos import DBOS
    from sqlalchemy import select
    from sqlalchemy.exc import DBAPIError

    system = system_database()  # whose listing reads whole turns
    table = system.tables.workflow_status
    is_left = (table.c.status == "PENDING", table.c.executor_id.not_in([*living]))
    left = select(table.c.executor_id).distinct().where(*is_left)
    try:
        with system.engine.connect() as connection:
            dead = [executor for (executor,) in connection.execute(left)]
    except DBAPIError as fault:  # as any other statement of the lease has it
        raise fault.orig or fault from fault
    if dead:
        logger.info("turns of dead processes go on", extra={"executors": dead})
        DBOS._recover_pending_workflows(dead)  # noqa: SLF001 - as above


def count_stop(executor: str, *, besides: Collection[str] = ()) -> frozenset[str]:
    """Note on each turn that runs here that a stop cuts it off; returns their ids. That is no failed try."""
    from sqlalchemy import select, update

    system = system_database()  # DBOS can change the attributes of one turn at a time
    table = system.tables.workflow_status
    is_here = (table.c.status == "PENDING", table.c.executor_id == executor)
    running = select(table.c.workflow_uuid, table.c.attributes).where(*is_here)
    with system.engine.begin() as connection:
        found = {each: noted or {} for each, noted in connection.execute(running) if each not in besides}
        for each, noted in found.items():
            counted = noted | {STOPS: noted.get(STOPS, 0) + 1}
            its = update(table).where(table.c.workflow_uuid == each)
            connection.execute(its.values(attributes=counted))
    return frozenset(found)


async def run_unrecorded(call: Coroutine[Any, Any, T]) -> T:
    """The result of a call in a separate context. Otherwise DBOS would record it as a step of the running
    workflow."""
    return await asyncio.create_task(call, context=Context())


async def find_run(workflow_id: str) -> TurnRun:
    """The run that this process took; an unknown one looks first."""
    from dbos import DBOS

    looking = DBOS.list_workflows_async(workflow_ids=[workflow_id], load_input=False, load_output=False)
    found: list[Any] = await run_unrecorded(looking)
    if not found:
        return TurnRun(attempt=2)
    return TurnRun.from_claim(
        found[0].recovery_attempts or 1, found[0].executor_id, found[0].attributes or {}
    )


async def list_finished(partition: str) -> tuple[str, ...]:
    """The ids of the finished workflows of one partition of the queue."""
    # DBOS has no filter for partitions, so all finished workflows are listed.
    finished = _list_finished()
    return tuple([each.workflow_id async for each in finished if each.queue_partition_key == partition])


async def _list_finished(**conditions: Any) -> AsyncIterator[Any]:
    from dbos import DBOS

    for offset in count(0, SWEEP_BATCH):
        found: list[Any] = await DBOS.list_workflows_async(
            status=FINISHED,
            limit=SWEEP_BATCH,
            offset=offset,
            load_input=False,
            load_output=False,
            **conditions,
        )
        for each in found:
            yield each
        if len(found) < SWEEP_BATCH:
            return


async def delete_finished(partition: str) -> tuple[str, ...]:
    """Delete the finished workflows of one partition of the queue; returns their ids."""
    from dbos import DBOS

    ids = await list_finished(partition)
    if ids:
        await DBOS.delete_workflows_async([*ids])
        await asyncio.to_thread(empty_log, system_database().engine)
    return ids


def replace_arguments(workflow_id: str, arguments: list[Any]) -> None:
    """Store other arguments of a workflow that runs, for which DBOS has no call; the old ones are overwritten."""
    from sqlalchemy import select, update

    system = system_database()
    table = system.tables.workflow_input
    is_its = table.c.workflow_uuid == workflow_id
    with system.engine.begin() as connection:
        stored = connection.execute(select(table.c.inputs).where(is_its)).scalar_one()
        replaced = json.dumps(json.loads(stored) | {"positionalArgs": arguments})
        connection.execute(update(table).where(is_its).values(inputs=replaced))
    empty_log(system.engine)


def empty_log(engine: "Engine") -> None:
    """Remove deleted rows from SQLite's write-ahead log too; a reader that uses it delays that."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


async def sweep(
    older_than: timedelta = RETENTION, *, now: float | None = None, spared: Collection[str] = ()
) -> int:
    """Delete turns that finished longer before ``now``, in seconds since the epoch; returns how many."""
    from dbos import DBOS

    before = (datetime.fromtimestamp(time.time() if now is None else now, UTC) - older_than).isoformat()
    ids = [each.workflow_id async for each in _list_finished(completed_before=before)]
    swept = [each for each in ids if each not in spared]
    for first in range(0, len(swept), SWEEP_BATCH):
        await DBOS.delete_workflows_async(swept[first : first + SWEEP_BATCH])
    return len(swept)


async def _keep_sweeping(watched: Callable[[], Awaitable[Collection[str]]]) -> None:
    clock = UnhurriedClock()
    while True:
        await asyncio.sleep(SWEEP_EVERY)
        try:
            logger.info(
                "forgot finished turns", extra={"count": await sweep(now=clock.now(), spared=await watched())}
            )
        except Exception:
            # The sweep is tried again in an hour; no turn waits for it.
            logger.exception("could not forget finished turns")
