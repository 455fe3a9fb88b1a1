"""Tables of a PDF page, which its text gives cell by cell: found in the page's layout, put in place of those lines.

Nothing is lost: lines are replaced only by a table that holds the same letters in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby

from core.library.formats.assembly import table_text

SHORT_CELL = 60  # characters; a longer line is no cell
ROWS = 3  # of a table, its header included

TABLE_BEGINS = "| "

_GAP = re.compile(r"\s{3,}")
_OTHER = re.compile(r"\s+")


def with_tables(lines: Sequence[str], layout: Callable[[], Sequence[str]]) -> list[str]:
    """The page's lines, each table as one of them with line ends in it. ``layout`` gives the lines as they are placed.

    The layout takes longer to make than the text, so it is made only where lines look like cells.
    """
    kept = list(lines)
    if not may_hold_table(lines):
        return kept
    for rows in _tables(layout()):
        found = _place(kept, "".join(_bare(cell) for row in rows for cell in row))
        if found:
            kept[found[0] : found[1]] = [table_text(rows)]
    return kept


def may_hold_table(lines: Sequence[str]) -> bool:
    runs = groupby(lines, key=lambda line: 0 < len(line) <= SHORT_CELL)
    return any(is_short and sum(1 for _ in run) >= ROWS for is_short, run in runs)


def _tables(layout: Sequence[str]) -> Iterator[list[list[str]]]:
    """Runs of lines with the same number of cells, at least two."""
    rows = [_GAP.split(line.strip()) for line in layout if line.strip()]
    for width, run in groupby(rows, key=len):
        table = list(run)
        if width > 1 and len(table) >= ROWS and all(len(cell) <= SHORT_CELL for row in table for cell in row):
            yield table


def _place(lines: Sequence[str], wanted: str) -> tuple[int, int] | None:
    """(first, the line after the last) of the lines that hold these letters and nothing else."""
    bare = [_bare(line) for line in lines]
    starts = [0, *accumulate(map(len, bare))]
    edges, everything = frozenset(starts), "".join(bare)
    at = everything.find(wanted) if wanted else -1
    while at >= 0:
        if at in edges and at + len(wanted) in edges:
            last = starts.index(at + len(wanted))
            first = len(starts) - 1 - starts[::-1].index(at)
            return first, last
        at = everything.find(wanted, at + 1)
    return None


def _bare(text: str) -> str:
    return _OTHER.sub("", text)
