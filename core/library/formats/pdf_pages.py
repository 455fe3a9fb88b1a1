"""The pages of a PDF file as PDFium reads them: lines of words with their places and letters, tables as one line."""

from __future__ import annotations

import ctypes
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import atan2, pi
from typing import Any

from core.characters import storable
from core.errors import DocumentError
from core.library.formats.assembly import TEXT_LIMIT
from core.library.formats.page_progress import tell
from core.library.formats.pdf_tables import ROWS, tables_in
from core.library.formats.printed import PrintedTable, Word, cells_of, regions, rows_of

CROWDED = 50_000  # characters of a page on which no tables are looked for: a newspaper has 30,000
BOLD = 600  # weight of a font, where regular is 400
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibd", re.IGNORECASE)
_CHARACTERS = str.maketrans(
    dict.fromkeys(map(chr, range(9)), "")
    | {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\xa0": " "}
    | dict.fromkeys(
        "\x7f\uf0b7", "•"
    )  # ISO 32000-1, annex D.2: unused codes are bullets; so is this one of Symbol
)
_BROKEN = "\x02"  # what PDFium has for a hyphen at the end of a line, which it joins with the next one
_WORD = re.compile(rf"[^\s{_BROKEN}]+{_BROKEN}?")

_LOG = logging.getLogger(__name__)
_PDFIUM = threading.Lock()  # it is not made for several threads


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLine:
    """A line of a page; an empty one separates paragraphs."""

    text: str
    page: int  #: counts from 1
    level: int = 0  #: of a heading, else 0
    top: float = 0.0  #: points from the top of the page, or any measure that grows downwards
    size: float = 0.0  #: of most of its letters, in points
    is_bold: bool = False
    table: PrintedTable | None = None  #: in place of text


def read_pages(
    data: bytes, count: int, reading_time: float
) -> tuple[list[list[PrintedLine]], frozenset[int]]:
    """(the lines of each page, those that cannot be read), which count from 1. ``reading_time`` is in seconds of
    processor time.
    """
    import pypdfium2

    pages: list[list[PrintedLine]] = []
    damaged: set[int] = set()
    deadline, characters = time.thread_time() + reading_time, 0
    with _PDFIUM:
        document, fonts = pypdfium2.PdfDocument(data), dict[int, bool]()
        try:
            for number in range(1, count + 1):
                if time.thread_time() > deadline:
                    raise DocumentError(f"takes too long to read; page {number} of {count} was reached")
                try:
                    lines, read = _page(document, number, fonts)
                except pypdfium2.PdfiumError as error:
                    _LOG.warning("page %d could not be read: %r", number, error)
                    damaged.add(number)
                    lines, read = [], 0
                characters += read
                if characters > TEXT_LIMIT:
                    raise DocumentError(
                        f"holds more than {TEXT_LIMIT // 1_000_000} million characters of text"
                    )
                pages.append(lines)
                tell(number, count)
        finally:
            document.close()
    return pages, frozenset(damaged)


def _page(document: Any, number: int, fonts: dict[int, bool]) -> tuple[list[PrintedLine], int]:
    """The lines of a page, and how many characters it has."""
    from pypdfium2 import raw

    page = document[number - 1]
    try:
        text = page.get_textpage()
        count = text.count_chars()
        if count > TEXT_LIMIT:
            return [], count
        letters = "".join(map(chr, (raw.FPDFText_GetUnicode(text.raw, place) for place in range(count))))
        words = [(found, _matrix(text.raw, found.start())) for found in _WORD.finditer(letters)]
        quarter = _turned([matrix for _, matrix in words])
        lines = list(_lines(text.raw, words, quarter, page.get_height(), fonts))
        if 90 * quarter != page.get_rotation():  # PDFium orders words as on an upright page
            lines = rows_of([*chain.from_iterable(lines)])
        text.close()
    finally:
        page.close()
    tables = [] if count > CROWDED else _tables(lines)
    return list(_printed(lines, tables, number)), count


def _lines(
    text: Any, words: Iterable[tuple[re.Match[str], Any]], quarter: int, height: float, fonts: dict[int, bool]
) -> Iterator[list[Word]]:
    """The words of each line, in the order in which the page draws them. ``words``: with the matrices of their letters."""
    from pypdfium2 import raw

    first, last = raw.FS_RECTF(), raw.FS_RECTF()
    line: list[Word] = []
    reached = 0
    for found, matrix in words:
        if line and (line[-1].text[-1] == _BROKEN or "\n" in found.string[reached : found.start()]):
            yield line
            line = []
        start, reached = found.span()
        raw.FPDFText_GetLooseCharBox(text, start, ctypes.byref(first))
        raw.FPDFText_GetLooseCharBox(text, reached - 1, ctypes.byref(last))
        size = raw.FPDFText_GetFontSize(text, start) * (matrix.c**2 + matrix.d**2) ** 0.5
        left, top, right, bottom = _upright(_around(first, last), quarter, height)
        line.append(
            Word(
                text=found[0], left=left, right=right, top=top, bottom=bottom,
                size=size, is_bold=_is_bold(text, start, fonts),
            )
        )  # fmt: skip
    if line:
        yield line


def _matrix(text: Any, place: int) -> Any:
    """How a letter is drawn: its size and direction."""
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text, place, ctypes.byref(matrix))
    return matrix


def _turned(matrices: Sequence[Any]) -> int:
    """By how many quarters most words are turned against the clock."""
    turns = Counter(round(atan2(matrix.b, matrix.a) / (pi / 2)) % 4 for matrix in matrices)
    return turns.most_common(1)[0][0] if turns else 0


def _around(first: Any, last: Any) -> tuple[float, float, float, float]:
    """(left, bottom, right, top) of two boxes together, from the lower left corner of the page."""
    return (
        min(first.left, last.left), min(first.bottom, last.bottom),
        max(first.right, last.right), max(first.top, last.top),
    )  # fmt: skip


def _upright(
    box: tuple[float, float, float, float], quarter: int, height: float
) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) as a reader sees it who turns the page, growing to the right and downwards."""
    left, bottom, right, top = box
    return (
        (left, height - top, right, height - bottom),
        (bottom, left, top, right),
        (-right, bottom, -left, top),
        (-top, -right, -bottom, -left),
    )[quarter]


def _is_bold(text: Any, place: int, fonts: dict[int, bool]) -> bool:
    """``fonts``: those that were looked at, by their address."""
    from pypdfium2 import raw

    drawn = raw.FPDFText_GetTextObject(text, place)
    font = raw.FPDFTextObj_GetFont(drawn) if drawn else None
    address = ctypes.cast(font, ctypes.c_void_p).value if font else None
    if address is None:
        return False
    if address not in fonts:
        name = ctypes.create_string_buffer(200)
        raw.FPDFFont_GetBaseFontName(font, name, len(name))
        fonts[address] = raw.FPDFFont_GetWeight(font) >= BOLD or bool(_BOLD_NAME.search(name.value))
    return fonts[address]


def _tables(lines: Sequence[Sequence[Word]]) -> list[PrintedTable]:
    order = {id(word): place for place, word in enumerate(chain.from_iterable(lines))}

    def is_in_order(rows: Sequence[Sequence[Word]]) -> bool:
        places = [order[id(word)] for row in rows for cell in row for word in cell.parts]
        return places == list(range(places[0], places[0] + len(places)))

    rows = [cells_of(row) for row in rows_of(list(chain.from_iterable(lines)))]
    if sum(len(row) > 1 for row in rows) < ROWS:
        return []
    cells = [cell for row in rows for cell in row]
    return [table for region in regions(cells) for table in tables_in(rows_of(region), is_in_order)]


def _printed(
    lines: Sequence[Sequence[Word]], tables: Sequence[PrintedTable], number: int
) -> Iterator[PrintedLine]:
    """The lines as text; a table stands where its first word does."""
    owners = {word: table for table in tables for word in table.words}
    seen: set[int] = set()
    for line in lines:
        for word in line:
            table = owners.get(id(word))
            if table and id(table) not in seen:
                seen.add(id(table))
                yield PrintedLine(text="", page=number, top=word.top, table=table)
        words = [word for word in line if id(word) not in owners]
        text = _cleaned(" ".join(word.text for word in words))
        if text:
            longest = max(words, key=lambda word: len(word.text))
            yield PrintedLine(
                text=text, page=number, top=words[0].top, size=round(longest.size, 1),
                is_bold=all(word.is_bold for word in words),
            )  # fmt: skip


def _cleaned(text: str) -> str:
    """Without ligatures, control characters, and the lone surrogates of broken fonts."""
    text = text.replace(_BROKEN, "-").translate(_CHARACTERS)
    return storable(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()
