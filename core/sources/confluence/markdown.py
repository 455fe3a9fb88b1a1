"""Markdown of pages of Confluence: marks around text, tables, and the names of headings where they are known exactly.

A cell that is merged over rows stands in each of them, so that a row can be read alone. One that is merged over columns
stands in each of them in the head, and once below it.

A Data Center, and the older editor of the cloud, name a heading by the page's title and its own text without blanks:
``#InstallGuide-Firststeps``. The newer editor of the cloud writes its text with hyphens: ``#First-steps``; its pages are
known by the ``local-id`` of their elements. Other signs than letters and digits, and headings of which there are two,
are left out: what becomes of them is not written down.
https://confluence.atlassian.com/doc/anchor-macro-139517.html
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote
from xml.etree.ElementTree import Element

from core.conversation import value
from core.library.documents import Document
from core.library.formats.assembly import table_text
from core.sources.documents import headings_of

SPACES = re.compile(r"[ \t\r\n\f\u00a0]+")
_SPECIAL = re.compile(r"[\\`*]|<(?=[\w/!?])|(?<!\w)_|_(?!\w)|\[(?=[^\[\]]*\]\()|~(?=~)")
_LINE_BEGIN = re.compile(r"^(\s*\d{1,9})([.)])(?=\s|$)|^(\s*)([#>+\-|=~])")
_TICKS = re.compile(r"`+")


def paragraph(line: list[str]) -> list[str]:
    """Pieces of a line as a paragraph; nothing if they are blank."""

    def escape_begin(found: re.Match[str]) -> str:
        return f"{found[1]}\\{found[2]}" if found[1] is not None else f"{found[3]}\\{found[4]}"

    rows = (SPACES.sub(" ", row).strip() for row in "".join(line).split("\n"))
    # No line may be taken for a heading, an item or a rule.
    text = "\n".join(_LINE_BEGIN.sub(escape_begin, row) for row in rows if row)
    return [text] if text else []


def escape(text: str | None) -> str:
    """Text whose signs are no marks of Markdown. Line ends in XML are blanks."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", SPACES.sub(" ", text)) if text else ""


def wrap(text: str, mark: str) -> str:
    """Text between marks, with its blanks outside of them."""
    bare = text.strip()
    if not bare or mark in bare:
        return text
    begin = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    return f"{begin}{mark}{bare}{mark}{end}"


def code_span(text: str) -> str:
    if not text:
        return ""
    ticks = "`" * (1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    name = language if re.fullmatch(r"[\w+#.-]{1,40}", language) else ""
    lines = text.replace("\r\n", "\n").strip("\n").rstrip()
    return f"{fence}{name}\n{lines}\n{fence}"


def link_to(text: str, target: str) -> str:
    bare = text.strip()
    if not target.lower().startswith(("http:", "https:", "mailto:")) or not bare:
        return text
    safe = quote(target, safe="/:?&=#%+,;@!$'*[]~")
    return f"[{bare}]({safe})" if bare != target else f"<{safe}>"


def indent(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([f"{first}{lines[0]}", *(f"{others}{line}" if line else "" for line in lines[1:])])


SPAN_LIMIT = 1_000  # rows or columns of one cell
CELL_LIMIT = 100_000  # of a table


@value
class TableCell:
    """A cell as it is written."""

    text: str
    is_head: bool
    rows: int = 1
    columns: int = 1


def merged_table(table: Element, text_of: Callable[[Element], str]) -> str:
    """Empty for a table that says nothing."""
    # Its own rows, not those of tables in it.
    own = (child for child in table if child.tag in ("tr", "tbody", "thead", "tfoot"))
    parts = ([child] if child.tag == "tr" else child for child in own)
    rows = [_cells(row, text_of) for part in parts for row in part if row.tag == "tr"]
    grid = _grid(rows)
    if not any(text for row in grid for text in row):
        return ""
    has_head = bool(rows[0]) and all(cell.is_head for cell in rows[0])
    return table_text(grid if has_head else [[], *grid])


def _cells(row: Element, text_of: Callable[[Element], str]) -> list[TableCell]:
    return [
        TableCell(
            text=" ".join(text_of(cell).split()), is_head=cell.tag == "th", rows=_span(cell.get("rowspan")),
            columns=_span(cell.get("colspan")),
        )
        for cell in row
        if cell.tag in ("td", "th")
    ]  # fmt: skip


def _span(number: str | None) -> int:
    return min(max(1, int(number)), SPAN_LIMIT) if number and number.strip().isdecimal() else 1


def _grid(rows: list[list[TableCell]]) -> list[list[str]]:
    grid = list[list[str]]()
    above: dict[int, tuple[int, str]] = {}  # rows that are left of a cell from above, and its text, by column
    room = CELL_LIMIT
    for row in rows:
        line, waiting = list[str](), iter(row)
        cell = next(waiting, None)
        while (cell is not None or any(column >= len(line) for column in above)) and room > 0:
            room -= 1
            if (at := len(line)) in above:
                left, text = above.pop(at)
                line.append(text)
                if left > 1:
                    above[at] = left - 1, text
            elif cell is None:
                line.append("")
            else:
                for number in range(cell.columns):
                    text = cell.text if cell.is_head or not number else ""
                    if cell.rows > 1:
                        above[at + number] = cell.rows - 1, text
                    line.append(text)
                cell = next(waiting, None)
        grid.append(line)
    return grid


AnchorStyle = Literal["title", "hyphens", ""]

_PLAIN = re.compile(r"[^\W_]+(?: [^\W_]+)*")
_LOCAL_ID = re.compile(r"<[^>]*\blocal-id=")


def style_of(storage: str, *, is_cloud: bool) -> AnchorStyle:
    """The way in which the headings of a page are named; empty: not known."""
    if not is_cloud:
        return "title"
    return "hyphens" if _LOCAL_ID.search(storage) else ""


def anchors_of(document: Document, title: str, style: AnchorStyle) -> tuple[tuple[int, str], ...]:
    """The beginnings of sections and their names; empty for a name that is not known for sure."""
    headings = headings_of(document)
    counts = Counter(text for _, text in headings)
    found = tuple((at, _anchor(text, title, style) if counts[text] == 1 else "") for at, text in headings)
    return found if any(anchor for _, anchor in found) else ()


def _anchor(heading: str, title: str, style: AnchorStyle) -> str:
    if not _PLAIN.fullmatch(heading):
        return ""
    if style == "hyphens":
        return heading.replace(" ", "-")
    is_named = style == "title" and _PLAIN.fullmatch(title)
    return f"{title.replace(' ', '')}-{heading.replace(' ', '')}" if is_named else ""
