"""The catalogue: which documents are indexed, their passages, and the lexical index over them.

One SQLite file, ``library.sqlite``. Passages are searched with FTS5 over the terms of
:mod:`core.text.terms`; the collection is a term of its own inside the FTS query, so a
passage of another collection is never a candidate.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.library.chunk import CHUNKER_VERSION, Piece
from core.library.documents import Passage, Scope
from core.text.terms import TERMS_VERSION, terms

SCHEMA_VERSION = "1"
INDEX_VERSION = f"{SCHEMA_VERSION}.{CHUNKER_VERSION}.{TERMS_VERSION}"

TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body
BUSY_TIMEOUT = 10.0  # seconds another writer may hold the file

_SCHEMA = """
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
    hash TEXT NOT NULL,     -- sha256 of the bytes
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,  -- nanoseconds, as the file system says; 0 for URLs
    UNIQUE (collection, address)
);
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
CREATE INDEX IF NOT EXISTS passages_pending ON passages (id) WHERE embedded = 0;
CREATE TABLE IF NOT EXISTS roots (
    collection TEXT NOT NULL, path TEXT NOT NULL,  -- an ingested folder or file, kept in step from then on
    PRIMARY KEY (collection, path)
);
CREATE TABLE IF NOT EXISTS stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, title, body, tokenize = 'unicode61 remove_diacritics 0');
"""

_PASSAGE = """
SELECT p.id, c.name, d.source, d.title, p.path, p.location, p.text, p.start, p."end", d.url
FROM passages p JOIN documents d ON d.id = p.document JOIN collections c ON c.number = d.collection
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document as the catalogue lists it."""

    id: int
    collection: str
    address: str
    root: str
    source: str
    title: str
    url: str | None
    hash: str
    size: int
    modified: int
    passages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document about to be written with its pieces."""

    collection: str
    address: str
    root: str
    source: str
    title: str
    url: str | None
    hash: str
    size: int
    modified: int
    pieces: Sequence[Piece]


class Catalogue:
    """Reads and writes ``library.sqlite``; safe to share between threads."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            file, timeout=BUSY_TIMEOUT, check_same_thread=False, isolation_level=None
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # What is indexed

    def entries(self, *, collection: str | None = None) -> list[Entry]:
        """All documents, or those of one collection, in order of their source."""
        rows = self._rows(
            "SELECT d.id, c.name, d.address, d.root, d.source, d.title, d.url, d.hash, d.size, d.modified,"
            " (SELECT count(*) FROM passages p WHERE p.document = d.id)"
            " FROM documents d JOIN collections c ON c.number = d.collection"
            " WHERE ?1 IS NULL OR c.name = ?1 ORDER BY c.name, d.source",
            (collection,),
        )
        names = (
            "id",
            "collection",
            "address",
            "root",
            "source",
            "title",
            "url",
            "hash",
            "size",
            "modified",
            "passages",
        )
        return [Entry(**dict(zip(names, row, strict=True))) for row in rows]

    def roots(self) -> list[tuple[str, str]]:
        """(collection, path) of everything that is kept in step with the disk."""
        return [(str(c), str(p)) for c, p in self._rows("SELECT collection, path FROM roots ORDER BY 1, 2")]

    def add_root(self, collection: str, path: str) -> None:
        with self.transaction():
            self._connection.execute("INSERT OR IGNORE INTO roots VALUES (?, ?)", (collection, path))

    def drop_root(self, collection: str, path: str) -> None:
        with self.transaction():
            self._connection.execute(
                "DELETE FROM roots WHERE collection = ? AND path = ?", (collection, path)
            )

    def collections(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._rows("SELECT name FROM collections"))

    def count_passages(self, scope: Scope) -> int:
        where, values = _scope_condition(scope)
        ((count,),) = self._rows(
            "SELECT count(*) FROM passages p JOIN documents d ON d.id = p.document"
            f" JOIN collections c ON c.number = d.collection WHERE {where}",
            values,
        )
        return int(count)

    def ids(self, scope: Scope, *, limit: int) -> dict[str, list[str]]:
        """Passage ids of a scope by collection, at most ``limit`` of them."""
        where, values = _scope_condition(scope)
        found: dict[str, list[str]] = {}
        for passage, collection in self._rows(
            "SELECT p.id, c.name FROM passages p JOIN documents d ON d.id = p.document"
            f" JOIN collections c ON c.number = d.collection WHERE {where} LIMIT ?",
            (*values, limit),
        ):
            found.setdefault(collection, []).append(str(passage))
        return found

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; nested calls join the outer one."""
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def put(self, document: NewDocument) -> None:
        """Write a document and its passages in place of an older version."""
        with self.transaction():
            self.remove(document.collection, document.address)
            number = self._collection_number(document.collection)
            row = self._connection.execute(
                "INSERT INTO documents (collection, address, root, source, title, url, hash, size, modified)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number, document.address, document.root, document.source, document.title, document.url,
                    document.hash, document.size, document.modified,
                ),
            )  # fmt: skip
            for ordinal, piece in enumerate(document.pieces):
                self._put_piece(int(row.lastrowid or 0), number, document.title, ordinal, piece)

    def touch(self, entry_id: int, *, modified: int, size: int, root: str, source: str) -> None:
        """The bytes are the same, but not their date or the folder they were found under."""
        with self.transaction():
            self._connection.execute(
                "UPDATE documents SET modified = ?, size = ?, root = ?, source = ? WHERE id = ?",
                (modified, size, root, source, entry_id),
            )

    def remove(self, collection: str, address: str) -> int:
        """Forget one document; the number of passages that went with it."""
        with self.transaction():
            rows = self._rows(
                "SELECT p.id, d.collection FROM passages p JOIN documents d ON d.id = p.document"
                " JOIN collections c ON c.number = d.collection WHERE c.name = ? AND d.address = ?",
                (collection, address),
            )
            self._connection.executemany("DELETE FROM words WHERE rowid = ?", ((p,) for p, _ in rows))
            self._connection.executemany("INSERT OR IGNORE INTO stale_vectors VALUES (?, ?)", rows)
            self._connection.execute(
                "DELETE FROM documents WHERE address = ?"
                " AND collection = (SELECT number FROM collections WHERE name = ?)",
                (address, collection),
            )
        return len(rows)

    def _put_piece(self, document: int, collection: int, title: str, ordinal: int, piece: Piece) -> None:
        row = self._connection.execute(
            'INSERT INTO passages (document, ordinal, path, location, text, start, "end") VALUES (?, ?, ?, ?, ?, ?, ?)',
            (document, ordinal, json.dumps(piece.path), piece.location, piece.text, piece.start, piece.end),
        )
        headings = terms(" ".join(dict.fromkeys((title, *piece.path))))
        self._connection.execute(
            "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
            (row.lastrowid, _scope_term(collection), " ".join(headings), " ".join(terms(piece.text))),
        )

    def _collection_number(self, name: str) -> int:
        self._connection.execute("INSERT OR IGNORE INTO collections (name) VALUES (?)", (name,))
        ((number,),) = self._rows("SELECT number FROM collections WHERE name = ?", (name,))
        return int(number)

    # Searching

    def search(self, words: Sequence[str], scope: Scope, *, limit: int) -> list[tuple[str, float]]:
        """(passage id, BM25) of the best passages with any of the terms, best first."""
        match = self._match(words, scope)
        if match is None:
            return []
        where, values = _scope_condition(scope)
        rows = self._rows(
            "SELECT w.rowid, -bm25(words, 0.0, ?, 1.0) AS weight FROM words w"
            " JOIN passages p ON p.id = w.rowid JOIN documents d ON d.id = p.document"
            " JOIN collections c ON c.number = d.collection"
            f" WHERE words MATCH ? AND {where} ORDER BY weight DESC, w.rowid LIMIT ?",
            (TITLE_WEIGHT, match, *values, limit),
        )
        return [(str(passage), float(weight)) for passage, weight in rows]

    def document_frequencies(self, words: Sequence[str], scope: Scope) -> dict[str, int]:
        """In how many passages of the scope each term occurs."""
        where, values = _scope_condition(scope)
        found = {}
        for word in words:
            match = self._match([word], scope)
            rows = match and self._rows(
                "SELECT count(*) FROM words w JOIN passages p ON p.id = w.rowid"
                " JOIN documents d ON d.id = p.document JOIN collections c ON c.number = d.collection"
                f" WHERE words MATCH ? AND {where}",
                (match, *values),
            )
            found[word] = int(rows[0][0]) if rows else 0
        return found

    def passages(self, ids: Iterable[str], scope: Scope) -> dict[str, Passage]:
        """The passages with these ids that the scope may read; others are left out."""
        wanted = [int(number) for number in ids]
        where, values = _scope_condition(scope)
        marks = ", ".join("?" * len(wanted))
        rows = self._rows(f"{_PASSAGE} WHERE p.id IN ({marks}) AND {where}", (*wanted, *values))
        return {str(row[0]): _passage(row) for row in rows}

    def _match(self, words: Sequence[str], scope: Scope) -> str | None:
        """The FTS5 expression; None when nothing may match."""
        marks = ", ".join("?" * len(scope.collections))
        numbers = self._rows(
            f"SELECT number FROM collections WHERE name IN ({marks})", tuple(scope.collections)
        )
        if not numbers or not words:
            return None
        scopes = " OR ".join(_scope_term(number) for (number,) in numbers)
        any_word = " OR ".join(f'"{word}"' for word in words)
        return f"{{scope}} : ({scopes}) AND {{title body}} : ({any_word})"

    # Vectors still to make or to drop

    def pending_vectors(self, *, limit: int) -> list[Passage]:
        """Passages that have no vector yet, oldest first."""
        rows = self._rows(f"{_PASSAGE} WHERE p.embedded = 0 ORDER BY p.id LIMIT ?", (limit,))
        return [_passage(row) for row in rows]

    def count_pending_vectors(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM passages WHERE embedded = 0")
        return int(count)

    def mark_embedded(self, ids: Iterable[str]) -> None:
        with self.transaction():
            self._connection.executemany(
                "UPDATE passages SET embedded = 1 WHERE id = ?", ((int(number),) for number in ids)
            )

    def stale_vectors(self) -> dict[str, list[str]]:
        """Ids of passages that are gone but may have left a vector, by collection."""
        stale: dict[str, list[str]] = {}
        for passage, collection in self._rows(
            "SELECT s.passage, c.name FROM stale_vectors s JOIN collections c ON c.number = s.collection"
        ):
            stale.setdefault(collection, []).append(str(passage))
        return stale

    def clear_stale_vectors(self, ids: Iterable[str]) -> None:
        with self.transaction():
            self._connection.executemany(
                "DELETE FROM stale_vectors WHERE passage = ?", ((int(i),) for i in ids)
            )

    def has_vectors(self) -> bool:
        return bool(self._rows("SELECT 1 FROM passages WHERE embedded = 1 LIMIT 1"))

    def forget_vectors(self) -> None:
        """Every passage needs its vector made again."""
        with self.transaction():
            self._connection.execute("UPDATE passages SET embedded = 0")
            self._connection.execute("DELETE FROM stale_vectors")

    # What the index was built with

    def recall(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def remember(self, key: str, value: str) -> None:
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()


def _scope_term(collection: object) -> str:
    return f"c{collection}x"


def _scope_condition(scope: Scope) -> tuple[str, tuple[object, ...]]:
    """SQL over ``d`` (documents) and ``c`` (collections), and its values."""
    names = tuple(sorted(scope.collections))
    condition = f"c.name IN ({', '.join('?' * len(names))})"
    if not scope.addresses:
        return condition, names
    within = " OR ".join("d.address = ? OR substr(d.address, 1, ?) = ?" for _ in scope.addresses)
    values: list[object] = []
    for address in scope.addresses:
        folder = address.rstrip("/") + "/"
        values += [address, len(folder), folder]
    return f"{condition} AND ({within})", (*names, *values)


def _passage(row: Sequence[Any]) -> Passage:
    number, collection, source, title, path, location, text, start, end, url = row
    return Passage(
        id=str(number),
        collection=collection,
        source=source,
        title=title,
        path=tuple(json.loads(path)),
        location=location,
        text=text,
        start=start,
        end=end,
        url=url,
    )
