"""A file of SQLite in the data folder, read and written by several threads.

Its tables can be read as rows, and a file can be made of such rows.

One connection writes and another reads, each behind a lock: indexing never blocks a
question, and a reader sees a whole document or nothing of it.
"""

import logging
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from core.conversation import value
from core.errors import SettingsError, StoreUnavailable, reason_of
from core.storage.database import APPLICATION_ID, Dialect, Row, Schema, prepare

BUSY_TIMEOUT = 10.0  # seconds to wait for another writer

_TROUBLES = {
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full.",
    sqlite3.SQLITE_READONLY: "cannot be written: permission denied.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened.",
    sqlite3.SQLITE_IOERR: "cannot be used: the disk gave an error.",
    sqlite3.SQLITE_BUSY: "is being written by another program.",
    sqlite3.SQLITE_LOCKED: "is being written by another program.",
}
DAMAGE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})

logger = logging.getLogger(__name__)


class SqliteDatabase:
    """One file. Raises what the schema has for a damaged one, and VersionMismatch when another version of
    Footnote wrote it. ``is_read_only``: the file exists and has the newest version; nothing is created or
    changed. ``busy_timeout``: seconds to wait for another writer.
    """

    dialect: Dialect = "sqlite"

    def __init__(
        self, file: Path, schema: Schema, *, is_read_only: bool = False, busy_timeout: float = BUSY_TIMEOUT
    ) -> None:
        self._file, self._schema, self._mode = file, schema, "ro" if is_read_only else "rw"
        self._busy_timeout = busy_timeout
        self._read_lock, self._write_lock = threading.Lock(), threading.RLock()
        self._translating = partial(translate_errors, file, schema)
        if not is_read_only:
            try:  # for its owner alone; SQLite gives its other files the same mode
                file.touch(mode=0o600)
            except OSError as fault:
                raise SettingsError(f"{file} cannot be made: {reason_of(fault)}.") from fault
        with self._translating(), ExitStack() as opened:
            self._writing = opened.enter_context(closing(self._connect()))
            self._reading = opened.enter_context(closing(self._connect()))
            self._writing.execute("PRAGMA synchronous = NORMAL")
            self._writing.execute("PRAGMA foreign_keys = ON")
            self._writing.execute("PRAGMA secure_delete = ON")  # overwrites what is deleted
            prepare(self._writing, self._file, self._schema)
            self._reading.execute("PRAGMA query_only = ON")
            self._opened = opened.pop_all()

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            self._opened.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        with self._translating(), self._read_lock:
            return self._reading.execute(query, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._translating(), self._write_lock:
            if self._writing.in_transaction:
                yield self._writing
                return
            self._writing.execute("BEGIN IMMEDIATE")
            try:
                yield self._writing
                self._writing.execute("COMMIT")
            finally:
                if self._writing.in_transaction:
                    self._writing.execute("ROLLBACK")

    def erase_deleted(self, tables: Sequence[str]) -> None:  # noqa: ARG002 - SQLite overwrites what it deletes
        """Copy the write-ahead log into the file and empty it, unless another program is reading it."""
        with self._translating(), self._write_lock:
            ((is_busy, *_),) = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            logger.warning(
                "another program reads %s: until it ends, what was forgotten stays in the file", self._file
            )

    def _connect(self) -> sqlite3.Connection:
        uri, wait = f"{self._file.resolve().as_uri()}?mode={self._mode}", self._busy_timeout
        return sqlite3.connect(uri, uri=True, timeout=wait, check_same_thread=False, isolation_level=None)


@contextmanager
def translate_errors(file: Path, schema: Schema) -> Iterator[None]:
    """Turn SQLite's errors about the disk and the file into sentences; others are bugs and pass through."""
    try:
        yield
    except sqlite3.Error as trouble:
        code = getattr(trouble, "sqlite_errorcode", 0) & 0xFF  # the primary result code
        if code not in DAMAGE and code not in _TROUBLES:
            raise
        sentence = f"is damaged. {schema.cure}" if code in DAMAGE else _TROUBLES[code]
        logger.warning("%s %s (%s)", file, sentence, trouble)
        kind = schema.damage if code in DAMAGE else StoreUnavailable
        raise kind(f"{file} {sentence}") from trouble


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
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the moment begins with this read
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
    tables = []
    for name in names:
        own_columns = (column for _, column, *_ in database.execute(f'PRAGMA table_info("{name}")'))
        tables.append(StoredTable(name=name, columns=(*(["rowid"] if name in virtual else ()), *own_columns)))
    return StoredTables(version=version, statements=tuple(sql for *_, sql in own), tables=tuple(tables))


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
