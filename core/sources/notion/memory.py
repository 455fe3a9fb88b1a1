"""The memory of the reader of Notion: which pages there were, their titles, what lies within them, and their files.

Notion's search does not promise to list everything, and tells of no deletion. So pages that were listed before and are
not now are asked for one by one, and pages that others name are looked for. It lies in the source's folder, and may
vanish: then what the search leaves out is not missed until it lists it again, and each page is read again, by which
its files are found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.conversation import value
from core.sources.notion.page import NotionFile
from core.sources.source import Memory
from core.storage.database import Connection

_TABLES = """
CREATE TABLE IF NOT EXISTS pages (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    is_item INTEGER NOT NULL  -- 1: it belongs to the source, 0: its title alone is of use
);
CREATE TABLE IF NOT EXISTS children (  -- pages and databases that a page names where they lie in it
    page TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (page, id)
);
"""
_FILES = """
CREATE TABLE IF NOT EXISTS files (
    page TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL,
    block TEXT NOT NULL,  -- in which it lies; empty: in a property of the page
    PRIMARY KEY (page, key)
);
"""
_ROW_LISTS = """
CREATE TABLE IF NOT EXISTS row_lists (  -- of data sources; seconds since the epoch, by Notion's clock
    data_source TEXT PRIMARY KEY,
    full_at REAL NOT NULL,  -- when all rows were listed last
    read_at REAL NOT NULL   -- when rows were listed last that had been added
);
"""
_MARK = """
CREATE TABLE IF NOT EXISTS marks (mark TEXT NOT NULL);  -- one row, which tells this memory from one made anew
"""


ChildKind = Literal["page", "database"]


@value
class RowList:
    """The times at which rows of a data source were listed, in seconds since the epoch, by Notion's clock."""

    full_at: float  #: all of them
    read_at: float  #: all, or those that were added since


@dataclass(frozen=True, slots=True)
class NotionMemory(Memory):
    """Pages, what lies within them, and the rows of data sources."""

    FILE = "notion.db"
    TABLES = _TABLES + _FILES + _ROW_LISTS + _MARK

    def keep(self, titles: Mapping[str, str], *, are_items: bool) -> None:
        """Remember pages by their IDs; one that is an item stays one."""
        self.write_all(
            "INSERT INTO pages VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title,"
            " is_item = max(is_item, excluded.is_item)",
            ((page, title, int(are_items)) for page, title in titles.items()),
        )

    def items(self) -> frozenset[str]:
        """The pages that belonged to the source."""
        return frozenset(
            str(page) for (page,) in self.database.rows("SELECT id FROM pages WHERE is_item = 1")
        )

    def titles(self, pages: Iterable[str]) -> dict[str, str]:
        """The titles of those of these pages that are remembered."""
        rows = self.among("SELECT id, title FROM pages WHERE id IN {}", pages)
        return {str(page): str(title) for page, title in rows}

    def keep_children(self, page: str, children: Mapping[str, ChildKind]) -> None:
        """Remember what lies within a page."""
        with self.database.transaction() as writing:
            writing.execute("DELETE FROM children WHERE page = ?", (page,))
            writing.executemany(
                "INSERT INTO children VALUES (?, ?, ?)",
                ((page, child, kind) for child, kind in children.items()),
            )

    def keep_files(self, page: str, files: Iterable[NotionFile]) -> None:
        """Remember which files lie in the blocks of a page."""
        with self.database.transaction() as writing:
            writing.execute("DELETE FROM files WHERE page = ? AND block <> ''", (page,))
            _insert(writing, page, files)

    def keep_row_files(self, files: Mapping[str, Iterable[NotionFile]]) -> None:
        """Remember which files lie in properties, by page."""
        with self.database.transaction() as writing:
            for page, each in files.items():
                writing.execute("DELETE FROM files WHERE page = ? AND block = ''", (page,))
                _insert(writing, page, each)

    def files(self, pages: Iterable[str]) -> dict[str, list[NotionFile]]:
        """The files of these pages."""
        found = dict[str, list[NotionFile]]()
        query = "SELECT page, key, name, block FROM files WHERE page IN {} ORDER BY rowid"
        for page, key, name, block in self.among(query, pages):
            found.setdefault(page, []).append(NotionFile(key=key, name=name, block=block))
        return found

    def keep_row_lists(self, lists: Mapping[str, RowList]) -> None:
        """Remember when rows were listed, by data source."""
        self.write_all(
            "INSERT OR REPLACE INTO row_lists VALUES (?, ?, ?)",
            ((data_source, each.full_at, each.read_at) for data_source, each in lists.items()),
        )

    def row_list(self, data_source: str) -> RowList | None:
        """The last listing of a data source's rows; None if there was none."""
        rows = self.database.rows(
            "SELECT full_at, read_at FROM row_lists WHERE data_source = ?", (data_source,)
        )
        return RowList(full_at=rows[0][0], read_at=rows[0][1]) if rows else None

    def mark(self) -> str:
        """The same as long as this memory is there."""
        with self.database.transaction() as writing:
            rows = list(writing.execute("SELECT mark FROM marks"))
            if not rows:
                rows = [(secrets.token_hex(4),)]
                writing.execute("INSERT INTO marks VALUES (?)", rows[0])
        return str(rows[0][0])

    def children(self, kind: ChildKind) -> frozenset[str]:
        """The pages or databases within any page."""
        rows = self.database.rows("SELECT id FROM children WHERE kind = ?", (kind,))
        return frozenset(str(child) for (child,) in rows)

    def forget(self, pages: Iterable[str]) -> None:
        """Pages that are gone."""
        with self.database.transaction() as writing:
            for page in pages:
                writing.execute("DELETE FROM pages WHERE id = ?", (page,))
                writing.execute("DELETE FROM children WHERE page = ?", (page,))
                writing.execute("DELETE FROM files WHERE page = ?", (page,))


def _insert(writing: Connection, page: str, files: Iterable[NotionFile]) -> None:
    writing.executemany(
        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
        ((page, each.key, each.name, each.block) for each in files),
    )
