"""PDF files: the printed lines of each page, joined to paragraphs, with the outline's entries as headings."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from itertools import pairwise, product

from core.errors import DocumentError
from core.library.documents import BlockKind, Document
from core.library.formats import ocr
from core.library.formats.assembly import Part, assemble
from core.library.formats.dates import pdf_moment
from core.library.formats.pdf_forms import find_broken_pages, read_form_entries
from core.library.formats.pdf_pages import PrintedLine, is_cut_off, read_pages
from core.library.formats.printed import PrintedTable, continue_table, texts_of

BELOW = 10_000.0  # points from the top of a page, where what was filled into it is put: below its text
READING_TIME = 180.0  # seconds of processor time; 5,000 pages of a book take about 60

_NUMBERING = re.compile(r"\A(?:[\d.]+|[A-Z]\.|[IVX]+\.|Chapter \d+:?|Appendix [A-Z]:?)\s*", re.IGNORECASE)
_LETTERS = re.compile(r"[\W_]+")
_WORDS = re.compile(r"\w+(?:\.\w+)*")
_CODE = re.compile(r"[\\{}=<>|]")
_FILE_NAME = re.compile(r".*\.\w{2,5}|untitled.*|\(?anonymous\)?|\s*", re.IGNORECASE)

RUNNING_HEAD_PAGES = 3  # a line at the top or bottom of this many pages is a running head
RUNNING_HEAD_SHARE = 0.1  # if it is also on this share of all pages
EDGE = 2  # lines at the top and at the bottom of a page that can be running heads
FULL_LINE = 0.75  # of the usual width: a shorter line ends its paragraph or stands alone
TABLE_NAME = 120  # characters of a line that names the table below it
TABLE_BEGINS = "| "
LARGER = 1.1  # letters of a heading, or else they are bold
HEADING_SHARE = 0.15  # of the letters of a document at most have one look of its headings
HEADING_LINES, HEADING_GAP = 3, 1.5  # of one heading; between them, in sizes of their letters
MORE_WORDS = 2  # in a heading than in its entry in the outline
TITLE = 150  # characters of a line of a heading
SHORT_LINE = 20  # characters; shorter lines are not measured for the usual width

_EDGE_NUMBER = re.compile(r"^\d{1,5}\b|\b\d{1,5}$")
_OF_PAGES = re.compile(r"\s*(?:\bof\b|/)\s*\d{1,5}$")  # "Page 3 of 12"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BULLET = re.compile(r"[•‣◦▪●○■–*-]\s+")
_ENUMERATION = re.compile(r"\(?(?:\d{1,2}|[a-z])[.)]\s+\S")
_ENDS_SENTENCE = re.compile(r"""[.!?:;。！？]["'”’)\]]*$""")
_ENDS_TEXT = re.compile(r"[.,;]$|[^.]\.{3,}|\s\d{1,3}$")  # "…. 12" is a line of a table of contents
_NUMBERED_TITLE = re.compile(
    r"(?i:part|item|note|chapter|section|article|appendix|schedule|exhibit|annex)\s+"
    r"(?:[IVXLC]+|\d{1,3}[A-Z]?|[A-Z])(?:[.:]?\s*[—–-]?\s*[A-Z].*|[.:]?)\Z"
)
_BROKEN_WORD = re.compile(r"([^\W\d_]+)[-\u00ad\u2010]$")
_BEGINNING = re.compile(r"[^\W\d_]+")


def parse(
    data: bytes, *, reading_time: float = READING_TIME, recognize: ocr.Recognize | None = None
) -> Document:
    """DocumentError when ``reading_time``, of the processor, runs out; ScannedPages where ``recognize`` is needed."""
    file = read_pages(data, reading_time)
    pages, damaged = file.pages, frozenset(file.damaged)
    bare = without_running_heads([[], *pages])[1:]  # or the head of the first page would be a title
    empty = {number for number, lines in enumerate(bare, start=1) if not lines}
    damaged |= find_broken_pages(data, file.blank & empty) if file.blank & empty else frozenset()
    filled = read_form_entries(data) if file.annotated else {}
    scanned = frozenset(file.pictured & empty) - damaged
    if scanned and not recognize and ocr.is_installed():
        raise ocr.ScannedPages(_share(scanned, pages, "scanned, so not read"))
    found = dict(recognize(data, scanned)) if scanned and recognize else {}
    unread = _unread(data, pages, damaged, scanned - found.keys())
    pages = [
        _as_lines(found.get(number, ()), number) if number in scanned else lines
        for number, lines in enumerate(pages, start=1)
    ]
    pages = [
        [*lines, *_as_lines(filled.get(number, ()), number, BELOW)]
        for number, lines in enumerate(without_running_heads(pages), start=1)
    ]
    if not any(pages):
        raise DocumentError(unread or "holds no text that could be extracted")
    lines: list[PrintedLine] = []
    for number, page in enumerate(pages, start=1):
        lines += with_outline(page, file.outline.get(number, ()))
    lines = lines if any(line.level for line in lines) else list(with_headings(lines))
    parts = (replace(part, is_recognized=part.page in found) for part in paragraphs([*_write(lines)]))
    title = " ".join(file.metadata.get("Title", "").split())
    document = assemble(
        parts,
        title="" if _FILE_NAME.fullmatch(title) else title,
        # When it was changed last, or else made, as it says; without a zone, in UTC.
        changed_at=pdf_moment(file.metadata.get("ModDate") or file.metadata.get("CreationDate") or ""),
    )
    return replace(document, labels=tuple(file.labels), unread=unread)


def _as_lines(texts: Sequence[str], number: int, top: float = 0.0) -> list[PrintedLine]:
    return [PrintedLine(text=text, page=number, top=top + index) for index, text in enumerate(texts)]


def _unread(data: bytes, pages: Sized, damaged: Sized, scanned: Sized) -> str:
    """The parts that were not read, as "2 of 9 pages are damaged, so not read". Empty if none."""
    causes = ["is cut off: its end is missing"] if is_cut_off(data) else []
    for some, what in ((damaged, "damaged, so not read"), (scanned, f"scanned, so not read; {ocr.INSTALL}")):
        causes += [_share(some, pages, what)] if len(some) else []
    return "; ".join(causes)


def _share(some: Sized, pages: Sized, what: str) -> str:
    if len(some) == len(pages):
        return f"is {what}"
    return f"{len(some):,} of {len(pages):,} pages {'is' if len(some) == 1 else 'are'} {what}"


def with_outline(page: Sequence[PrintedLine], entries: Sequence[tuple[int, str]]) -> Iterator[PrintedLine]:
    """The page's lines; one or two that say what an entry of the outline says are a heading."""
    headings = _headings(page, entries) if entries else {}
    position = 0
    while position < len(page):
        count, level = headings.get(position, (1, 0))
        text = " ".join(line.text for line in page[position : position + count])
        yield replace(page[position], text=text, level=level) if level else page[position]
        position += count


def _headings(page: Sequence[PrintedLine], entries: Sequence[tuple[int, str]]) -> dict[int, tuple[int, int]]:
    """The number of lines and the level of the entries' headings, by the index of their first line. Those that say the
    same to the letter are found first, then those with a word or two more, as "File 3 setup.sty" for "3 setup.sty".
    """
    found: dict[int, tuple[int, int]] = {}
    free = {index for index, line in enumerate(page) if not line.table}
    candidates: list[tuple[range, _Candidate]] = []
    for count, index in product((1, 2), range(len(page))):
        indices = range(index, index + count)
        if free.issuperset(indices):
            text = " ".join(page[each].text for each in indices)
            candidates += [(indices, _Candidate(text))] if len(text) <= 2 * TITLE else []
    left = list(entries)
    for to_the_letter in (True, False):
        for level, title in tuple(left):
            wanted = _Candidate(title)
            for indices, each in candidates:
                if each.says(wanted, to_the_letter=to_the_letter) and free.issuperset(indices):
                    found[indices.start] = len(indices), level
                    free.difference_update(indices)
                    left.remove((level, title))
                    break
    return found


class _Candidate:
    """One or two lines that may be a heading, or an entry of an outline."""

    def __init__(self, text: str) -> None:
        # Letters and digits alone, without the numbering, which an outline may leave out.
        letters = _LETTERS.sub("", _NUMBERING.sub("", text.strip())) or _LETTERS.sub("", text)
        self.bare = letters.casefold()
        self.words = frozenset(_WORDS.findall(text.casefold()))
        self.code = frozenset(_CODE.findall(text))

    def says(self, entry: "_Candidate", *, to_the_letter: bool) -> bool:
        if not self.code <= entry.code:
            return False
        if to_the_letter:
            return self.bare == entry.bare
        most = len(entry.words) + MORE_WORDS
        return 1 < len(entry.words) <= len(self.words) <= most and entry.words <= self.words


def _write(lines: Sequence[PrintedLine]) -> Iterator[PrintedLine]:
    """The tables as text, each with the line that names it, and its header where it goes on."""
    before: PrintedTable | None = None
    for number, line in enumerate(lines):
        if line.table is None:
            below = lines[number + 1] if number + 1 < len(lines) else None
            if not (below and _names(line, below)):
                before = None
                yield line
            continue
        above = lines[number - 1] if number else None
        table = (
            continue_table(before, line.table) if before and above and above.page < line.page else line.table
        )
        if above and _names(above, line):
            table = replace(table, corner=f"{above.text} {table.corner}".strip())
        yield from (replace(line, text=text, table=None) for text in texts_of(table))
        before = table


def _names(line: PrintedLine, below: PrintedLine) -> bool:
    """True if a line is the name of the table below it."""
    is_short = 0 < len(line.text) <= TABLE_NAME and not line.level and not _ENDS_SENTENCE.search(line.text)
    is_near = line.page == below.page and 0 < below.top - line.top <= 3 * line.size
    return is_short and below.table is not None and is_near and not line.text[0].islower()


def without_running_heads(pages: Sequence[Sequence[PrintedLine]]) -> list[list[PrintedLine]]:
    """The lines of pages without headers, footers and numbers; the first page keeps its title."""
    by_height = [sorted(lines, key=lambda line: line.top) for lines in pages]
    counts = Counter(
        mask
        for page, lines in enumerate(by_height)
        for mask in {m for line in (*lines[:EDGE], *lines[-EDGE:]) for m in _masks(line.text, page)}
    )
    enough = max(RUNNING_HEAD_PAGES, RUNNING_HEAD_SHARE * len(pages))
    running = {mask for mask, count in counts.items() if count >= enough}
    bare = []
    for page, (lines, ordered) in enumerate(zip(pages, by_height, strict=True)):
        heads: list[PrintedLine] = []
        for edge in (ordered[:EDGE], ordered[: -EDGE - 1 : -1]):
            for line in edge:
                masks = {mask for mask in _masks(line.text, page) & running if page or not _WORD.search(mask)}
                if line.table or not masks:
                    break
                heads.append(line)
        bare.append([line for line in lines if line not in heads])
    return bare


def _masks(line: str, page: int) -> set[str]:
    """The line, and the line with its page number, if any, written relative to ``page``."""
    literal = " ".join(line.split())
    counting = _EDGE_NUMBER.sub(lambda match: f"#{int(match[0]) - page}", _OF_PAGES.sub("", literal))
    return {literal, counting}


def with_headings(lines: Sequence[PrintedLine]) -> Iterator[PrintedLine]:
    """Lines without an outline: up to three larger, bolder or numbered ones alike are a heading."""
    looks = Counter[tuple[float, bool]]()
    for line in lines:
        looks[_look(line)] += len(line.text)
    size, is_bold = max(looks, key=lambda look: looks[look], default=(0.0, False))
    larger = [
        look
        for look, count in looks.items()
        if count <= HEADING_SHARE * looks.total()
        and (look[0] > LARGER * size or (look[1] > is_bold and look[0] > size / LARGER))
    ]
    levels = {look: level for level, look in enumerate(sorted(larger, reverse=True), start=1)}
    full = FULL_LINE * _usual_width(lines)
    run: list[PrintedLine] = []
    for line in (replace(line, level=_level(line, levels, full)) for line in lines):
        if run:
            before = run[-1]
            is_near = line.page == before.page and 0 < line.top - before.top <= HEADING_GAP * line.size
            if not (before.level == line.level > 0 and is_near and not _NUMBERED_TITLE.match(line.text)):
                yield from _join_heading(run)
                run = []
        run.append(line)
    yield from _join_heading(run)


def _join_heading(run: Sequence[PrintedLine]) -> Iterator[PrintedLine]:
    if not run or not run[0].level:
        yield from run
    elif len(run) > HEADING_LINES:
        yield from (replace(line, level=0) for line in run)
    else:
        yield replace(run[0], text=" ".join(line.text for line in run), level=min(run[0].level, 6))


def _look(line: PrintedLine) -> tuple[float, bool]:
    return round(2 * line.size) / 2, line.is_bold


def _level(line: PrintedLine, levels: Mapping[tuple[float, bool], int], full: float) -> int:
    is_title = 0 < len(line.text) <= TITLE and _WORD.search(line.text) and not _ENDS_TEXT.search(line.text)
    if not is_title or _BULLET.match(line.text):
        return 0
    is_numbered = _NUMBERED_TITLE.match(line.text) and len(line.text) < full
    return levels.get(_look(line), len(levels) + 1 if is_numbered else 0)


def paragraphs(lines: Sequence[PrintedLine]) -> Iterator[Part]:
    """Headings, items and paragraphs, each with the page it begins on.

    A full line is joined to the next one, and so is a word broken at its end. A short line
    inside a paragraph (of a table, a poem, code) stays a line.
    """
    words = frozenset(word.lower() for line in lines for word in _WORD.findall(line.text))
    full = FULL_LINE * _usual_width(lines)
    open_lines: list[PrintedLine] = []
    for line in lines:
        if open_lines and _starts_part(open_lines[-1], line, full):
            yield _part(open_lines, full, words)
            open_lines = []
        if line.text:
            open_lines.append(line)
    if open_lines:
        yield _part(open_lines, full, words)


def _usual_width(lines: Sequence[PrintedLine]) -> int:
    """The width that four lines of five do not exceed."""
    widths = sorted(len(line.text) for line in lines if len(line.text) >= SHORT_LINE and not _is_table(line))
    return widths[len(widths) * 4 // 5] if widths else SHORT_LINE


def _starts_part(before: PrintedLine, line: PrintedLine, full: float) -> bool:
    if not line.text or line.level or before.level or _kind(line) == "item":
        return True
    if _is_table(line) or _is_table(before):
        return True
    if line.page != before.page:
        return bool(_ENDS_SENTENCE.search(before.text)) or not line.text[0].islower()
    return len(before.text) < full and bool(_ENDS_SENTENCE.search(before.text))


def _kind(line: PrintedLine) -> BlockKind:
    if line.level:
        return "heading"
    if _is_table(line):
        return "table"
    return "item" if _BULLET.match(line.text) or _ENUMERATION.match(line.text) else "prose"


def _is_table(line: PrintedLine) -> bool:
    return line.text.startswith(TABLE_BEGINS) and "\n" in line.text


def _part(lines: Sequence[PrintedLine], full: float, words: frozenset[str]) -> Part:
    first = lines[0]
    kind = _kind(first)
    texts = [_with_gap(line.text, following.text, full, words) for line, following in pairwise(lines)]
    text = "".join((*texts, lines[-1].text))
    if kind == "heading":
        text = f"{'#' * first.level} {text}"
    elif _BULLET.match(text):
        text = _BULLET.sub("- ", text, count=1)
    return Part(kind=kind, text=text, level=first.level, page=first.page)


def _with_gap(line: str, following: str, full: float, words: frozenset[str]) -> str:
    """A line and what parts it from the next: nothing within a word, "-" in a compound used elsewhere."""
    broken = _BROKEN_WORD.search(line)
    rest = _BEGINNING.match(following)
    if not broken or not rest or not following[0].islower():
        return line + (" " if len(line) >= full else "\n")
    one_word, compound = broken[1] + rest[0], f"{broken[1]}-{rest[0]}"
    keeps_hyphen = compound.lower() in words and one_word.lower() not in words
    return line[: broken.end(1)] + ("-" if keeps_hyphen else "")
