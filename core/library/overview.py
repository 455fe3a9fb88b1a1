"""The library for who looks after it: its collections in figures, and documents as they were cut."""

import json
from collections.abc import Iterable
from dataclasses import replace

from core.conversation import value
from core.library.entries import Entry
from core.library.readers import base_of, is_restricted
from core.library.store import DocumentStore
from core.storage.database import Database


@value
class CollectionSize:
    """The size of a collection."""

    name: str
    documents: int
    passages: int
    size: int  #: bytes of the files and pages that were read
    unreadable: int  #: files that could not be read


@value
class CutPassage:
    """A passage and its position in the document."""

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
    """All collections by name, also empty ones; ``with_restricted``: with all their documents."""
    rows = database.rows(
        "SELECT c.name, count(d.id), coalesce(sum(d.passages), 0), coalesce(sum(d.size), 0),"
        " (SELECT count(*) FROM unreadable u WHERE u.collection = c.name)"
        " FROM (SELECT name FROM collections UNION SELECT collection FROM roots) c"
        " LEFT JOIN collections n ON n.name = c.name LEFT JOIN documents d ON d.collection = n.number"
        " GROUP BY c.name"
    )
    sizes: dict[str, list[int]] = {}
    for name, *counts in rows:
        if with_restricted or not is_restricted(name):
            before = sizes.get(base_of(name), [0] * len(counts))
            sizes[base_of(name)] = [one + int(other) for one, other in zip(before, counts, strict=True)]
    return tuple(
        CollectionSize(name=name, documents=documents, passages=passages, size=size, unreadable=unreadable)
        for name, (documents, passages, size, unreadable) in sorted(sizes.items())
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
            number=ordinal + 1, path=tuple(json.loads(path)), location=location, text=text,
            start=start, end=end, has_vector=bool(embedded),
        )
        for ordinal, path, location, text, start, end, embedded in rows
    )  # fmt: skip
