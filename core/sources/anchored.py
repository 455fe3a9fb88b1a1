"""Text in Markdown whose parts have names in the address of its page, as a source puts it together from an API."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from core.conversation import value
from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import markdown
from core.sources.source import SourceItem

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
    is_tight: bool = (
        False  #: whether it follows the one before without an empty line, as an item of a list does
    )


def joined(parts: Iterable[AnchoredPart]) -> AnchoredText:
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
    """As it is handed to the library, which compares it by its bytes."""
    return json.dumps({"text": text.text, "anchors": text.anchors}, ensure_ascii=False).encode()


def parse_item(_item: SourceItem, data: bytes) -> Document:
    """For the kinds of sources whose items are fetched like this."""
    return parse_anchored(data)


def parse_anchored(data: bytes) -> Document:
    """What :func:`to_bytes` made, as a document. Nothing in it is taken for a tag of a site generator."""
    held = json.loads(data)
    if not held["text"].strip():
        raise DocumentError("is empty")
    document = markdown.parse(held["text"])
    return replace(document, anchors=tuple((begin, name) for begin, name in held["anchors"]))
