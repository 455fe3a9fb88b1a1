"""The record of changes on the page: who did what to what, when, and how it was before.

It holds no words of questions, answers and documents, so that it stays when these are forgotten; the history of an
answer has its words.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import uuid4

from core.conversation import value
from core.storage.database import AsyncDatabase, Row

TABLES = (
    """CREATE TABLE IF NOT EXISTS page_changes (
    id TEXT PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, session TEXT NOT NULL, did TEXT NOT NULL,
    about TEXT NOT NULL, path TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
    collections TEXT NOT NULL  -- that it concerns: a JSON list, or null for all
)""",
    "CREATE INDEX IF NOT EXISTS page_changes_by_time ON page_changes (at, id)",
)
_COLUMNS = "at, who, session, did, about, path, before, after, collections, id"


@value
class PageChange:
    """One change."""

    at: float  #: seconds since the epoch
    who: str  #: the name of the session
    session: str  #: its id
    did: str  #: a verb, as in "retired an answer"
    about: str  #: what it is called
    path: str  #: where it is on the page; empty: nowhere any more
    before: str
    after: str
    collections: frozenset[str] | None  #: that it concerns; None: all of them
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChanges:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    now: Callable[[], float] = time.time

    async def record(
        self, did: str, about: str, *, who: str, session: str, path: str = "", before: str = "", after: str = "",
        collections: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        held = json.dumps(None if collections is None else sorted(collections))
        await self.database.write(
            f"INSERT INTO page_changes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.now(), who, session, did, about, path, before, after, held, uuid4().hex),
        )

    async def listed(self, *, before: tuple[float, str] | None = None, limit: int) -> tuple[PageChange, ...]:
        """The newest first; ``before``: the time and the id of the last one that was shown."""
        at, last = before or (float("inf"), "")
        rows = await self.database.rows(
            f"SELECT {_COLUMNS} FROM page_changes WHERE at < ? OR (at = ? AND id < ?)"
            " ORDER BY at DESC, id DESC LIMIT ?",
            (at, at, last, limit),
        )
        return tuple(map(_change, rows))


def _change(row: Row) -> PageChange:
    at, who, session, did, about, path, before, after, held, own = row
    collections = json.loads(held)
    return PageChange(
        at=at, who=who, session=session, did=did, about=about, path=path, before=before, after=after,
        collections=None if collections is None else frozenset(collections), id=own,
    )  # fmt: skip
