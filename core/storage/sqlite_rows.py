"""The tables of a SQLite file as rows, and a file made of such rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.conversation import value
from core.storage.archive import Row
from core.storage.database import APPLICATION_ID

#: What a file may be made with: statements from an archive can do nothing else.
_MAKES = re.compile(r"\s*CREATE\s+(?:TABLE|(?:UNIQUE\s+)?INDEX|VIRTUAL\s+TABLE)\s", re.IGNORECASE)
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\s", re.IGNORECASE)
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")  # of FTS5, which makes them itself
_COUNTS = re.compile(r"\bUSING\s+fts5vocab\b", re.IGNORECASE)  # what another table holds, counted
SEQUENCES = "sqlite_sequence"  # the last ids of AUTOINCREMENT, which are never given twice


@value
class StoredTable:
    """``columns`` holds ``rowid`` where the table has an id that no column shows."""

    name: str
    columns: tuple[str, ...]


@value
class StoredTables:
    """The tables of a file, as of one moment."""

    version: int
    statements: tuple[str, ...]  #: of its tables and indexes
    tables: tuple[StoredTable, ...]


@contextmanager
def read_only(file: Path) -> Iterator[sqlite3.Connection]:
    """The file as of now: what others write meanwhile is not seen, and nobody waits."""
    uri = f"{file.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as database:
        database.execute("BEGIN")
        database.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # the moment begins with the first read
        yield database


def describe(database: sqlite3.Connection) -> StoredTables:
    ((version,),) = database.execute("PRAGMA user_version")
    made = database.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('table', 'index') ORDER BY rowid"
    ).fetchall()
    virtual = {name for kind, name, _, sql in made if kind == "table" and sql and _VIRTUAL.match(sql)}
    shadows = {f"{name}{ending}" for name in virtual for ending in _SHADOWS}
    own = [row for row in made if row[2] not in shadows and not row[1].startswith("sqlite_") and row[3]]
    names = [name for kind, name, _, sql in own if kind == "table" and not _COUNTS.search(sql)]
    if any(name == SEQUENCES for _, name, _, _ in made):
        names.append(SEQUENCES)
    tables = tuple(
        StoredTable(name=name, columns=_columns(database, name, has_rowid=name in virtual)) for name in names
    )
    return StoredTables(version=version, statements=tuple(sql for *_, sql in own), tables=tables)


def rows_of(database: sqlite3.Connection, table: StoredTable) -> Iterator[Row]:
    names = ", ".join(f'"{name}"' for name in table.columns)
    found: Iterator[Row] = database.execute(f'SELECT {names} FROM "{table.name}"')
    return found


def make_file(file: Path, tables: StoredTables, rows: Iterable[tuple[StoredTable, Iterable[Row]]]) -> None:
    """A file of Footnote with these tables. ValueError for a statement that makes no table and no index."""
    file.touch(mode=0o600)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        for statement in tables.statements:
            if not _MAKES.match(statement):
                raise ValueError("a statement makes neither a table nor an index")
            database.execute(statement)
        for table, found in rows:
            if table.name == SEQUENCES:
                database.execute(f"DELETE FROM {SEQUENCES}")
            names = ", ".join(f'"{name}"' for name in table.columns)
            marks = ", ".join("?" * len(table.columns))
            database.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})', found)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {int(tables.version)}")
        database.execute("COMMIT")


def _columns(database: sqlite3.Connection, name: str, *, has_rowid: bool) -> tuple[str, ...]:
    own = tuple(column for _, column, *_ in database.execute(f'PRAGMA table_info("{name}")'))
    return ("rowid", *own) if has_rowid else own
