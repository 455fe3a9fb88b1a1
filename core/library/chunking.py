"""Cutting a document into passages by its structure.

A section is the text under one heading, on one page. Very small sections are joined with the
next one. The blocks of a section are packed into pieces, whole as long as they fit: an
introduction that ends in ":" stays with what it introduces, a heading with what follows it,
and code and tables are cut only beyond the hard limit, between lines. Pieces are verbatim, in
order, and never overlap; only white space and markup are between them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, pairwise

from core.library.documents import Block, BlockKind, Document, Piece
from core.library.formats.assembly import line_starts
from core.library.formats.markdown import heading_text

TARGET = 1_000  # characters of a piece, about 250 tokens; MiniLM reads 256 of a text
LIMIT = 2_000  # characters no piece exceeds
LONG_PROSE = 1_500  # characters; two halves of a longer paragraph are nearer to the target
TINY = 120  # characters; a shorter piece says too little alone

_LINE = re.compile(r"(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))*")
_SENTENCE = re.compile(
    r"""[.!?…]["'”’)\]*_`]*\s+(?=["'“‘(\[*_`]*[^\Wa-z_])  # not before a small letter: "e.g. this"
    | [。！？][」』”]?\s*""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """``text[start:end]``."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class _Unit:
    """Blocks that belong together."""

    span: Span
    kind: BlockKind  #: of its last block; says how the unit is cut if it is too long
    accepts: frozenset[BlockKind]  #: kinds of a next block that belong to it too


_NO_KIND: frozenset[BlockKind] = frozenset()
_ITEMS: frozenset[BlockKind] = frozenset({"item"})
_ANY_KIND: frozenset[BlockKind] = frozenset({"heading", "prose", "item", "code", "table"})


def pack(text: str, blocks: Sequence[Block]) -> list[Span]:
    """Spans in order, near the target size, none beyond the limit, without markup at their ends."""
    units = _units(text, [block for block in blocks if block.kind != "markup"])
    return _balance([span for unit in units for span in _divide(text, unit)])


def _units(text: str, blocks: Iterable[Block]) -> list[_Unit]:
    units: list[_Unit] = []
    for block in blocks:
        lead = units[-1] if units else None
        # A heading fits even if what follows must be cut, unless much markup is between.
        fits = lead and (
            block.end - lead.span.start <= LIMIT
            or (lead.kind == "heading" and block.start - lead.span.end <= TINY)
        )
        if lead and fits and block.kind in lead.accepts:
            accepts = _kinds_after(text, block)
            if block.kind == "item" and lead.kind != "heading":
                accepts |= _ITEMS  # the whole list stays with its introduction
            units[-1] = _Unit(Span(lead.span.start, block.end), block.kind, accepts)
        else:
            units.append(_Unit(Span(block.start, block.end), block.kind, _kinds_after(text, block)))
    return units


def _kinds_after(text: str, block: Block) -> frozenset[BlockKind]:
    if block.kind == "heading":
        return _ANY_KIND
    introduces = block.kind in ("prose", "item") and text[block.start : block.end].endswith((":", "："))
    return _ANY_KIND - {"heading"} if introduces else _NO_KIND


def _divide(text: str, unit: _Unit) -> list[Span]:
    """The unit, cut if it is too long."""
    prose = unit.kind == "prose"
    if len(unit.span) <= (LONG_PROSE if prose else LIMIT):
        return [unit.span]
    first, second = (_SENTENCE, _LINE) if prose else (_LINE, _SENTENCE)
    spans = _split_at(text, unit.span, _ends(text, unit.span, first))
    for ends in (partial(_ends, boundary=second), _gaps):
        parts = ([span] if len(span) <= LIMIT else _split_at(text, span, ends(text, span)) for span in spans)
        spans = [*chain.from_iterable(parts)]
    return spans


def _ends(text: str, span: Span, boundary: re.Pattern[str]) -> list[int]:
    return [match.end() for match in boundary.finditer(text, span.start, span.end)]


def _gaps(text: str, span: Span) -> list[int]:
    """Offsets between words, or anywhere if there is no white space, so that no part is beyond the limit."""
    cuts, start = list[int](), span.start
    while span.end - start > LIMIT:
        gap = max(text.rfind(space, start, start + LIMIT) for space in " \t\n")
        start = gap + 1 if gap > start else start + LIMIT
        cuts.append(start)
    return cuts


def _split_at(text: str, span: Span, cuts: Sequence[int]) -> list[Span]:
    """The parts without white space at their end; at the beginning it is indentation, and stays."""
    edges = pairwise((span.start, *cuts, span.end))
    spans = (Span(start, start + len(text[start:end].rstrip())) for start, end in edges)
    return [each for each in spans if len(each)]


def _balance(spans: Sequence[Span]) -> list[Span]:
    """Neighbours joined into pieces of even size, as near to the target as possible."""
    total = sum(map(len, spans))
    aim = total / max(1, int(total / TARGET + 0.5))
    joined: list[Span] = []
    filled = 0  # without the gaps between blocks, which may contain markup
    for span in spans:
        overshoots = filled >= TINY and filled + len(span) / 2 > aim
        if joined and not overshoots and span.end - joined[-1].start <= LIMIT:
            joined[-1] = Span(joined[-1].start, span.end)
            filled += len(span)
        else:
            joined.append(span)
            filled = len(span)
    if len(joined) > 1 and len(joined[-1]) < TINY and joined[-1].end - joined[-2].start <= LIMIT:
        joined[-2:] = [Span(joined[-2].start, joined[-1].end)]
    return joined


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """Blocks under one heading, on one page."""

    path: tuple[str, ...]
    names: tuple[str, ...] = ()  #: headings of small sections that were joined below ``path``
    blocks: tuple[Block, ...]  #: its heading first, if it has one

    @property
    def has_content(self) -> bool:
        return any(block.kind not in ("heading", "markup") for block in self.blocks)

    @property
    def size(self) -> int:
        """Characters, without markup."""
        return sum(block.end - block.start for block in self.blocks if block.kind != "markup")

    @property
    def heading_path(self) -> str:
        """The heading path as people read it; "A > B – D" for the joined sections B to D."""
        names = (f"{self.names[0]} – {self.names[-1]}",) if self.names else ()
        return " > ".join((*self.path, *names))


def cut(document: Document) -> list[Piece]:
    """The document's pieces in order; none if it contains only markup."""
    if document.pieces is not None:
        return list(document.pieces)
    locations = _Locations(document)
    return [
        Piece(
            path=section.path, location=locations.of(span, section.heading_path),
            text=document.text[span.start : span.end], start=span.start, end=span.end,
        )
        for section in _merge(_sections(document))
        for span in pack(document.text, section.blocks)
    ]  # fmt: skip


def _sections(document: Document) -> Iterator[_Section]:
    headings: list[tuple[int, str]] = []  # (level, text) from the outermost
    blocks: list[Block] = []
    for block in (*document.blocks, None):
        is_new = block is None or block.kind == "heading" or (blocks and block.page != blocks[-1].page)
        if blocks and is_new:
            yield _Section(path=tuple(text for _, text in headings if text), blocks=tuple(blocks))
            blocks = []
        if block and block.kind == "heading":
            headings = [heading for heading in headings if heading[0] < block.level]
            headings.append((block.level, heading_text(document.text[block.start : block.end])))
        blocks += [block] if block else []


def _merge(sections: Iterable[_Section]) -> list[_Section]:
    """Join lone headings and tiny sections with the next one. A last lone heading joins the one before."""
    merged: list[_Section] = []
    for section in sections:
        if merged and (joined := _join(merged[-1], section)):
            merged[-1] = joined
        else:
            merged.append(section)
    if len(merged) > 1 and not merged[-1].has_content:
        tail = merged.pop()
        merged[-1] = replace(merged[-1], blocks=merged[-1].blocks + tail.blocks)
    return merged


def _join(before: _Section, section: _Section) -> _Section | None:
    """Both as one section, None if they stay separate."""
    size = before.size
    if not before.has_content:
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


@dataclass(frozen=True)
class _Locations:
    """Finds the location of a span for people."""

    document: Document

    @cached_property
    def _block_starts(self) -> list[int]:
        return [block.start for block in self.document.blocks]

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.document.text)[:-1]

    def of(self, span: Span, headings: str) -> str:
        """Page and headings, or headings, or rows, or lines: the first of these that the document has."""
        blocks, labels = self.document.blocks, self.document.labels
        ends = (span.start, span.end - 1)
        first, last = (blocks[bisect_right(self._block_starts, at) - 1] for at in ends)
        if first.page and last.page:
            pages = _range(self.document.unit, first.page, last.page)
            printed = [labels[number - 1] for number in (first.page, last.page) if number <= len(labels)]
            if all(printed) and printed and printed != [str(first.page), str(last.page)]:
                pages += f" (printed {' to '.join(dict.fromkeys(printed))})"
            if first.is_recognized or last.is_recognized:
                pages += " (read by OCR)"
            return f"{pages}, {headings}" if headings else pages
        if headings and self.document.unit == "sheet" and first.row and last.row:
            return f"sheet “{headings}”, {_range('row', first.row, last.row)}"
        if headings:
            return headings
        if first.row and last.row:
            return _range("row", first.row, last.row)
        line, last_line = (bisect_right(self._line_starts, at) for at in ends)
        return _range("line", line, last_line)


def _range(unit: str, first: int, last: int) -> str:
    return f"{unit} {first}" if first == last else f"{unit}s {first}-{last}"
