"""OpenDocument texts, workbooks and presentations (.odt, .ods, .odp): OASIS OpenDocument 1.3, part 3.

A footnote stands below the paragraph that refers to it. Comments, deletions, headers and footers are left out.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from xml.etree import ElementTree as ET

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import archives, presentation, word, workbook
from core.library.formats.assembly import Part, add_heading, assemble, first_title, table_text
from core.library.formats.dates import moment_in

SPACES = 100  # that one element may stand for
COLUMNS = 1_024  # that one cell may stand for: LibreOffice repeats the last one to the end of a sheet


def _names(kind: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{{urn:oasis:names:tc:opendocument:xmlns:{kind}:1.0}}{name}" for name in names)


_H, _P, _LIST, _S, _TAB, _BREAK, _NOTE, _NOTE_BODY, _LEVEL, _STYLED, _COUNT = _names(
    "text", "h", "p", "list", "s", "tab", "line-break", "note", "note-body", "outline-level", "style-name", "c"
)  # fmt: skip
_TABLE, _ROW, _CELL, _COVERED, _NAME, _TABLE_STYLE, _DISPLAY, _MORE_ROWS, _MORE_COLUMNS = _names(
    "table", "table", "table-row", "table-cell", "covered-table-cell", "name", "style-name", "display",
    "number-rows-repeated", "number-columns-repeated",
)  # fmt: skip
_STYLE, _STYLE_NAME, _PARENT, _TABLE_LOOKS = _names(
    "style", "style", "name", "parent-style-name", "table-properties"
)
_PAGE, _FRAME = _names("drawing", "page", "frame")
_CLASS, _NOTES = _names("presentation", "class", "notes")
_BODY, _COMMENT = _names("office", "body", "annotation")
_DESCRIBED = _names("svg-compatible", "desc", "title")
_CONTENTS = _names("text", "table-of-content", "alphabetical-index", "illustration-index", "table-index")
_APART = {_NOTE, _COMMENT, _FRAME, *_names("office", "annotation-end"), *_names("text", "ruby-text")}
_UNSEEN = {*_names("text", "tracked-changes"), _COMMENT, _NOTES}
_ON_EVERY_SLIDE = {"header", "footer", "date-time", "page-number"}  # classes of frames

_SPACE = re.compile(r"[ \t\r\n]+")
_TITLE = re.compile(rb"<dc:title>([^<>]*)<")
_DATE = re.compile(rb"<dc:date>([^<>]*)<")


def parse(data: bytes, *, suffix: str, name: str) -> Document:
    """The document's text under a heading; ``name`` is used where a text has no title."""
    entries = {entry.filename for entry in archives.refuse_bombs(data, suffix=suffix)}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest, meta, content = (
            archive.read(entry) if entry in entries else b""
            for entry in ("META-INF/manifest.xml", "meta.xml", "content.xml")
        )
    if b"encryption-data" in manifest:
        raise DocumentError("is encrypted; save it without a password first")
    if not content:
        raise DocumentError(f"is not {archives.FORMAT_NAMES[suffix]} though it is named {suffix}")
    root = ET.fromstring(content)  # noqa: S314 - expat bounds what entities grow to, and reads nothing from outside
    declared = ET.fromstring(b"<t>%s</t>" % found[1]).text or "" if (found := _TITLE.search(meta)) else ""  # noqa: S314
    document = _READERS[suffix](root, " ".join(declared.split()), name)
    date = found[1].decode("ascii", "replace") if (found := _DATE.search(meta)) else ""
    return replace(document, changed_at=moment_in(date))


def _read_text(root: ET.Element, declared: str, name: str) -> Document:
    titles = {"Title", *(each.get(_STYLE_NAME) for each in root.iter(_STYLE) if each.get(_PARENT) == "Title")}
    below = any(each.get(_STYLED) in titles for each in root.iter(_P))
    body = root.find(_BODY)
    parts = add_heading(
        word.join_nested(_parts(body, titles, below) if body is not None else ()), declared or name
    )
    return assemble(parts, title=first_title(parts) or declared)


def _parts(
    elements: Iterable[ET.Element], titles: set[str | None], below: bool = False, depth: int = -1
) -> Iterator[Part]:
    """``below``: headings stand one level below the title. ``depth`` of the list that this is an item of."""
    for each in elements:
        if each.tag in (_H, _P):
            yield from _paragraph(each, titles, below, depth)
        elif each.tag == _LIST:
            for item in each:
                yield from _parts(item, titles, below, depth + 1)
        elif each.tag == _TABLE:
            rows = [cells for _, cells in _rows(each)]
            yield Part(kind="table", text=table_text(rows))
        elif each.tag == _FRAME:
            yield from _parts(each, titles, below)
            said = next((found.text for key in _DESCRIBED if (found := each.find(key)) is not None), None)
            if said:
                yield Part(kind="prose", text=said)
        elif each.tag in _CONTENTS:
            yield from (Part(kind="markup", text=_text(line)) for line in each.iter(_P))
        elif each.tag not in _UNSEEN:
            yield from _parts(each, titles, below, depth)


def _paragraph(element: ET.Element, titles: set[str | None], below: bool, depth: int) -> Iterator[Part]:
    text = _text(element).strip()
    level = int(element.get(_LEVEL) or 1) + below if element.tag == _H else None
    level = 1 if element.get(_STYLED) in titles else level
    if text and level is not None:
        level = min(max(level, 1), 6)
        yield Part(kind="heading", text=f"{'#' * level} {' '.join(text.split())}", level=level)
    elif text:
        mark = f"{'  ' * depth}- " if depth >= 0 else ""
        yield Part(kind="item" if mark else "prose", text=mark + text)
    for note in element.iter(_NOTE_BODY):
        yield Part(kind="prose", text="\n".join(_text(each) for each in note.iter(_P)))
    for frame in _within(element, _FRAME):
        yield from _parts([frame], titles, below)


def _text(element: ET.Element) -> str:
    """The text as a reader sees it, without what stands apart from the line."""
    seen = [_SPACE.sub(" ", element.text or "")]
    for child in element:
        if child.tag == _S:
            seen.append(" " * min(int(child.get(_COUNT) or 1), SPACES))
        elif child.tag in (_TAB, _BREAK):
            seen.append("\t" if child.tag == _TAB else "\n")
        elif child.tag not in _APART:
            seen.append(_text(child))
        seen.append(_SPACE.sub(" ", child.tail or ""))
    return "".join(seen)


def _within(element: ET.Element, *tags: str) -> Iterator[ET.Element]:
    """Elements below another one, but not below one another."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag not in _UNSEEN:
            yield from _within(child, *tags)


def _rows(table: ET.Element, left: list[int] | None = None) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of rows that hold something; ``left``: cells that a workbook may still have."""
    # Only workbooks repeat cells and rows.
    number, repeats, left = 1, left is not None, left or [workbook.CELL_LIMIT]
    for row in _within(table, _ROW):
        cells: list[str] = []
        for cell in _within(row, _CELL, _COVERED):
            text = " ".join(" ".join(_text(each).split()) for each in _within(cell, _P, _H))
            cells += [text] * (min(int(cell.get(_MORE_COLUMNS) or 1), COLUMNS) if repeats else 1)
        cells, repeated = workbook.trim(cells), int(row.get(_MORE_ROWS) or 1) if repeats else 1
        left[0] -= len(cells) * repeated + 1
        if left[0] < 0:
            raise DocumentError(f"holds more than {workbook.CELL_LIMIT:,} cells")
        if cells:
            yield from ((number + more, cells) for more in range(repeated))
        number += repeated


def _read_workbook(root: ET.Element, declared: str, _name: str) -> Document:
    hidden = {
        style.get(_STYLE_NAME)
        for style in root.iter(_STYLE)
        if any(looks.get(_DISPLAY) == "false" for looks in style.iter(_TABLE_LOOKS))
    }
    left, parts = [workbook.CELL_LIMIT], list[Part]()
    for sheet in _within(root, _TABLE):
        if sheet.get(_TABLE_STYLE) not in hidden:
            parts += workbook.sheet_parts(sheet.get(_NAME) or "", _rows(sheet, left))
    return assemble(parts, title=declared, unit="sheet")


def _read_presentation(root: ET.Element, declared: str, _name: str) -> Document:
    parts = [part for number, page in enumerate(root.iter(_PAGE), start=1) for part in _slide(page, number)]
    return assemble(parts, title=first_title(parts) or declared, unit="slide")


def _slide(page: ET.Element, number: int) -> Iterator[Part]:
    frames = [each for each in page if each.get(_CLASS) not in _ON_EVERY_SLIDE]
    title = " ".join(_text(line) for each in frames if each.get(_CLASS) == "title" for line in each.iter(_P))
    others = [each for each in frames if each.get(_CLASS) != "title"]
    body = [*word.join_nested(_parts(others, set()))]
    notes = [_text(line) for each in page.iter(_NOTES) for line in each.iter(_P)]
    return presentation.slide_parts(title, body, [line for line in notes if line.strip()], number)


_READERS = {".odt": _read_text, ".ods": _read_workbook, ".odp": _read_presentation}
