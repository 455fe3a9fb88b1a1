"""Documents in the library's tables, and how a new one and its pieces are written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.library.documents import Piece
from core.library.lexical import Indexed, index_terms
from core.library.readers import base_of
from core.priority import throttle
from core.storage.database import Connection, Dialect


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
    changed_at: float | None = None  #: seconds since the epoch, as its source or it says; None: unknown
    #: When a page was last read from the web; None: its source or the disk knows.
    seen_at: float | None = None
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
    unread: str = ""  #: what of it was not read; stored for files alone, see core/library/roots.py


def indexed_words(document: NewDocument) -> list[Indexed]:
    """The words of each piece, as indexed; those of the texts may have come from a worker."""
    is_made = all(piece.words for piece in document.pieces)
    pieces = document.pieces if is_made else throttle(document.pieces)
    return [index_terms(document.title, piece.path, piece.text, piece.words) for piece in pieces]


def collection_number(writing: Connection, name: str) -> int:
    """The number of a collection. For one that only some people may read, its base gets one too."""
    for each in dict.fromkeys((base_of(name), name)):
        writing.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO NOTHING", (each,))
    (number,) = writing.execute("SELECT number FROM collections WHERE name = ?", (name,)).fetchone()
    return int(number)


def embedded_passages(writing: Connection, document: NewDocument) -> dict[tuple[str, str], list[int]]:
    """Passages of an older version that have vectors, by the text of the vectors."""
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
    writing: Connection, document: int, pieces: Sequence[Piece], embedded: Mapping[tuple[str, str], list[int]]
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
    """A text whose NUL, which PostgreSQL cannot store, is replaced; all offsets stay."""
    if dialect == "sqlite":
        return document
    title, *texts = (
        text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        for text in (
            document.title,
            *(text for each in document.pieces for text in (each.text, each.location)),
        )
    )
    pairs = zip(document.pieces, texts[::2], texts[1::2], strict=True)
    pieces = [replace(piece, text=text, location=location) for piece, text, location in pairs]
    return replace(document, title=title, pieces=pieces)
