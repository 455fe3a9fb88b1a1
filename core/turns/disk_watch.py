"""Disk errors that pass: writing is retried meanwhile, and people learn why they wait."""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from dataclasses import dataclass

from core.wording import Sentence

logger = logging.getLogger(__name__)

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


def disk_trouble(error: BaseException) -> str:
    """Why nothing can be written now; empty for an error that will not pass. SQLAlchemy wraps SQLite's errors."""
    code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0)
    key = _TROUBLES.get(code & 0xFF)
    return Sentence(key) if key else ""


@dataclass(slots=True)
class DiskWatch:
    """The last such error, of any thread."""

    _trouble: str = ""
    _at: float = -math.inf

    def is_passing(self, error: BaseException) -> bool:
        """Whether an error passes, so that a retry makes sense; if it does, remember it."""
        if trouble := disk_trouble(error):
            if trouble != self.trouble:
                logger.warning("nothing can be written down: %s", trouble)
            self._trouble, self._at = trouble, time.monotonic()
        return bool(trouble)

    @property
    def trouble(self) -> str:
        """The reason why everybody waits; empty if there is none."""
        return self._trouble if time.monotonic() - self._at < RECENT else ""
