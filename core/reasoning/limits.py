"""Limits that all turns share: a circuit breaker for each model, and the budget of tokens for a day."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import SettingsError
from core.storage.schema import Schema, prepare

logger = logging.getLogger(__name__)

ROW = 6  # failures in a row, of any turns, after which the model counts as down
PAUSE = 30.0  # seconds until one call tries again

SCHEMA = Schema(tables="CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL)")
_CHARGE = "INSERT INTO spent VALUES (?, ?) ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens"
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
    """Tokens that the models may take in a day of UTC, kept in a file over restarts.

    Each statement takes microseconds, so it runs on the event loop.
    """

    limit: int  #: tokens a day, read and written together
    database: sqlite3.Connection
    now: Callable[[], datetime] = now_in_utc

    @property
    def is_spent(self) -> bool:
        return self.spent_today >= self.limit

    @property
    def spent_today(self) -> int:
        row = self.database.execute("SELECT tokens FROM spent WHERE day = ?", (self._today,)).fetchone()
        return int(row[0]) if row else 0

    def charge(self, tokens: int) -> None:
        """Counts tokens. A full disk is logged: the answer that they were spent on must not be lost."""
        try:
            with self.database:
                self.database.execute(_CHARGE, (self._today, tokens))
        except sqlite3.Error:
            logger.exception("spent tokens could not be counted")

    @property
    def _today(self) -> str:
        return self.now().date().isoformat()


@contextmanager
def open_budget(limit: int, data_dir: Path, now: Callable[[], datetime] = now_in_utc) -> Iterator[Budget]:
    """Raises SettingsError when the file cannot be used."""
    file = data_dir / "spending.sqlite"
    try:
        file.touch(mode=0o600)
        with closing(sqlite3.connect(file)) as database:
            _set_up(database, file)
            yield Budget(limit=limit, database=database, now=now)
    except OSError as fault:
        raise SettingsError(f"{file} cannot be opened.") from fault


def _set_up(database: sqlite3.Connection, file: Path) -> None:
    try:
        prepare(database, file, SCHEMA)
        database.execute("PRAGMA synchronous = NORMAL")
        with database:
            database.execute(_FORGET)
    except sqlite3.DatabaseError as fault:
        raise SettingsError(
            "spending.sqlite in DATA_DIR is damaged or in use. Move it away to count today's tokens from zero."
        ) from fault
