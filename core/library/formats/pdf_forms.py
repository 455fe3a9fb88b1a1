"""The entries that people filled into a PDF: values of form fields, and typed text.

They are annotations (ISO 32000-1, 12.5.6 and 12.7) and no part of the page's own text. What is hidden, and what was
typed into a field for a password, is not read.
"""

import io
import logging
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

ANNOTATION_LIMIT = 5_000  # of a page
#: What pypdf raises on broken pages, besides its own errors. One broken page must not lose the others.
BROKEN_PAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
PARENT_LIMIT = 20  # fields above one another; a broken file has cycles
HIDDEN = 2 | 32  # flags of an annotation, table 165: hidden, not viewed
PASSWORD, PUSH_BUTTON = 1 << 13, 1 << 16  # flags of a field, tables 226 and 228

_LOG = logging.getLogger(__name__)
_INDEX = re.compile(r"\[\d+\]")  # "Name[0]", as forms of LiveCycle name their fields

Found = TypeVar("Found")
#: A dictionary of pypdf, or what stands in one.
Entry = Any


def read_form_entries(data: bytes) -> dict[int, list[str]]:
    """The filled-in lines by page, from 1."""

    def read(reader: "PdfReader") -> dict[int, list[str]]:
        pages = enumerate(reader.pages, start=1)
        return {number: lines for number, page in pages if (lines := filled_lines(page))}

    return _read_by_pypdf(data, read, otherwise={})


def find_broken_pages(data: bytes, blank: Collection[int]) -> frozenset[int]:
    """The pages, from 1, whose content cannot be unpacked; PDFium passes over it."""
    return _read_by_pypdf(
        data,
        lambda reader: frozenset(number for number in blank if _is_broken(reader, number)),
        otherwise=frozenset(),
    )


def _read_by_pypdf(data: bytes, read: Callable[["PdfReader"], Found], *, otherwise: Found) -> Found:
    """The result of pypdf's reader; a file that it cannot read is not lost, as PDFium could."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            reader.decrypt("")
        return read(reader)
    except (NotImplementedError, PyPdfError, *BROKEN_PAGE) as error:
        _LOG.warning("what was filled in, or is broken, could not be read: %r", error)
        return otherwise


def _is_broken(reader: "PdfReader", number: int) -> bool:
    from pypdf.errors import PyPdfError

    try:
        contents = _page_at(reader, number)["/Contents"]
        for each in contents if isinstance(contents, list) else [contents]:
            drawn: Entry = each and each.get_object()  # None where there is no such object
            if hasattr(drawn, "get_data"):
                drawn.get_data()
    except KeyError:  # nothing is drawn
        return False
    except (PyPdfError, *BROKEN_PAGE):
        return True
    return False


def _page_at(reader: "PdfReader", number: int) -> Entry:
    """The page alone. A list of all pages takes 200 kB for each page of a file as pdfTeX writes it."""
    node: Entry = reader.root_object["/Pages"]
    before, seen = 1, set[int]()
    while "/Kids" in node:
        for each in node["/Kids"]:
            kid = each.get_object()
            if id(kid) in seen:  # a broken tree has cycles
                continue
            seen.add(id(kid))
            count = int(kid.get("/Count", 1)) if "/Kids" in kid else 1
            if number < before + count:
                node = kid
                break
            before += count
        else:
            raise IndexError(number)
    return node


def filled_lines(page: "PageObject") -> list[str]:
    """ "• Field: value" for each field that has one, and the lines of each typed text."""
    from pypdf.errors import PyPdfError

    lines: list[str] = []
    annotations: Entry = page["/Annots"] if "/Annots" in page else ()  # noqa: SIM401 - get() follows no reference
    for each in annotations[:ANNOTATION_LIMIT] if isinstance(annotations, list) else ():
        with suppress(PyPdfError, *BROKEN_PAGE):
            lines += _lines(page, each.get_object())
    return list(dict.fromkeys(lines))  # a field may be shown twice


def _lines(page: "PageObject", annotation: Entry) -> Iterable[str]:
    if int(annotation.get("/F", 0)) & HIDDEN:
        return []
    kind = annotation.get("/Subtype")
    if kind == "/FreeText":
        return _typed_text(page, annotation, annotation.get("/Contents")).splitlines()
    value = " ".join(_value(page, annotation).split()) if kind == "/Widget" else ""
    name = _INDEX.sub("", str(_inherit(annotation, "/TU") or _inherit(annotation, "/T") or "")).strip()
    return [f"• {name}: {value}" if name else f"• {value}"] if value else []


def _value(page: "PageObject", widget: Entry) -> str:
    kind, flags = _inherit(widget, "/FT"), int(_inherit(widget, "/Ff") or 0)
    value = _inherit(widget, "/V")
    if kind == "/Btn":
        state = str(widget.get("/AS") or value or "/Off")
        return "" if state == "/Off" or flags & PUSH_BUTTON else state.removeprefix("/")
    if kind == "/Ch":
        options = _inherit(widget, "/Opt") or ()
        shown = {each[0]: each[1] for each in options if isinstance(each, list) and len(each) == 2}
        chosen = value if isinstance(value, list) else [value]
        return ", ".join(str(shown.get(each, each)) for each in chosen if each)
    return _typed_text(page, widget, value) if kind == "/Tx" and not flags & PASSWORD else ""


def _typed_text(page: "PageObject", annotation: Entry, value: Entry) -> str:
    """The value, else the text by which it is shown."""
    if isinstance(value, str):
        return value
    if hasattr(value, "get_data"):  # a long text may be a stream
        return bytes(value.get_data()).decode("utf-8", "replace")
    shown: Entry = annotation["/AP"]["/N"] if "/AP" in annotation else None
    return page.extract_xform_text(shown) if hasattr(shown, "get_data") else ""


def _inherit(field: Entry, key: str) -> Entry:
    """The entry of a field or of one above it; None where none has it."""
    for _ in range(PARENT_LIMIT):
        if key in field:
            return field[key]
        if "/Parent" not in field:
            break
        field = field["/Parent"]
    return None
