"""Tables of the storage format as tables of Markdown.

A cell that is merged over rows stands in each of them, so that a row can be read alone. One that is merged over columns
stands in each of them in the head, and once below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from core.conversation import value

SPAN_LIMIT = 1_000  # rows or columns of one cell
CELL_LIMIT = 100_000  # of a table


@value
class TableCell:
    """A cell as it is written."""

    text: str
    is_head: bool
    rows: int = 1
    columns: int = 1


def table_of(table: Element, tag_of: Callable[[Element], str], text_of: Callable[[Element], str]) -> str:
    """Empty for a table that says nothing."""
    rows = [_cells(row, tag_of, text_of) for row in _rows(table, tag_of)]
    grid = _grid(rows)
    if not any(text for row in grid for text in row):
        return ""
    width = max(map(len, grid))
    lines = [[*row, *[""] * (width - len(row))] for row in grid]
    if not (rows[0] and all(cell.is_head for cell in rows[0])):
        lines.insert(0, [""] * width)
    written = [f"| {' | '.join(_in_cell(text) for text in line)} |" for line in lines]
    return "\n".join([written[0], f"|{' --- |' * width}", *written[1:]])


def _rows(table: Element, tag_of: Callable[[Element], str]) -> Iterator[Element]:
    """Its own, not those of tables in it."""
    for child in table:
        if tag_of(child) == "tr":
            yield child
        elif tag_of(child) in ("tbody", "thead", "tfoot"):
            yield from (row for row in child if tag_of(row) == "tr")


def _cells(
    row: Element, tag_of: Callable[[Element], str], text_of: Callable[[Element], str]
) -> list[TableCell]:
    return [
        TableCell(
            text=" ".join(text_of(cell).split()),
            is_head=tag_of(cell) == "th",
            rows=_span(cell.get("rowspan")),
            columns=_span(cell.get("colspan")),
        )
        for cell in row
        if tag_of(cell) in ("td", "th")
    ]


def _span(number: str | None) -> int:
    return min(max(1, int(number)), SPAN_LIMIT) if number and number.strip().isdecimal() else 1


def _grid(rows: list[list[TableCell]]) -> list[list[str]]:
    """The text in each place."""
    grid = list[list[str]]()
    above: dict[int, tuple[int, str]] = {}  # rows that are left of a cell from above, and its text, by column
    room = CELL_LIMIT
    for row in rows:
        line, waiting = list[str](), iter(row)
        cell = next(waiting, None)
        while (cell is not None or any(column >= len(line) for column in above)) and room > 0:
            room -= 1
            if (at := len(line)) in above:
                left, text = above.pop(at)
                line.append(text)
                if left > 1:
                    above[at] = left - 1, text
            elif cell is None:
                line.append("")
            else:
                for number in range(cell.columns):
                    text = cell.text if cell.is_head or not number else ""
                    if cell.rows > 1:
                        above[at + number] = cell.rows - 1, text
                    line.append(text)
                cell = next(waiting, None)
        grid.append(line)
    return grid


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")
