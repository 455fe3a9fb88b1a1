"""Tables in CSV and TSV files: each row a block that names its columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats.assembly import Part, assemble

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50  # lines from which the delimiter is guessed
SAMPLE = 20_000  # characters of them
NAME_LIMIT = 100  # characters of a column's name; a longer cell is data

_NUMBER_OR_DATE = re.compile(r"[\d\s.,:/+%$€£-]*\d[\d\s.,:/+%$€£-]*")


def parse(text: str, *, delimiter: str | None = None) -> Document:
    """One block per row: "Name: Ada; City: London". Rows count from 1 below the header."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text))
        return assemble(_parts(rows))
    except csv.Error as error:
        raise DocumentError(
            "could not be read as a table: a quotation mark is missing or a cell is huge"
        ) from error


def _delimiter(text: str) -> str:
    """The one with which most rows have the same number of cells."""
    lines = text[:SAMPLE].splitlines()[:SAMPLE_ROWS]

    def regularity(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        return (count / widths.total(), width) if width > 1 else (0.0, 1)

    return max(DELIMITERS, key=regularity)


def _parts(rows: Iterator[list[str]]) -> Iterator[Part]:
    first = next((row for row in rows if any(cell.strip() for cell in row)), [])
    second = next(rows, None)
    is_header = second is not None and names_columns(first)
    names = [" ".join(cell.split()) for cell in first] if is_header else []
    data = chain([] if is_header else [first], [] if second is None else [second], rows)
    for number, row in enumerate(data, start=1):
        yield Part(kind="table", text=row_line(names, row), row=number)


def names_columns(row: Sequence[str]) -> bool:
    """A header has no empty, repeated, long or numeric cells."""
    cells = [cell.strip() for cell in row]
    distinct = len(set(cells)) == len(cells)
    return distinct and all(
        0 < len(cell) <= NAME_LIMIT and not _NUMBER_OR_DATE.fullmatch(cell) for cell in cells
    )


def row_line(names: Sequence[str], row: Sequence[str]) -> str:
    labels = chain((f"{name}: " for name in names), iter(lambda: "", None))
    cells = (" ".join(cell.split()) for cell in row)
    return "; ".join(f"{label}{cell}" for label, cell in zip(labels, cells, strict=False) if cell)
