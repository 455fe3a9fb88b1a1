"""Several processes on one PostgreSQL: who lives, who does what, who thinks where.

Each process has a lease, a row that it renews every second. Whoever finds the lease of another one expired
deletes it, and with it everything that the dead process held: its conversations and its roles. Turns that
belong to no living process go back into the queue. So a turn is never stranded, whatever was killed when.

A process that slept past its lease finds it gone. It abandons what it was running, since others run that by
now, and goes on under a new name. Until then the checkpoints refuse what it writes.

Times are the database's: clocks of machines differ. A process judges others only after it renewed its own
lease for as long as a lease lasts: after the database was away, everybody's lease looks expired.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from core.storage.database import Schema
from core.storage.postgres import conninfo, translate_errors
from core.storage.storage import Storage
from core.turns.replicas import Ownership, Replicas, TurnRunner

logger = logging.getLogger(__name__)

LEASE = 5.0  # seconds after its last renewal until a process counts as dead
BEAT = 1.0  # seconds between two renewals
ABANDON = 5.0  # seconds that runs get to end whose process lost its lease
RECONNECT = 0.5  # seconds between two tries to reach the database
FIRST_LOOK, LAST_LOOK = 0.05, 0.5  # seconds between two looks at a conversation that another process holds
STOPS = "footnote_stops"  # the channel of NOTIFY that wakes the process that has to stop a turn
LOOK_AGAIN = 0.1  # seconds between two looks at whether the lease is renewed
POOL = 6  # connections for checkpoints and holds; max_connections is 100 by default, for all processes
WAIT = 5.0  # seconds for a connection of the pool
RETRIED = 60.0  # seconds that a call waits for the database; a turn's own limit often ends sooner

_TABLES = """
CREATE TABLE replicas (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,  -- the command
    serves BOOLEAN NOT NULL,
    renewed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE replica_roles (
    name TEXT PRIMARY KEY,
    replica TEXT NOT NULL REFERENCES replicas(id) ON DELETE CASCADE
);
CREATE TABLE conversation_holds (
    conversation TEXT PRIMARY KEY,
    replica TEXT NOT NULL REFERENCES replicas(id) ON DELETE CASCADE,
    token TEXT NOT NULL,  -- of one hold, so that a late release ends no later hold
    is_to_stop BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX conversation_holds_replica ON conversation_holds (replica);
"""
SCHEMA = Schema(tables=_TABLES)  # of PostgreSQL alone

_STAND = "INSERT INTO replicas (id, purpose, serves) VALUES (%s, %s, %s)"
_RENEW = "UPDATE replicas SET renewed = clock_timestamp(), serves = %s WHERE id = %s"
_BURY = "DELETE FROM replicas WHERE renewed < clock_timestamp() - make_interval(secs => %s) RETURNING id"
_NEWEST = "SELECT max(renewed) FROM replicas WHERE serves AND renewed > clock_timestamp() - make_interval(secs => %s)"
_LIVING = "SELECT id, serves FROM replicas"
_HOLD = """
INSERT INTO conversation_holds AS held (conversation, replica, token) VALUES (%s, %s, %s)
ON CONFLICT (conversation) DO UPDATE SET token = excluded.token, is_to_stop = FALSE
WHERE held.replica = excluded.replica
"""
_STOP = """
WITH asked AS (UPDATE conversation_holds SET is_to_stop = TRUE WHERE conversation = %s RETURNING 1)
SELECT pg_notify(%s, '') FROM asked
"""
_STOPPED = "UPDATE conversation_holds SET is_to_stop = FALSE WHERE replica = %s AND is_to_stop RETURNING conversation"

#: Without prepared statements PgBouncer may stand between.
OPTIONS: Mapping[str, Any] = {"autocommit": True, "prepare_threshold": None}

T = TypeVar("T")
Pool = AsyncConnectionPool[Any]


async def retry(call: Callable[[], Awaitable[T]]) -> T:
    """The result of the call, once the database can be reached; raises its error after a minute."""
    loop = asyncio.get_running_loop()
    until, pause = loop.time() + RETRIED, 0.1
    while True:
        try:
            return await call()
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout):
            if loop.time() + pause > until:
                raise
            logger.info("the database does not answer; trying again", exc_info=True)
        await asyncio.sleep(pause)
        pause = min(2 * pause, 2.0)


@dataclass(slots=True)
class Role:
    """Work that one process at a time does for all."""

    is_ours: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def assign(self, *, is_ours: bool) -> None:
        if is_ours != self.is_ours:
            self.is_ours = is_ours
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    async def until(self, *, is_ours: bool) -> None:
        while self.is_ours != is_ours:
            await self._changed.wait()


@dataclass(slots=True)
class Leases(Replicas):
    """The lease of this process. A thread of its own keeps it: a busy event loop is not a dead process."""

    address: str = field(repr=False)
    purpose: str
    pool: Pool
    executor: str = field(default_factory=lambda: uuid4().hex)
    are_several: bool = False
    _roles: dict[str, Role] = field(default_factory=dict)
    _runner: TurnRunner | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _ended: threading.Event = field(default_factory=threading.Event)
    _renewed_at: float = 0.0  #: by the monotonic clock
    _steady_since: float = 0.0  #: the first of the renewals without a gap that reach until now

    def ownership(self, executor: str) -> Ownership:
        return Leased(self, executor or self.executor)

    def is_renewed(self) -> bool:
        """True if nobody can have declared this process dead: the database's clock began to count later than ours."""
        return time.monotonic() - self._renewed_at < LEASE

    async def lead(self, role: str, work: Callable[[], Awaitable[None]]) -> None:
        wanted = self._roles[role] = Role()
        try:
            while True:
                await wanted.until(is_ours=True)
                logger.info("this process leads", extra={"role": role})
                if await _while(wanted, work):
                    return
        finally:
            del self._roles[role]
            query = "DELETE FROM replica_roles WHERE name = %s AND replica = %s"
            await asyncio.shield(asyncio.create_task(self.give_up(query, role, self.executor)))

    async def give_up(self, query: str, *values: object) -> None:
        """Delete something of this process; where the database does not answer, it expires with the lease."""
        with suppress(psycopg.Error, PoolTimeout):
            async with self.pool.connection(timeout=BEAT) as connection:
                await connection.execute(query, values)

    @asynccontextmanager
    async def hold(self, conversation: str) -> AsyncIterator[None]:
        token = uuid4().hex
        try:
            await self._take(conversation, token)  # cancelled, it may have taken hold already
            yield
        finally:
            # Not to be cancelled half-way: the conversation would stay held.
            await asyncio.shield(asyncio.create_task(self._release(conversation, token)))

    async def _take(self, conversation: str, token: str) -> None:
        pause = FIRST_LOOK
        while True:
            with suppress(psycopg.errors.ForeignKeyViolation):  # lost the lease; the thread takes a new one
                if await self._execute(_HOLD, conversation, self.executor, token):
                    return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LAST_LOOK)

    async def _release(self, conversation: str, token: str) -> None:
        query = "DELETE FROM conversation_holds WHERE conversation = %s AND token = %s"
        try:
            await self._execute(query, conversation, token)
        except (psycopg.Error, PoolTimeout):
            logger.exception("a conversation stays held until this process ends or thinks in it again")

    async def ask_to_stop(self, conversation: str) -> bool:
        return await self._execute(_STOP, conversation, STOPS) > 0

    async def _execute(self, query: str, *values: object) -> int:
        """The number of rows."""

        async def call() -> int:
            async with self.pool.connection() as connection:
                return int((await connection.execute(query, values)).rowcount)

        return await retry(call)

    @asynccontextmanager
    async def serving(self, runner: TurnRunner) -> AsyncIterator[None]:
        runner.run_as(self.executor)
        self._runner = runner
        # At once, and not with the next renewal: a command may look for somebody who serves.
        await asyncio.to_thread(execute_once, self.address, _RENEW, True, self.executor)
        try:
            yield
        finally:
            self._runner = None

    def keep(self) -> None:
        """Renew the lease until :meth:`end`; for a thread. An outage of the database is logged once."""
        is_away = False
        while not self._ended.is_set():
            try:
                with psycopg.connect(self.address, **OPTIONS) as connection:
                    connection.execute(f"LISTEN {STOPS}")
                    while not self._ended.is_set():
                        self._beat(connection)
                        is_away = False
                        list(connection.notifies(timeout=BEAT, stop_after=1))
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not self._ended.wait(RECONNECT) and not is_away:
                    is_away = True
                    logger.warning("the lease cannot be renewed: the database does not answer")
            except Exception:
                # The boundary of the thread: without it this process would count as dead.
                logger.exception("the lease could not be renewed")
                self._ended.wait(RECONNECT)

    def end(self) -> None:
        self._ended.set()

    def stand(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(_STAND, (self.executor, self.purpose, self._runner is not None))

    def _beat(self, connection: psycopg.Connection[Any]) -> None:
        now = time.monotonic()
        if not connection.execute(_RENEW, (self._runner is not None, self.executor)).rowcount:
            self._take_new_name(connection)
        if now - self._renewed_at > LEASE / 2:
            self._steady_since = now
        self._renewed_at = now
        if now - self._steady_since >= LEASE:
            for (dead,) in connection.execute(_BURY, (LEASE,)):
                logger.warning("another process is dead; its turns go on elsewhere", extra={"replica": dead})
        living = dict(connection.execute(_LIVING).fetchall())
        self.are_several = any(serves for each, serves in living.items() if each != self.executor)
        for name in list(self._roles):
            query = "INSERT INTO replica_roles (name, replica) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(query, (name, self.executor))
        found = connection.execute("SELECT name FROM replica_roles WHERE replica = %s", (self.executor,))
        self._loop.call_soon_threadsafe(self._assign, {name for (name,) in found})
        if (runner := self._runner) is not None:
            runner.take_over(living)
        for (conversation,) in connection.execute(_STOPPED, (self.executor,)).fetchall():
            if runner is not None:
                self._loop.call_soon_threadsafe(runner.stop_thinking, conversation)

    def _assign(self, ours: set[str]) -> None:
        for name, role in self._roles.items():
            role.assign(is_ours=name in ours)

    def _take_new_name(self, connection: psycopg.Connection[Any]) -> None:
        """Take a new name, after ending what runs under the old one. What that writes is refused only as long
        as it has the name."""
        logger.warning("this process slept past its lease; others run its turns")
        asyncio.run_coroutine_threadsafe(self._abandon(), self._loop).result()
        self.executor = uuid4().hex
        self.stand(connection)
        if self._runner is not None:
            self._runner.run_as(self.executor)

    async def _abandon(self) -> None:
        self._assign(set())
        if self._runner is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._runner.abandon(), ABANDON)


@dataclass(frozen=True, slots=True)
class Leased(Ownership):
    """The ownership of a run. It was taken under a name that this process has for as long as its lease."""

    leases: Leases
    executor: str

    def is_certain(self) -> bool:
        return self.leases.executor == self.executor and self.leases.is_renewed()

    async def confirm(self) -> None:
        while not self.is_certain():
            if self.leases.executor != self.executor:
                raise asyncio.CancelledError
            await asyncio.sleep(LOOK_AGAIN)


async def _while(role: Role, work: Callable[[], Awaitable[None]]) -> bool:
    """Work until the role is lost; True if the work ended by itself before that."""
    working, losing = asyncio.ensure_future(work()), asyncio.ensure_future(role.until(is_ours=False))
    try:
        await asyncio.wait([working, losing], return_when=asyncio.FIRST_COMPLETED)
        has_ended = working.done()
    finally:
        working.cancel()
        losing.cancel()
        await asyncio.wait([working, losing])
    if has_ended:
        await working  # raises what it raised
    return has_ended


@asynccontextmanager
async def open_leases(storage: Storage, purpose: str) -> AsyncIterator[Leases]:
    """A lease of this process until the end. SettingsError if the database cannot be used at the start."""
    assert storage.url is not None
    address = conninfo(storage.url)
    storage.database("turns", SCHEMA).close()
    async with AsyncConnectionPool(
        address, min_size=1, max_size=POOL, kwargs=dict(OPTIONS), open=False, name="turns", timeout=WAIT
    ) as pool:
        leases = Leases(address, purpose, pool)
        await asyncio.to_thread(execute_once, address, _STAND, leases.executor, purpose, False)
        thread = threading.Thread(target=leases.keep, name="lease", daemon=True)
        thread.start()
        try:
            yield leases
        finally:
            leases.end()
            await asyncio.to_thread(thread.join, 2 * BEAT)
            await leases.give_up("DELETE FROM replicas WHERE id = %s", leases.executor)


def is_any_serving(url: str) -> bool:
    """True if a living process takes turns. SettingsError if the database cannot be asked."""
    with translate_errors(), psycopg.connect(conninfo(url), **OPTIONS) as connection:
        try:
            return connection.execute(_NEWEST, (LEASE,)).fetchone() != (None,)
        except psycopg.errors.UndefinedTable:  # nobody ever did
            return False


def is_any_renewing(url: str) -> bool:
    """The same for certain: a process that was killed a moment ago still counts above. Takes LEASE seconds at most."""
    if not is_any_serving(url):
        return False
    first = None
    with translate_errors(), psycopg.connect(conninfo(url), **OPTIONS) as connection:
        while True:
            ((renewed,),) = connection.execute(_NEWEST, (LEASE,)).fetchall()
            if renewed is None or (first is not None and renewed > first):
                return renewed is not None
            first = first or renewed
            time.sleep(BEAT / 4)


def execute_once(address: str, query: str, *values: object) -> None:
    """Over a connection of its own. SettingsError if the database cannot be used."""
    with translate_errors(), psycopg.connect(address, **OPTIONS) as connection:
        connection.execute(query, values)
