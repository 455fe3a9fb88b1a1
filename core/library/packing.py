"""Blocks of one section -> the spans of its pieces.

A span holds whole blocks for as long as they fit: an introduction that ends in ":" stays
with what it introduces, a heading with what follows it, and code and tables are cut
only beyond the hard limit, between lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.library.documents import Block, BlockKind

TARGET = 1_000  # characters of a piece; about 250 tokens, what MiniLM reads of a text (256)
LIMIT = 2_000  # characters no piece exceeds
LONG_PROSE = 1_500  # characters beyond which two pieces of a paragraph come nearer to the target than one
TINY = 120  # characters below which a piece says too little alone

_LINE = re.compile(r"(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))*")
_SENTENCE = re.compile(
    r"""[.!?…]["'”’)\]*_`]*\s+(?=["'“‘(\[*_`]*[^\Wa-z_])  # not before a small letter: "e.g. this"
    | [。！？][」』”]?\s*""",
    re.VERBOSE,
)
_PROSE_CUTS = (_SENTENCE, _LINE)
_LINE_CUTS = (_LINE, _SENTENCE)


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
    kind: BlockKind  #: of its last block, by which it is cut when it is too long
    takes: frozenset[BlockKind]  #: kinds of a next block that still belong to it


_NOTHING: frozenset[BlockKind] = frozenset()
_ITEMS: frozenset[BlockKind] = frozenset({"item"})
_ANYTHING: frozenset[BlockKind] = frozenset({"heading", "prose", "item", "code", "table"})


def pack(text: str, blocks: Sequence[Block]) -> list[Span]:
    """Spans in order, near the target size, none beyond the limit; markup at their ends left out."""
    units = _units(text, [block for block in blocks if block.kind != "markup"])
    return _balanced([span for unit in units for span in _divided(text, unit)])


def _units(text: str, blocks: Iterable[Block]) -> list[_Unit]:
    units: list[_Unit] = []
    for block in blocks:
        lead = units[-1] if units else None
        if lead and block.kind in lead.takes and _fits(lead, block):
            takes = _takes(text, block)
            if block.kind == "item" and lead.kind != "heading":
                takes |= _ITEMS  # the whole list stays with its introduction
            units[-1] = _Unit(Span(lead.span.start, block.end), block.kind, takes)
        else:
            units.append(_Unit(Span(block.start, block.end), block.kind, _takes(text, block)))
    return units


def _fits(lead: _Unit, block: Block) -> bool:
    """Within the limit; a heading goes even with what must then be cut, unless much markup stands between."""
    if lead.kind == "heading" and block.start - lead.span.end <= TINY:
        return True
    return block.end - lead.span.start <= LIMIT


def _takes(text: str, block: Block) -> frozenset[BlockKind]:
    if block.kind == "heading":
        return _ANYTHING
    introduces = block.kind in ("prose", "item") and text[block.start : block.end].endswith((":", "："))
    return _ANYTHING - {"heading"} if introduces else _NOTHING


def _divided(text: str, unit: _Unit) -> list[Span]:
    """The unit, or what it is cut into when it is too long."""
    prose = unit.kind == "prose"
    if len(unit.span) <= (LONG_PROSE if prose else LIMIT):
        return [unit.span]
    first, second = _PROSE_CUTS if prose else _LINE_CUTS
    coarse = _cut_at(text, unit.span, first)
    fine = [
        part for span in coarse for part in (_cut_at(text, span, second) if len(span) > LIMIT else [span])
    ]
    return [part for span in fine for part in (_windows(text, span) if len(span) > LIMIT else [span])]


def _cut_at(text: str, span: Span, boundary: re.Pattern[str]) -> list[Span]:
    cuts = [match.end() for match in boundary.finditer(text, span.start, span.end)]
    edges = [span.start, *cuts, span.end]
    return _trimmed(text, zip(edges, edges[1:], strict=False))


def _windows(text: str, span: Span) -> list[Span]:
    """Between words, or anywhere when there is no white space."""
    edges = [span.start]
    while span.end - edges[-1] > LIMIT:
        start, furthest = edges[-1], edges[-1] + LIMIT
        gap = max(text.rfind(space, start, furthest) for space in " \t\n")
        edges.append(gap + 1 if gap > start else furthest)
    edges.append(span.end)
    return _trimmed(text, zip(edges, edges[1:], strict=False))


def _trimmed(text: str, edges: Iterable[tuple[int, int]]) -> list[Span]:
    """Without white space at the end; that at the beginning is indentation, and stays."""
    spans = (Span(start, start + len(text[start:end].rstrip())) for start, end in edges)
    return [span for span in spans if len(span)]


def _balanced(spans: Sequence[Span]) -> list[Span]:
    """Neighbours joined into pieces of even size, as many as bring them nearest to the target."""
    total = sum(map(len, spans))
    count = max(1, int(total / TARGET + 0.5))
    joined = list(_joined_spans(spans, total / count))
    if len(joined) > 1 and len(joined[-1]) < TINY and joined[-1].end - joined[-2].start <= LIMIT:
        joined[-2:] = [Span(joined[-2].start, joined[-1].end)]
    return joined


def _joined_spans(spans: Iterable[Span], aim: float) -> Iterator[Span]:
    open_span: Span | None = None
    filled = 0  # without the gaps between blocks, where markup may stand
    for span in spans:
        overshoots = filled >= TINY and filled + len(span) / 2 > aim
        if open_span and not overshoots and span.end - open_span.start <= LIMIT:
            open_span = Span(open_span.start, span.end)
            filled += len(span)
            continue
        if open_span:
            yield open_span
        open_span, filled = span, len(span)
    if open_span:
        yield open_span
