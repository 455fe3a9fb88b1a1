"""Whether the disk takes what is written: one that does not is waited out, and people are told why."""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from dataclasses import dataclass

from core.wording import Sentence

logger = logging.getLogger(__name__)

RECENT = 120.0  # seconds; whoever waits for the disk looks again at least that often

#: By SQLite's primary result code, the sentence that says what a person can do.
_TROUBLES = {
    sqlite3.SQLITE_BUSY: "disk_held",
    sqlite3.SQLITE_LOCKED: "disk_held",
    sqlite3.SQLITE_READONLY: "disk_read_only",
    sqlite3.SQLITE_IOERR: "disk_error",
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_CANTOPEN: "disk_refused",
}


def disk_trouble(error: BaseException) -> str:
    """Why nothing can be written now; empty for a fault that will not pass. SQLAlchemy's errors name SQLite's."""
    code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0)
    key = _TROUBLES.get(code & 0xFF)
    return Sentence(key) if key else ""


@dataclass(slots=True)
class DiskWatch:
    """The last trouble that somebody had, of whatever thread."""

    _trouble: str = ""
    _at: float = -math.inf

    def is_passing(self, error: BaseException) -> bool:
        """Note a trouble; whether it is one, so that what failed is worth another try."""
        if trouble := disk_trouble(error):
            if trouble != self.trouble:
                logger.warning("nothing can be written down: %s", trouble)
            self._trouble, self._at = trouble, time.monotonic()
        return bool(trouble)

    @property
    def trouble(self) -> str:
        """What keeps everybody waiting, if anything does."""
        return self._trouble if time.monotonic() - self._at < RECENT else ""
