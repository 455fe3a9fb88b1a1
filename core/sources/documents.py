"""An item of a source as a document of the library."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Piece
from core.library.formats.assembly import line_starts
from core.library.formats.encoding import decode
from core.library.formats.read import parse_file
from core.library.links import OTHER_TEXT
from core.library.store import NewDocument
from core.library.sync import drop_surrogates
from core.sources.source import SourceItem
from core.sources.store import SourceRecord


def document_of(record: SourceRecord, item: SourceItem, data: bytes) -> NewDocument:
    """What is written of an item; DocumentError if it cannot be read."""
    name = Path(item.name)
    document = drop_surrogates(parse_file(name, data))
    return NewDocument(
        collection=record.collection,
        address=record.place_of(item.id),
        root=record.address,
        source=item.source,
        title=item.title or document.title,
        url=item.url,
        hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        modified=0,
        pieces=with_lines(cut(document), name.suffix.lower(), data),
        changed_at=item.changed_at,
    )


def with_lines(pieces: Sequence[Piece], suffix: str, data: bytes) -> Sequence[Piece]:
    """The pieces with the lines on which they begin, if the file is the text that they were cut from."""
    if suffix in OTHER_TEXT:
        return pieces
    try:
        text = decode(data, suffix=suffix)
    except DocumentError:
        return pieces
    starts = line_starts(text)[:-1]
    return [
        replace(piece, line=bisect_right(starts, piece.start))
        if text[piece.start : piece.end] == piece.text
        else piece
        for piece in pieces
    ]
