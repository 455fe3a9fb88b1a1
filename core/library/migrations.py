"""Migrations: the file of an older version is brought up to this one, in one transaction.

Killed in the middle, it is as it was, and the next start begins again. First its tables go
from version to version, by steps that are never changed once they are out; then what was
made of the passages by other code is made anew. Passages themselves, their vectors and all
that was said of places stay; files whose cutting changed are read again by the next sync.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import Literal, NamedTuple

from core.library.catalogue import INDEX_VERSION
from core.library.database import BUSY_TIMEOUT, SCHEMA_VERSION, troubles_told
from core.library.lexical import enter_all

Age = Literal["older", "ours", "newer"]

logger = logging.getLogger(__name__)

MANY = 5_000  # passages of which a person is told, since to enter their words takes seconds

#: Files are read again by the next sync, which finds them changed; pages of the web stay as they were cut.
_READ_AGAIN = "UPDATE documents SET hash = '', modified = -1 WHERE modified > 0"

#: By the ``user_version`` of a file: what brings its tables to the next. Steps are added, never changed.
STEPS: Mapping[int, Sequence[str]] = {
    0: (
        "ALTER TABLE documents ADD COLUMN passages INTEGER NOT NULL DEFAULT 0",
        "UPDATE documents SET passages = (SELECT count(*) FROM passages p WHERE p.document = documents.id)",
        "DROP INDEX IF EXISTS passages_pending",
        "CREATE INDEX passages_embedded ON passages (embedded, id)",
        "ALTER TABLE roots RENAME COLUMN path TO address",
        "CREATE TABLE forgotten (collection TEXT NOT NULL, address TEXT NOT NULL, PRIMARY KEY (collection, address))",
        """CREATE TABLE unreadable (
            collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
            size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
            PRIMARY KEY (collection, address)
        )""",
    ),
    1: (  # under this number documents came to be cut otherwise, and some files have the index already
        "CREATE INDEX IF NOT EXISTS documents_counted ON documents (collection, passages)",
        _READ_AGAIN,
    ),
}


class Built(NamedTuple):
    """What an index was built by, in the order of INDEX_VERSION; the first did not say all."""

    schema: int = 0
    chunker: int = 0
    terms: int = 0
    lexical: int = 0

    @classmethod
    def parse(cls, index_version: str) -> Built | None:
        """None for what no version up to this one has written."""
        try:
            return cls(*map(int, index_version.split(".")))
        except (ValueError, TypeError):
            return None


def age_of(index_version: str) -> Age:
    """Of an index that says it was built by this version: newer where any part of it is."""
    built = Built.parse(index_version)
    if built is None or any(theirs > own for theirs, own in zip(built, OURS, strict=True)):
        return "newer"
    return "ours" if built == OURS else "older"


def is_older(file: Path) -> bool:
    """Whether a file needs to be brought up. SettingsError when it cannot be read."""
    try:
        if not file.stat().st_size:
            return False
    except OSError:
        return False
    with troubles_told(file), closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT)) as connection:
        return _is_older(connection)


def bring_up(file: Path, *, announce: Callable[[str], None]) -> None:
    """Bring an older file up to this version. The caller owns the data folder.

    SettingsError when the disk refuses; the file is then as it was.
    """
    with (
        troubles_told(file),
        closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT, isolation_level=None)) as writing,
    ):
        writing.execute("PRAGMA secure_delete = ON")
        writing.execute("BEGIN IMMEDIATE")
        if _is_older(writing):  # else another process was quicker
            _renew(writing, announce)
            logger.info("%s was brought up to index version %s", file, INDEX_VERSION)
        writing.execute("COMMIT")
        writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _renew(writing: Connection, announce: Callable[[str], None]) -> None:
    ((passages,),) = writing.execute("SELECT count(*) FROM passages")
    if passages > MANY:
        announce(f"Bringing the index up to this version of Footnote: {passages:,} passages, only this once.")
    built = Built.parse(_built_by(writing) or "") or Built()
    for version in range(_version(writing), SCHEMA_VERSION):
        for statement in STEPS[version]:
            writing.execute(statement)
    if built.chunker < OURS.chunker:
        writing.execute(_READ_AGAIN)
    enter_all(writing)
    writing.execute("INSERT OR REPLACE INTO meta VALUES ('index_version', ?)", (INDEX_VERSION,))
    writing.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _is_older(connection: Connection) -> bool:
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'documents'")
    if not tables or (version := _version(connection)) > SCHEMA_VERSION:
        return False
    built = _built_by(connection)
    return version < SCHEMA_VERSION or (built is not None and age_of(built) == "older")


def _version(connection: Connection) -> int:
    ((version,),) = connection.execute("PRAGMA user_version")
    return int(version)


def _built_by(connection: Connection) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = 'index_version'").fetchone()
    return None if row is None else str(row[0])


OURS = Built.parse(INDEX_VERSION) or Built()
