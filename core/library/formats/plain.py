"""Plain text, logs, reStructuredText, AsciiDoc and Org: the file itself, in blocks.

Attributes, drawers, comments and the lines around blocks are markup. By the reStructuredText Markup
Specification, by the documentation of AsciiDoc, “Sections” and “Blocks”, and by Org's syntax, “Headings” and
“Elements”.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from core.library.documents import BlockKind, Document
from core.library.formats.assembly import LineSpan, Source, runs_of
from core.library.formats.markdown import HEADING_LIMIT, first_heading

# reStructuredText Markup Specification: "Sections", "Explicit Markup Blocks", "Field Lists".
_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#])\1{2,}")
_EXPLICIT = re.compile(r"\.\. (?:_.*:.*|\|.*|\[.*\].*|[\w:+-]+::(?:\s+\S+)?)|:[\w -]+:.*")
#: The text of a picture, with more than three words; as of pictures in Markdown.
_ALT = re.compile(r"\s+:alt:[ \t]+(?=\S+(?:[ \t]+\S+){3})")
_CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal)::")


def parse(text: str, *, kind: BlockKind = "prose") -> Document:
    """Paragraphs are separated by blank lines. A log is ``code``, so that it is cut between lines."""
    source = Source(text)
    return _document(source, (LineSpan(first, last, kind) for first, last in source.paragraphs()))


def parse_rst(text: str) -> Document:
    """reStructuredText with its sections, directives and literal blocks; the rest as paragraphs."""
    source = Source(text)
    document = _document(source, _rst_spans(source))
    return replace(document, title=first_heading(text, document.blocks))


def _document(source: Source, spans: Iterator[LineSpan]) -> Document:
    """Blocks, that of a picture's text without the ":alt:" before it."""
    blocks = []
    for block in filter(None, map(source.block, spans)):
        line = source.text.rfind("\n", 0, block.start) + 1
        name = _ALT.match(source.text, line, block.end) if block.kind == "prose" else None
        blocks.append(replace(block, start=name.end()) if name else block)
    return Document(title="", text=source.text, blocks=tuple(blocks))


def _rst_spans(source: Source) -> Iterator[LineSpan]:
    styles: list[tuple[str, bool]] = []
    expects_code = False
    for first, last in source.paragraphs():
        heading = _rst_heading(source, first, last, styles)
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
        if explicit and not code:  # what a picture shows is quoted, if it says more than a name
            yield from runs_of(["prose" if _ALT.match(line) else "markup" for line in lines], start)
        else:
            yield LineSpan(start, last, "code" if code else "prose")
        opens_code = _CODE_DIRECTIVE.match(lines[0]) if explicit else lines[-1].rstrip().endswith("::")
        expects_code = code or bool(opens_code)


def _rst_heading(source: Source, first: int, last: int, styles: list[tuple[str, bool]]) -> LineSpan | None:
    """A section title that begins a paragraph, between its lines; the order of ``styles`` gives levels."""
    lines = [source.line(number).rstrip() for number in range(first, min(first + 3, last))]
    overlined = len(lines) == 3 and lines[0] == lines[2]
    title, *under = lines[1:] if overlined else lines[:2]
    if not under or not _ADORNMENT.fullmatch(under[0]) or _ADORNMENT.fullmatch(title):
        return None
    if not 0 < len(title.strip()) <= min(len(under[0]), HEADING_LIMIT):
        return None
    style = (under[0][0], overlined)
    if style not in styles:
        styles.append(style)
    level = min(styles.index(style) + 1, 6)
    return LineSpan(first, first + len(lines if overlined else lines[:2]), "heading", level=level)


HEAD = 5_000  # characters, in which a document names itself
FENCE_LIMIT = 100  # characters of a line that closes a block


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """The marks of blocks. Patterns are matched at the beginning of a line."""

    heading: re.Pattern[str]  #: group 1 is as long as the level; the match ends where the words begin
    after_heading: re.Pattern[str]  #: what stands behind the words
    underlines: str  #: signs below a heading of two lines, by its level
    title: re.Pattern[str]
    fence: re.Pattern[str]  #: a line that opens a block, in group 1
    closing: Callable[[str], str]  #: the line that closes what this one opens, both in lower case
    fenced: Mapping[str, BlockKind]  #: by how the opening line begins; others hold blocks of their own
    lines: Mapping[BlockKind, re.Pattern[str]]  #: by how a line begins; all others are prose


ASCIIDOC = Notation(
    heading=re.compile(r"(={1,6}|#{1,6})[ \t]+(?=\S)"),
    after_heading=re.compile(r"[ \t]+=+\s*\Z"),
    underlines="=-~^+",
    title=re.compile(r"^:(?:doc)?title:[ \t]+(\S.*)", re.MULTILINE),
    fence=re.compile(r"((?:-{4,}|\.{4,}|/{4,}|\+{4,}|[|,:!]={3,})(?=\s*$)|`{3,})"),
    closing=str,
    fenced={"-": "code", ".": "code", "+": "code", "`": "code", "/": "markup", "": "table"},
    lines={
        "markup": re.compile(
            r":!?[\w-]+!?:(?:\s|$)|//|\[.*\]\s*$|(?:={4,}|_{4,}|\*{4,}|--|\+|'{3,}|<{3,})\s*$"
            r"|(?:include|ifn?def|ifeval|endif|toc|image|video|audio)::?[^\s\[]*\[.*\]\s*$"
        ),
        "item": re.compile(r"\s*(?:\*{1,5}|-|\.{1,5}|\d{1,3}\.)[ \t]+\S|\S.{0,100}?:{2,4}(?:\s|$)"),
    },
)
ORG = Notation(
    heading=re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#\w\][ \t]+)?(?=\S)"),
    after_heading=re.compile(r"[ \t]+:[\w@#%:]+:\s*\Z"),
    underlines="",
    title=re.compile(r"^#\+title:[ \t]*(\S.*)", re.MULTILINE | re.IGNORECASE),
    fence=re.compile(r"\s*(#\+begin_(?:src|example|export|comment)\b|:[\w-]+:(?=\s*$))", re.IGNORECASE),
    closing=lambda opening: ":end:" if opening[0] == ":" else opening.replace("begin", "end"),
    fenced={":": "markup", "#+begin_comment": "markup", "": "code"},
    lines={
        "table": re.compile(r"\s*\|"),
        "markup": re.compile(
            r"\s*(?:#\+|#\s|:[\w-]+:|-{5,}\s*$|\[\[[^\]\s]*\.(?:png|jpe?g|svg|gif)\]\]\s*$)"
        ),
        "code": re.compile(r"\s*:(?:\s|$)"),
        "item": re.compile(r"\s*(?:[-+]|\d{1,3}[.)])[ \t]+\S|\s+\*[ \t]+\S"),
    },
)


def parse_outlined(text: str, notation: Notation) -> Document:
    source = Source(text)
    blocks = []
    for block in filter(None, map(source.block, _spans(source, notation))):
        start, end = block.start, block.end
        if block.level:  # without its marks
            marks = notation.heading.match(text, start, end)
            after = notation.after_heading.search(text, start, end)
            start, end = marks.end() if marks else start, after.start() if after else end
        blocks.append(replace(block, start=start, end=end))
    said = notation.title.search(text[:HEAD])
    title = said[1].strip() if said else first_heading(text, blocks)
    return Document(title=title, text=text, blocks=tuple(blocks))


def _spans(source: Source, notation: Notation) -> Iterator[LineSpan]:
    closings = defaultdict[str, list[int]](list)
    for number in range(len(source)):
        if len(line := source.line(number).strip().lower()) <= FENCE_LIMIT:
            closings[line].append(number)
    number = 0
    while number < len(source):
        first, line = number, source.line(number)
        following = source.line(first + 1) if first + 1 < len(source) else ""
        level = _level(line, following, notation)
        fence = notation.fence.match(line)
        ends = closings[notation.closing(fence[1].lower())] if fence else []
        number = first + 1
        if level:
            number += not notation.heading.match(line)
            yield LineSpan(first, number, "heading", level=level)
        elif fence and (at := bisect_right(ends, first)) < len(ends):
            opening = fence[1].lower()
            kind = next(kind for begins, kind in notation.fenced.items() if opening.startswith(begins))
            yield from (LineSpan(first, number, "markup"), LineSpan(number, ends[at], kind))
            yield LineSpan(ends[at], number := ends[at] + 1, "markup")
        elif line.strip():
            kind = "markup" if fence else _kind(line, notation)
            while number < len(source) and _goes_on(source, number, kind, notation):
                number += 1
            yield LineSpan(first, number, kind)


def _level(line: str, following: str, notation: Notation) -> int:
    """The level of a heading, by its marks or by the line below it; 0: it is none."""
    if marks := notation.heading.match(line):
        return min(len(marks[1]), 6) if len(line) <= HEADING_LIMIT else 0
    words, below = line.rstrip(), following.strip()
    is_underlined = len(below) > 1 and len(set(below)) == 1 and abs(len(below) - len(words)) <= 1
    return notation.underlines.find(below[0]) + 1 if is_underlined and re.match(r"\w", words) else 0


def _kind(line: str, notation: Notation) -> BlockKind:
    return next((kind for kind, begins in notation.lines.items() if begins.match(line)), "prose")


def _goes_on(source: Source, number: int, kind: BlockKind, notation: Notation) -> bool:
    """True if the line belongs to the block above it. Prose goes on prose and items, all else its like."""
    line = source.line(number)
    following = source.line(number + 1) if number + 1 < len(source) else ""
    if not line.strip() or notation.fence.match(line) or _level(line, following, notation):
        return False
    return _kind(line, notation) == ("prose" if kind == "item" else kind)
