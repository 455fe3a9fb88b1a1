"""Lines as they were printed on pages -> the paragraphs they were broken from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.library.documents import BlockKind
from core.library.formats.assembly import Part

RUNNING_HEAD_PAGES = 3  # a line at the edge of this many pages belongs to the paper, not to the text
RUNNING_HEAD_SHARE = 0.1  # and of this share of all pages
EDGE = 2  # lines at the top and at the bottom of a page that may be running heads
FULL_LINE = 0.75  # of the usual width: a shorter line ends its paragraph, or is a line of its own
SHORT_LINE = 20  # characters; shorter ones say nothing about the width

_EDGE_NUMBER = re.compile(r"^\d{1,5}\b|\b\d{1,5}$")
_OF_PAGES = re.compile(r"\s*(?:\bof\b|/)\s*\d{1,5}$")  # "Page 3 of 12"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BULLET = re.compile(r"[•‣◦▪●○■–*-]\s+")
_ENUMERATION = re.compile(r"\(?(?:\d{1,2}|[a-z])[.)]\s+\S")
_ENDS_SENTENCE = re.compile(r"""[.!?:;。！？]["'”’)\]]*$""")
_BROKEN_WORD = re.compile(r"([^\W\d_]+)[-\u00ad\u2010]$")
_BEGINNING = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a page; an empty one stands between paragraphs."""

    text: str
    page: int  #: counts from 1
    level: int = 0  #: of a heading, else 0


def without_running_heads(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lines of each page, without headers, footers and page numbers.

    Words at the top of the first page that have them stay: there they are the title.
    """
    numbered = list(enumerate(pages))
    counts = Counter(
        mask for page, lines in numbered for mask in {m for line in _edges(lines) for m in _masks(line, page)}
    )
    enough = max(RUNNING_HEAD_PAGES, RUNNING_HEAD_SHARE * len(pages))
    running = {mask for mask, count in counts.items() if count >= enough}
    wordless = {mask for mask in running if not _WORD.search(mask)}
    return [_stripped(lines, page, running if page else wordless) for page, lines in numbered]


def _edges(lines: Sequence[str]) -> list[str]:
    return [*lines[:EDGE], *lines[-EDGE:]]


def _masks(line: str, page: int) -> set[str]:
    """The line, and the line with a number at its edge that counts pages as what it is ahead of them."""
    literal = " ".join(line.split())
    counting = _EDGE_NUMBER.sub(lambda match: f"#{int(match[0]) - page}", _OF_PAGES.sub("", literal))
    return {literal, counting}


def _stripped(lines: Sequence[str], page: int, running: set[str]) -> list[str]:
    first, last = 0, len(lines)
    while first < min(EDGE, last) and _masks(lines[first], page) & running:
        first += 1
    while last > max(first, len(lines) - EDGE) and _masks(lines[last - 1], page) & running:
        last -= 1
    return list(lines[first:last])


def paragraphs(lines: Sequence[Line]) -> Iterator[Part]:
    """Headings, items and paragraphs, each with the page it begins on.

    A full line is joined to the next one, a word broken at its end mended; a short line
    inside a paragraph (a table, a verse, code) stays a line.
    """
    words = _words(lines)
    full = FULL_LINE * _usual_width(lines)
    open_lines: list[Line] = []
    for line in lines:
        if open_lines and _begins_anew(open_lines[-1], line, full):
            yield _part(open_lines, full, words)
            open_lines = []
        if line.text:
            open_lines.append(line)
    if open_lines:
        yield _part(open_lines, full, words)


def _words(lines: Sequence[Line]) -> frozenset[str]:
    return frozenset(word.lower() for line in lines for word in _WORD.findall(line.text))


def _usual_width(lines: Sequence[Line]) -> int:
    """What four lines of five stay within."""
    widths = sorted(len(line.text) for line in lines if len(line.text) >= SHORT_LINE)
    return widths[len(widths) * 4 // 5] if widths else SHORT_LINE


def _begins_anew(before: Line, line: Line, full: float) -> bool:
    if not line.text or line.level or before.level or _kind(line) == "item":
        return True
    if line.page != before.page:
        return bool(_ENDS_SENTENCE.search(before.text)) or not line.text[0].islower()
    return len(before.text) < full and bool(_ENDS_SENTENCE.search(before.text))


def _kind(line: Line) -> BlockKind:
    if line.level:
        return "heading"
    return "item" if _BULLET.match(line.text) or _ENUMERATION.match(line.text) else "prose"


def _part(lines: Sequence[Line], full: float, words: frozenset[str]) -> Part:
    first = lines[0]
    kind = _kind(first)
    texts = [_with_gap(line.text, following.text, full, words) for line, following in pairwise(lines)]
    text = "".join((*texts, lines[-1].text))
    if kind == "heading":
        text = f"{'#' * first.level} {text}"
    elif _BULLET.match(text):
        text = _BULLET.sub("- ", text, count=1)
    return Part(kind=kind, text=text, level=first.level, page=first.page)


def _with_gap(line: str, following: str, full: float, words: frozenset[str]) -> str:
    """A line and what stands between it and the next one: nothing where a word was broken.

    A hyphen stays when the document has the compound elsewhere, and not the one word.
    """
    broken = _BROKEN_WORD.search(line)
    rest = _BEGINNING.match(following)
    if not broken or not rest or not following[0].islower():
        return line + (" " if len(line) >= full else "\n")
    one_word, compound = broken[1] + rest[0], f"{broken[1]}-{rest[0]}"
    keeps_hyphen = compound.lower() in words and one_word.lower() not in words
    return line[: broken.end(1)] + ("-" if keeps_hyphen else "")
