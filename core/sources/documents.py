"""An item of a source as a document of the library."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document, Piece
from core.library.entries import NewDocument
from core.library.formats import parser_process
from core.library.formats.assembly import line_starts
from core.library.formats.dates import earliest, plausible
from core.library.formats.encoding import decode
from core.library.links import OTHER_TEXT
from core.library.sync import drop_surrogates
from core.sources.records import SourceRecord
from core.sources.source import SourceItem, parse_as_file


def document_of(
    record: SourceRecord,
    item: SourceItem,
    data: bytes,
    parse: Callable[[SourceItem, bytes], Document] = parse_as_file,
    *,
    now: Callable[[], float],
) -> NewDocument:
    """What is written of an item; DocumentError if it cannot be read.

    A first import into a repository gives all its files one date, so a document that says an earlier one is believed.
    """
    document = drop_surrogates(parse(item, data))
    if parser_process.is_apart() and document.pieces is None:
        document = parser_process.with_pieces(document)
    pieces, suffix = cut(document), PurePosixPath(item.name).suffix.lower()
    return NewDocument(
        collection=record.collection_of(item),
        address=record.place_of(item.id),
        root=record.address,
        source=item.source,
        title=item.title or document.title,
        url=item.url,
        hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        modified=0,
        pieces=with_lines(pieces, suffix, data) if document.has_lines else pieces,
        changed_at=earliest(plausible(item.changed_at, now), plausible(document.changed_at, now)),
        anchors=json.dumps(document.anchors) if document.anchors else None,
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
