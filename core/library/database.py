"""The library's SQLite file: its tables, and access to it from several threads.

One connection writes and another reads, each behind a lock: indexing never blocks a
question, and a reader sees a whole document or nothing of it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from core.errors import IndexDamaged, SettingsError, reason_of
from core.schema import Schema, prepare

BUSY_TIMEOUT = 10.0  # seconds to wait for another writer

#: The scope and the terms of every passage. The text is split into terms before it is inserted,
#: so the tokenizer only has to split at spaces.
WORDS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, title, body, tokenize = 'ascii')"

_TABLES = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections(number),
    address TEXT NOT NULL,  -- absolute path or URL
    root TEXT NOT NULL,     -- what was ingested: the folder, the file or the URL
    source TEXT NOT NULL,   -- how people name it
    title TEXT NOT NULL,
    url TEXT,
    hash TEXT NOT NULL,         -- sha256 of the bytes
    size INTEGER NOT NULL,      -- bytes
    modified INTEGER NOT NULL,  -- nanoseconds, as the file system says; 0 for URLs
    passages INTEGER NOT NULL,  -- how many it has
    UNIQUE (collection, address)
);
CREATE INDEX IF NOT EXISTS documents_counted ON documents (collection, passages);  -- before every search
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,  -- JSON list of headings
    location TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS passages_of ON passages (document, ordinal);
CREATE INDEX IF NOT EXISTS passages_embedded ON passages (embedded, id);
CREATE TABLE IF NOT EXISTS roots (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- an ingested folder or file, kept in step from then on
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS forgotten (
    collection TEXT NOT NULL, address TEXT NOT NULL,  -- below a root, and not to be read again
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS unreadable (
    collection TEXT NOT NULL, address TEXT NOT NULL, source TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (collection, address)
);
CREATE TABLE IF NOT EXISTS stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
{WORDS_TABLE};
"""

#: A change of these tables needs a migration. So does a change of what is stored for the same document:
#: how it is cut into passages, or which terms they have.
SCHEMA = Schema(tables=_TABLES)

_DAMAGED = "is damaged. Run `footnote ingest --rebuild` with your documents."
_TROUBLES = {
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full.",
    sqlite3.SQLITE_READONLY: "cannot be written: permission denied.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened.",
    sqlite3.SQLITE_IOERR: "cannot be used: the disk gave an error.",
    sqlite3.SQLITE_BUSY: "is being written by another program.",
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
}
DAMAGE = frozenset(code for code, sentence in _TROUBLES.items() if sentence == _DAMAGED)

logger = logging.getLogger(__name__)


class Database:
    """Queries and transactions; safe to share between threads.

    Raises SettingsError when the disk is at fault, IndexDamaged when the file is, and
    VersionMismatch when another version of Footnote wrote it. ``is_read_only``: the file exists and
    has the newest version; nothing is created or changed.
    """

    def __init__(self, file: Path, *, is_read_only: bool = False) -> None:
        self._file, self._mode = file, "ro" if is_read_only else "rw"
        self._read_lock, self._write_lock = threading.Lock(), threading.RLock()
        if not is_read_only:
            _make_private(file)
        with translate_errors(self._file), ExitStack() as opened:
            self._writing = opened.enter_context(closing(self._connect()))
            self._reading = opened.enter_context(closing(self._connect()))
            self._set_up()
            self._opened = opened.pop_all()

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            self._opened.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query, as of the last complete transaction."""
        with translate_errors(self._file), self._read_lock:
            return self._reading.execute(query, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the connection that writes; nested calls join the outer one."""
        with translate_errors(self._file), self._write_lock:
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

    def empty_log(self) -> None:
        """Copy the write-ahead log into the file and empty it, unless another program is reading it."""
        with translate_errors(self._file), self._write_lock:
            ((is_busy, *_),) = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            logger.warning(
                "another program reads %s: until it ends, what was forgotten stays in the file", self._file
            )

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self._file.resolve().as_uri()}?mode={self._mode}",
            uri=True,
            timeout=BUSY_TIMEOUT,
            check_same_thread=False,
            isolation_level=None,
        )

    def _set_up(self) -> None:
        self._writing.execute("PRAGMA synchronous = NORMAL")
        self._writing.execute("PRAGMA foreign_keys = ON")
        self._writing.execute("PRAGMA secure_delete = ON")  # overwrites what is deleted
        prepare(self._writing, self._file, SCHEMA)
        self._reading.execute("PRAGMA query_only = ON")


@contextmanager
def translate_errors(file: Path) -> Iterator[None]:
    """Turn SQLite's errors about the disk and the file into sentences; others are bugs and pass through."""
    try:
        yield
    except sqlite3.Error as trouble:
        code = getattr(trouble, "sqlite_errorcode", 0) & 0xFF  # the primary result code
        sentence = _TROUBLES.get(code)
        if sentence is None:
            raise
        logger.warning("%s %s (%s)", file, sentence, trouble)
        kind = IndexDamaged if code in DAMAGE else SettingsError
        raise kind(f"{file} {sentence}") from trouble


def _make_private(file: Path) -> None:
    """Create the file, for its owner alone; SQLite gives its other files the same mode."""
    try:
        file.touch(mode=0o600)
    except OSError as fault:
        raise SettingsError(f"{file} cannot be made: {reason_of(fault)}.") from fault
