"""What the library holds: its collections in figures, and the documents of sources by their addresses.

A source belongs to one collection; what only some people may read of it is beside that one, see
:mod:`core.library.readers`. Each document is in one of them, and goes from one to another in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, replace

from core.conversation import value
from core.library.documents import Piece
from core.library.entries import DocumentFields, Entry, NewDocument
from core.library.readers import ReaderSets, among_texts, base_of, collection_for, in_family
from core.library.store import DocumentStore
from core.storage.database import Database


@value
class CollectionSize:
    """How much a collection holds."""

    name: str
    documents: int
    passages: int
    size: int  #: bytes of the files and pages that were read
    unreadable: int  #: files that could not be read

    def __add__(self, other: CollectionSize) -> CollectionSize:
        return CollectionSize(
            name=self.name,
            documents=self.documents + other.documents,
            passages=self.passages + other.passages,
            size=self.size + other.size,
            unreadable=self.unreadable + other.unreadable,
        )


@value
class CutPassage:
    """A passage in its place in the document."""

    number: int  #: counts from 1
    path: tuple[str, ...]  #: headings above it, outermost first
    location: str
    text: str
    start: int
    end: int
    has_vector: bool


def as_listed(entries: Iterable[Entry]) -> list[Entry]:
    """Documents as people list them: those that only some people may read are in the collection beside others."""
    named = (replace(entry, collection=base_of(entry.collection)) for entry in entries)
    return sorted(named, key=lambda entry: (entry.collection, entry.source, entry.address))


def family(store: DocumentStore, collection: str) -> list[Entry]:
    """The documents of a collection and those of it that only some people may read, as people list them."""
    return as_listed(each for each in store.entries() if base_of(each.collection) == collection)


def collection_sizes(database: Database, *, with_restricted: bool = True) -> tuple[CollectionSize, ...]:
    """The sizes of all collections by their names, also of those of which nothing is left or could be read.

    ``with_restricted``: with the documents that only some people of a collection may read.
    """
    sizes: dict[str, CollectionSize] = {}
    for size in _sizes(database):
        name = base_of(size.name)
        if name == size.name:
            sizes[name] = size + sizes[name] if name in sizes else size
        elif with_restricted:
            sizes[name] = sizes[name] + size if name in sizes else replace(size, name=name)
    return tuple(sizes[name] for name in sorted(sizes))


def _sizes(database: Database) -> tuple[CollectionSize, ...]:
    rows = database.rows(
        "SELECT c.name, count(d.id), coalesce(sum(d.passages), 0), coalesce(sum(d.size), 0),"
        " (SELECT count(*) FROM unreadable u WHERE u.collection = c.name)"
        " FROM (SELECT name FROM collections UNION SELECT collection FROM roots) c"
        " LEFT JOIN collections n ON n.name = c.name LEFT JOIN documents d ON d.collection = n.number"
        " GROUP BY c.name ORDER BY c.name"
    )
    return tuple(
        CollectionSize(
            name=name, documents=documents, passages=int(passages), size=int(size), unreadable=failed
        )
        for name, documents, passages, size, failed in rows
    )


def cut_passages(database: Database, entry: Entry, *, first: int, limit: int) -> tuple[CutPassage, ...]:
    """The passages of a document in reading order, from the one with the number ``first``, which counts from 1."""
    rows = database.rows(
        'SELECT ordinal, path, location, text, start, "end", embedded FROM passages'
        " WHERE document = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?",
        (entry.id, first - 1, limit),
    )
    return tuple(
        CutPassage(
            number=ordinal + 1,
            path=tuple(json.loads(path)),
            location=location,
            text=text,
            start=start,
            end=end,
            has_vector=bool(embedded),
        )
        for ordinal, path, location, text, start, end, embedded in rows
    )


@dataclass(frozen=True, slots=True)
class SourceDocuments:
    """The documents of one source. Every method blocks."""

    store: DocumentStore
    collection: str  #: the source's
    root: str  #: its address
    readers: ReaderSets = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "readers", ReaderSets(self.store.database))

    def places(self, addresses: Iterable[str]) -> dict[str, set[str]]:
        """The collections in which these addresses have a document; one, by address."""
        condition, wanted = among_texts(self.store.database.dialect, addresses)
        family, names = in_family(self.collection)
        rows = self.store.database.rows(
            "SELECT d.address, c.name FROM documents d JOIN collections c ON c.number = d.collection"
            f" WHERE d.root = ? AND d.address {condition} AND {family}",
            (self.root, wanted, *names),
        )
        found: dict[str, set[str]] = {}
        for address, collection in rows:
            found.setdefault(address, set()).add(collection)
        return found

    def below(self, *, after: str = "", limit: int) -> list[str]:
        """Addresses of the source's documents in order, from the first behind ``after``."""
        family, names = in_family(self.collection)
        rows = self.store.database.rows(
            "SELECT d.address FROM documents d JOIN collections c ON c.number = d.collection"
            f" WHERE d.root = ? AND d.address > ? AND {family} ORDER BY d.address LIMIT ?",
            (self.root, after, *names, limit),
        )
        return [str(address) for (address,) in rows]

    def put(self, document: NewDocument, readers: Collection[str] | None) -> bool:
        """Write a document where these people read it, and nowhere else; whether it is new."""
        with self.store.transaction() as writing:
            old = self.places([document.address]).get(document.address, set())
            for collection in old - {document.collection}:
                self.store.remove(collection, document.address)
            if readers is not None:
                self.readers.note(writing, document.collection, readers)
            self.store.put(document)
        return not old

    def move(self, address: str, readers: Collection[str] | None) -> bool:
        """Have these people read a document from now on, and nobody else; False if there is none.

        Its passages are written anew, and get new vectors: an id that is known from before finds nothing.
        """
        target = collection_for(self.collection, readers)
        with self.store.transaction():
            old = self.places([address]).get(address, set())
            if not old:
                return False
            if old != {target}:
                entry = self.store.entry(min(old - {target}), address)
                if entry is not None:
                    self.put(self._copy(entry, target), readers)
        return True

    def _copy(self, entry: Entry, collection: str) -> NewDocument:
        rows = self.store.database.rows(
            'SELECT path, location, text, start, "end", line FROM passages WHERE document = ? ORDER BY ordinal',
            (entry.id,),
        )
        pieces = [
            Piece(path=tuple(json.loads(path)), location=location, text=text, start=start, end=end, line=line)
            for path, location, text, start, end, line in rows
        ]
        kept = {name: value for name, value in asdict(entry).items() if name in _DOCUMENT}
        return NewDocument(**{**kept, "collection": collection}, pieces=pieces)

    def remove(self, address: str) -> bool:
        """Remove a document wherever it is; False if there is none."""
        with self.store.transaction():
            old = self.places([address]).get(address, set())
            for collection in old:
                self.store.remove(collection, address)
        return bool(old)

    def drop_single_copies(self) -> int:
        """Remove the pages of this source that were ingested alone too, into the same collection; how many."""
        rows = self.store.database.rows(
            "SELECT p.address FROM documents p JOIN collections c ON c.number = p.collection"
            " WHERE c.name = ? AND p.root = p.address AND p.address LIKE ? AND EXISTS ("
            "SELECT 1 FROM documents d WHERE d.source = p.address AND d.root = ? AND d.collection = p.collection)",
            (self.collection, "%://%", self.root),
        )
        for (address,) in rows:
            self.store.remove(self.collection, str(address))
        return len(rows)

    def note_change(self, address: str, *, source: str, url: str | None, changed_at: float | None) -> None:
        """Update what a source says of a document whose content is the same; ``changed_at`` None: as it is stored.

        A later one is none either: what is the same was not changed since, and the document may say so itself.
        """
        family, names = in_family(self.collection)
        with self.store.transaction() as writing:
            writing.execute(
                "UPDATE documents SET source = ?, url = ?,"
                " changed_at = CASE WHEN changed_at <= ? THEN changed_at ELSE coalesce(?, changed_at) END"
                " WHERE root = ? AND address = ?"
                f" AND collection IN (SELECT c.number FROM collections c WHERE {family})",
                (source, url, changed_at, changed_at, self.root, address, *names),
            )


def source_of_page(store: DocumentStore, collection: str, url: str) -> str | None:
    """The address of the source with which a page is read into this collection; None for none."""
    rows = store.database.rows(
        "SELECT d.root FROM documents d JOIN collections c ON c.number = d.collection"
        " WHERE d.source = ? AND d.url = d.source AND d.root <> d.address AND c.name = ? LIMIT 1",
        (url, collection),
    )
    return str(rows[0][0]) if rows else None


_DOCUMENT = frozenset(DocumentFields.__dataclass_fields__)
