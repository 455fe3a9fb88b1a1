"""The e-mail addresses of people whom Confluence was asked about, so that it is asked once a day and not at each sync.

They lie in the source's folder, and may vanish: then they are asked for again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.sources.memory import open_memory_file
from core.storage.database import Database
from core.storage.schema import Schema

FILE = "confluence.db"
KEPT = 86_400.0  # seconds

_TABLES = """
CREATE TABLE IF NOT EXISTS people (
    id TEXT PRIMARY KEY,
    email TEXT,  -- empty: hidden; NULL: an app
    asked_at REAL NOT NULL
);
"""
SCHEMA = Schema(tables=_TABLES, cure="Delete it: it is made anew.")


@dataclass(frozen=True, slots=True)
class PeopleMemory:
    """Reads and writes the table. Every method blocks."""

    database: Database

    def emails(self, now: float) -> dict[str, str | None]:
        """By account id or name: those that were asked for within a day. A time to come counts as long ago."""
        rows = self.database.rows(
            "SELECT id, email FROM people WHERE asked_at > ? AND asked_at <= ?", (now - KEPT, now)
        )
        return {str(user): None if email is None else str(email) for user, email in rows}

    def keep(self, emails: Mapping[str, str | None], now: float) -> None:
        """Those that were asked for now; what is older than a day goes."""
        with self.database.transaction() as writing:
            writing.executemany(
                "INSERT OR REPLACE INTO people VALUES (?, ?, ?)",
                ((user, email, now) for user, email in emails.items()),
            )
            writing.execute("DELETE FROM people WHERE asked_at <= ? OR asked_at > ?", (now - KEPT, now))


@contextmanager
def open_people(folder: Path) -> Iterator[PeopleMemory]:
    with open_memory_file(folder / FILE, SCHEMA) as database:
        yield PeopleMemory(database)
