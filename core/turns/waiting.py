"""The waits of a run of a turn: for earlier turns, a seat, and what is unreachable.

Unreachable is a disk, a platform or a database that takes nothing now.

When a process dies, everything that ran in it is cut off, and nobody knows what killed it. So after two such runs
a turn waits for all seats of its process and runs alone. A run alone speaks against the turn only if it came no
further than the one before it; whoever is killed from outside gets on a little each time.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from core.conversation import Command, Decision, Progress, Question, Turn, log_fields, value
from core.errors import StoreUnavailable, causes
from core.turns.messenger import Report, Unreachable
from core.wording import Sentence

logger = logging.getLogger(__name__)

CUT_OFF = 2  # runs beside others, until a turn runs alone
ALONE = 3  # runs alone that began at one checkpoint and were cut off, until a turn is given up
#: Attributes of a workflow: how many runs a stop of their process cut off, and those alone.
STOPS, LONE = "stops", "alone"

LONGEST_ORDER = 2**31 - 1  # DBOS keeps a priority in 31 bits
#: Seconds after it was said until a turn may begin that another process's earlier turn may precede.
SETTLE = 0.3
NAPS = 3  # at most, however often the loop is held up
LATE = 0.1  # of a nap; a loop that wakes later than that has not read what came meanwhile
PATIENCE = 24 * 3600.0  # seconds that a platform or a database which cannot be reached is tried again
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time

PASSING = (Unreachable, StoreUnavailable)  # errors of a platform and a store that can be reached again

T = TypeVar("T")
#: Something that may have to be done once more; it takes ``is_again``.
Call = Callable[..., Awaitable[T]]

#: When something was written, in seconds since the epoch, and its id. Two messages may share a millisecond;
#: ids of a platform sort by time.
Position = tuple[float, str]


@dataclass(slots=True, weakref_slot=True)
class Resequencer:
    """The messages of one conversation that are not stored yet, by when they were written."""

    _pending: list[Position] = field(default_factory=list)
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def hold(self, position: Position) -> Iterator[None]:
        """Later messages wait for as long as this position is held."""
        self._pending.append(position)
        try:
            yield
        finally:
            self._pending.remove(position)
            released, self._released = self._released, asyncio.Event()
            released.set()

    async def until_first(self, position: Position) -> None:
        """Wait until no earlier position is held."""
        while min(self._pending, default=position) < position:
            await self._released.wait()


async def wait_for_earlier(seconds: float) -> None:
    """Wait for what may still arrive over another connection; again if the loop itself was held up meanwhile."""
    loop = asyncio.get_running_loop()
    for _ in range(NAPS if seconds else 0):
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        if loop.time() - due < LATE * seconds:
            return


def queue_priority(turn: Turn | Command) -> int:
    """A priority for the queue: milliseconds, earlier turns first, since two connections may reverse them. It
    wraps around every 24.8 days; only turns that wait across that moment could swap places. DBOS orders turns
    of the same millisecond by id: with SQLite it knows only the second in which they were stored."""
    return 1 + int(said_at(turn) * 1000) % LONGEST_ORDER


def said_at(turn: Turn | Command) -> float:
    """Seconds since the epoch."""
    if isinstance(turn, Question):
        return turn.asked_at
    return turn.decided_at if isinstance(turn, Decision) else turn.said_at


@dataclass(slots=True, kw_only=True)
class UnhurriedClock:
    """Seconds since the epoch, back with a wall clock, but never ahead of the time that passed."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _ahead: float = field(init=False)  #: of the steady clock, at the beginning

    def __post_init__(self) -> None:
        self._ahead = self.wall() - self.steady()

    def now(self) -> float:
        return min(self.wall(), self.steady() + self._ahead)


@dataclass(slots=True)
class Seats:
    """Seats of the turns that may think at once; one turn may take all."""

    count: int
    waiting: int = 0  #: turns that have no seat yet
    free: asyncio.Semaphore = field(init=False)
    door: asyncio.Lock = field(default_factory=asyncio.Lock)  #: they take them one after the other, in order

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.count)

    @asynccontextmanager
    async def take(self, report: Report) -> AsyncIterator[Seat]:
        """A seat until the end of the block; a turn that must wait reports how many are before it."""
        seat = Seat(self, report)
        await seat.take()
        try:
            yield seat
        finally:
            seat.leave()

    @asynccontextmanager
    async def all_taken(self, seconds: float) -> AsyncIterator[Seat]:
        """Every seat until the end of the block, for so many seconds at most: then others think beside it."""
        seat = Seat(self, lambda _: None, wanted=self.count)
        await seat.take()
        timer = asyncio.get_running_loop().call_later(seconds, seat.step_aside)
        try:
            yield seat
        finally:
            timer.cancel()
            seat.leave()


@dataclass(slots=True)
class Seat:
    seats: Seats
    report: Report
    wanted: int = 1
    taken: int = 0

    async def take(self) -> None:
        if self.seats.free.locked() or self.seats.door.locked():
            self.report(Progress(stage="waiting", count=self.seats.waiting))
        self.seats.waiting += 1
        try:
            async with self.seats.door:
                while self.taken < self.wanted:
                    await self.seats.free.acquire()
                    self.taken += 1
        except asyncio.CancelledError:
            self.leave()
            raise
        finally:
            self.seats.waiting -= 1

    def leave(self) -> None:
        while self.taken:
            self.taken -= 1
            self.seats.free.release()

    def step_aside(self) -> None:
        """Leave, and take none again."""
        self.wanted = 0
        self.leave()

    async def sleep(self, seconds: float) -> None:
        """Leave the seat to others meanwhile. A turn that is stopped here takes it no more."""
        had = self.taken
        self.leave()
        await asyncio.sleep(seconds)
        if had:
            await self.take()


async def retry(
    turn: Turn | Command, call: Call[T], *, is_again: bool,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T | None:  # fmt: skip
    """The result once platform and store can be reached; None if one refuses, or stays away too long."""

    try:
        return await persist(
            turn, call, passes=lambda trouble: isinstance(trouble, PASSING), is_again=is_again, sleep=sleep
        )
    except PASSING:
        return None
    except Exception:
        # A message that can never be sent must not hold up the conversation behind it.
        logger.exception("platform refused", extra=log_fields(turn))
        return None


async def persist(
    turn: Turn | Command, call: Call[T], *, passes: Callable[[Exception], bool], is_again: bool = False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, patience: float = PATIENCE,
) -> T:  # fmt: skip
    """The result of a call, made again while its errors pass. Raises one that does not, or not in time."""
    loop = asyncio.get_running_loop()
    until, pause, level = loop.time() + patience, FIRST_PAUSE, logging.WARNING
    while True:
        try:
            return await call(is_again=is_again)
        except Exception as trouble:
            if not passes(trouble) or loop.time() + pause > until:
                raise
            what = "platform" if isinstance(trouble, Unreachable) else "store"
            logger.log(level, "%s out of reach", what, extra={**log_fields(turn), "pause_seconds": pause})
        await sleep(pause)
        pause, is_again, level = min(2 * pause, LONGEST_PAUSE), True, logging.INFO


@value
class LoneRuns:
    """The newest runs alone that began at one checkpoint."""

    place: str = ""  #: how far the turn had come: the newest checkpoint of its conversation
    count: int = 0
    stops: int = 0  #: by when the last of them began


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRun:
    """One run: the first, or a later one that continues after what was recorded."""

    attempt: int = 1  #: counts from 1
    stops: int = 0  #: earlier runs that were cut off by an orderly stop of their process
    lone: LoneRuns = field(default_factory=LoneRuns)
    executor: str = ""  #: the name under which this process took it
    seat: Seat | None = None  #: every seat of the process, where it runs alone
    is_hopeless: bool = False  #: the turn was given up

    @classmethod
    def from_claim(cls, attempt: int, executor: str, attributes: Mapping[str, Any]) -> TurnRun:
        lone = LoneRuns(**attributes.get(LONE, {}))
        return cls(attempt=attempt, executor=executor, stops=attributes.get(STOPS, 0), lone=lone)

    @property
    def is_again(self) -> bool:
        return self.attempt > 1

    @property
    def cut_off(self) -> int:
        """Earlier runs that ended with their process, other than by a stop."""
        return self.attempt - 1 - self.stops

    @property
    def apology(self) -> str:
        return Sentence("cut_off", count=self.cut_off)

    @property
    def is_suspect(self) -> bool:
        return self.cut_off >= CUT_OFF

    def begin_at(self, checkpoint: str) -> TurnRun:
        """The run alone that begins there now; a hopeless one where enough were cut off there."""
        before = LoneRuns(place=checkpoint, stops=self.stops)  # those that were cut off at it so far
        if self.lone.place == checkpoint:
            was_stopped = self.stops > self.lone.stops  # a stop of the process cuts off nothing
            before = replace(before, count=self.lone.count - was_stopped)
        if before.count >= ALONE:
            return replace(self, is_hopeless=True)
        return replace(self, lone=replace(before, count=before.count + 1))


RECENT = 120.0  # seconds; every retry of a write comes sooner than that

#: SQLite's primary result code -> the sentence that says what a person can do.
_TROUBLES = {
    sqlite3.SQLITE_BUSY: "disk_held",
    sqlite3.SQLITE_LOCKED: "disk_held",
    sqlite3.SQLITE_READONLY: "disk_read_only",
    sqlite3.SQLITE_IOERR: "disk_error",
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_CANTOPEN: "disk_refused",
}

#: The same for the SQLSTATEs of PostgreSQL that are about the disk.
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_STATES = {"53100": "disk_full", "25006": "disk_read_only", "58030": "disk_error"}

#: How the SQLSTATEs begin of a server that takes no connection, or ends them; where none came, none was reached.
_AWAY = ("08", "57P", "53300")


def is_away(error: BaseException) -> bool:
    """True if the database could not be reached. Other libraries wrap such errors."""
    psycopg = sys.modules.get("psycopg")
    return psycopg is not None and any(
        isinstance(each, psycopg.OperationalError | psycopg.InterfaceError)
        and (each.sqlstate or "08").startswith(_AWAY)
        for each in causes(error)
    )


def disk_trouble(error: BaseException) -> str:
    """The reason why nothing can be written now; empty for an error that will not pass. Other libraries wrap such errors."""
    key = next(filter(None, map(_key, causes(error))), None)
    return Sentence(key) if key else ""


def _key(error: BaseException) -> str | None:
    if code := getattr(error, "sqlite_errorcode", 0):
        return _TROUBLES.get(code & 0xFF)
    psycopg = sys.modules.get("psycopg")  # without it, no error is of it
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    is_away = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return _STATES.get(error.sqlstate or "", "store_away" if is_away else None)


@dataclass(slots=True)
class DiskWatch:
    """The last such error, of any thread."""

    _trouble: str = ""
    _at: float = -math.inf

    def is_passing(self, error: BaseException) -> bool:
        """True if an error passes, so that a retry makes sense; if it does, remember it."""
        if trouble := disk_trouble(error):
            if trouble != self.trouble:
                logger.warning("nothing can be written down: %s", trouble)
            self._trouble, self._at = trouble, time.monotonic()
        return bool(trouble)

    @property
    def trouble(self) -> str:
        """The reason why everybody waits; empty if there is none."""
        return self._trouble if time.monotonic() - self._at < RECENT else ""
