"""Word documents (.docx) and Rich Text (.rtf): headings, paragraphs, lists and tables, in reading order.

A footnote or an endnote of Word stands below the paragraph or the table that refers to it. Headers, footers
and comments are left out. striprtf knows the characters of Rich Text, but leaves no trace of headings and of
the edges of tables, so signs are put where they are told; it leaves out footnotes and text boxes.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import archives
from core.library.formats.assembly import Part, add_heading, assemble, first_title, table_text

REPEATED = 200  # characters of a merged cell, at most, that stands in each of its rows
COLUMN_LIMIT = 63  # that a cell may span: Word has no table with more
INHERITANCE_LIMIT = 20  # styles based on one another; a broken file has cycles

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats a text box
_FORMULA_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_NOTES = {  # the type of a part's relationship, the notes in it, and what refers to one
    "/footnotes": (f"{_W}footnote", f"{_W}footnoteReference"),
    "/endnotes": (f"{_W}endnote", f"{_W}endnoteReference"),
}
_SEEN_AS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_CONTAINERS = {f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")}
_HEADING_NAME = re.compile(r"heading ([1-9])")
_LIST_NAME = re.compile(r"list (?:bullet|number|paragraph)(?: ([1-9]))?")

#: An lxml element of python-docx's tree. Its own classes leave out insertions and content controls.
Element = Any


def parse(data: bytes, *, name: str) -> Document:
    """The document's text under a heading; ``name`` is used where it has no title."""
    data = archives.readable(data, suffix=".docx")
    import docx

    word = docx.Document(io.BytesIO(data))
    declared = " ".join(word.core_properties.title.split())
    found = join_nested(_parts(word.element.body, _roles(word.styles.element), _notes(word.part)))
    parts = add_heading(found, declared or name)
    return assemble(parts, title=first_title(parts) or declared, changed_at=archives.changed_at(data))


#: What refers to a note, and its number -> its text.
Notes = Mapping[tuple[str, str | None], str]


def _notes(part: Any) -> Notes:
    from docx.oxml import parse_xml

    found = {}
    for relation in part.rels.values():
        kind = relation.reltype[relation.reltype.rfind("/") :]
        if kind not in _NOTES or relation.is_external:
            continue
        note, reference = _NOTES[kind]
        for each in parse_xml(relation.target_part.blob).iter(note):
            if not each.get(f"{_W}type"):  # others are lines between the text and the notes
                found[reference, each.get(f"{_W}id")] = _text(each)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """The meaning of a paragraph style for the document's outline."""

    level: int | None = None  #: of a heading; 0 for "Title", which stands above "Heading 1"
    depth: int | None = None  #: of a list item; 0 for the outermost list
    is_contents: bool = False  #: a line of the table of contents


def _roles(styles: Element) -> dict[str | None, _Role]:
    """The roles by style id; a style inherits from the one it is based on."""
    by_id = {style.get(f"{_W}styleId"): style for style in styles.findall(f"{_W}style")}
    return {style_id: _role(style, by_id) for style_id, style in by_id.items()}


def _role(style: Element | None, by_id: Mapping[str, Element]) -> _Role:
    ancestry: list[Element] = []
    while style is not None and len(ancestry) < INHERITANCE_LIMIT:
        ancestry.append(style)
        style = by_id.get(_value(style.find(f"{_W}basedOn")) or "")
    names = [(_value(each.find(f"{_W}name")) or "").lower() for each in ancestry]
    levels = (_style_level(name, each) for name, each in zip(names, ancestry, strict=True))
    return _Role(
        level=next((level for level in levels if level is not None), None),
        depth=next((int(match[1] or 1) - 1 for name in names if (match := _LIST_NAME.fullmatch(name))), None),
        is_contents=any(name.startswith("toc ") for name in names),
    )


def _style_level(name: str, style: Element) -> int | None:
    """Built-in styles have English names in every language of Word; custom styles have an outline level."""
    if name == "title":
        return 0
    if match := _HEADING_NAME.fullmatch(name):
        return int(match[1])
    return _outline_level(style.find(f"{_W}pPr"))


def _outline_level(properties: Element) -> int | None:
    value = _value(properties.find(f"{_W}outlineLvl")) if properties is not None else None
    return int(value) + 1 if value and int(value) < 9 else None  # 9 is body text: ECMA-376, 17.3.1.20


def _value(element: Element) -> str | None:
    return None if element is None else element.get(f"{_W}val")


def _parts(body: Element, roles: dict[str | None, _Role], notes: Notes) -> Iterator[Part]:
    for unseen in [*body.iter(_FALLBACK, f"{_W}moveFrom")]:
        unseen.getparent().remove(unseen)
    title_styles = {style_id for style_id, role in roles.items() if role.level == 0}
    has_title = any(_value(style) in title_styles for style in body.iter(f"{_W}pStyle"))
    for element in _in_order(body):
        if element.tag == f"{_W}tbl":
            yield from _table(element)
        elif text := _text(element):
            yield _paragraph(element, text, roles, below_title=has_title)
        for each in element.iter(*(reference for _, reference in _NOTES.values())):
            if note := notes.get((each.tag, each.get(f"{_W}id"))):
                yield Part(kind="prose", text=note)


def _in_order(container: Element) -> Iterator[Element]:
    """Paragraphs and tables, those in content controls too."""
    for child in container:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in _CONTAINERS:
            yield from _in_order(child)


def _paragraph(element: Element, text: str, roles: dict[str | None, _Role], *, below_title: bool) -> Part:
    properties = element.find(f"{_W}pPr")
    role = roles.get(_value(element.find(f"{_W}pPr/{_W}pStyle")), _Role())
    level = role.level if role.level is not None else _outline_level(properties)
    if role.is_contents:
        return Part(kind="markup", text=text)
    if level is not None:
        depth = min(max(level + below_title, 1), 6)
        return Part(kind="heading", text=f"{'#' * depth} {' '.join(text.split())}", level=depth)
    own_depth = _value(element.find(f"{_W}pPr/{_W}numPr/{_W}ilvl"))
    item_depth = int(own_depth) if own_depth else role.depth
    if item_depth is None:
        return Part(kind="prose", text=text)
    return Part(kind="item", text=f"{'  ' * item_depth}- {text}")


def join_nested(parts: Iterable[Part]) -> Iterator[Part]:
    """Items of inner lists joined to the item they belong to."""
    lines: list[str] = []
    for part in parts:
        if lines and not (part.kind == "item" and part.text.startswith(" ")):
            yield Part(kind="item", text="\n".join(lines))
            lines = []
        if part.kind == "item":
            lines.append(part.text)
        else:
            yield part
    if lines:
        yield Part(kind="item", text="\n".join(lines))


def _text(element: Element) -> str:
    """The text of a paragraph or cell as a reader sees it, without deletions, field codes and hidden text."""
    seen: list[str] = []
    for node in element.iter(f"{_W}t", f"{_W}p", _FORMULA_TEXT, _PICTURE, *_SEEN_AS):
        if node.tag == f"{_W}p":
            seen.append("\n" if seen else "")  # a paragraph inside a cell or a text box
        elif node.tag == _FORMULA_TEXT:
            seen.append(node.text or "")
        elif node.tag == _PICTURE:
            said = node.get("descr") or ""
            seen.append(said.splitlines()[0] if said.strip() else "")  # below it Word says that it guessed
        elif (run := node.getparent()).tag == f"{_W}r":  # outside of a run a tab is a tab stop
            hidden = run.find(f"{_W}rPr/{_W}vanish")
            if hidden is None or _value(hidden) in ("0", "false", "off"):
                seen.append(node.text or "" if node.tag == f"{_W}t" else _SEEN_AS[node.tag])
    return "".join(seen).strip()


def _table(table: Element) -> Iterator[Part]:
    rows: list[dict[int, str]] = []
    for row in _within(table, f"{_W}tr", f"{_W}tbl"):
        if row.find(f"{_W}trPr/{_W}del") is None:
            rows.append(_cells(row, rows[-1] if rows else {}))
    width = max((column + 1 for row in rows for column in row), default=0)
    if width == 1:  # a frame around text
        yield from (Part(kind="prose", text=row[0]) for row in rows if row.get(0))
    elif width:
        text = table_text([[row.get(column, "") for column in range(width)] for row in rows])
        yield Part(kind="table", text=text)


def _cells(row: Element, above: Mapping[int, str]) -> dict[int, str]:
    """The cells by column. One that is merged downwards stands in each of its rows, unless it is long."""
    cells: dict[int, str] = {}
    column = _span(row.find(f"{_W}trPr/{_W}gridBefore"), least=0)
    for cell in _within(row, f"{_W}tc", f"{_W}tr"):
        merged = cell.find(f"{_W}tcPr/{_W}vMerge")
        goes_on = merged is not None and _value(merged) != "restart"
        text = above.get(column, "") if goes_on else " ".join(_text(cell).split())
        cells[column] = text if not goes_on or len(text) <= REPEATED else ""
        column += _span(cell.find(f"{_W}tcPr/{_W}gridSpan"), least=1)
    return cells


def _span(element: Element, *, least: int) -> int:
    """A number of columns."""
    value = _value(element) or ""
    return min(max(int(value), least), COLUMN_LIMIT) if value.isdecimal() else least


def _within(owner: Element, tag: str, owner_tag: str) -> Iterator[Element]:
    """The owner's rows or cells, not those of a table inside it."""
    return (element for element in owner.iter(tag) if next(element.iterancestors(owner_tag)) is owner)


#: Signs of Unicode's private use area: before a heading (and its level), before a row, after a cell and a row.
RTF_HEADING, RTF_ROW, RTF_CELL, RTF_END = "\ue000", "\ue010", "\ue011", "\ue012"
_SIGNED = (
    (re.compile(r"[\ue000-\ue012]"), ""),
    (re.compile(r"\\outlinelevel([0-8])(?!\d) ?"), lambda found: chr(ord(RTF_HEADING) + int(found[1]))),
    (re.compile(r"\\trowd(?![a-z]) ?"), RTF_ROW),
    (re.compile(r"\\(?:nest)?cell(?![a-z]) ?"), RTF_CELL),
    (re.compile(r"\\(?:nest)?row(?![a-z]) ?"), f"{RTF_END}\\\\par "),
)
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
_LEVEL = re.compile(f"[{RTF_HEADING}-\ue008]")
_SIGNS = re.compile(f"[{RTF_HEADING}-{RTF_END}]")
_ITEM = re.compile(r"[•·▪◦–-]\t|(\(?(?:\d{1,3}|[a-z])[.)])\t")
_TARGET = re.compile(r'\("(?:\w+:|www\.)[^"\s]*"\)')  # striprtf writes it behind the words of a link
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def parse_rtf(data: bytes) -> Document:
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
    plain = _TARGET.sub("", rtf_to_text(raw, errors="replace"))  # type: ignore[no-untyped-call]
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), plain)
    parts = list(_rtf_parts(text))
    return assemble(parts, title=first_title(parts))


def _rtf_parts(text: str) -> Iterator[Part]:
    """Neighbouring rows are one table."""
    rows: list[list[str]] = []
    *ended, rest = text.split(RTF_END)
    for each in ended:
        before, _, row = each.partition(RTF_ROW) if RTF_ROW in each else ("", "", each)
        if _SIGNS.sub("", before).strip():
            yield Part(kind="table", text=table_text(rows))
            rows = []
            yield from _rtf_paragraphs(before)
        rows.append([_SIGNS.sub("", cell) for cell in row.split(RTF_CELL)[:-1]])
    yield Part(kind="table", text=table_text(rows))
    yield from _rtf_paragraphs(rest)


def _rtf_paragraphs(text: str) -> Iterator[Part]:
    for line in text.split("\n"):
        level, own = _LEVEL.search(line), _SIGNS.sub("", line).strip()
        if own and level:
            depth = min(ord(level[0]) - ord(RTF_HEADING) + 1, 6)
            yield Part(kind="heading", text=f"{'#' * depth} {' '.join(own.split())}", level=depth)
        elif item := _ITEM.match(own):
            yield Part(kind="item", text=f"{item[1] or '-'} {own[item.end() :]}")
        else:
            yield Part(kind="prose", text=own)
