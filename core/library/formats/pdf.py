"""PDF files: the text of each page in paragraphs, with the entries of the outline as headings."""

from __future__ import annotations

import io
import logging
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats.assembly import TEXT_LIMIT, assemble
from core.library.formats.reflow import Line, paragraphs, without_running_heads

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGE_LIMIT = 5_000
READING_TIME = 180.0  # seconds of processor; 5,000 pages of a book take about 60

#: What pypdf raises on broken files beside its own errors (one bad page must not lose the others).
BROKEN_PAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

_LOG = logging.getLogger(__name__)
_CHARACTERS = str.maketrans(
    dict.fromkeys(map(chr, range(9)), "")
    | {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\xa0": " "}
    | dict.fromkeys("\x7f\uf0b7", "•")  # ISO 32000-1, annex D.2: unused codes are bullets; Symbol's own
)
_NUMBERING = re.compile(r"\A(?:[\d.]+|[A-Z]\.|[IVX]+\.|Chapter \d+:?|Appendix [A-Z]:?)\s*", re.IGNORECASE)
_LETTERS = re.compile(r"[\W_]+")
_FILE_NAME = re.compile(r".*\.\w{2,5}|untitled.*|\(?anonymous\)?|\s*", re.IGNORECASE)


def parse(data: bytes, *, reading_time: float = READING_TIME) -> Document:
    """``reading_time`` is in seconds of processor; DocumentError when it runs out."""
    reader = _opened(data)
    pages = without_running_heads(_pages(reader, reading_time))
    if not any(pages):
        raise DocumentError(
            "holds no text that could be extracted; a scanned PDF needs text recognition first"
        )
    outline = _outline(reader)
    lines = [
        line
        for number, page in enumerate(pages, start=1)
        for line in _lines(page, number, outline.get(number, []))
    ]
    return assemble(paragraphs(lines), title=_title(reader))


def _opened(data: bytes) -> PdfReader:
    from pypdf import PasswordType, PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        raise DocumentError("is encrypted; save it without a password first")
    if len(reader.pages) > PAGE_LIMIT:
        raise DocumentError(f"has more than {PAGE_LIMIT:,} pages")
    return reader


def _pages(reader: PdfReader, reading_time: float) -> list[list[str]]:
    """The lines of each page; none for one that cannot be read."""
    from pypdf.errors import PyPdfError

    pages: list[list[str]] = []
    characters = 0
    deadline = time.thread_time() + reading_time
    for number, page in enumerate(reader.pages, start=1):
        if time.thread_time() > deadline:
            raise DocumentError(f"takes too long to read; page {number} of {len(reader.pages)} was reached")
        try:
            text = page.extract_text()
        except (PyPdfError, *BROKEN_PAGE) as error:
            _LOG.warning("page %d could not be read: %r", number, error)
            text = ""
        characters += len(text)
        if characters > TEXT_LIMIT:
            raise DocumentError(f"holds more than {TEXT_LIMIT // 1_000_000} million characters of text")
        pages.append(_cleaned(text))
    return pages


def _cleaned(text: str) -> list[str]:
    """Lines without ligatures, control characters, and the half characters of broken fonts, which no file can store."""
    storable = text.translate(_CHARACTERS).encode("utf-8", "replace").decode("utf-8")
    lines = [line.strip() for line in storable.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _outline(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """(level, title) of the outline's entries by page; nothing when the outline is broken."""
    from pypdf.errors import PyPdfError

    entries: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    try:
        for level, entry in _flattened(reader.outline, 1):
            page = reader.get_destination_page_number(entry)
            if page is not None and entry.title:
                entries[page + 1].append((level, entry.title))
    except (PyPdfError, *BROKEN_PAGE) as error:
        _LOG.warning("the outline could not be read: %r", error)
    return dict(entries)


def _flattened(outline: Sequence[Any], level: int) -> Iterator[tuple[int, Any]]:
    """pypdf nests the entries below one in a list that follows it."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _flattened(entry, level + 1)
        else:
            yield min(level, 6), entry


def _lines(page: Sequence[str], number: int, entries: Sequence[tuple[int, str]]) -> Iterator[Line]:
    """The page's lines; those that print an entry of the outline are headings, over two lines at most."""
    levels: Mapping[str, int] = {_bare(title): level for level, title in reversed(entries)}
    position = 0
    while position < len(page):
        for count in (2, 1):
            text = " ".join(page[position : position + count])
            if level := levels.get(_bare(text), 0):
                break
        yield Line(text=text, page=number, level=level)
        position += count


def _bare(heading: str) -> str:
    """Letters and digits alone, without the numbering that an outline may leave out."""
    letters = _LETTERS.sub("", _NUMBERING.sub("", heading.strip())).casefold()
    return letters or _LETTERS.sub("", heading).casefold()


def _title(reader: PdfReader) -> str:
    """The declared one, unless a program wrote a file's name there."""
    metadata = reader.metadata
    title = " ".join(((metadata.title if metadata else None) or "").split())
    return "" if _FILE_NAME.fullmatch(title) else title
