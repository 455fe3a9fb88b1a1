"""A file's text by its lines, whatever ends them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.errors import DocumentError
from core.library.documents import Block, BlockKind

LINE_END = re.compile(r"\r\n?|\n")  # CommonMark 0.31, "Characters and lines"
LINE_LIMIT = 500_000  # of a file; as Markdown they take up to a gigabyte of memory while they are parsed


def line_starts(text: str) -> list[int]:
    """Where each line begins, and after them the text's end."""
    return [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines that make one block."""

    first: int  #: line, counts from 0
    last: int  #: the line after
    kind: BlockKind
    level: int = 0  #: 1 to 6 for a heading, else 0


@dataclass(frozen=True, slots=True)
class Source:
    """A text and where its lines begin."""

    text: str
    starts: list[int]  #: one more than there are lines

    @classmethod
    def of(cls, text: str) -> Source:
        """DocumentError when there are too many lines."""
        starts = line_starts(text)
        if len(starts) > LINE_LIMIT + 1:
            raise DocumentError(f"has more than {LINE_LIMIT:,} lines")
        return cls(text, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.starts[number + 1]]

    def lines(self, first: int, last: int) -> str:
        return self.text[self.starts[first] : self.starts[last]]

    def paragraphs(self) -> Iterator[tuple[int, int]]:
        """(first, last) of the runs of lines between blank ones."""
        first = 0
        for number in range(len(self) + 1):
            if number == len(self) or not self.line(number).strip():
                if first < number:
                    yield first, number
                first = number + 1

    def block(self, stretch: Stretch) -> Block | None:
        """The stretch without the white space around it, None when nothing remains.

        Code keeps the indentation of its first line.
        """
        raw = self.lines(stretch.first, stretch.last)
        if not raw.strip():
            return None
        indent = 0 if stretch.kind == "code" else len(raw) - len(raw.lstrip())
        start = self.starts[stretch.first]
        end = start + len(raw.rstrip())
        return Block(kind=stretch.kind, start=start + indent, end=end, level=stretch.level)
