"""The documents of sources, by their addresses: which there are, and what a source says of them.

A source belongs to one collection; what only some people may read of it is beside that one, see
:mod:`core.library.readers`. Each document is in one of them, and goes from one to another in one transaction.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields

from core.library.documents import Piece
from core.library.entries import DocumentFields, NewDocument
from core.library.readers import ReaderSets, collection_for, in_family
from core.library.store import DocumentStore
from core.storage.database import rows_among


@dataclass(frozen=True, slots=True)
class SourceDocuments:
    """The documents of one source. Every method blocks."""

    store: DocumentStore
    collection: str  #: the source's
    root: str  #: its address

    @property
    def readers(self) -> ReaderSets:
        return ReaderSets(self.store.database)

    def collections_of(self, addresses: Iterable[str]) -> dict[str, set[str]]:
        """The collections in which these addresses have a document; one, by address."""
        family, names = in_family(self.collection)
        query = "SELECT d.address, c.name FROM documents d JOIN collections c ON c.number = d.collection"
        where = f"{family} AND d.root = ? AND d.address {{}}"
        rows = rows_among(self.store.database, f"{query} WHERE {where}", addresses, *names, self.root)
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
            old = self.collections_of([document.address]).get(document.address, set())
            for collection in old - {document.collection}:
                self.store.remove(collection, document.address)
            if readers is not None:
                self.readers.note(writing, document.collection, readers)
            self.store.put(document)
        return not old

    def move(self, address: str, readers: Collection[str] | None) -> bool:
        """Have these people read a document from now on, and nobody else; False if there is none.

        Its passages are written again, and get new vectors: an id that is known from before finds nothing.
        """
        target = collection_for(self.collection, readers)
        with self.store.transaction():
            old = self.collections_of([address]).get(address, set())
            entry = self.store.entry(min(old - {target}), address) if old - {target} else None
            if entry is not None:
                query = 'SELECT path, location, text, start, "end", line FROM passages WHERE document = ?'
                pieces = [
                    Piece(
                        path=tuple(json.loads(path)),
                        location=location,
                        text=text,
                        start=start,
                        end=end,
                        line=line,
                    )
                    for path, location, text, start, end, line in self.store.database.rows(
                        f"{query} ORDER BY ordinal", (entry.id,)
                    )
                ]
                own = {each.name: getattr(entry, each.name) for each in fields(DocumentFields)}
                self.put(NewDocument(**{**own, "collection": target}, pieces=pieces), readers)
        return bool(old)

    def remove(self, address: str) -> bool:
        """Remove a document wherever it is; False if there is none."""
        with self.store.transaction():
            old = self.collections_of([address]).get(address, set())
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
