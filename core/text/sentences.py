"""Where the sentences of a passage begin and end, Markdown understood.

A unit is what may be quoted whole: a sentence of prose or of a list item, a code block,
a table, a heading. Units never overlap and leave out only white space and list markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["sentence", "item", "code", "table", "heading", "markup"]

ABBREVIATIONS = frozenset(
    [
        "e.g",
        "i.e",
        "etc",
        "vs",
        "cf",
        "approx",
        "dept",
        "est",
        "fig",
        "figs",
        "inc",
        "jr",
        "ltd",
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "sr",
        "st",
        "no",
        "nos",
        "vol",
        "pp",
        "ca",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "al",
        "ed",
        "eds",
        "resp",
        "incl",
        "excl",
        "max",
        "min",
    ]
)

_FENCE = re.compile(r"^ {0,12}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s")
_TABLE_ROW = re.compile(r"^\s*\|")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")
_QUOTE = re.compile(r"^\s*>\s?")
# Directives of documentation generators, HTML comments, rules, lone images and link definitions.
_MARKUP = re.compile(
    r"^\s*(?:\{[*!].*[*!]\}|/{3,}.*|:{3,}.*|!!!.*|\?\?\?.*|<!--.*-->|[-*_=](?:\s*[-*_=]){2,}|!\[[^\]]*\]\([^)]*\)"
    r"|\[[^\]]+\]:\s\S.*|</?[a-zA-Z][^>]*>|\[TOC\])\s*$"
)
_END = re.compile(r"""[.!?…]+(?:["'”’)\]*_`]+)?(?=\s)|[。！？]+[」』”]?|[.!?…]+(?:["'”’)\]*_`]+)?$""")
_LAST_WORD = re.compile(r"([^\s(\[\"'“‘*_`]+)$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable stretch: ``text[start:end]``."""

    start: int
    end: int
    kind: UnitKind


def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of every unit of the text, in order; headings and markup included."""
    return tuple((unit.start, unit.end) for unit in split_units(text))


def split_units(text: str) -> tuple[Unit, ...]:
    """The units of a passage, in order."""
    return tuple(_units(text))


def _units(text: str) -> Iterator[Unit]:
    for start, end, kind in _stretches(text):
        if kind in ("sentence", "item"):
            yield from _sentences(text, start, end, kind)
        else:
            first, last = _trimmed(text, start, end)
            if first < last:
                yield Unit(first, last, kind)


def _stretches(text: str) -> Iterator[tuple[int, int, UnitKind]]:
    """Runs of lines that belong together: (start, end, kind)."""
    open_at, open_kind = 0, None
    fence = ""
    position = 0
    for line in text.splitlines(keepends=True):
        begin, position = position, position + len(line)
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                yield open_at, position, "code"
                open_kind = None
            continue
        kind = _line_kind(line)
        if kind is not None and kind == open_kind and kind in ("table", "sentence"):
            continue
        if kind == "sentence" and open_kind == "item":
            continue  # a lazy continuation line of the item
        if open_kind is not None:
            yield open_at, begin, open_kind
        open_at, open_kind = begin, kind
        if kind == "code":
            fence = _FENCE.match(line).group(1)  # type: ignore[union-attr]
    if open_kind is not None:
        yield open_at, position, open_kind


def _line_kind(line: str) -> UnitKind | None:
    """What a line begins or continues; None for a blank one."""
    if not line.strip():
        return None
    for pattern, kind in _LINE_KINDS:
        if pattern.match(line):
            return kind
    return "sentence"


_LINE_KINDS: tuple[tuple[re.Pattern[str], UnitKind], ...] = (
    (_FENCE, "code"),
    (_HEADING, "heading"),
    (_TABLE_ROW, "table"),
    (_MARKUP, "markup"),
    (_ITEM, "item"),
)


def _sentences(text: str, start: int, end: int, kind: UnitKind) -> Iterator[Unit]:
    for marker in (_QUOTE, _ITEM):
        if match := marker.match(text[start:end]):
            start += match.end()
    begin = start
    for match in _END.finditer(text, start, end):
        if _is_boundary(text, begin, match, end):
            first, last = _trimmed(text, begin, match.end())
            if first < last:
                yield Unit(first, last, kind)
            begin = match.end()
    first, last = _trimmed(text, begin, end)
    if first < last:
        yield Unit(first, last, kind)


def _is_boundary(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Whether the punctuation ends a sentence rather than an abbreviation or an initial."""
    if match.end() >= end:
        return True
    if match.group()[0] in "。！？!?…":
        return not text[match.end() : end].lstrip()[:1].islower()
    word = _LAST_WORD.search(text, begin, match.start())
    last = word.group(1).lower() if word else ""
    if (
        last in ABBREVIATIONS
        or (len(last) == 1 and last.isalpha())
        or re.fullmatch(r"(?:[a-z]\.)+[a-z]", last)
    ):
        return False
    following = text[match.end() : end].lstrip()[:1]
    return not following.islower()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
