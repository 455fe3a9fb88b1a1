"""Documents put together from extracted parts, for formats whose text is not the file itself."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import DocumentError
from core.library.documents import Block, BlockKind, Document

TEXT_LIMIT = 20_000_000  # characters of extracted text: about 10,000 pages
PART_LIMIT = 500_000  # rows of a table file, paragraphs of other documents
PART_GAP = "\n\n"  # so that each part reads as a Markdown block of its own
ITEM_GAP = "\n"  # between the items of a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The text of one block before its place is known."""

    kind: BlockKind
    text: str  #: as it reads in Markdown: "## Heading", "- item", "| a | b |"
    level: int = 0
    page: int | None = None
    row: int | None = None


def assemble(parts: Iterable[Part], *, title: str = "", url: str | None = None) -> Document:
    """A document of the parts that hold any text; DocumentError when they hold too much."""
    text = io.StringIO()
    blocks: list[Block] = []
    for part in parts:
        own = part.text.strip("\r\n").rstrip()
        if not own.strip():
            continue
        if blocks:
            text.write(ITEM_GAP if blocks[-1].kind == part.kind == "item" else PART_GAP)
        start = text.tell()
        if start + len(own) > TEXT_LIMIT:
            raise DocumentError(f"holds more than {TEXT_LIMIT // 1_000_000} million characters of text")
        if len(blocks) == PART_LIMIT:
            raise DocumentError(f"holds more than {PART_LIMIT:,} rows or paragraphs")
        text.write(own)
        blocks.append(
            Block(
                kind=part.kind,
                level=part.level,
                page=part.page,
                row=part.row,
                start=start,
                end=start + len(own),
            )
        )
    return Document(title=title, text=text.getvalue(), blocks=tuple(blocks), url=url)
