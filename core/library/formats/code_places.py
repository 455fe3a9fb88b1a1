"""The code in a file: fences, indented blocks, code spans and the elements of HTML that show code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from core.library.formats import markdown
from core.library.formats.assembly import LINE_END
from core.text.inline import code_spans

ELEMENT_LIMIT = 5_000  # elements of a page that are looked at

FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?!.*`)|~{3,})")
_ELEMENT = re.compile(
    r"<(pre|code|samp|kbd|textarea|script|style)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE
)
_BLANK_LINES = re.compile(r"(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))+")


@dataclass(frozen=True, slots=True)
class Places:
    """Stretches of a text, in order, none within another."""

    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Places:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return cls(tuple(merged))

    def around(self, at: int) -> tuple[int, int] | None:
        """The stretch that holds this offset."""
        index = bisect_right(self.spans, at, key=lambda span: span[0]) - 1
        return self.spans[index] if index >= 0 and at < self.spans[index][1] else None

    def gaps(self, end: int) -> Iterator[tuple[int, int]]:
        """The spans between them, up to ``end``."""
        reached = 0
        for start, last in self.spans:
            if reached < start:
                yield reached, start
            reached = last
        if reached < end:
            yield reached, end


def in_html(text: str) -> Places:
    return Places.of(match.span() for match in islice(_ELEMENT.finditer(text), ELEMENT_LIMIT))


def in_markdown(text: str) -> Places:
    """Fences at any depth, also where an admonition indents them; a fence that is not closed runs to the end."""
    fences = list(fenced(text))
    indented = (
        (block.start, block.end)
        for block in markdown.parse(text).blocks
        if block.kind == "code" and not FENCE.match(text, block.start)
    )
    blocks = Places.of([*fences, *indented])
    inline = [span for start, end in blocks.gaps(len(text)) for span in _inline(text, start, end)]
    return Places.of([*blocks.spans, *inline])


def fenced(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each fenced block, its fences included."""
    opened: tuple[int, str] | None = None
    position = 0
    for end in (*(match.end() for match in LINE_END.finditer(text)), len(text)):
        line = text[position:end]
        if opened is None:
            found = FENCE.match(line)
            opened = (position, found[1]) if found else None
        elif line.strip(" \t\r\n>").startswith(opened[1]) and not line.strip(" \t\r\n>").strip(opened[1][0]):
            yield opened[0], end
            opened = None
        position = end
    if opened:
        yield opened[0], len(text)


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code spans, which no blank line interrupts, and elements."""
    edges = [start, *(match.end() for match in _BLANK_LINES.finditer(text, start, end)), end]
    for first, last in zip(edges, edges[1:], strict=False):
        yield from ((first + a, first + b) for a, b in code_spans(text[first:last]))
    yield from (match.span() for match in islice(_ELEMENT.finditer(text, start, end), ELEMENT_LIMIT))
