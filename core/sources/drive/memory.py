"""The memory of the reader of Google Drive: the tree that it saw, and where the logs of changes go on.

It is written after the engine took what follows from it, never before: a sync that was cut off sees the same changes
again. It holds names and addresses of people who may read, no text. It lies in the source's folder, and may vanish:
then everything is listed anew, and what did not change is not read again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.conversation import value
from core.sources.drive.files import DriveAccess, DriveFile
from core.sources.source import Memory

_TABLES = """
CREATE TABLE IF NOT EXISTS nodes (id TEXT PRIMARY KEY, file TEXT NOT NULL);  -- JSON
CREATE TABLE IF NOT EXISTS logs (
    drive TEXT PRIMARY KEY,  -- a shared drive; empty: the log of the account
    token TEXT NOT NULL      -- where it goes on
);
CREATE TABLE IF NOT EXISTS listed (part TEXT PRIMARY KEY);  -- of the full listing, that need not be listed again
CREATE TABLE IF NOT EXISTS doubts (id TEXT PRIMARY KEY);  -- files that had other readers than the tree has
CREATE TABLE IF NOT EXISTS progress (
    name TEXT PRIMARY KEY,  -- name: of this listing and what follows; step: how often this was written; handed: the
    value TEXT NOT NULL     -- step that the engine was told; note: sentences for the operator
);
"""


@value
class DriveProgress:
    """The progress of reading a source."""

    name: str = ""
    step: int = 0
    handed: int = 0
    note: str = ""

    def knows(self, cursor: str) -> bool:
        """True if the engine is here, or took one step that was not written any more."""
        return cursor in {f"{self.name}/{self.step}", f"{self.name}/{self.handed}"}


@dataclass(frozen=True, slots=True)
class DriveMemory(Memory):
    """The tree, the logs, and how far both were read."""

    FILE = "drive.db"
    TABLES = _TABLES

    def progress(self) -> DriveProgress:
        found: dict[str, str] = dict(self.database.rows("SELECT name, value FROM progress"))
        return DriveProgress(
            name=str(found.get("name", "")),
            step=int(found.get("step", 0)),
            handed=int(found.get("handed", 0)),
            note=str(found.get("note", "")),
        )

    def nodes(self) -> dict[str, DriveFile]:
        rows = self.database.rows("SELECT id, file FROM nodes ORDER BY rowid")
        return {str(file_id): _node(json.loads(text)) for file_id, text in rows}

    def is_empty(self) -> bool:
        return not self.database.rows("SELECT 1 FROM nodes LIMIT 1")

    def tokens(self) -> dict[str, str]:
        """The tokens where logs go on, by shared drive; the account's own comes first."""
        return dict(self.database.rows("SELECT drive, token FROM logs ORDER BY drive"))

    def listed(self) -> set[str]:
        return {str(part) for (part,) in self.database.rows("SELECT part FROM listed")}

    def begin(self, tokens: Mapping[str, str], nodes: Iterable[DriveFile]) -> None:
        """Forget everything but these."""
        with self.database.transaction():
            for table in ("nodes", "logs", "listed", "doubts", "progress"):
                self.write(f"DELETE FROM {table}")
            self.write("INSERT INTO progress VALUES ('name', ?)", (secrets.token_hex(8),))
        self.save(step=0, nodes=nodes, tokens=tokens)

    def doubts(self) -> list[str]:
        return [str(file_id) for (file_id,) in self.database.rows("SELECT id FROM doubts ORDER BY id")]

    def doubt(self, file_id: str) -> None:
        """Note that the engine is told other readers of a file than the tree has."""
        self.write("INSERT OR IGNORE INTO doubts VALUES (?)", (file_id,))

    def hand(self, step: int) -> None:
        """Note that the engine is told a step."""
        self.write("INSERT OR REPLACE INTO progress VALUES ('handed', ?)", (str(step),))

    def save(
        self,
        *,
        step: int,
        nodes: Iterable[DriveFile] = (),
        gone: Iterable[str] = (),
        tokens: Mapping[str, str] | None = None,
        listed: Iterable[str] = (),
        settled: Iterable[str] = (),
        note: str | None = None,
    ) -> None:
        """Write what the engine took. ``tokens``: all that are followed from now on; None: as before."""
        with self.database.transaction() as writing:
            writing.executemany(
                "INSERT INTO nodes VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET file = excluded.file",
                ((node.id, json.dumps(_row(node))) for node in nodes),
            )
            writing.executemany("DELETE FROM nodes WHERE id = ?", ((file_id,) for file_id in gone))
            writing.executemany("INSERT OR IGNORE INTO listed VALUES (?)", ((part,) for part in listed))
            writing.executemany("DELETE FROM doubts WHERE id = ?", ((file_id,) for file_id in settled))
            if tokens is not None:
                writing.execute("DELETE FROM logs")
                writing.executemany("INSERT INTO logs VALUES (?, ?)", tokens.items())
            if note is not None:
                writing.execute("INSERT OR REPLACE INTO progress VALUES ('note', ?)", (note,))
            for name in ("step", "handed"):
                writing.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (name, str(step)))


def _row(node: DriveFile) -> dict[str, Any]:
    row = asdict(node)
    if node.access is not None and node.access.readers is not None:
        row["access"]["readers"] = sorted(node.access.readers)
    return row


def _node(row: dict[str, Any]) -> DriveFile:
    access = row["access"]
    if access is not None:
        readers = access["readers"]
        access = DriveAccess(readers=None if readers is None else frozenset(readers), gap=access["gap"])
    return DriveFile(**{**row, "access": access})
