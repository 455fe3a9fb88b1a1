"""Documents of the library that are made of items, and when cited ones were last seen.

An item is the bytes of a file, or text that a source puts together from an API. The parts of such a text have
names in the address of its page.

A source was seen when its last sync ended that read everything; what could not be looked at then was seen earlier. A
single page was seen when it was last read. A file of a folder is looked at before each question, so it never gets old
here, and neither does an answer of a person, which has a review date of its own.
"""

import hashlib
import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from core.conversation import Citation, Outcome, value
from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document, Piece
from core.library.entries import Entry, NewDocument
from core.library.formats import markdown, parser_process
from core.library.formats.assembly import line_starts
from core.library.formats.dates import earliest, plausible
from core.library.formats.encoding import decode
from core.library.indexing import drop_surrogates
from core.library.links import OTHER_TEXT
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.sources.source import SourceItem, parse_as_file
from core.sources.store import SourceRecord, SourceStore

BETWEEN = "\n\n"


@value
class AnchoredText:
    """A text, and where its parts begin."""

    text: str
    anchors: tuple[tuple[int, str], ...] = ()  #: an offset, and the name that leads there, in order


@value
class AnchoredPart:
    """A part of a text before it is put together."""

    text: str
    anchor: str = ""  #: empty: the one before it leads here
    #: whether it follows the one before without an empty line, as an item of a list does
    is_tight: bool = False


def join_parts(parts: Iterable[AnchoredPart]) -> AnchoredText:
    """The text of these parts; what is empty is left out."""
    pieces, anchors, length = list[str](), list[tuple[int, str]](), 0
    for part in parts:
        if not part.text.strip():
            continue
        between = ("\n" if part.is_tight else BETWEEN) if pieces else ""
        pieces += (between, part.text)
        if part.anchor:
            anchors.append((length + len(between), part.anchor))
        length += len(between) + len(part.text)
    return AnchoredText(text="".join(pieces), anchors=tuple(anchors))


def to_bytes(text: AnchoredText) -> bytes:
    """The bytes of a text, by which the library compares it."""
    return json.dumps({"text": text.text, "anchors": text.anchors}, ensure_ascii=False).encode()


def headings_of(document: Document) -> list[tuple[int, str]]:
    """The headings of a document: where they begin, and their text."""
    headings = (block for block in document.blocks if block.kind == "heading")
    return [(each.start, markdown.heading_text(document.text[each.start : each.end])) for each in headings]


def parse_item(_item: SourceItem | None, data: bytes) -> Document:
    """The document of what :func:`to_bytes` made. Nothing in it is taken for a tag of a site generator."""
    held = json.loads(data)
    if not held["text"].strip():
        raise DocumentError("is empty")
    document = markdown.parse(held["text"])
    return replace(document, anchors=tuple((begin, name) for begin, name in held["anchors"]))


def document_of(
    record: SourceRecord,
    item: SourceItem,
    data: bytes,
    parse: Callable[[SourceItem, bytes], Document] = parse_as_file,
    *,
    now: Callable[[], float],
) -> NewDocument:
    """The document that is written of an item; DocumentError if it cannot be read. A first import into a
    repository gives all its files one date, so a document that says an earlier one is believed."""
    document = drop_surrogates(parse(item, data))
    if parser_process.is_apart() and document.pieces is None:
        document = parser_process.with_pieces(document)
    pieces, suffix = cut(document), PurePosixPath(item.name).suffix.lower()
    return NewDocument(
        collection=record.collection_of(item), address=record.address_of(item.id), root=record.address,
        source=item.source, title=item.title or document.title, url=item.url,
        hash=hashlib.sha256(data).hexdigest(), size=len(data), modified=0,
        pieces=with_lines(pieces, suffix, data) if document.has_lines else pieces,
        changed_at=earliest(plausible(item.changed_at, now), plausible(document.changed_at, now)),
        anchors=json.dumps(document.anchors) if document.anchors else None, unread=document.unread,
    )  # fmt: skip


def with_lines(pieces: Sequence[Piece], suffix: str, data: bytes) -> Sequence[Piece]:
    """The pieces with their first lines, if they were cut from the file itself."""
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


DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """Compares documents with STALE_AFTER. Its methods block."""

    sources: SourceStore
    documents: DocumentStore
    stale_after: int  #: days; 0: nothing is too old
    now: Callable[[], float] = time.time

    def mark_unseen(self, outcome: Outcome) -> Outcome:
        """The outcome, with when those of its documents were last seen that were not for too long."""
        if not self.stale_after:
            return outcome

        def mark(citation: Citation) -> Citation:
            if citation.origin != "documents":
                return replace(citation, unseen_since=None)
            entries = self.documents.find_named(citation.collection, citation.source)
            return replace(citation, unseen_since=min(self.unseen(entries).values(), default=None))

        return outcome.with_citations(lambda citations: tuple(map(mark, citations)))

    def unseen(self, entries: Iterable[Entry]) -> dict[int, float]:
        """The last sightings of documents that are too long ago, by their ids."""
        if not self.stale_after:
            return {}
        limit = self.now() - self.stale_after * DAY
        return {entry: seen for entry, seen in self._last_seen(entries).items() if seen < limit}

    def _last_seen(self, entries: Iterable[Entry]) -> dict[int, float]:
        records = {(each.collection, each.address): each for each in self.sources.all()}
        seen: dict[int, float] = {}
        items: dict[SourceRecord, dict[str, Entry]] = {}
        for entry in entries:
            if entry.seen_at is not None:
                seen[entry.id] = entry.seen_at
            elif (record := records.get((base_of(entry.collection), entry.root))) is not None:
                item = entry.address.removeprefix(record.address_of(""))
                items.setdefault(record, {})[item] = entry
        for record, known in items.items():
            left = self.sources.last_seen(record.number, known)
            seen |= {entry.id: left.get(item, record.seen_at) for item, entry in known.items()}
        return seen

    def is_stale(self, record: SourceRecord) -> bool:
        """True if a source itself was not seen for too long."""
        return bool(self.stale_after) and record.seen_at < self.now() - self.stale_after * DAY
