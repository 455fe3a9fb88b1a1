"""The lists of issues that GitHub sent last, so that it need not send them again, and until when comments were read.

It holds titles and marks of versions, and lies in the source's folder. It may vanish: what was said anew since the last
sync, in issues that did not change themselves, is missed then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.sources.memory import open_memory_file
from core.storage.database import Database
from core.storage.schema import Schema

if TYPE_CHECKING:
    from core.sources.github.client import Cached

FILE = "github.db"

_TABLES = """
CREATE TABLE IF NOT EXISTS lists (
    url TEXT PRIMARY KEY, etag TEXT, modified TEXT,
    entries TEXT NOT NULL,  -- JSON list
    more TEXT               -- the URL where the list goes on
);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
SCHEMA = Schema(tables=_TABLES, cure="Delete it: it is made anew.")


@dataclass(frozen=True, slots=True)
class ListMemory:
    """Reads and writes the table. Every method blocks."""

    database: Database

    def lists(self) -> dict[str, Cached]:
        rows = self.database.rows("SELECT url, etag, modified, entries, more FROM lists")
        return {
            url: (etag, modified, json.loads(entries), more) for url, etag, modified, entries, more in rows
        }

    def keep(self, lists: Mapping[str, Cached]) -> None:
        with self.database.transaction() as writing:
            writing.executemany(
                "INSERT OR REPLACE INTO lists VALUES (?, ?, ?, ?, ?)",
                (
                    (url, etag, modified, json.dumps(entries), more)
                    for url, (etag, modified, entries, more) in lists.items()
                ),
            )

    def forget(self, urls: Iterable[str]) -> None:
        with self.database.transaction() as writing:
            writing.executemany("DELETE FROM lists WHERE url = ?", ((url,) for url in urls))

    def note(self, name: str, text: str) -> None:
        with self.database.transaction() as writing:
            writing.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, text))

    def noted(self, name: str) -> str:
        """Empty if nothing was."""
        rows = self.database.rows("SELECT value FROM notes WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""


@contextmanager
def open_memory(folder: Path) -> Iterator[ListMemory]:
    with open_memory_file(folder / FILE, SCHEMA) as database:
        yield ListMemory(database)
