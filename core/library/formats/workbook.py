"""Tables: CSV and TSV files, and workbooks (.xlsx). Each row is a block that names its columns.

Workbooks need openpyxl of the extra ``office``: markitdown would lose the numbers of rows, and needs pandas.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime
from itertools import chain
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import archives
from core.library.formats.assembly import Part, assemble

CELL_LIMIT = 3_000_000  # of a workbook, empty ones too
EMPTY_ROWS = 10_000  # empty rows in a row, after which a sheet ends


def parse(data: bytes) -> Document:
    """Sheet by sheet, each row a block that names its columns; rows count as in the workbook, from 1."""
    data = archives.readable(data, suffix=".xlsx")
    import openpyxl

    with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as workbook:
        left, parts = [CELL_LIMIT], list[Part]()
        for sheet in workbook.worksheets:
            if sheet.sheet_state == "visible":  # nobody who opens the workbook sees others
                sheet.reset_dimensions()  # what it declares may be wrong
                parts += sheet_parts(sheet.title, _rows(sheet, left))
        title = " ".join((workbook.properties.title or "").split())
        return assemble(parts, title=title, unit="sheet", changed_at=archives.changed_at(data))


def sheet_parts(title: str, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Part]:
    """A heading, and each row with the names of its columns; nothing of an empty sheet."""
    first = next(rows, None)
    if first is None:
        return
    yield Part(kind="heading", text=f"# {' '.join(title.split())}", level=1, row=first[0])
    names = first[1] if names_columns(first[1]) else []
    if not names:
        yield Part(kind="table", text=row_line([], first[1]), row=first[0])
    number = 0
    for number, cells in rows:
        yield Part(kind="table", text=row_line(names, cells), row=number)
    if names and not number:
        yield Part(kind="table", text=row_line([], names), row=first[0])


def _rows(sheet: Any, left: list[int]) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of the rows that hold something, without the empty cells at their end."""
    gap = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        left[0] -= len(row)
        if left[0] < 0:
            raise DocumentError(f"holds more than {CELL_LIMIT:,} cells")
        cells = trim([_format_cell(value) for value in row])
        gap = 0 if cells else gap + 1
        if gap > EMPTY_ROWS:
            return
        if cells:
            yield number, cells


def trim(cells: Sequence[str]) -> list[str]:
    last = max((number for number, cell in enumerate(cells, start=1) if cell), default=0)
    return list(cells[:last])


def _format_cell(value: Any) -> str:
    """A cell as people read it: whole numbers without a point, dates without midnight."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if not (value.hour or value.minute or value.second) else str(value)
    return value.isoformat() if isinstance(value, date) else " ".join(str(value).split())


DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50  # lines from which the delimiter is guessed
SAMPLE = 20_000  # characters of them
NAME_LIMIT = 100  # characters of a column's name; a longer cell is data

_NUMBER_OR_DATE = re.compile(r"[\d\s.,:/+%$€£-]*\d[\d\s.,:/+%$€£-]*")


def parse_delimited(text: str, *, delimiter: str | None = None) -> Document:
    """One block per row: "Name: Ada; City: London". Rows count from 1 below the header."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text))
        first = next((row for row in rows if any(cell.strip() for cell in row)), [])
        second = next(rows, None)
        is_header = second is not None and names_columns(first)
        names = [" ".join(cell.split()) for cell in first] if is_header else []
        data = chain([] if is_header else [first], [] if second is None else [second], rows)
        lines = (row_line(names, row) for row in data)
        return assemble(Part(kind="table", text=line, row=row) for row, line in enumerate(lines, start=1))
    except csv.Error as error:
        what = "could not be read as a table: a quotation mark is missing or a cell is huge"
        raise DocumentError(what) from error


def _delimiter(text: str) -> str:
    """The one with which most rows have the same number of cells."""
    lines = text[:SAMPLE].splitlines()[:SAMPLE_ROWS]

    def regularity(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        return (count / widths.total(), width) if width > 1 else (0.0, 1)

    return max(DELIMITERS, key=regularity)


def names_columns(row: Sequence[str]) -> bool:
    """A header has no empty, repeated, long or numeric cells."""
    cells = [cell.strip() for cell in row]
    are_words = (0 < len(cell) <= NAME_LIMIT and not _NUMBER_OR_DATE.fullmatch(cell) for cell in cells)
    return len(set(cells)) == len(cells) and all(are_words)


def row_line(names: Sequence[str], row: Sequence[str]) -> str:
    labels = chain((f"{name}: " for name in names), iter(lambda: "", None))
    cells = (" ".join(cell.split()) for cell in row)
    return "; ".join(f"{label}{cell}" for label, cell in zip(labels, cells, strict=False) if cell)
