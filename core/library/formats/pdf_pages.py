"""The pages of a PDF file as PDFium reads them.

A page has lines of words with their positions and letters. A table is one line.
"""

import ctypes
import logging
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from math import atan2, pi
from typing import Any

from core.characters import storable
from core.errors import DocumentError
from core.library.formats.assembly import TEXT_LIMIT, TOO_MUCH_TEXT
from core.library.formats.pdf_tables import ROWS, tables_in
from core.library.formats.printed import PrintedTable, Word, cells_of, regions, rows_of

PAGE_LIMIT = 5_000
ENTRY_LIMIT = 20_000  # of an outline
ENTRIES = 200  # of an outline, on one page
ANNOTATION_LIMIT = 5_000  # of a page
LABEL = 20  # characters of a printed page number
REOPENED = 300  # pages after which a file is opened again: PDFium keeps what it parsed, 50 kB of each page
HEADS = 4  # lines of a scanned page that may be printed on it, such as the name of the program that scanned
END = 1_024  # bytes, within which "%%EOF" stands: ISO 32000-1, annex H, note 18
CROWDED = 50_000  # characters of a page on which no tables are looked for: a newspaper has 30,000
LEADING = 4  # dots before the page of an entry of a table of contents
BOLD = 600  # weight of a font, where regular is 400
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibd", re.IGNORECASE)
_CHARACTERS = str.maketrans(
    dict.fromkeys(map(chr, range(9)), "")
    | {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\xa0": " "}
    # ISO 32000-1, annex D.2: unused codes are bullets; so is this one of Symbol.
    | dict.fromkeys("\x7f\uf0b7", "•")
)
_BROKEN = "\x02"  # what PDFium has for a hyphen at the end of a line, which it joins with the next one
_WORD = re.compile(rf"[^\s{_BROKEN}]+{_BROKEN}?")

_LAST_PAGE = re.compile(r"(?<![^\s.])(?:\d{1,4}|[ivxlc]{1,7})\Z")

_LOG = logging.getLogger(__name__)
_PDFIUM = threading.Lock()  # it is not made for several threads


PageProgress = Callable[[int, int], None]  # pages read, and how many there are

_progress: ContextVar[PageProgress | None] = ContextVar("progress", default=None)


@contextmanager
def reporting_to(progress: PageProgress) -> Iterator[None]:
    """Have ``progress`` called after each page, in the thread that reads."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def report_progress(done: int, total: int) -> None:
    if progress := _progress.get():
        progress(done, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLine:
    """A line of a page; an empty one separates paragraphs."""

    text: str
    page: int  #: counts from 1
    level: int = 0  #: of a heading, else 0
    top: float = 0.0  #: points from the top of the page, or any measure that grows downwards
    size: float = 0.0  #: of most of its letters, in points
    is_bold: bool = False
    table: PrintedTable | None = None  #: in place of text


@dataclass(slots=True)
class PrintedFile:
    """A file as PDFium reads it; pages count from 1."""

    metadata: Mapping[str, str]
    outline: Mapping[int, Sequence[tuple[int, str]]]  #: (level, title) of the entries, by page
    pages: list[list[PrintedLine]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  #: of pages, as printed; empty: the file has none
    damaged: set[int] = field(default_factory=set)  #: those that cannot be read
    pictured: set[int] = field(default_factory=set)  #: those with few lines, if any, that show a picture
    blank: set[int] = field(default_factory=set)  #: those on which nothing is drawn that PDFium can unpack
    annotated: bool = False  #: whether people filled in a field, or typed text onto a page


def read_pages(data: bytes, reading_time: float) -> PrintedFile:
    """``reading_time`` is in seconds of processor time. DocumentError for what no page can be read of."""
    import pypdfium2
    from pypdfium2 import raw

    deadline, characters = time.thread_time() + reading_time, 0
    with _PDFIUM:
        document, fonts = _open(data), dict[int, bool]()
        count = len(document)
        try:
            if count > PAGE_LIMIT:
                raise DocumentError(f"has more than {PAGE_LIMIT:,} pages")
            read = partial(_utf16, raw.FPDF_GetMetaText, document)
            metadata = {name: read(name.encode()) for name in ("Title", "ModDate", "CreationDate")}
            file = PrintedFile(metadata=metadata, outline=_outline(document))
            for number in range(1, count + 1):
                if number % REOPENED == 0:
                    document.close()
                    document, fonts = _open(data), {}
                if time.thread_time() > deadline:
                    raise DocumentError(f"takes too long to read; page {number} of {count} was reached")
                try:
                    characters += _read_page(document, number, fonts, file)
                except pypdfium2.PdfiumError as error:
                    _LOG.warning("page %d could not be read: %r", number, error)
                    file.damaged.add(number)
                    file.pages.append([])
                if characters > TEXT_LIMIT:
                    raise DocumentError(TOO_MUCH_TEXT)
                report_progress(number, count)
            labels = [_utf16(raw.FPDF_GetPageLabel, document, index)[:LABEL] for index in range(count)]
            file.labels = labels if any(labels) else []
        finally:
            document.close()
    return file


def _open(data: bytes) -> Any:
    import pypdfium2
    from pypdfium2 import raw

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentError("is encrypted; save it without a password first") from error
        if is_cut_off(data):
            raise DocumentError("is cut off: its end is missing; copy or download it again") from error
        raise


def is_cut_off(data: bytes) -> bool:
    return b"%PDF-" in data[:END] and b"%%EOF" not in data.rstrip(b"\0 \t\r\n")[-END:]


def _utf16(read: Callable[..., int], *of: object) -> str:
    """The text that a function of PDFium writes into a buffer. pypdfium2's own raise for a cut character."""
    length = read(*of, None, 0)
    buffer = ctypes.create_string_buffer(length)
    read(*of, buffer, length)
    return storable(buffer.raw[: max(0, length - 2)].decode("utf-16-le", "replace"))


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """The entries of the outline that lead to a page."""
    from pypdfium2 import raw

    entries: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for entry in islice(document.get_toc(), ENTRY_LIMIT):
        destination = entry.get_dest()
        index = destination.get_index() if destination else None
        title = _utf16(raw.FPDFBookmark_GetTitle, entry.raw).strip()
        if index is not None and title and len(entries[index + 1]) < ENTRIES:
            entries[index + 1].append((min(entry.level + 1, 6), title))
    return dict(entries)


def _read_page(document: Any, number: int, fonts: dict[int, bool], file: PrintedFile) -> int:
    """Adds a page to what was read of a file; how many characters it has."""
    from pypdfium2 import raw

    with closing(document[number - 1]) as page:
        lines, count = _lines_of(page, number, fonts)
        file.annotated = file.annotated or _is_annotated(page)
        drawn = raw.FPDFPage_CountObjects(page)
        if len(lines) <= HEADS:
            kinds = {raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, index)) for index in range(drawn)}
            if kinds & {raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM}:  # a form may hold one
                file.pictured.add(number)
        if not drawn:
            file.blank.add(number)
    file.pages.append(lines)
    return count


def _is_annotated(page: Any) -> bool:
    from pypdfium2 import raw

    for index in range(min(raw.FPDFPage_GetAnnotCount(page), ANNOTATION_LIMIT)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT):
            return True
    return False


def _lines_of(page: Any, number: int, fonts: dict[int, bool]) -> tuple[list[PrintedLine], int]:
    """The lines of a page, and how many characters it has."""
    from pypdfium2 import raw

    with closing(page.get_textpage()) as text:
        count = text.count_chars()
        if count > TEXT_LIMIT:
            return [], count
        letters = "".join(map(chr, (raw.FPDFText_GetUnicode(text.raw, index) for index in range(count))))
        words = [(found, _matrix(text.raw, found.start())) for found in _WORD.finditer(letters)]
        # By how many quarters words are turned against the clock, most of them.
        turns = Counter(round(atan2(matrix.b, matrix.a) / (pi / 2)) % 4 for _, matrix in words)
        quarter = turns.most_common(1)[0][0] if turns else 0
        lines = list(_lines(text.raw, words, quarter, page.get_height(), fonts))
        if 90 * quarter != page.get_rotation():  # PDFium orders words as on an upright page
            lines = rows_of([*chain.from_iterable(lines)])
    return list(_to_lines(lines, [] if count > CROWDED else _tables(lines), number)), count


def _lines(
    text: Any, words: Iterable[tuple[re.Match[str], Any]], quarter: int, height: float, fonts: dict[int, bool]
) -> Iterator[list[Word]]:
    """The words of each line, in the order in which the page draws them. ``words``: with the matrices of their letters."""
    from pypdfium2 import raw

    first, last = raw.FS_RECTF(), raw.FS_RECTF()
    line: list[Word] = []
    reached = 0
    for found, matrix in words:
        if line and (line[-1].text[-1] == _BROKEN or "\n" in found.string[reached : found.start()]):
            yield line
            line = []
        start, reached = found.span()
        raw.FPDFText_GetLooseCharBox(text, start, ctypes.byref(first))
        raw.FPDFText_GetLooseCharBox(text, reached - 1, ctypes.byref(last))
        size = raw.FPDFText_GetFontSize(text, start) * (matrix.c**2 + matrix.d**2) ** 0.5
        left, top, right, bottom = _upright(first, last, quarter, height)
        word = Word(
            text=found[0], left=left, right=right, top=top, bottom=bottom, size=size,
            is_bold=_is_bold(text, start, fonts),
        )  # fmt: skip
        line.append(word)
    if line:
        yield line


def _matrix(text: Any, index: int) -> Any:
    """The size and direction of a letter."""
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text, index, ctypes.byref(matrix))
    return matrix


def _upright(first: Any, last: Any, quarter: int, height: float) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of two boxes together, as a reader sees it who turns the page.

    It grows to the right and downwards, that of the boxes from the lower left corner.
    """
    left, bottom = min(first.left, last.left), min(first.bottom, last.bottom)
    right, top = max(first.right, last.right), max(first.top, last.top)
    return (
        (left, height - top, right, height - bottom),
        (bottom, left, top, right),
        (-right, bottom, -left, top),
        (-top, -right, -bottom, -left),
    )[quarter]


def _is_bold(text: Any, index: int, fonts: dict[int, bool]) -> bool:
    """``fonts``: those that were looked at, by their address."""
    from pypdfium2 import raw

    drawn = raw.FPDFText_GetTextObject(text, index)
    font = raw.FPDFTextObj_GetFont(drawn) if drawn else None
    address = ctypes.cast(font, ctypes.c_void_p).value if font else None
    if address is None:
        return False
    if address not in fonts:
        name = ctypes.create_string_buffer(200)
        raw.FPDFFont_GetBaseFontName(font, name, len(name))
        fonts[address] = raw.FPDFFont_GetWeight(font) >= BOLD or bool(_BOLD_NAME.search(name.value))
    return fonts[address]


def _tables(lines: Sequence[Sequence[Word]]) -> list[PrintedTable]:
    order = {id(word): index for index, word in enumerate(chain.from_iterable(lines))}

    def is_in_order(rows: Sequence[Sequence[Word]]) -> bool:
        positions = [order[id(word)] for row in rows for cell in row for word in cell.parts]
        return positions == list(range(positions[0], positions[0] + len(positions)))

    rows = [cells_of(row) for row in rows_of(list(chain.from_iterable(lines)))]
    if sum(len(row) > 1 for row in rows) < ROWS:
        return []
    cells = [cell for row in rows for cell in row]
    return [table for region in regions(cells) for table in tables_in(rows_of(region), is_in_order)]


def _to_lines(lines: list[list[Word]], tables: list[PrintedTable], number: int) -> Iterator[PrintedLine]:
    """The lines as text; a table stands where its first word does."""
    owners = {word: table for table in tables for word in table.words}
    seen: set[int] = set()
    for line in lines:
        for word in line:
            table = owners.get(id(word))
            if table and id(table) not in seen:
                seen.add(id(table))
                yield PrintedLine(text="", page=number, top=word.top, table=table)
        words = [word for word in line if id(word) not in owners]
        text = _clean(" ".join(word.text for word in words))
        if text:
            longest = max(words, key=lambda word: len(word.text))
            yield PrintedLine(
                text=text, page=number, top=words[0].top, size=round(longest.size, 1),
                is_bold=all(word.is_bold for word in words),
            )  # fmt: skip


def _clean(text: str) -> str:
    """A text without ligatures, control signs and lone surrogates; an entry of a table of contents is an item."""
    text = text.replace(_BROKEN, "-").translate(_CHARACTERS)
    text = storable(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()
    page = _LAST_PAGE.search(text)
    title = text[: page.start()].rstrip(" .") if page else ""
    return f"• {title} {page[0]}" if page and text.count(".", len(title)) >= LEADING else text
