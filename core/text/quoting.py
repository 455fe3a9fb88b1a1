"""A verbatim piece of a document as an answer shows it.

Its words stay as they are; links, tags, directives, quotation marks and indentation are removed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent
from typing import Self

from core.text.blocks import CODE_INDENT, LIST_MARKER, QUOTATION_MARK, split_blocks
from core.text.inline import as_words
from core.text.sentences import Unit, units_within

_LEAD = re.compile(rf"(?P<quotation>{QUOTATION_MARK})?(?P<indent>[ \t]*)(?P<marker>{LIST_MARKER}[ \t]+)?")
_BULLET = re.compile(r"[*+•‣◦▪●]")
_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
_QUOTATION = re.compile(rf"^{QUOTATION_MARK}", re.MULTILINE)
_FENCE = re.compile(r"`{3,}|~{3,}")
ROW_QUOTED = 400  # characters of a row of a table; of a longer one people see the cell that says it
_CELL = re.compile(r"(?:\\\||[^|\s])(?:(?:\\\||[^|\n])*(?:\\\||[^|\s]))?")  # a pipe in a cell has a backslash
_ROW = re.compile(r"[^\n]*\w[^\n]*")
_WORD = re.compile(r"\w")
_NO_WORD = re.compile(r"\W+")
HEADING_SIGNS = re.compile(r"\A#{1,6}\s+|\s*\n\W+\Z|\s+#+\Z|\s*\{[^{}]*\}\Z|\*\*")


@dataclass(frozen=True, slots=True)
class _Lead:
    """The signs before a unit on its line."""

    indent: int  #: columns
    marker: str  #: list marker with the blank after it
    is_all: bool  #: the unit comes first on its line
    is_quotation: bool

    @classmethod
    def of(cls, text: str, start: int) -> Self:
        line = text[text.rfind("\n", 0, start) + 1 : start]
        found = _LEAD.match(line)
        if found is None:
            return cls(0, "", is_all=not line, is_quotation=False)
        indent, marker = len(found["indent"].expandtabs(CODE_INDENT)), found["marker"] or ""
        return cls(indent, marker, is_all=found.end() == len(line), is_quotation=bool(found["quotation"]))


@lru_cache(maxsize=1_024)
def headings_over(text: str, start: int, said: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """The spans of the headings right above what stands at ``start``, except those whose words are ``said`` anyway."""
    over: list[tuple[int, int]] = []
    has_text = False  # since the last heading
    for block in split_blocks(text):
        if block.kind == "heading":
            over = [*([] if has_text else over), (block.start, block.end)]
            has_text = False
        elif block.kind != "markup":
            if block.end > start:
                break
            has_text = True
    known = {_NO_WORD.sub("", words) for words in said}
    return tuple(span for span in over if _NO_WORD.sub("", heading_words(text[slice(*span)])) not in known)


def heading_words(heading: str) -> str:
    return as_words(HEADING_SIGNS.sub("", heading))


def is_quotable(text: str, start: int, end: int) -> bool:
    """True if ``text[start:end]`` has more than headings and markup."""
    return any(unit.kind not in ("heading", "markup") for unit in units_within(text, start, end))


def quotable(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of sentences, items, code blocks, and the rows of tables, if they have a word. Of a long row, the
    cells."""
    for unit in units_within(text, start, end):
        if unit.kind == "table":
            for row in _ROW.finditer(text, unit.start, unit.end):
                cells = _CELL.finditer(text, row.start(), row.end())
                spans = [cell.span() for cell in cells] if len(row[0]) > ROW_QUOTED else [row.span()]
                yield from ((*span, "row") for span in spans)
        elif unit.kind not in ("heading", "markup") and _WORD.search(text, unit.start, unit.end):
            yield unit.start, unit.end, unit.kind


def as_quoted(text: str, start: int, end: int, footnote: str) -> str:
    """``text[start:end]`` as Markdown, with the footnote after the last sentence."""
    units = [unit for unit in units_within(text, start, end) if unit.kind != "markup"]
    parts = list(_parts(text, units))
    prose = [number for number, unit in enumerate(units) if unit.kind in ("sentence", "item")]
    if prose:
        parts[prose[-1]] += f" {footnote}"
    else:
        parts.append(f"\n\n{footnote}")
    return "".join(parts)


def _parts(text: str, units: Sequence[Unit]) -> Iterator[str]:
    """The units without quotation marks and indentation, each with the gap before it."""
    leads = [_Lead.of(text, unit.start) for unit in units]
    layout = _Layout.of(leads)
    for number, (unit, lead) in enumerate(zip(units, leads, strict=True)):
        was_list = layout.is_list
        marker, indent = layout.place(lead, is_first=number == 0)
        gap = ""
        if number:  # a blank line if the kind changes, a list begins or lines lie between, else as it is
            before = units[number - 1]
            gap = text[before.end : unit.start]
            is_same = before.kind == unit.kind and unit.kind in ("sentence", "item")
            if lines := gap.count("\n"):
                gap = "\n" if lines == 1 and is_same else "\n\n"
            gap = "\n\n" if marker and not was_list else gap
        words = text[unit.start : unit.end]
        words = _QUOTATION.sub("", words) if lead.is_quotation else words
        if unit.kind == "code":
            words = _code(words, lead.indent + len(lead.marker))
        elif unit.kind == "heading":
            words = f"**{heading_words(words)}**"
        else:
            words = _INDENTATION.sub("", as_words(words))
        first, *further = words.split("\n")
        hanging = " " * (indent + len(marker))
        shown = (first, *(f"{hanging}{line}" if line else line for line in further))
        yield gap + " " * indent + _BULLET.sub("-", marker) + "\n".join(shown)


@dataclass(slots=True)
class _Layout:
    """Indentation and list marker of the next unit."""

    is_list: bool  #: the next unit belongs to a list
    margin: int  #: columns of the source to leave out
    inner: int = 0  #: columns before the content of an outermost item

    @classmethod
    def of(cls, leads: Sequence[_Lead]) -> Self:
        """A single item is shown as a sentence; the first of several keeps its marker."""
        first = leads[0] if leads else _Lead(0, "", is_all=True, is_quotation=False)
        is_list = bool(first.marker) and first.is_all and any(lead.marker for lead in leads[1:])
        return cls(is_list, first.indent + (0 if is_list else len(first.marker)))

    def place(self, lead: _Lead, *, is_first: bool) -> tuple[str, int]:
        """(marker, indent) of the next unit."""
        if not lead.is_all or (is_first and not self.is_list):
            return "", 0
        if lead.marker and not self.is_list:
            self.is_list, self.margin = True, lead.indent
        elif not lead.marker and lead.indent <= self.margin:
            self.is_list = False
        indent = max(0, lead.indent - self.margin) if self.is_list else 0
        if indent >= CODE_INDENT:
            indent = max(indent, self.inner)  # with less it would be code
        elif lead.marker and not indent:
            self.inner = len(lead.marker)
        return lead.marker, indent


def _code(words: str, indent: int) -> str:
    """Fenced code; the fence is closed in case the passage was cut."""
    opening = _FENCE.match(words)
    if not opening:
        fence = "````" if "```" in words else "```"
        return f"{fence}\n{dedent(words)}\n{fence}"
    lines = re.sub(rf"^[ \t]{{0,{indent}}}", "", words, flags=re.MULTILINE)
    is_closed = "\n" in lines and lines.rpartition("\n")[2].strip().startswith(opening.group())
    return lines if is_closed else f"{lines}\n{opening.group()}"
