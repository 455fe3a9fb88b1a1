"""The print of a page, as words in boxes: its rows, cells, tables and columns of text."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

from core.library.formats.assembly import table_text

SAME_ROW = 0.6  # of the height of a line, between the middles of what stands in one row
RUNNING = 0.4  # of the lines of a text begin with a small letter at least
COLUMN = 25  # characters of most lines of a column of text; cells of a table are shorter
PART = 1_200  # characters of a table that are kept together with its header

# In heights of a line, which are about 1.15 of the size of its letters:
BLANK = 0.4  # above any blank: between a label and the currency of a number
CELL_GAP = 0.8  # between cells; blanks within text that fills its line stay below it

_CURRENCY = re.compile(r"[$€£¥₹]|US\$")
_TAIL = re.compile(r"[)%]+|\(\w\)")
_AMOUNT = re.compile(
    r"(?i)(?:US)?[$€£¥₹(\s+–-]*(?:\d(?:[\d.,’']*\d)?|[–—-]{1,2}|n/?[am]\.?)[)%\s]*(?:\(\w\)|[*†‡x])?",
)
_CLOSE = re.compile(r"(?<=[($€£¥₹])\s+|\s+(?=[)%])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A run of words on one line. Its box is in pixels or points from the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0  #: of recognition, 0 to 1
    size: float = 0.0  #: of its letters, in points
    is_bold: bool = False
    parts: tuple["Word", ...] = ()  #: the words that it was joined from

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def regions(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Columns of text, and what stands above, between and below them, by cutting the page where nothing is printed."""
    if not words:
        return
    usual = median(word.height for word in words)
    for cut in (_columns, _bands):
        parts = cut(words, usual)
        if len(parts) > 1:
            for part in parts:
                yield from regions(part)
            return
    yield words


def _columns(words: Sequence[Word], usual: float) -> list[list[Word]]:
    """Side by side, if each holds lines of text; cells of a table stay together, also beside running text."""
    if not words:
        return []
    parts = _split(words, usual, lambda word: (word.left, word.right))
    if all(median(len(word.text) for word in part) >= COLUMN and len(part) > 1 for part in parts):
        return parts
    amounts = sorted(word.middle for word in words if is_amount(word.text))

    def is_beside(word: Word) -> bool:
        """True if a number stands in its row."""
        index = bisect_left(amounts, word.middle - SAME_ROW * word.height)
        return index < len(amounts) and amounts[index] < word.middle + SAME_ROW * word.height

    joined: list[list[Word]] = []
    was_running = True
    for part in parts:
        beside = [word.text for word in part if is_beside(word)]
        is_text = len(beside) > 3 and median(map(len, beside)) >= COLUMN
        # Many lines of text begin within a sentence; labels do not.
        is_running = is_text and sum(text[:1].islower() for text in beside) >= RUNNING * len(beside)
        if is_running or was_running:
            joined.append(part)
        else:
            joined[-1] += part
        was_running = is_running
    return joined


def _bands(words: Sequence[Word], usual: float) -> list[list[Word]]:
    """Bands of lines, one above the other: those with columns of text, and those without."""
    joined: list[list[Word]] = []
    for band in _split(words, 0.5 * usual, lambda word: (word.top, word.bottom)):
        before = joined[-1] if joined else []
        is_alike = len({len(_columns(part, usual)) for part in (before, band, [*before, *band])}) == 1
        if before and is_alike:
            before += band
        else:
            joined.append(band)
    return joined


def _split(
    words: Sequence[Word], gap: float, extent: Callable[[Word], tuple[float, float]]
) -> list[list[Word]]:
    """Split lines where nothing is printed across all of them, for more than ``gap`` pixels."""
    parts: list[list[Word]] = []
    reached = 0.0
    for word in sorted(words, key=extent):
        begin, end = extent(word)
        if not parts or begin - reached > gap:
            parts.append([])
        parts[-1].append(word)
        reached = max(reached, end)
    return parts


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Printed lines from top to bottom, each from left to right."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.middle):
        if rows and word.middle - rows[-1][-1].middle < 0.5 * min(word.height, rows[-1][-1].height):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.left) for row in rows]


def cells_of(row: Sequence[Word]) -> list[Word]:
    """Words that stand near each other as one; a number with its currency and brackets."""
    cells: list[list[Word]] = []
    for word in row:
        before = cells[-1][-1] if cells else None
        room = (BLANK if _CURRENCY.fullmatch(word.text) else CELL_GAP) * word.height
        if before is None or word.left - before.right > room:
            is_tail = before is not None and _TAIL.fullmatch(word.text)
            follows_currency = before is not None and all(_CURRENCY.fullmatch(w.text) for w in cells[-1])
            if not is_tail and not (follows_currency and is_amount(word.text)):
                cells.append([word])
                continue
        cells[-1].append(word)
    return [_join(words) for words in cells]


def is_amount(text: str) -> bool:
    return bool(_AMOUNT.fullmatch(text))


def _join(words: Sequence[Word]) -> Word:
    text = " ".join(word.text for word in words)
    return Word(
        text=_CLOSE.sub("", text) if is_amount(text) else text,
        left=words[0].left, right=max(word.right for word in words),
        top=min(word.top for word in words), bottom=max(word.bottom for word in words),
        size=max(word.size for word in words), is_bold=all(word.is_bold for word in words),
        parts=tuple(part for word in words for part in (word.parts or (word,))),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """A table of a page."""

    corner: str  #: what stands above the labels: a unit, a name
    heads: tuple[str, ...]  #: of the columns of values, each with all that is above it
    rows: tuple[tuple[str, ...], ...]  #: the label and the values
    edges: tuple[float, ...]  #: right ends of these columns
    leeway: float  #: how far such an edge may be from that of the same column on the next page
    words: frozenset[int] = field(default_factory=frozenset)  #: ids of the words it is made of


def texts_of(table: PrintedTable) -> Iterator[str]:
    """The table in Markdown. A long one becomes several, each with the header, so that no row is cut from
    it."""
    header, rows = [table.corner, *table.heads], [list(row) for row in table.rows]
    if not any(header):
        header, rows = rows[0], rows[1:]
    part: list[list[str]] = []
    for row in rows:
        if part and len(table_text([header, *part, row])) > PART:
            yield table_text([header, *part])
            part = []
        part.append(row)
    yield table_text([header, *part])


def continue_table(before: PrintedTable, table: PrintedTable) -> PrintedTable:
    """A table at the head of a page. It has the names of the last table if it continues that."""
    if any(table.heads):
        is_same = table.heads == before.heads
        return replace(table, corner=before.corner) if is_same and not table.corner else table
    nearest = [min(range(len(before.edges)), key=partial(_gap, before, edge)) for edge in table.edges]
    pairs = {
        index: own
        for own, (index, edge) in enumerate(zip(nearest, table.edges, strict=True))
        if _gap(before, edge, index) <= table.leeway
    }
    if len(pairs) < min(len(before.edges), len(table.edges)):
        return table
    alone = set(range(len(table.edges))) - set(pairs.values())  # columns that were empty on the page before
    columns = sorted(
        [(edge, before.heads[index], pairs.get(index)) for index, edge in enumerate(before.edges)]
        + [(table.edges[own], "", own) for own in alone]
    )
    rows = tuple(
        (row[0], *("" if own is None else row[1 + own] for _, _, own in columns)) for row in table.rows
    )
    return replace(
        table, corner=before.corner or table.corner, heads=tuple(head for _, head, _ in columns), rows=rows,
        edges=tuple(edge for edge, _, _ in columns),
    )  # fmt: skip


def _gap(table: PrintedTable, edge: float, index: int) -> float:
    return abs(table.edges[index] - edge)
