"""Answers that were rated down, and who has looked at them since. What people said stands in the log of questions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from core.conversation import value
from core.storage.database import AsyncDatabase

TABLES = (
    """CREATE TABLE IF NOT EXISTS page_feedback (  -- the questions whose answers somebody looked at
    turn TEXT PRIMARY KEY, done_at REAL NOT NULL, who TEXT NOT NULL
)""",
)


@value
class FeedbackMark:
    """Somebody is done with the feedback about an answer, as far as it was there by then."""

    done_at: float  #: seconds since the epoch
    who: str  #: the name of the session


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackMarks:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    now: Callable[[], float] = time.time

    async def all(self) -> dict[str, FeedbackMark]:
        """By the turn of the question."""
        rows = await self.database.rows("SELECT turn, done_at, who FROM page_feedback")
        return {turn: FeedbackMark(done_at=at, who=who) for turn, at, who in rows}

    async def mark(self, turn: str, who: str) -> None:
        await self.database.write(
            "INSERT INTO page_feedback (turn, done_at, who) VALUES (?, ?, ?)"
            " ON CONFLICT (turn) DO UPDATE SET done_at = excluded.done_at, who = excluded.who",
            (turn, self.now(), who),
        )

    async def reopen(self, turn: str) -> None:
        await self.database.write("DELETE FROM page_feedback WHERE turn = ?", (turn,))
