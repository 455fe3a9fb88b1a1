"""The library's tables, and what they have of a document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import IndexDamaged
from core.library.documents import Piece
from core.library.lexical import Indexed, index_terms
from core.library.readers import base_of
from core.priority import throttle
from core.storage.database import Connection, Dialect, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFields:
    """The columns of a document in the table."""

    collection: str
    address: str
    root: str
    source: str
    title: str
    url: str | None
    hash: str
    size: int
    modified: int
    included: str = "[]"  #: JSON, see core/library/formats/includes.py
    changed_at: float | None = (
        None  #: seconds since the epoch, as its source says, or it itself; None: unknown
    )
    seen_at: float | None = (
        None  #: when a page was last read from the web; None: its source knows, or the disk
    )
    anchors: str | None = None  #: JSON list: where each section begins, its name in the URL; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(DocumentFields):
    """A document as the store lists it."""

    id: int
    passages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument(DocumentFields):
    """A document to be written, with its pieces."""

    pieces: Sequence[Piece]


def words_of(document: NewDocument) -> list[Indexed]:
    """The words of each piece, as it is indexed. Where a worker made those of the texts, little is left to
    compute.
    """
    is_made = all(piece.words for piece in document.pieces)
    pieces = document.pieces if is_made else throttle(document.pieces)
    return [index_terms(document.title, piece.path, piece.text, piece.words) for piece in pieces]


def collection_number(writing: Connection, name: str) -> int:
    """The number of a collection; for one that only some people may read, that of its base is made too."""
    for each in dict.fromkeys((base_of(name), name)):
        writing.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO NOTHING", (each,))
    (number,) = writing.execute("SELECT number FROM collections WHERE name = ?", (name,)).fetchone()
    return int(number)


def embedded_passages(writing: Connection, document: NewDocument) -> dict[tuple[str, str], list[int]]:
    """Passages of an older version that have vectors, by what these were made from."""
    rows = writing.execute(
        "SELECT p.path, p.text, p.id FROM passages p JOIN documents d ON d.id = p.document"
        " JOIN collections c ON c.number = d.collection"
        " WHERE c.name = ? AND d.address = ? AND d.title = ? AND p.embedded = 1 ORDER BY p.id DESC",
        (document.collection, document.address, document.title),
    )
    found: dict[tuple[str, str], list[int]] = {}
    for path, text, passage in rows:
        found.setdefault((path, text), []).append(passage)
    return found


def put_pieces(
    writing: Connection,
    document: int,
    pieces: Sequence[Piece],
    embedded: Mapping[tuple[str, str], list[int]],
) -> list[int]:
    """The ids of the passages: those that have vectors keep theirs."""
    kept, new = [], []
    for ordinal, piece in enumerate(pieces):
        path = json.dumps(piece.path)
        row = (document, ordinal, path, piece.location, piece.text, piece.start, piece.end, piece.line)
        known = embedded.get((path, piece.text))
        if known:
            kept.append((*row, 1, known.pop()))
        else:
            new.append((*row, 0))
    names = 'document, ordinal, path, location, text, start, "end", line, embedded'
    writing.executemany(f"INSERT INTO passages ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", new)
    writing.executemany(f"INSERT INTO passages ({names}, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kept)
    writing.executemany("DELETE FROM stale_vectors WHERE passage = ?", ((row[-1],) for row in kept))
    rows = writing.execute("SELECT id FROM passages WHERE document = ? ORDER BY ordinal", (document,))
    return [int(passage) for (passage,) in rows]


def storable(document: NewDocument, dialect: Dialect) -> NewDocument:
    """Without the sign that PostgreSQL cannot store; the sign in its place keeps all offsets."""
    if dialect == "sqlite":
        return document
    pieces = [
        replace(piece, text=_without_nul(piece.text), location=_without_nul(piece.location))
        for piece in document.pieces
    ]
    return replace(document, title=_without_nul(document.title), pieces=pieces)


def _without_nul(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


#: The scope and the terms of every passage. The text is split into terms before it is inserted,
#: so the tokenizer only has to split at spaces.
WORDS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (scope, title, body, tokenize = 'ascii')"

#: How many passages hold each term, of what the table before has: it stores nothing itself.
WORD_COUNTS = "CREATE VIRTUAL TABLE IF NOT EXISTS word_counts USING fts5vocab (words, 'row')"

_CATALOGUE = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections(number),
    address TEXT NOT NULL,  -- absolute path or URL
    root TEXT NOT NULL,     -- what was ingested: the folder, the file, the URL or the source
    source TEXT NOT NULL,   -- how people name it
    title TEXT NOT NULL,
    url TEXT,
    hash TEXT NOT NULL,         -- sha256 of the bytes
    size INTEGER NOT NULL,      -- bytes
    modified INTEGER NOT NULL,  -- nanoseconds, as the file system says; 0 for URLs
    passages INTEGER NOT NULL,  -- how many it has
    included TEXT NOT NULL DEFAULT '[]',  -- JSON list of [path, size, modified] of the files that it includes
    changed_at REAL,            -- seconds since the epoch, as its source says, or it itself; NULL: unknown
    anchors TEXT,               -- JSON list: where each section begins, its name in the URL; NULL: unknown
    seen_at REAL,               -- when a page was last read from the web; NULL: its source knows, or the disk
    UNIQUE (collection, address)
);
CREATE INDEX IF NOT EXISTS documents_counted ON documents (collection, passages);  -- before every search
CREATE INDEX IF NOT EXISTS documents_rooted ON documents (root, address);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,  -- JSON list of headings
    location TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0,
    line INTEGER  -- where it begins in its file, counts from 1; NULL: unknown
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
CREATE INDEX IF NOT EXISTS documents_named ON documents (source);
CREATE TABLE IF NOT EXISTS stale_vectors (passage INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
"""

#: Of the collections that only some people of another one may read, see core/library/readers.py.
_READERS = """
CREATE TABLE IF NOT EXISTS readers (
    collection TEXT NOT NULL,
    reader TEXT NOT NULL,  -- an e-mail address, or @ and a domain
    PRIMARY KEY (collection, reader)
);
CREATE INDEX IF NOT EXISTS readers_found ON readers (reader, collection);
"""

#: The lexical index in PostgreSQL. Four bytes for a term and for a document make a row a quarter smaller.
_POSTINGS = """
CREATE TABLE IF NOT EXISTS terms (
    id INT4 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection INTEGER NOT NULL,
    term TEXT NOT NULL,
    held INTEGER NOT NULL,  -- passages of the collection with the term
    UNIQUE (collection, term)
) WITH (fillfactor = 70);  -- room beside each row: its count changes with every document
CREATE TABLE IF NOT EXISTS postings (
    term INT4 NOT NULL,
    document INT4 NOT NULL,
    passage INTEGER NOT NULL,
    weight FLOAT4 NOT NULL,  -- what the term adds to the passage's BM25, but for its rarity
    PRIMARY KEY (term, document, passage) INCLUDE (weight)
);
CREATE TABLE IF NOT EXISTS passage_terms (
    passage INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,  -- terms, separated by spaces
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS passage_terms_of ON passage_terms (document);
CREATE INDEX IF NOT EXISTS terms_across ON terms (term, collection);  -- for one term in hundreds of collections
CREATE INDEX IF NOT EXISTS documents_at ON documents (address);
"""


#: A change of these tables needs a migration. So does a change of what is stored for the same document:
#: how it is cut into passages, or which terms they have.
SCHEMA = Schema(
    tables=f"{_CATALOGUE}{_READERS}{WORDS_TABLE};{WORD_COUNTS};",
    postgresql=_CATALOGUE + _READERS + _POSTINGS,
    is_serial=True,
    cure="Run `footnote ingest --rebuild` with your documents.",
    damage=IndexDamaged,
)

#: What forgetting deletes from.
ERASED = ("documents", "passages", "stale_vectors", "terms", "postings", "passage_terms", "readers")
