"""Plain text, logs and reStructuredText: the file itself, in paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from core.library.documents import Block, BlockKind, Document
from core.library.formats.assembly import LineSpan, Source
from core.library.formats.markdown import HEADING_LIMIT, heading_text

# reStructuredText Markup Specification: "Sections", "Explicit Markup Blocks", "Field Lists".
_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#])\1{2,}")
_EXPLICIT = re.compile(r"\.\. (?:_.*:.*|\|.*|\[.*\].*|[\w:+-]+::(?:\s+\S+)?)|:[\w -]+:.*")
#: The text of a picture, with more than three words; as of pictures in Markdown.
_ALT = re.compile(r"\s+:alt:[ \t]+(?=\S+(?:[ \t]+\S+){3})")
_CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal)::")


def parse(text: str, *, kind: BlockKind = "prose") -> Document:
    """Paragraphs are separated by blank lines. A log is ``code``, so that it is cut between lines."""
    source = Source.of(text)
    return _document(source, (LineSpan(first, last, kind) for first, last in source.paragraphs()))


def parse_rst(text: str) -> Document:
    """reStructuredText with its sections, directives and literal blocks; the rest as paragraphs."""
    source = Source.of(text)
    document = _document(source, _rst_spans(source))
    first = next((block for block in document.blocks if block.level == 1), None)
    title = heading_text(text[first.start : first.end]) if first else ""
    return Document(title=title, text=text, blocks=document.blocks)


def _document(source: Source, spans: Iterator[LineSpan]) -> Document:
    blocks = tuple(_without_name(source, block) for span in spans if (block := source.block(span)))
    return Document(title="", text=source.text, blocks=blocks)


def _without_name(source: Source, block: Block) -> Block:
    """The block of a picture's text, without the ":alt:" before it."""
    line = source.text.rfind("\n", 0, block.start) + 1
    found = _ALT.match(source.text, line, block.end) if block.kind == "prose" else None
    return replace(block, start=found.end()) if found else block


@dataclass(slots=True)
class _Levels:
    """Section levels in the order in which their adornments appear: reStructuredText has no fixed ones."""

    seen: list[tuple[str, bool]] = field(default_factory=list)

    def of(self, adornment: str, *, overlined: bool) -> int:
        style = (adornment[0], overlined)
        if style not in self.seen:
            self.seen.append(style)
        return min(self.seen.index(style) + 1, 6)


def _rst_spans(source: Source) -> Iterator[LineSpan]:
    levels = _Levels()
    expects_code = False
    for first, last in source.paragraphs():
        heading = _rst_heading(source, first, last, levels)
        if heading:
            yield heading
        start = heading.last if heading else first
        lines = [source.line(number) for number in range(start, last)]
        if not lines:
            continue
        indented = all(line[0].isspace() for line in lines)
        explicit = all(
            _EXPLICIT.fullmatch(line.strip()) or _ADORNMENT.fullmatch(line.strip()) for line in lines
        )
        code = expects_code and indented
        if explicit and not code:
            yield from _explicit_spans(source, start, last)
        else:
            yield LineSpan(start, last, "code" if code else "prose")
        opens_code = _CODE_DIRECTIVE.match(lines[0]) if explicit else lines[-1].rstrip().endswith("::")
        expects_code = code or bool(opens_code)


def _explicit_spans(source: Source, first: int, last: int) -> Iterator[LineSpan]:
    """Directives and fields, which are not quoted; what a picture shows is, if it says more than a name."""
    kinds: list[BlockKind] = [
        "prose" if _ALT.match(source.line(number)) else "markup" for number in range(first, last)
    ]
    for kind, run in groupby(range(first, last), key=lambda number: kinds[number - first]):
        numbers = list(run)
        yield LineSpan(numbers[0], numbers[-1] + 1, kind)


def _rst_heading(source: Source, first: int, last: int, levels: _Levels) -> LineSpan | None:
    """A section title at the beginning of a paragraph, with its underline and overline."""
    lines = [source.line(number).rstrip() for number in range(first, min(first + 3, last))]
    overlined = len(lines) == 3 and lines[0] == lines[2]
    title, *under = lines[1:] if overlined else lines[:2]
    if not under or not _ADORNMENT.fullmatch(under[0]) or _ADORNMENT.fullmatch(title):
        return None
    if not 0 < len(title.strip()) <= min(len(under[0]), HEADING_LIMIT):
        return None
    level = levels.of(under[0], overlined=overlined)
    return LineSpan(first, first + len(lines if overlined else lines[:2]), "heading", level=level)
