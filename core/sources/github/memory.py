"""The lists of issues that GitHub sent last, so that it need not send them again, and until when comments were read.

It holds titles and marks of versions, and lies in the source's folder. It may vanish: what was said anew since the last
sync, in issues that did not change themselves, is missed then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.sources.memory import Memory

if TYPE_CHECKING:
    from core.sources.github.client import Cached


_TABLES = """
CREATE TABLE IF NOT EXISTS lists (
    url TEXT PRIMARY KEY, etag TEXT, modified TEXT,
    entries TEXT NOT NULL,  -- JSON list
    more TEXT               -- the URL where the list goes on
);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class ListMemory(Memory):
    """Lists by their URLs, and notes."""

    FILE = "github.db"
    TABLES = _TABLES

    def lists(self) -> dict[str, Cached]:
        rows = self.database.rows("SELECT url, etag, modified, entries, more FROM lists")
        return {
            url: (etag, modified, json.loads(entries), more) for url, etag, modified, entries, more in rows
        }

    def keep(self, lists: Mapping[str, Cached]) -> None:
        self.write_all(
            "INSERT OR REPLACE INTO lists VALUES (?, ?, ?, ?, ?)",
            (
                (url, etag, modified, json.dumps(entries), more)
                for url, (etag, modified, entries, more) in lists.items()
            ),
        )

    def forget(self, urls: Iterable[str]) -> None:
        self.write_all("DELETE FROM lists WHERE url = ?", ((url,) for url in urls))

    def note(self, name: str, text: str) -> None:
        self.write("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, text))

    def noted(self, name: str) -> str:
        """Empty if nothing was."""
        rows = self.database.rows("SELECT value FROM notes WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""
