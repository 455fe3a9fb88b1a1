"""The blocks and the properties of a page as Markdown. Each block of the page's own level has its name in the page's
address; the properties of a row of a data source are a small table above them.

The shapes are those of `@notionhq/client`, whose types are generated from Notion's API ("BlockObjectResponse",
"PagePropertyValue"). Of a block of a kind that is not known, its text and its children are kept. Where a file of
Notion's lies is left out: such addresses are for an hour, and whoever has one may read the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from core.conversation import value
from core.library.formats.assembly import table_text
from core.sources.documents import AnchoredPart, join_parts
from core.sources.http import Json
from core.sources.notion.client import bare_id

CHECKED, UNCHECKED = "☑", "☐"


@value
class Cell:
    """A property of a page that says something."""

    name: str
    text: str = ""
    related: tuple[str, ...] = ()  #: IDs of pages, whose titles are the text


def plain(rich_text: Iterable[Json]) -> str:
    """Rich text without its styles, on one line."""
    return " ".join("".join(str(each.get("plain_text", "")) for each in rich_text).split())


def title_of(properties: Json) -> tuple[str, str]:
    """The name and the text of the property that is the title."""
    for name, each in properties.items():
        if each.get("type") == "title":
            return name, plain(each.get("title") or ())
    return "", ""


def cells_of(properties: Json) -> tuple[Cell, ...]:
    """The properties that say something, except for the title, by their names: Notion gives them no order."""
    found = []
    for name, each in sorted(properties.items()):
        kind = each.get("type")
        if kind == "relation":
            related = tuple(bare_id(str(one["id"])) for one in each.get("relation") or ())
            found += [Cell(name=name, related=related)] if related else []
        elif kind != "title" and (text := text_of(each)):
            found.append(Cell(name=name, text=text))
    return tuple(found)


def text_of(value_of: Json) -> str:
    """The value of a property, or of a part of one. Empty without a value, or for an unknown kind."""
    kind = str(value_of.get("type", ""))
    held, write = value_of.get(kind), PROPERTIES.get(kind)
    return "" if write is None or held is None else write(held).strip()


def _list(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda held: ", ".join(filter(None, map(write, held)))


def _name(held: Json) -> str:
    return str(held.get("name") or "")


def _both(between: str, *names: str) -> Callable[[Json], str]:
    return lambda held: between.join(str(held[name]) for name in names if held.get(name))


def _unique_id(held: Json) -> str:
    number, prefix = held.get("number"), held.get("prefix")
    return "" if number is None else f"{prefix}-{number}" if prefix else str(number)


#: How the value of each type of property is written. Files are named: where they lie changes with each request.
PROPERTIES: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("rich_text", "title"), plain),
    "number": lambda held: f"{held:g}" if isinstance(held, float) and held.is_integer() else str(held),
    "string": str, **dict.fromkeys(("boolean", "checkbox"), lambda held: CHECKED if held else UNCHECKED),
    **dict.fromkeys(("select", "status", "created_by"), _name),
    **dict.fromkeys(("multi_select", "people", "files"), _list(_name)),
    **dict.fromkeys(("url", "email", "phone_number", "created_time"), str),
    "date": _both(" – ", "start", "end"), "unique_id": _unique_id, "place": _both(", ", "name", "address"),
    "verification": lambda held: str(held.get("state") or ""),
    **dict.fromkeys(("formula", "rollup"), text_of), "array": _list(text_of),
}  # fmt: skip


def table(title: tuple[str, str], cells: Sequence[tuple[str, str]]) -> str:
    """Names and values as a table in Markdown, whose head is the title; empty without any."""
    return table_text([title, *cells]) if cells else ""


#: The title has the first level.
HEADINGS: Mapping[str, int] = {f"heading_{level}": level + 1 for level in range(1, 5)}
LISTS = frozenset({"bulleted_list_item", "numbered_list_item", "to_do", "toggle"})
#: Blocks that are nothing but where their children stand.
FRAMES = frozenset({"column_list", "column", "synced_block", "tab"})
#: Blocks without a text of their own.
SILENT = frozenset({"breadcrumb", "table_of_contents", "unsupported", "table_row", "link_to_page"})
FILE_BLOCKS = frozenset({"image", "video", "audio", "file", "pdf"})
LINKS = frozenset({"bookmark", "embed", "link_preview"})
CHILDREN = frozenset({"child_page", "child_database"})  #: are pages of their own, and only named

#: What would begin something else than a paragraph at the start of a line: CommonMark 0.31, 4 and 5.
_BEGINS_BLOCK = re.compile(
    r"^([ \t]{0,3})(\#{1,6}(?=\s|$)|[>|<]|[-+*](?=\s|$)|(?:[-*_][ \t]*){3,}$|=+[ \t]*$|`{3,}|~{3,}|\$\$|\[(?=[^\]\n]*\]:))",
    re.MULTILINE,
)
_BEGINS_NUMBER = re.compile(r"^([ \t]{0,3}\d{1,9})([.)])(?=\s|$)", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]{4,}", re.MULTILINE)
_FENCES = re.compile(r"`{3,}")
_STYLES = (("code", "`"), ("bold", "**"), ("italic", "*"), ("strikethrough", "~~"))


@value
class PageBlock:
    """A block, and what is within it."""

    data: Json  #: as Notion sends it
    children: tuple["PageBlock", ...] = ()

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))

    @property
    def content(self) -> Json:
        held = self.data.get(self.type)
        return held if isinstance(held, dict) else {}


def parts_of(blocks: Sequence[PageBlock]) -> Iterator[AnchoredPart]:
    """The text of blocks, in order; what columns and synced blocks hold stands in their place."""
    number, before = 0, ""
    for block in blocks:
        number = number + 1 if block.type == "numbered_list_item" else 0
        if block.type in FRAMES:
            yield from parts_of(block.children)
        else:
            is_item = block.type in LISTS
            yield AnchoredPart(
                text=_item(block, number) if is_item else BLOCKS.get(block.type, _unknown)(block),
                anchor=bare_id(str(block.data.get("id", ""))),
                is_tight=is_item and block.type == before,
            )
            if block.type in HEADINGS:  # one that folds
                yield from parts_of(block.children)
        before = block.type


def _item(block: PageBlock, number: int) -> str:
    mark = f"{number}. " if block.type == "numbered_list_item" else "- "
    text = inline(block.content.get("rich_text") or ())
    if block.type == "to_do":
        text = f"{CHECKED if block.content.get('checked') else UNCHECKED} {text}"
    if inner := join_parts(parts_of(block.children)).text:
        text += ("\n" if block.children[0].type in LISTS else "\n\n") + inner
    first, *others = text.split("\n")
    return "\n".join([mark + first, *(f"{' ' * len(mark)}{line}" if line else "" for line in others)])


def _with_children(text: str, block: PageBlock) -> str:
    return "\n\n".join(filter(None, (text, join_parts(parts_of(block.children)).text)))


def _heading(block: PageBlock) -> str:
    text = plain(block.content.get("rich_text") or ())
    return f"{'#' * HEADINGS[block.type]} {text}" if text else ""


def _quote(block: PageBlock) -> str:
    icon = block.content.get("icon") or {}
    emoji = f"{icon['emoji']} " if icon.get("type") == "emoji" else ""
    text = inline(block.content.get("rich_text") or ())
    whole = _with_children(f"{emoji}{text}".strip(), block)
    return "\n".join(f"> {line}".rstrip() for line in whole.split("\n")) if whole.strip("\n") else ""


def _code(block: PageBlock) -> str:
    text = "".join(str(each.get("plain_text", "")) for each in block.content.get("rich_text") or ())
    fence = "`" * max(3, *(len(found) + 1 for found in _FENCES.findall(text)), 3)
    language = str(block.content.get("language") or "").replace("plain text", "").replace(" ", "-")
    caption = inline(block.content.get("caption") or ())
    return f"{fence}{language}\n{text}\n{fence}" + (f"\n\n{caption}" if caption else "")


def _table(block: PageBlock) -> str:
    listed = (row.content.get("cells") or () for row in block.children if row.type == "table_row")
    rows = [[inline(each, escapes=False) for each in cells] for cells in listed]
    if not rows:
        return ""
    return table_text(rows if block.content.get("has_column_header") else [[], *rows])


def _file(block: PageBlock) -> str:
    """Its name and its caption; the address of one that lies elsewhere."""
    held = block.content
    caption = inline(held.get("caption") or ())
    name = escape(str(held.get("name") or ""))
    if held.get("type") == "external" and (url := (held.get("external") or {}).get("url")):
        return f"[{caption or name or _bracket(str(url))}]({_target(str(url))})"
    return " – ".join(filter(None, (name, caption)))


def _link(block: PageBlock) -> str:
    url = str(block.content.get("url") or "")
    caption = inline(block.content.get("caption") or ())
    return f"[{caption or _bracket(url)}]({_target(url)})" if url else caption


def _child(block: PageBlock) -> str:
    title = " ".join(str(block.content.get("title") or "").split())
    url = f"https://www.notion.so/{bare_id(str(block.data.get('id', '')))}"
    return f"[{_bracket(title)}]({url})" if title else ""


def _unknown(block: PageBlock) -> str:
    if block.type in SILENT:
        return ""
    held = block.content
    texts = (held.get(name) for name in ("title", "rich_text", "caption"))
    text = "\n\n".join(filter(None, (inline(each) for each in texts if isinstance(each, list))))
    return _with_children(text, block)


BLOCKS: Mapping[str, Callable[[PageBlock], str]] = {
    "paragraph": lambda block: _with_children(inline(block.content.get("rich_text") or ()), block),
    **dict.fromkeys(HEADINGS, _heading), **dict.fromkeys(("quote", "callout"), _quote), "code": _code,
    "equation": lambda block: f"$$\n{block.content.get('expression') or ''}\n$$",
    "divider": lambda _block: "---", "table": _table, **dict.fromkeys(FILE_BLOCKS, _file),
    **dict.fromkeys(LINKS, _link), **dict.fromkeys(CHILDREN, _child),
}  # fmt: skip


def inline(rich_text: Iterable[Json], *, escapes: bool = True) -> str:
    """Rich text with its styles and links; its line ends are kept."""
    text = "".join(map(_span, rich_text)).strip("\n")
    return escape(text) if escapes else text


def _span(each: Json) -> str:
    text = str(each.get("plain_text", ""))
    if each.get("type") == "equation":
        return f"${text}$"
    bare = text.strip()
    if not bare:
        return text
    begin = text.index(bare[0])
    before, after = text[:begin], text[begin + len(bare) :]
    styles = each.get("annotations") or {}
    for name, sign in _STYLES:
        if styles.get(name) and sign not in bare and "\n" not in bare:
            bare = f"{sign}{bare}{sign}"
    href = str(each.get("href") or "")
    if href.startswith(("http://", "https://")) and href != bare:
        bare = f"[{bare}]({_target(href)})"
    return f"{before}{bare}{after}"


def escape(text: str) -> str:
    """A text whose lines all begin as a paragraph."""
    text = _BEGINS_BLOCK.sub(r"\1\\\2", _INDENT.sub("", text))
    return _BEGINS_NUMBER.sub(r"\1\\\2", text)


def _bracket(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]")


def _target(url: str) -> str:
    return url.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
