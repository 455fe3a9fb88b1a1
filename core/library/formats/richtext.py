"""Rich Text (.rtf), with striprtf, which knows its characters: paragraphs, headings, lists and tables.

striprtf leaves no trace of headings and of the edges of tables, so signs are put where they are told. Footnotes, text
boxes, headers and footers are left out by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats.assembly import Part, assemble, first_title, table_text

#: Signs of Unicode's private use area: before a heading (and its level), before a row, after a cell and a row.
HEADING, ROW, CELL, END = "\ue000", "\ue010", "\ue011", "\ue012"
_SIGNED = (
    (re.compile(r"[\ue000-\ue012]"), ""),
    (re.compile(r"\\outlinelevel([0-8])(?!\d) ?"), lambda found: chr(ord(HEADING) + int(found[1]))),
    (re.compile(r"\\trowd(?![a-z]) ?"), ROW),
    (re.compile(r"\\(?:nest)?cell(?![a-z]) ?"), CELL),
    (re.compile(r"\\(?:nest)?row(?![a-z]) ?"), f"{END}\\\\par "),
)
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
_LEVEL = re.compile(f"[{HEADING}-\ue008]")
_SIGNS = re.compile(f"[{HEADING}-{END}]")
_ITEM = re.compile(r"[•·▪◦–-]\t|(\(?(?:\d{1,3}|[a-z])[.)])\t")
_TARGET = re.compile(r'\("(?:\w+:|www\.)[^"\s]*"\)')  # striprtf writes it behind the words of a link
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def parse(data: bytes) -> Document:
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("is not rich text though it is named .rtf")
    found = _CODE_PAGE.search(data[:2_000])
    try:
        raw = data.decode(f"cp{int(found[1])}" if found else "cp1252", "replace")
    except LookupError:
        raw = data.decode("cp1252", "replace")
    for pattern, sign in _SIGNED:
        raw = pattern.sub(sign, raw)
    plain = rtf_to_text(raw, errors="replace")  # type: ignore[no-untyped-call]
    text = _PAIR.sub(
        lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), _TARGET.sub("", plain)
    )
    parts = list(_parts(text))
    return assemble(parts, title=first_title(parts))


def _parts(text: str) -> Iterator[Part]:
    """Neighbouring rows are one table."""
    rows: list[list[str]] = []
    *ended, rest = text.split(END)
    for each in ended:
        before, _, row = each.partition(ROW) if ROW in each else ("", "", each)
        if _SIGNS.sub("", before).strip():
            yield Part(kind="table", text=table_text(rows))
            rows = []
            yield from _paragraphs(before)
        rows.append([_SIGNS.sub("", cell) for cell in row.split(CELL)[:-1]])
    yield Part(kind="table", text=table_text(rows))
    yield from _paragraphs(rest)


def _paragraphs(text: str) -> Iterator[Part]:
    for line in text.split("\n"):
        level, own = _LEVEL.search(line), _SIGNS.sub("", line).strip()
        if own and level:
            depth = min(ord(level[0]) - ord(HEADING) + 1, 6)
            yield Part(kind="heading", text=f"{'#' * depth} {' '.join(own.split())}", level=depth)
        elif item := _ITEM.match(own):
            yield Part(kind="item", text=f"{item[1] or '-'} {own[item.end() :]}")
        else:
            yield Part(kind="prose", text=own)
