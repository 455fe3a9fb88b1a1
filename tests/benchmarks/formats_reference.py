"""What a file says, read from its own format without any of the readers that are compared.

Of Office files the text of their XML, of books that of their pages, of notebooks their JSON, of mails the standard
library's parts, of Outlook's mails the streams of their properties, of PDF files what PDFium gives.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
#: What is shown in another form, was deleted or moved away, is a number of a slide, or tells how to pronounce.
UNSEEN = frozenset({f"{COMPATIBLE}Fallback", f"{W}del", f"{W}moveFrom", f"{A}fld", f"{S}rPh"})
BREAKS = frozenset({f"{W}br", f"{W}cr", f"{W}tab", f"{A}br"})
STRICT = (  # ISO/IEC 29500-1, and the names of its transitional form
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", W[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/drawingml/main", A[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", S[1:-1].encode()),
)


class Reference(NamedTuple):
    """What a file says."""

    texts: tuple[str, ...]  #: paragraphs and cells
    rows: tuple[tuple[str, ...], ...] = ()  #: of tables, the cells that hold something


def reference_of(suffix: str, data: bytes) -> Reference | None:
    """None where the file says nothing, or cannot be read so."""
    try:
        found = READERS[suffix](data)
    except Exception:  # noqa: BLE001 - a broken file is no measure
        return None
    return found if any(text.strip() for text in found.texts) else None


def _xml(data: bytes) -> Element:
    """Without what no reader shows."""
    for strict, transitional in STRICT:
        data = data.replace(strict, transitional)
    root = fromstring(data)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in UNSEEN:
                parent.remove(child)
    return root


def _line(element: Element, text: str) -> str:
    """The words of a paragraph or a cell; runs cut words, breaks and tabulators part them."""
    return "".join(
        each.text or "" if each.tag == text else " " if each.tag in BREAKS else "" for each in element.iter()
    )


def _word(data: bytes) -> Reference:
    texts: list[str] = []
    rows: list[tuple[str, ...]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"word/(document|footnotes|endnotes)\d*\.xml", name):
                root = _xml(archive.read(name))
                paragraphs = (p for p in root.iter(f"{W}p") if p.find(f".//{W}p") is None)
                texts += (_line(p, f"{W}t") for p in paragraphs)
                rows += _rows(root, W)
    return Reference(tuple(texts), tuple(rows))


def _rows(root: Element, space: str) -> Iterator[tuple[str, ...]]:
    """Of tables that hold no other."""
    for row in root.iter(f"{space}tr"):
        if row.find(f".//{space}tr") is not None:
            continue
        cells = (
            " ".join(_line(p, f"{space}t") for p in cell.iter(f"{space}p")) for cell in row.iter(f"{space}tc")
        )
        filled = tuple(cell for cell in cells if cell.strip())
        if len(filled) > 1:
            yield filled


def _presentation(data: bytes) -> Reference:
    texts: list[str] = []
    rows: list[tuple[str, ...]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"ppt/(slides|notesSlides|diagrams)/(slide|notesSlide|data)\d+\.xml", name):
                root = _xml(archive.read(name))
                texts += (_line(p, f"{A}t") for p in root.iter(f"{A}p"))
                rows += _rows(root, A)
    return Reference(tuple(texts), tuple(rows))


def _workbook(data: bytes) -> Reference:
    rows: list[tuple[str, ...]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        shared: list[str] = []
        for name in archive.namelist():
            if name.lower() == "xl/sharedstrings.xml":
                shared += (_line(si, f"{S}t") for si in _xml(archive.read(name)).iter(f"{S}si"))
        for name in archive.namelist():
            if re.fullmatch(r"xl/worksheets/sheet[\w-]*\.xml", name):
                for row in _xml(archive.read(name)).iter(f"{S}row"):
                    cells = tuple(c for c in (_cell(c, shared) for c in row.iter(f"{S}c")) if c.strip())
                    if cells:
                        rows.append(cells)
    return Reference(tuple(cell for row in rows for cell in row), tuple(row for row in rows if len(row) > 1))


def _cell(cell: Element, shared: Sequence[str]) -> str:
    """Words alone: numbers are shown as their formats say."""
    kind, value = cell.get("t"), cell.findtext(f"{S}v") or ""
    if kind == "s":
        return shared[int(value)]
    if kind == "inlineStr":
        return _line(cell, f"{S}t")
    return value if kind == "str" else ""


def _notebook(data: bytes) -> Reference:
    book = json.loads(data)
    cells = book["cells"] if "cells" in book else book["worksheets"][0]["cells"]
    sources = (cell.get("source", cell.get("input", "")) for cell in cells)
    return Reference(tuple("".join(s) if isinstance(s, list) else s for s in sources))


class _PageText(HTMLParser):
    """Paragraphs and rows of a page."""

    BREAKS = frozenset(
        [
            "p",
            "div",
            "li",
            "tr",
            "td",
            "th",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "br",
            "pre",
            "section",
            "dt",
            "dd",
            "figcaption",
            "blockquote",
            "title",
        ]
    )

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = [""]
        self.rows: list[list[str]] = []
        self.depth = 0
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.depth += tag in ("script", "style", "head")
        if tag in self.BREAKS:
            self.texts.append("")
        if tag == "tr":
            self.rows.append([])
        self.in_cell = tag in ("td", "th") or (self.in_cell and tag not in ("tr", "table"))
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        if tag in self.BREAKS:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.depth = max(0, self.depth - (tag in ("script", "style", "head")))
        if tag in ("td", "th", "table"):
            self.in_cell = False
        if tag in self.BREAKS:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.depth:
            return
        self.texts[-1] += data
        if self.in_cell and self.rows and self.rows[-1]:
            self.rows[-1][-1] += f" {data}"


def _page(text: str) -> Reference:
    page = _PageText()
    page.feed(text)
    page.close()
    rows = (tuple(c for c in row if c.strip()) for row in page.rows)
    return Reference(tuple(page.texts), tuple(row for row in rows if len(row) > 1))


def _book(data: bytes) -> Reference:
    """The pages that its spine names, in whatever order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        package = next(n for n in archive.namelist() if n.endswith(".opf"))
        root = _xml(archive.read(package))
        wanted = {each.get("idref") for each in root.findall(".//{*}itemref")}
        pages = {
            each.get("href", "").split("/")[-1]
            for each in root.findall(".//{*}item")
            if each.get("id") in wanted
        }
        found = [
            _page(archive.read(name).decode(errors="replace"))
            for name in archive.namelist()
            if name.split("/")[-1] in pages and not name.endswith(".svg")
        ]
    return Reference(tuple(t for p in found for t in p.texts), tuple(r for p in found for r in p.rows))


def _mail(data: bytes) -> Reference:
    import email
    import email.policy

    message = email.message_from_bytes(data, policy=email.policy.default)
    body = message.get_body(("plain", "html"))
    if body is None:
        return Reference(())
    text = str(body.get_content())
    subject = str(message["subject"] or "")
    if body.get_content_type() == "text/plain":
        return Reference((subject, *text.split("\n\n")))
    found = _page(text)
    return Reference((subject, *found.texts), found.rows)


def _outlook(data: bytes) -> Reference:
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as mail:

        def stream(tag: str) -> str:
            for kind, encoding in (("001F", "utf-16-le"), ("001E", "cp1252"), ("0102", "cp1252")):
                name = f"__substg1.0_{tag}{kind}"
                if mail.exists(name):
                    return mail.openstream(name).read().decode(encoding, "replace")
            return ""

        subject, body, page = stream("0037"), stream("1000"), stream("1013")
    if body.strip():
        return Reference((subject, *body.split("\r\n\r\n")))
    found = _page(page)
    return Reference((subject, *found.texts), found.rows)


def _pdf(data: bytes) -> Reference:
    from pypdfium2 import PdfDocument

    document = PdfDocument(data)
    try:
        pages = [document[number].get_textpage().get_text_range() for number in range(len(document))]
    finally:
        document.close()
    return Reference(tuple(page.replace("\ufffe", "").replace("\u0002", "") for page in pages))


READERS: Mapping[str, Callable[[bytes], Reference]] = {
    ".docx": _word,
    ".pptx": _presentation,
    ".xlsx": _workbook,
    ".ipynb": _notebook,
    ".epub": _book,
    ".eml": _mail,
    ".msg": _outlook,
    ".pdf": _pdf,
}
