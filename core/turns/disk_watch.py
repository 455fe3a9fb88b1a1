"""Errors of the disk, or of the way to the database, that pass: writing is retried meanwhile, and people learn why they wait."""

from __future__ import annotations

import logging
import math
import sqlite3
import sys
import time
from dataclasses import dataclass

from core.errors import causes
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
    """Why nothing can be written now; empty for an error that will not pass. Other libraries wrap such errors."""
    key = next(filter(None, map(_key, causes(error))), None)
    return Sentence(key) if key else ""


def _key(error: BaseException) -> str | None:
    if code := getattr(error, "sqlite_errorcode", 0):
        return _TROUBLES.get(code & 0xFF)
    psycopg = sys.modules.get("psycopg")  # without it, no error is of it
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    if state := _STATES.get(error.sqlstate or ""):
        return state
    is_away = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return "store_away" if is_away else None


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
