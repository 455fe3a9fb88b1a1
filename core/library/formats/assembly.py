"""Blocks from the lines of a text file, and documents from parts of other files."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.errors import DocumentError
from core.library.documents import Block, BlockKind, Document, Unit

LINE_END = re.compile(r"\r\n?|\n")  # CommonMark 0.31, "Characters and lines"
LINE_LIMIT = 500_000  # of a file; parsing so much Markdown takes up to a gigabyte of memory


def line_starts(text: str) -> list[int]:
    """The offsets of the lines; at the end, the length of the text."""
    return [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Whole lines that make one block."""

    first: int  #: line, counts from 0
    last: int  #: the line after
    kind: BlockKind
    level: int = 0  #: 1 to 6 for a heading, else 0


def runs_of(kinds: Sequence[BlockKind], first: int) -> Iterator[LineSpan]:
    """Lines of these kinds from the number ``first`` on, those of one kind together."""
    for kind, run in groupby(range(len(kinds)), key=kinds.__getitem__):
        numbers = [*run]
        yield LineSpan(first + numbers[0], first + numbers[-1] + 1, kind)


class Source:
    """A text and where its lines begin: one start more than there are lines. DocumentError for too many."""

    def __init__(self, text: str) -> None:
        self.text, self.starts = text, line_starts(text)
        if len(self) > LINE_LIMIT:
            raise DocumentError(f"has more than {LINE_LIMIT:,} lines")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.starts[number + 1]]

    def lines(self, first: int, last: int) -> str:
        return self.text[self.starts[first] : self.starts[last]]

    def paragraphs(self) -> Iterator[tuple[int, int]]:
        """(first, the line after the last) of the lines between blank ones."""
        first = 0
        for number in range(len(self) + 1):
            if number == len(self) or not self.line(number).strip():
                if first < number:
                    yield first, number
                first = number + 1

    def block(self, span: LineSpan) -> Block | None:
        """The stretch without white space around it, except for a code's first indentation; None if empty."""
        raw = self.lines(span.first, span.last)
        if not raw.strip():
            return None
        indent = 0 if span.kind == "code" else len(raw) - len(raw.lstrip())
        start = self.starts[span.first]
        end = start + len(raw.rstrip())
        return Block(kind=span.kind, start=start + indent, end=end, level=span.level)


TEXT_LIMIT = 20_000_000  # characters of extracted text: about 10,000 pages
TOO_MUCH_TEXT = f"holds more than {TEXT_LIMIT // 1_000_000} million characters of text"
PART_LIMIT = 500_000  # rows of a table file, paragraphs of other documents
PART_GAP = "\n\n"  # makes each part a separate Markdown block
ITEM_GAP = "\n"  # between the items of a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The text of one block whose offsets are not known yet."""

    kind: BlockKind
    text: str  #: as it reads in Markdown: "## Heading", "- item", "| a | b |"
    level: int = 0
    page: int | None = None
    row: int | None = None
    is_recognized: bool = False


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; its first row is the header, short rows are filled up. Empty without cells."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    cells = ([" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows)
    head, *body = (f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in cells)
    return "\n".join((head, "|" + " --- |" * width, *body))


def first_title(parts: Iterable[Part]) -> str:
    """The words of the first heading of level 1; empty without one."""
    return next((part.text.removeprefix("# ") for part in parts if part.level == 1), "")


def add_heading(parts: Iterable[Part], title: str) -> list[Part]:
    """The parts, under this title where they begin with no heading."""
    found = list(parts)
    is_bare = found and found[0].kind != "heading"
    return [Part(kind="heading", text=f"# {title}", level=1), *found] if is_bare else found


def parts_of(document: Document, *, below: int = 0) -> Iterator[Part]:
    """Its blocks, with headings ``below`` so many levels."""
    for block in document.blocks:
        level = block.level and block.level + below
        yield Part(kind=block.kind, text=document.text[block.start : block.end], level=level)


def assemble(
    parts: Iterable[Part],
    *,
    title: str = "",
    url: str | None = None,
    unit: Unit = "page",
    changed_at: float | None = None,
) -> Document:
    """A document of the parts that contain text; DocumentError when it is too much."""
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
            raise DocumentError(TOO_MUCH_TEXT)
        if len(blocks) == PART_LIMIT:
            raise DocumentError(f"holds more than {PART_LIMIT:,} rows or paragraphs")
        text.write(own)
        block = Block(
            kind=part.kind, start=start, end=start + len(own), level=part.level, page=part.page, row=part.row,
            is_recognized=part.is_recognized,
        )  # fmt: skip
        blocks.append(block)
    return Document(
        title=title, text=text.getvalue(), blocks=tuple(blocks), url=url, unit=unit, changed_at=changed_at
    )
