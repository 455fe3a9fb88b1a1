"""Presentations, workbooks, books and mails, with the packages of the extra ``office``.

markitdown turns presentations, books and mails into Markdown. A workbook is read by openpyxl itself: markitdown
would lose the numbers of its rows, and read it through pandas.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import markdown
from core.library.formats.archives import refuse_bombs
from core.library.formats.assembly import Part, assemble
from core.library.formats.delimited import names_columns, row_line

CELL_LIMIT = 3_000_000  # of a workbook, empty ones too
EMPTY_ROWS = 10_000  # empty rows in a row, after which a sheet ends

_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_SUBJECT = re.compile(r"^\*\*Subject:\*\* (.+)$", re.MULTILINE)


def parse_presentation(data: bytes) -> Document:
    """Slide by slide, its notes below it."""
    refuse_bombs(data, suffix=".pptx")
    _, *slides = _SLIDE.split(_converted("PptxConverter", data, ".pptx")[0])
    parts = (
        part
        for number, text in zip(slides[::2], slides[1::2], strict=True)
        for part in _parts(_PICTURE.sub(r"\1", text), page=int(number))
    )
    return assemble(parts, unit="slide")


def parse_book(data: bytes) -> Document:
    """The chapters in their order, without what the catalogue says about the book."""
    refuse_bombs(data, suffix=".epub")
    text, title = _converted("EpubConverter", data, ".epub")
    metadata, _, chapters = text.partition("\n\n")
    return assemble(_parts(chapters if metadata.startswith("**") else text), title=title)


def parse_mail(data: bytes) -> Document:
    """From, to and subject, then what was written; attachments are left out."""
    text, title = _converted("OutlookMsgConverter", data, ".msg")
    subject = _SUBJECT.search(text)
    return assemble(
        _parts(text.replace("# Email Message", "", 1)), title=title or (subject[1] if subject else "")
    )


def _converted(converter: str, data: bytes, suffix: str) -> tuple[str, str]:
    """(Markdown, title)."""
    try:
        from markitdown import MissingDependencyException, StreamInfo, converters
    except ImportError as error:
        raise _without_extra(suffix) from error
    try:
        result = getattr(converters, converter)().convert(io.BytesIO(data), StreamInfo(extension=suffix))
    except MissingDependencyException as error:
        raise _without_extra(suffix) from error
    return result.markdown, " ".join((result.title or "").split())


def _without_extra(suffix: str) -> DocumentError:
    return DocumentError(
        f"needs the extra “office” ({suffix}): .uv/bin/uv sync --no-dev --inexact --extra office"
    )


def _parts(text: str, *, page: int | None = None) -> Iterator[Part]:
    document = markdown.parse(text)
    for block in document.blocks:
        yield Part(kind=block.kind, text=document.text[block.start : block.end], level=block.level, page=page)


def parse_workbook(data: bytes) -> Document:
    """Sheet by sheet, each row a block that names its columns; rows count as in the workbook, from 1."""
    refuse_bombs(data, suffix=".xlsx")
    try:
        import openpyxl
    except ImportError as error:
        raise _without_extra(".xlsx") from error
    workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    try:
        left = [CELL_LIMIT]
        parts = [part for sheet in workbook.worksheets for part in _sheet(sheet, left)]
        return assemble(parts, title=" ".join((workbook.properties.title or "").split()), unit="sheet")
    finally:
        workbook.close()


def _sheet(sheet: Any, left: list[int]) -> Iterator[Part]:
    if sheet.sheet_state != "visible":
        return  # nobody who opens the workbook sees it
    sheet.reset_dimensions()  # what it declares may be wrong
    rows = _rows(sheet, left)
    first = next(rows, None)
    if first is None:
        return
    yield Part(kind="heading", text=f"# {' '.join(sheet.title.split())}", level=1, row=first[0])
    names = first[1] if names_columns(first[1]) else []
    if not names:
        yield Part(kind="table", text=row_line([], first[1]), row=first[0])
    empty = True
    for number, cells in rows:
        empty = False
        yield Part(kind="table", text=row_line(names, cells), row=number)
    if empty and names:
        yield Part(kind="table", text=row_line([], names), row=first[0])


def _rows(sheet: Any, left: list[int]) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of the rows that hold something, without the empty cells at their end."""
    gap = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        left[0] -= len(row)
        if left[0] < 0:
            raise DocumentError(f"holds more than {CELL_LIMIT:,} cells")
        cells = _trimmed([_shown(value) for value in row])
        gap = 0 if cells else gap + 1
        if gap > EMPTY_ROWS:
            return
        if cells:
            yield number, cells


def _trimmed(cells: Sequence[str]) -> list[str]:
    last = max((number for number, cell in enumerate(cells, start=1) if cell), default=0)
    return list(cells[:last])


def _shown(value: Any) -> str:
    """A cell as people read it: whole numbers without a point, dates without midnight."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if not (value.hour or value.minute or value.second) else str(value)
    return value.isoformat() if isinstance(value, date) else " ".join(str(value).split())
