"""What people decided about gaps, by question, and which digests were shown. It holds no words of anybody.

Groups are made anew each time, so a decision is stored for each question that the group held: see
:func:`core.gaps.groups.state_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

from core.conversation import value
from core.storage.asynchronous import AsyncDatabase
from core.storage.schema import Schema
from core.storage.storage import Storage

STORE = "gaps"

_TABLES = """
CREATE TABLE IF NOT EXISTS gap_states (
    turn TEXT PRIMARY KEY,  -- of a question
    state TEXT NOT NULL,    -- ignored, asked or answered
    set_at REAL NOT NULL,   -- seconds since the epoch
    author TEXT NOT NULL,   -- who decided; empty: not known
    answer TEXT NOT NULL    -- id of the kept answer that answers it as long as it is used; empty: none
);
CREATE TABLE IF NOT EXISTS gap_digests (
    channel TEXT NOT NULL,  -- platform/space/channel
    week TEXT NOT NULL,     -- of ISO 8601, such as 2026-W47
    shown_at REAL NOT NULL,
    PRIMARY KEY (channel, week)
);
"""

SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away: gaps that were ignored, asked or answered are then open again, and nothing else is affected.",
)

#: "asked": experts were asked; "answered": somebody taught an answer.
GapState = Literal["ignored", "asked", "answered"]
STATES: tuple[GapState, ...] = get_args(GapState)

_MARK = (
    "INSERT INTO gap_states VALUES (?, ?, ?, ?, ?) ON CONFLICT (turn) DO UPDATE SET state = excluded.state,"
    " set_at = excluded.set_at, author = excluded.author, answer = excluded.answer"
)


@value
class GapMark:
    """What was decided about a question, and when."""

    state: GapState
    set_at: float
    author: str = ""  #: who decided; empty: not known
    answer: str = ""  #: id of the kept answer that answers it; empty: none


@dataclass(frozen=True, slots=True)
class GapStore:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase

    async def marks(self) -> dict[str, GapMark]:
        """By turn."""
        rows = await self.database.rows("SELECT turn, state, set_at, author, answer FROM gap_states")
        return {
            turn: GapMark(state=state, set_at=set_at, author=author, answer=answer)
            for turn, state, set_at, author, answer in rows
        }

    async def mark(
        self, turns: Iterable[str], state: GapState, *, author: str, at: float, answer: str = ""
    ) -> None:
        """Decide about these questions; the last decision counts."""
        await self.database.write_all(_MARK, [(turn, state, at, author, answer) for turn in turns])

    async def reopen(self, turns: Iterable[str]) -> None:
        """Nothing is decided about these any more."""
        await self.database.write_all("DELETE FROM gap_states WHERE turn = ?", [(turn,) for turn in turns])

    async def was_shown(self, channel: str, week: str) -> bool:
        """Whether the digest of a week was shown in a channel."""
        query = "SELECT 1 FROM gap_digests WHERE channel = ? AND week = ?"
        return bool(await self.database.rows(query, (channel, week)))

    async def note_shown(self, channel: str, week: str, at: float) -> None:
        await self.database.write(
            "INSERT INTO gap_digests VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (channel, week, at)
        )


@contextmanager
def open_gap_store(storage: Storage) -> Iterator[GapStore]:
    """Raises SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA) as database:
        yield GapStore(database)
