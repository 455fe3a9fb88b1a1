"""Limits that all turns share: a circuit breaker for each model, and the budget of tokens for a day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from core.errors import StoreUnavailable
from core.storage.asynchronous import AsyncDatabase
from core.storage.schema import Schema
from core.storage.storage import Storage

logger = logging.getLogger(__name__)

ROW = 6  # failures in a row, of any turns, after which the model counts as down
PAUSE = 30.0  # seconds until one call tries again

STORE = "spending"
SCHEMA = Schema(
    tables="CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL)",
    cure="Move it away to count today's tokens from zero.",
)
_CHARGE = (
    "INSERT INTO spent VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET tokens = spent.tokens + excluded.tokens"
)
_FORGET = "DELETE FROM spent WHERE day NOT IN (SELECT day FROM spent ORDER BY day DESC LIMIT 31)"


@dataclass(slots=True, kw_only=True)
class Circuit:
    """The circuit breaker of Nygard, "Release It!", for one model, shared by the turns of a process.

    It is closed while calls succeed, opens after a row of failures, and after each pause lets one call
    through to see whether the model is back.
    """

    row: int = ROW
    pause: float = PAUSE
    clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _tries_at: float = 0.0  #: while it is open: when the next call may go through

    @property
    def is_open(self) -> bool:
        return self._failures >= self.row

    def lets_through(self) -> bool:
        """Whether a call may be made now."""
        if not self.is_open:
            return True
        now = self.clock()
        if now < self._tries_at:
            return False
        self._tries_at = now + self.pause
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1
        if self._failures == self.row:
            self._tries_at = self.clock() + self.pause


def now_in_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens that the models may take in a day of UTC, counted over restarts and over all processes."""

    limit: int  #: tokens a day, read and written together
    database: AsyncDatabase
    now: Callable[[], datetime] = now_in_utc

    async def is_spent(self) -> bool:
        return await self.spent_today() >= self.limit

    async def spent_today(self) -> int:
        rows = await self.database.rows("SELECT tokens FROM spent WHERE day = ?", (self._today,))
        return int(rows[0][0]) if rows else 0

    async def charge(self, tokens: int) -> None:
        """Counts tokens. A full disk is logged: the answer that they were spent on must not be lost."""
        try:
            await self.database.write(_CHARGE, (self._today, tokens))
        except StoreUnavailable:
            logger.exception("spent tokens could not be counted")

    @property
    def _today(self) -> str:
        return self.now().date().isoformat()


@contextmanager
def open_budget(limit: int, storage: Storage, now: Callable[[], datetime] = now_in_utc) -> Iterator[Budget]:
    """Raises SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        with database.database.transaction() as writing:
            writing.execute(_FORGET)
        yield Budget(limit=limit, database=database, now=now)
