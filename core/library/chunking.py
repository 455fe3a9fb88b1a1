"""Cutting a document into passages by its structure.

A section is a unit of meaning: what stands under one heading, on one page. Its blocks are
packed into pieces (:mod:`core.library.packing`); sections too small to say anything are
joined with the next one beside them. Pieces are verbatim, in order, and never overlap;
only white space and markup lies between them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from core.library.documents import Block, Document, Piece
from core.library.formats.lines import line_starts
from core.library.formats.markdown import heading_text
from core.library.packing import TARGET, TINY, Span, pack

CHUNKER_VERSION = "1"  # part of the index's version: raise it when the same document gives other pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """Blocks under one heading, on one page."""

    path: tuple[str, ...]
    names: tuple[str, ...] = ()  #: headings of the small sections that were joined below ``path``
    blocks: tuple[Block, ...]  #: its heading first, when it has one

    @property
    def says_something(self) -> bool:
        return any(block.kind not in ("heading", "markup") for block in self.blocks)

    @property
    def size(self) -> int:
        """Characters, markup left out."""
        return sum(block.end - block.start for block in self.blocks if block.kind != "markup")

    @property
    def place(self) -> str:
        """The heading path as a reader follows it; "A > B – D" for what runs from B to D."""
        names = (f"{self.names[0]} – {self.names[-1]}",) if self.names else ()
        return " > ".join((*self.path, *names))


def cut(document: Document) -> list[Piece]:
    """The document's pieces in order; none when it holds nothing but markup."""
    if document.pieces is not None:
        return list(document.pieces)
    places = _Places(document)
    return [
        Piece(
            path=section.path,
            location=places.name(span, section.place),
            text=document.text[span.start : span.end],
            start=span.start,
            end=span.end,
        )
        for section in _merged(_sections(document))
        for span in pack(document.text, section.blocks)
    ]


def _sections(document: Document) -> Iterator[_Section]:
    headings: list[tuple[int, str]] = []  # (level, text) from the outermost
    blocks: list[Block] = []
    for block in document.blocks:
        if blocks and (block.kind == "heading" or block.page != blocks[-1].page):
            yield _section(headings, blocks)
            blocks = []
        if block.kind == "heading":
            headings = [heading for heading in headings if heading[0] < block.level]
            headings.append((block.level, heading_text(document.text[block.start : block.end])))
        blocks.append(block)
    if blocks:
        yield _section(headings, blocks)


def _section(headings: Sequence[tuple[int, str]], blocks: Sequence[Block]) -> _Section:
    return _Section(path=tuple(text for _, text in headings if text), blocks=tuple(blocks))


def _merged(sections: Iterable[_Section]) -> list[_Section]:
    """Lone headings and tiny sections go with what follows; a lone heading at the end, with what is before."""
    merged: list[_Section] = []
    for section in sections:
        if merged and (joined := _joined(merged[-1], section)):
            merged[-1] = joined
        else:
            merged.append(section)
    if len(merged) > 1 and not merged[-1].says_something:
        tail = merged.pop()
        merged[-1] = replace(merged[-1], blocks=merged[-1].blocks + tail.blocks)
    return merged


def _joined(before: _Section, section: _Section) -> _Section | None:
    """Both as one section, None when they stay apart."""
    size = before.size
    if not before.says_something:
        return replace(section, blocks=before.blocks + section.blocks) if size <= TARGET else None
    if size >= TINY or size + section.size > TARGET:
        return None
    blocks = before.blocks + section.blocks
    if before.path == section.path and not before.names:
        return replace(section, blocks=blocks)
    siblings = before.names or before.path[-1:]
    parent = before.path if before.names else before.path[:-1]
    if siblings and section.path and section.path[:-1] == parent:
        return _Section(path=parent, names=(*siblings, section.path[-1]), blocks=blocks)
    return None


class _Places:
    """Where a person finds a span of the document."""

    def __init__(self, document: Document) -> None:
        self._blocks = document.blocks
        self._block_starts = [block.start for block in document.blocks]
        self._text = document.text

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self._text)[:-1]

    def name(self, span: Span, headings: str) -> str:
        """Page and headings, or headings, or rows, or lines: the most telling the document has."""
        first = self._blocks[bisect_right(self._block_starts, span.start) - 1]
        last = self._blocks[bisect_right(self._block_starts, span.end - 1) - 1]
        if first.page and last.page:
            pages = _range("page", first.page, last.page)
            return f"{pages}, {headings}" if headings else pages
        if headings:
            return headings
        if first.row and last.row:
            return _range("row", first.row, last.row)
        line, last_line = (bisect_right(self._line_starts, at) for at in (span.start, span.end - 1))
        return _range("line", line, last_line)


def _range(unit: str, first: int, last: int) -> str:
    return f"{unit} {first}" if first == last else f"{unit}s {first}-{last}"
