"""Whether a number of a table in a PDF file comes with what it means: the label of its row and the names of its column.

Reports are drawn with ReportLab, ten pages each, with tables as financial reports have them: names of columns over one
to three lines, some above several columns, a unit, notes, indented and wrapped labels, “$” and brackets apart from
their number, dashes for nothing, with rules and without, among text in one and in two columns, drawn row by row or
column by column, on one page or on two, with the names of the columns repeated there or not.

A number has its row and columns if it stands in one line with the label and below a cell of the header that holds all
names of its column; where the reader makes no tables, in one line with all of them.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import process_time

from benchmarks import Say
from bots.testing.report import Section, Table
from core.library.chunking import cut
from core.library.formats import pdf
from core.text.blocks import split_blocks

PAGES = 10  # of a report
TOP, BOTTOM, LEFT, RIGHT = 770.0, 80.0, 60.0, 540.0  # points
NOTHING = "\N{EM DASH}"

#: Sections of statements, with the labels below them.
LABELS = {
    "Current assets:": ("Cash and cash equivalents", "Marketable securities", "Accounts receivable, net", "Inventories", "Prepaid expenses and other current assets"),
    "Current liabilities:": ("Accounts payable", "Accrued compensation", "Deferred revenue", "Current portion of long-term debt and of finance lease obligations"),
    "Operating activities:": ("Depreciation and amortization", "Share-based compensation", "Deferred income taxes", "Changes in operating assets and liabilities, net of the effects of acquisitions"),
    "Investing activities:": ("Purchases of property and equipment", "Proceeds from sales of securities", "Acquisitions, net of cash acquired", "Other investing"),
    "Revenue:": ("Subscription", "Professional services and other", "Hardware and accessories sold through partners and resellers", "Licensing"),
}  # fmt: skip
TOTALS = ("Total", "Net amount", "Balance at end of year")
CAPTIONS = (
    "Consolidated balance sheets",
    "Consolidated statements of cash flows",
    "Table {}: Results by segment",
    "Schedule of maturities {}",
)
UNITS = (
    "(in millions, except per share data)",
    "(in thousands)",
    "(Dollars in millions)",
    "(unaudited; in thousands)",
)
PERIODS = (
    "Years ended December 31,",
    "Three months ended June 30,",
    "Nine months ended September 30,",
    "As of March 31,",
)
WORDS = (
    "the", "company", "board", "net", "sales", "increased", "compared", "prior", "year", "due", "to", "higher", "volume",
    "in", "each", "region", "and", "price", "changes", "offset", "by", "currency", "effects", "while", "costs", "rose",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, and what it means."""

    value: str
    label: str
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    heads: tuple[str, ...]  #: from top to bottom
    right: float  #: points from the left of the page


@dataclass(slots=True)
class Sheet:
    """The page that is drawn, and what is known of its tables."""

    canvas: object
    chance: random.Random
    y: float = TOP
    cells: list[Cell] = field(default_factory=list)
    late: list[tuple[float, float, str]] = field(default_factory=list)  #: (right, y, text) drawn by column

    def text(self, x: float, y: float, words: str, font: str, size: float, *, align: str = "left") -> None:
        self.canvas.setFont(font, size)
        draw = {"left": "drawString", "right": "drawRightString", "center": "drawCentredString"}[align]
        getattr(self.canvas, draw)(x, y, words)


@dataclass(frozen=True, slots=True)
class Look:
    """How the tables of a report look."""

    font: str
    size: float
    currency: bool
    brackets_apart: bool
    notes: bool
    ruled: bool
    by_column: bool
    unit_in_corner: bool
    values_at_top: bool  #: of a label over two lines

    @classmethod
    def of(cls, chance: random.Random) -> Look:
        flip = [chance.random() < 0.5 for _ in range(7)]
        return cls(chance.choice(("Helvetica", "Times-Roman")), chance.choice((8.0, 9.0, 10.0)), *flip)

    @property
    def bold(self) -> str:
        return {"Helvetica": "Helvetica-Bold", "Times-Roman": "Times-Bold"}[self.font]

    @property
    def step(self) -> float:
        return self.size * 1.35


def report(number: int, pages: int = PAGES) -> tuple[bytes, list[Cell]]:
    from reportlab.lib.pagesizes import LETTER
    from reportlab.pdfgen.canvas import Canvas

    chance, file = random.Random(number), io.BytesIO()
    look, canvas = Look.of(chance), Canvas(file, pagesize=LETTER)
    sheet = Sheet(canvas, chance)
    rest: Iterator[None] | None = None
    for page in range(1, pages + 1):
        sheet.y = TOP - 20
        sheet.text(LEFT, TOP + 10, f"Example Corporation {number}", look.font, 8)
        sheet.text(300, 40, str(page), look.font, 8, align="center")
        if rest:
            next(rest, None)
            rest = None
        else:
            prose(sheet, look, chance.randint(3, 8), columns=chance.choice((1, 2)))
            drawing = table(sheet, look, page, goes_on=page < pages and page % 5 == 2)
            next(drawing, None)
            rest = drawing if page % 5 == 2 and page < pages else None
        if not rest:
            prose(sheet, look, 6, columns=chance.choice((1, 2)))
        canvas.showPage()
    canvas.save()
    return file.getvalue(), sheet.cells


def prose(sheet: Sheet, look: Look, lines: int, *, columns: int) -> None:
    """Lines of text from the left edge to the right one, or in two columns."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    width, top = (RIGHT - LEFT - 30 * (columns - 1)) / columns, sheet.y
    for column in range(columns):
        sheet.y = top
        for _ in range(lines):
            line = sheet.chance.choice(WORDS)
            while stringWidth(longer := f"{line} {sheet.chance.choice(WORDS)}", look.font, 10) < width:
                line = longer
            sheet.text(LEFT + column * (width + 30), sheet.y, line, look.font, 10)
            sheet.y -= 13
    sheet.y -= 14


def table(sheet: Sheet, look: Look, page: int, *, goes_on: bool) -> Iterator[None]:
    """Draws a table; one that goes on waits for the next page in its middle."""
    columns = columns_of(sheet.chance, 3 if goes_on else sheet.chance.randint(1, 3))
    unit = sheet.chance.choice(UNITS)
    caption = sheet.chance.choice(CAPTIONS).format(page)
    sheet.text(LEFT, sheet.y, caption, look.bold, look.size + 1)
    sheet.y -= look.step
    if not look.unit_in_corner:
        sheet.text(LEFT, sheet.y, unit, look.font, look.size)
        sheet.y -= look.step
    heads(sheet, look, columns, unit if look.unit_in_corner else "")
    rows = list(rows_of(sheet.chance, 4 if goes_on else 2))
    for place, (label, depth) in enumerate(rows):
        if goes_on and place == len(rows) // 2:
            finish(sheet)
            yield
            if sheet.chance.random() < 0.5:
                heads(sheet, look, columns, unit if look.unit_in_corner else "")
        row(sheet, look, columns, label, depth, is_first=place < 2)
    finish(sheet)
    sheet.y -= 16


def columns_of(chance: random.Random, levels: int) -> list[Column]:
    year, groups = chance.randint(2012, 2023), chance.sample(PERIODS, chance.choice((1, 2)))
    years = [str(year - n) for n in range(chance.choice((2, 3)) if len(groups) == 1 else 2)]
    kinds = ("Actual", "Budget") if levels == 3 and len(groups) == 1 and len(years) == 2 else ("",)
    names = [(group, each, kind) for group in groups for each in years for kind in kinds]
    gap = 245 / len(names) if len(names) > 2 else 110
    return [
        Column(
            tuple(name for name in ((f"{head} {each}", "", "") if levels == 1 and len(names) == 2 else (head, each, kind)) if name),
            RIGHT - gap * (len(names) - 1 - place) - 5,
        )
        for place, (head, each, kind) in enumerate(names)
    ]  # fmt: skip


def heads(sheet: Sheet, look: Look, columns: Sequence[Column], corner: str) -> None:
    """Names of columns, the last level above each, those before centred above all that share them."""
    levels = max(len(column.heads) for column in columns)
    for level in range(levels):
        is_last = level == levels - 1
        shared: dict[tuple[str, ...], list[float]] = {}
        for column in columns:
            shared.setdefault(column.heads[: level + 1], []).append(column.right)
        lines = 1
        for names, rights in shared.items():
            room = 105 if len(names) == levels == 1 else rights[-1] - rights[0] + 50
            parts = wrapped(names[-1], look.bold, look.size - 1, room)
            lines = max(lines, len(parts))
            middle = (rights[0] - 45 + rights[-1]) / 2
            for place, part in enumerate(parts):
                x, align = (rights[0], "right") if is_last else (middle, "center")
                sheet.text(x, sheet.y - place * look.step, part, look.bold, look.size - 1, align=align)
            if look.ruled and not is_last:
                at = sheet.y - (len(parts) - 1) * look.step - 3
                sheet.canvas.line(rights[0] - 40, at, rights[-1], at)
        if is_last and look.notes:
            sheet.text(note_at(columns), sheet.y, "Note", look.bold, look.size, align="center")
        if is_last and corner:
            sheet.text(LEFT, sheet.y, corner, look.font, look.size)
        sheet.y -= look.step * lines
    if look.ruled:
        sheet.canvas.line(LEFT, sheet.y + look.step - 3, RIGHT, sheet.y + look.step - 3)


def wrapped(text: str, font: str, size: float, room: float) -> list[str]:
    """The lines of a text that are at most as wide as the room, in points."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        is_full = stringWidth(longer, font, size) > room and lines[-1]
        lines[-1:] = [lines[-1], word] if is_full else [longer]
    return lines


def note_at(columns: Sequence[Column]) -> float:
    return columns[0].right - (62 if len(columns[0].heads) > 1 else 105)


def rows_of(chance: random.Random, sections: int) -> Iterator[tuple[str, int]]:
    """(label, depth) of the rows; below a section they are indented."""
    for number, name in enumerate(chance.sample(list(LABELS), sections)):
        yield name, 0
        yield from ((label, 1) for label in LABELS[name])
        yield f"{TOTALS[number % 3]} {name.rstrip(':').lower()}", 0


def row(
    sheet: Sheet, look: Look, columns: Sequence[Column], label: str, depth: int, *, is_first: bool
) -> None:
    room = (note_at(columns) - 20 if look.notes else columns[0].right - 55) - LEFT - 12 * depth
    lines = wrapped(label, look.font, look.size, room)
    for number, line in enumerate(lines):
        hanging = 8 if number else 0
        sheet.text(LEFT + 12 * depth + hanging, sheet.y - number * look.step, line, look.font, look.size)
    at = sheet.y if look.values_at_top else sheet.y - (len(lines) - 1) * look.step
    sheet.y -= look.step * len(lines)
    if label in LABELS:
        return
    if look.notes and sheet.chance.random() < 0.3:
        sheet.late.append((note_at(columns) + 4, at, str(sheet.chance.randint(1, 19))))
    for column in columns:
        put_number(sheet, look, column, label, at, has_sign=look.currency and is_first)
    for right, y, text in () if look.by_column else sheet.late:
        sheet.text(right, y, text, look.font, look.size, align="right")
    sheet.late = sheet.late if look.by_column else []


def put_number(sheet: Sheet, look: Look, column: Column, label: str, y: float, *, has_sign: bool) -> None:
    if sheet.chance.random() < 0.08:
        sheet.late.append((column.right, y, NOTHING))
        return
    amount = f"{sheet.chance.randint(101, 99_999):,}"
    if sheet.chance.random() < 0.25:
        value = f"({amount})"
        parts = (
            [(2.0 + column.right, ")"), (column.right - 1, f"({amount}")]
            if look.brackets_apart
            else [(column.right, value)]
        )
    else:
        value, parts = amount, [(column.right, amount)]
    sheet.late += [(right, y, part) for right, part in reversed(parts)]
    if has_sign:
        sheet.late.append((column.right - 40, y, "$"))
    sheet.cells.append(Cell(value, label, column.heads))


def finish(sheet: Sheet) -> None:
    """What is drawn column by column comes at the end of its page."""
    for right, y, text in sorted(sheet.late, key=lambda drawn: drawn[0]):
        font, size = sheet.canvas._fontname, sheet.canvas._fontsize
        sheet.text(right, y, text, font, size, align="right")
    sheet.late = []


Line = tuple[str, tuple[tuple[str, str], ...]]  # a line, and of a row of a table each cell below its header


def by_footnote(data: bytes) -> list[Line]:
    return [line for piece in cut(pdf.parse(data)) for line in lines_of(piece.text)]


def by_pypdf(data: bytes, mode: str = "plain") -> list[Line]:
    from pypdf import PdfReader

    pages = PdfReader(io.BytesIO(data)).pages
    return [(line, ()) for page in pages for line in page.extract_text(extraction_mode=mode).splitlines()]


def in_layout(data: bytes) -> list[Line]:
    return by_pypdf(data, "layout")


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a passage; rows of its tables with the header that stands in the same passage."""
    for block in split_blocks(text):
        lines = text[block.start : block.end].splitlines()
        is_table = block.kind == "table" and len(lines) > 2 and "---" in lines[1]
        header = cells_of(lines[0]) if is_table else []
        for line in lines:
            yield line, tuple(zip(header, cells_of(line), strict=False)) if is_table else ()


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def folded(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def is_whole(cell: Cell, line: Line) -> bool:
    """True if the line shows the number with its label and the names of its column."""
    text, below = line
    if folded(cell.label) not in folded(text):
        return False
    if not below:
        return holds(text, cell.value) and all(folded(head) in folded(text) for head in cell.heads)
    return any(
        own.replace("$", "").replace(" ", "") == cell.value
        and all(folded(head) in folded(header) for head in cell.heads)
        for header, own in below
    )


def holds(text: str, value: str) -> bool:
    return bool(re.search(rf"(?<![\d,(]){re.escape(value)}(?![\d,])", closed(text)))


def closed(text: str) -> str:
    """With brackets at their number."""
    return re.sub(r"\(\s+|\s+(?=\))", lambda found: found[0].strip(), text)


READERS: dict[str, Callable[[bytes], list[Line]]] = {
    "Footnote": by_footnote,
    "pypdf": by_pypdf,
    "pypdf, layout": in_layout,
}


def measured(read: Callable[[bytes], list[Line]], reports: Sequence[tuple[bytes, list[Cell]]]) -> list[float]:
    """Shares of the numbers that are whole, and that are found at all; seconds for all."""
    whole, found, seconds = 0, 0, 0.0
    for data, cells in reports:
        began = process_time()
        lines = read(data)
        seconds += process_time() - began
        said = frozenset(re.findall(r"\(?\d[\d,]*\)?", closed("\n".join(line for line, _ in lines))))
        for cell in cells:
            near = [line for line in lines if cell.value.strip("()") in line[0]]
            whole += any(is_whole(cell, line) for line in near)
            found += cell.value in said
    count = sum(len(cells) for _, cells in reports)
    return [whole / count, found / count, seconds]


def run(say: Say, *, pages: int = 100, first: int = 0, quick: bool = False) -> Section:
    """``first``: the number of the first report; others look otherwise."""
    count = 2 if quick else max(1, pages // PAGES)
    say(f"{count} reports of {PAGES} pages")
    reports = [report(first + number) for number in range(count)]
    by_footnote(reports[0][0])  # what it imports is no part of a page
    results = {name: measured(read, reports) for name, read in READERS.items()}
    plain = results["pypdf"][2]
    rows = tuple(
        (name, whole, found, seconds / (count * PAGES), seconds / plain)
        for name, (whole, found, seconds) in results.items()
    )
    cells = sum(len(cells) for _, cells in reports)
    return Section(
        name="cells",
        title="Numbers in tables of PDF files",
        what=__doc__ or "",
        tables=(
            Table(
                title=f"{cells:,} numbers on {count * PAGES} pages",
                columns=("read by", "with row and columns", "found", "seconds a page", "of pypdf's"),
                rows=rows,
            ),
        ),
        figures={f"{name}: {what}": float(figure) for name, *figures in rows for what, figure in zip(("whole", "found"), figures, strict=False)},
    )  # fmt: skip
