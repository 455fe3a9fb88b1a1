"""The document store: the indexed documents, their passages, and the roots they are synced from.

A document is identified by its collection and address. Every query that returns passages is
restricted by a scope, which fails closed: without collections, no passages.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from itertools import islice
from typing import Any

from core.library import entries as stored
from core.library import names
from core.library.contents import Contents, contents_from
from core.library.documents import ANSWER, Passage, Scope
from core.library.fts5 import Fts5Index
from core.library.lexical import LexicalIndex, index_terms
from core.library.postings import PostingsIndex
from core.library.readers import scope_condition
from core.library.roots import Roots
from core.library.tables import ERASED
from core.library.vectors import DenseIndex
from core.storage.database import Connection, Database, Dialect, Tables, among, rows_among

#: Keys of the table ``meta``.
MODEL, GENERATION, REFRESHED = "embedding_model", "vectors_generation", "refreshed_at"
READ = 10_000  # passages of a document that can be listed and opened; 3,000 pages have about 9,000
PENDING_LIMIT = 0.1  # share of the passages without a vector, up to which dense search is used

#: SQLite carries out a cross join in the written order: from the passages to their documents, never from
#: the scope to all of its passages. PostgreSQL knows how many passages there are.
_JOIN: Mapping[Dialect, str] = {"sqlite": "CROSS JOIN", "postgresql": "JOIN"}
#: The columns of a passage.
PASSAGE = """
p.id, c.name, d.source, d.title, p.path, p.location, p.text, p.start, p."end", d.url, d.changed_at
FROM passages p {join} documents d ON d.id = p.document {join} collections c ON c.number = d.collection
"""
_DOCUMENTS = "FROM documents d JOIN collections c ON c.number = d.collection"
_BY_COLLECTION = "FROM collections c JOIN documents d ON d.collection = c.number"
_CONTAINS: Mapping[Dialect, str] = {"sqlite": "instr(p.text, ?) > 0", "postgresql": "strpos(p.text, ?) > 0"}


#: Its columns; the collection has a table of its own.
_FIELDS = tuple(each.name for each in fields(stored.DocumentFields) if each.name != "collection")

_LEXICAL: Mapping[Dialect, Callable[[Database], LexicalIndex]] = {
    "sqlite": Fts5Index,
    "postgresql": PostingsIndex,
}


class DocumentStore:
    """Reads and writes the library's tables; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.lexical: LexicalIndex = _LEXICAL[database.dialect](database)
        self.roots = Roots(self.database)
        self._rows, self._write = self.database.rows, Tables(self.database).write
        self._passage = "SELECT" + PASSAGE.format(join=_JOIN[database.dialect])

    def close(self) -> None:
        self.database.close()

    def transaction(self) -> AbstractContextManager[Connection]:
        """All or nothing; nested calls join the outer one."""
        return self.database.transaction()

    def entries(self, *, collection: str | None = None) -> list[stored.Entry]:
        """All documents, or those of one collection, in order of their source."""
        return self._entries("TRUE") if collection is None else self._entries("c.name = ?", (collection,))

    def files(self, collection: str) -> list[stored.Entry]:
        """The documents of one collection that are files of this disk: their addresses are absolute paths."""
        # A range, so that a look at the disk does not grow with what was read from elsewhere.
        return self._entries("c.name = ? AND d.address >= '/' AND d.address < '0'", (collection,))

    def find_named(self, collection: str, source: str) -> list[stored.Entry]:
        """The documents of this source; several if folders of the same name were ingested."""
        return self._entries("c.name = ? AND d.source = ?", (collection, source))

    def with_sources(self, sources: Iterable[str]) -> list[stored.Entry]:
        """The documents of these sources, in whatever collections."""
        condition, wanted = among(self.database.dialect, sources, "text")
        return self._entries(f"d.source {condition}", (wanted,))

    def hashes(self, addresses: Iterable[str]) -> list[tuple[str, str, str]]:
        """(collection, address, hash) of the documents at these addresses."""
        query = f"SELECT c.name, d.address, d.hash {_DOCUMENTS} WHERE d.address {{}}"
        return [(name, at, digest) for name, at, digest in rows_among(self.database, query, addresses)]

    def state(self) -> int:
        """A number that is another one after any document changed."""
        return hash(tuple(self._rows("SELECT id, hash FROM documents ORDER BY id")))

    def collections_with(self, root: str) -> frozenset[str]:
        """The collections that have a document of this root."""
        query = f"SELECT DISTINCT c.name {_DOCUMENTS} WHERE d.root = ?"
        return frozenset(name for (name,) in self._rows(query, (root,)))

    def answers(self) -> list[stored.Entry]:
        """The documents that hold what people answered."""
        return self._entries("substr(d.address, 1, ?) = ?", (len(ANSWER), ANSWER))

    def entry(self, collection: str, address: str) -> stored.Entry | None:
        return next(iter(self._entries("c.name = ? AND d.address = ?", (collection, address))), None)

    def document(self, number: int) -> stored.Entry | None:
        return next(iter(self._entries("d.id = ?", (number,))), None)

    def _entries(self, where: str, values: Sequence[object] = ()) -> list[stored.Entry]:
        columns = ("id", "passages", *_FIELDS)
        rows = self._rows(
            f"SELECT c.name, {', '.join(f'd.{name}' for name in columns)} {_DOCUMENTS} WHERE {where}"
            " ORDER BY c.name, d.source, d.address",
            values,
        )
        return [stored.Entry(collection=row[0], **dict(zip(columns, row[1:], strict=True))) for row in rows]

    def collections(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._rows("SELECT name FROM collections"))

    def count_passages(self, scope: Scope) -> int:
        where, values = scope_condition(self.database.dialect, scope)
        query = f"SELECT coalesce(sum(d.passages), 0) {_BY_COLLECTION} WHERE {where}"
        ((count,),) = self._rows(query, values)
        return int(count)

    def ids(self, scope: Scope, *, limit: int) -> dict[str, list[str]]:
        """Passage ids of a scope by collection, at most ``limit`` of them."""
        where, values = scope_condition(self.database.dialect, scope)
        query = f"SELECT p.id, c.name {_BY_COLLECTION} JOIN passages p ON p.document = d.id WHERE {where}"
        return by_collection(self._rows(f"{query} LIMIT ?", (*values, limit)))

    def _find(
        self,
        scope: Scope,
        condition: str = "TRUE",
        values: Sequence[object] = (),
        *,
        then: str = "",
        at: Sequence[object] = (),
    ) -> list[Passage]:
        """The passages of a scope that a condition fits. ``then``: their order and limit, with values of its own."""
        where, scoped = scope_condition(self.database.dialect, scope)
        rows = self._rows(f"{self._passage} WHERE {condition} AND {where} {then}", (*values, *scoped, *at))
        return [*map(passage_from_row, rows)]

    def passages(self, ids: Iterable[str], scope: Scope) -> dict[str, Passage]:
        """The passages with these ids that are in the scope; others are left out."""
        condition, wanted = among(self.database.dialect, ids)
        return {each.id: each for each in self._find(scope, f"p.id {condition}", (wanted,))}

    def find_quote(self, source: str, quote: str, start: int, scope: Scope) -> Passage | None:
        """The passage of a source that holds this quote, nearest to this offset. None if there is none."""
        found = self._find(
            scope,
            f"p.document IN (SELECT id FROM documents WHERE source = ?) AND {_CONTAINS[self.database.dialect]}",
            (source, quote),
            then='ORDER BY p.start > ? OR p."end" <= ?, abs(p.start - ?) LIMIT 1',
            at=(start, start, start),
        )
        return next(iter(found), None)

    def line_of(self, collection: str, source: str, quote: str, start: int) -> int | None:
        """The line of its file on which the quote at this offset begins. None if it is not known."""
        rows = self._rows(
            f"SELECT p.line, p.start, p.text {_DOCUMENTS} JOIN passages p ON p.document = d.id"
            ' WHERE c.name = ? AND d.source = ? AND p.line IS NOT NULL AND p.start <= ? AND p."end" > ?',
            (collection, source, start, start),
        )
        found = {
            line + text.count("\n", 0, start - begin)
            for line, begin, text in rows
            if text.startswith(quote, start - begin)
        }
        return found.pop() if len(found) == 1 else None

    def anchor_of(self, collection: str, source: str, start: int) -> str | None:
        """The anchor of the section around an offset. None if it has none, or several pages match."""
        entries = self.find_named(collection, source)
        if len(entries) != 1 or not entries[0].anchors:
            return None
        above = [name for begin, name in json.loads(entries[0].anchors) if begin <= start]
        return above[-1] or None if above else None

    def neighbours(self, ids: Iterable[str], scope: Scope) -> list[Passage]:
        """The passages before and after these, and the first ones of their documents, in reading order."""
        condition, wanted = among(self.database.dialect, ids)
        near = (
            "p.id IN (SELECT near.id FROM passages near JOIN passages found ON near.document = found.document"
            " AND (near.ordinal BETWEEN found.ordinal - 1 AND found.ordinal + 1 OR near.ordinal = 0)"
            f" WHERE found.id {condition})"
        )
        return self._find(scope, near, (wanted,), then="ORDER BY p.document, p.ordinal")

    def beginning(self, scope: Scope, *, limit: int) -> list[Passage]:
        """The first passages of a scope in reading order, those of each document's beginning first."""
        return self._find(scope, then="ORDER BY p.ordinal, p.document LIMIT ?", at=(limit,))

    def reading(self, address: str, scope: Scope) -> list[Passage]:
        """The passages of a document in reading order, the first READ of them."""
        return self._find(
            scope, "d.address = ? AND p.ordinal < ?", (address, READ), then="ORDER BY p.document, p.ordinal"
        )

    def contents(self, ids: Sequence[str], scope: Scope, *, limit: int) -> list[Contents]:
        """The documents of these passages with their sections, those of the first passages first."""
        condition, wanted = among(self.database.dialect, ids)
        holders = self._rows(f"SELECT id, document FROM passages WHERE id {condition}", (wanted,))
        documents = {str(passage): int(document) for passage, document in holders}
        found: dict[int, list[str]] = {}
        for each in ids:
            if each in documents:
                found.setdefault(documents[each], []).append(each)
        found = dict(islice(found.items(), limit))
        condition, numbers = among(self.database.dialect, found)
        where, values = scope_condition(self.database.dialect, scope)
        rows = self._rows(
            f"SELECT d.id, d.address, d.source, d.title, p.path, p.location {_DOCUMENTS}"
            f" JOIN passages p ON p.document = d.id WHERE p.document {condition} AND p.ordinal < ? AND {where} ORDER BY p.document, p.ordinal",
            (numbers, READ, *values),
        )
        return contents_from(((*row[:4], tuple(json.loads(row[4])), row[5]) for row in rows), found)

    def put(self, document: stored.NewDocument) -> None:
        """Write a document and its passages in place of an older version; unchanged passages keep their vectors."""
        document = stored.storable(document, self.database.dialect)
        words = stored.indexed_words(document)
        with self.transaction() as writing:
            embedded = stored.embedded_passages(writing, document)
            self.remove(document.collection, document.address)
            number = stored.collection_number(writing, document.collection)
            (written,) = writing.execute(
                f"INSERT INTO documents (collection, passages, {', '.join(_FIELDS)})"
                f" VALUES (?, ?, {', '.join('?' * len(_FIELDS))}) RETURNING id",
                (number, len(document.pieces), *(getattr(document, name) for name in _FIELDS)),
            ).fetchone()
            names.put(writing, written, names.names_of(document.source, document.title, document.pieces))
            ids = stored.put_pieces(writing, written, document.pieces, embedded)
            rows = zip(ids, words, strict=True)
            self.lexical.insert(writing, rows, collection=number, document=written, address=document.address)

    def touch(self, number: int, *, modified: int, size: int, root: str, source: str, included: str) -> None:
        """Update a document whose bytes are the same, but not their date or the root."""
        query = "UPDATE documents SET modified = ?, size = ?, root = ?, source = ?, included = ? WHERE id = ?"
        self._write(query, modified, size, root, source, included, number)

    def note_visit(self, entry_id: int, *, seen_at: float, changed_at: float | None) -> None:
        """A page was read again, and its text is the same."""
        query = "UPDATE documents SET seen_at = ?, changed_at = coalesce(?, changed_at) WHERE id = ?"
        self._write(query, seen_at, changed_at, entry_id)

    def remove(self, collection: str, address: str) -> int:
        """Remove one document; how many passages it had."""
        query = f"SELECT p.id, d.collection, d.id {_DOCUMENTS} JOIN passages p ON p.document = d.id"
        with self.transaction() as writing:
            rows = writing.execute(
                f"{query} WHERE c.name = ? AND d.address = ?", (collection, address)
            ).fetchall()
            if rows:
                self.lexical.delete(writing, rows[0][2], [passage for passage, _, _ in rows])
                writing.executemany(
                    "INSERT INTO stale_vectors VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (row[:2] for row in rows),
                )
            writing.execute(
                "DELETE FROM documents WHERE address = ?"
                " AND collection = (SELECT number FROM collections WHERE name = ?)",
                (address, collection),
            )
        return len(rows)

    def erase_deleted(self) -> None:
        """Leave nothing of what was removed, as far as the database allows it; the time grows with the index."""
        with self.transaction() as writing:
            self.lexical.erase_deleted(writing)
        self.database.erase_deleted(ERASED)

    def reindex(self) -> None:
        """Build the lexical index of all passages again."""
        with self.transaction() as writing:
            self.lexical.clear(writing)
            documents = writing.execute("SELECT id, collection, address, title FROM documents").fetchall()
            for document, collection, address, title in documents:
                rows = writing.execute(
                    "SELECT id, path, text FROM passages WHERE document = ? ORDER BY ordinal", (document,)
                ).fetchall()
                words = ((row[0], index_terms(title, json.loads(row[1]), row[2])) for row in rows)
                self.lexical.insert(writing, words, collection=collection, document=document, address=address)

    def pending_vectors(self, *, limit: int) -> list[Passage]:
        """Passages that have no vector yet, oldest first."""
        rows = self._rows(f"{self._passage} WHERE p.embedded = 0 ORDER BY p.id LIMIT ?", (limit,))
        return [*map(passage_from_row, rows)]

    def count_pending_vectors(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM passages WHERE embedded = 0")
        return int(count)

    def mark_embedded(self, ids: Iterable[str]) -> list[str]:
        """Record that these passages have vectors; the ids of those that were removed meanwhile."""
        wanted = list(ids)
        condition, value = among(self.database.dialect, wanted)
        with self.transaction() as writing:
            rows = writing.execute(
                f"UPDATE passages SET embedded = 1 WHERE id {condition} RETURNING id", (value,)
            ).fetchall()
        marked = {str(passage) for (passage,) in rows}
        return [passage for passage in wanted if passage not in marked]

    def stale_vectors(self) -> dict[str, list[str]]:
        """Ids of removed passages that may still have a vector, by collection."""
        query = "SELECT s.passage, c.name FROM stale_vectors s JOIN collections c ON c.number = s.collection"
        return by_collection(self._rows(query))

    def clear_stale_vectors(self, ids: Iterable[str]) -> None:
        condition, value = among(self.database.dialect, ids)
        self._write(f"DELETE FROM stale_vectors WHERE passage {condition}", value)

    def has_vectors(self) -> bool:
        return bool(self._rows("SELECT 1 FROM passages WHERE embedded = 1 LIMIT 1"))

    def dense_index(self) -> DenseIndex | None:
        """The vectors, if so few passages lack one that dense search does not hide them."""
        ((pending, passages, model, generation),) = self._rows(
            "SELECT (SELECT count(*) FROM passages WHERE embedded = 0),"
            " (SELECT coalesce(sum(passages), 0) FROM documents),"
            " (SELECT value FROM meta WHERE key = ?), (SELECT value FROM meta WHERE key = ?)",
            (MODEL, GENERATION),
        )
        if pending >= passages or pending > PENDING_LIMIT * passages:
            return None
        return DenseIndex(model=model or "", generation=int(generation or 0))

    def forget_vectors(self) -> None:
        """Record that no passage has a vector."""
        with self.transaction() as writing:
            writing.execute("UPDATE passages SET embedded = 0 WHERE embedded = 1")
            ((number,),) = writing.execute(
                "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = ?", (GENERATION,)
            ).fetchall()
            self.set_meta(GENERATION, str(number + 1))

    def get_meta(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        query = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._write(query, key, value)


def by_collection(rows: Iterable[tuple[int | str, str]]) -> dict[str, list[str]]:
    """(passage id, collection) -> ids by collection."""
    ids: dict[str, list[str]] = {}
    for passage, collection in rows:
        ids.setdefault(collection, []).append(str(passage))
    return ids


def passage_from_row(row: Sequence[Any]) -> Passage:
    """A row of :data:`PASSAGE`."""
    number, collection, source, title, path, location, text, start, end, url, changed_at = row
    return Passage(
        id=str(number), collection=collection, source=source, title=title, path=tuple(json.loads(path)),
        location=location, text=text, start=start, end=end, url=url, changed_at=changed_at,
    )  # fmt: skip
