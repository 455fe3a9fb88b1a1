"""The properties of a page as text: those of a row of a data source are a small table above it.

The shapes are those of `@notionhq/client`, whose types are generated from Notion's API ("PagePropertyValue").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.conversation import value
from core.sources.notion.address import bare_id

CHECKED, UNCHECKED = "☑", "☐"


@value
class Cell:
    """A property of a page that says something."""

    name: str
    text: str = ""
    related: tuple[str, ...] = ()  #: IDs of pages, whose titles are the text


def plain(rich_text: Iterable[Mapping[str, Any]]) -> str:
    """Rich text without its styles, on one line."""
    return " ".join("".join(str(each.get("plain_text", "")) for each in rich_text).split())


def title_of(properties: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the text of the property that is the title."""
    for name, each in properties.items():
        if each.get("type") == "title":
            return name, plain(each.get("title") or ())
    return "", ""


def cells_of(properties: Mapping[str, Any]) -> tuple[Cell, ...]:
    """The properties that say something, but for the title, by their names: Notion gives them no order."""
    found = []
    for name, each in sorted(properties.items()):
        kind = each.get("type")
        if kind == "relation":
            related = tuple(bare_id(str(one["id"])) for one in each.get("relation") or ())
            found += [Cell(name=name, related=related)] if related else []
        elif kind != "title" and (text := text_of(each)):
            found.append(Cell(name=name, text=text))
    return tuple(found)


def text_of(value_of: Mapping[str, Any]) -> str:
    """The value of a property, or of a part of one; empty where there is none, or of a kind that is not known."""
    kind = str(value_of.get("type", ""))
    held, write = value_of.get(kind), PROPERTIES.get(kind)
    return "" if write is None or held is None else write(held).strip()


def _list(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda held: ", ".join(filter(None, map(write, held)))


def _name(held: Mapping[str, Any]) -> str:
    return str(held.get("name") or "")


def _date(held: Mapping[str, Any]) -> str:
    return " – ".join(str(moment) for moment in (held.get("start"), held.get("end")) if moment)


def _number(held: float) -> str:
    return f"{held:g}" if isinstance(held, float) and held.is_integer() else str(held)


def _unique_id(held: Mapping[str, Any]) -> str:
    number, prefix = held.get("number"), held.get("prefix")
    return "" if number is None else f"{prefix}-{number}" if prefix else str(number)


def _place(held: Mapping[str, Any]) -> str:
    return ", ".join(str(each) for each in (held.get("name"), held.get("address")) if each)


#: How the value of each type of property is written. Files are named: where they lie changes with each request.
PROPERTIES: Mapping[str, Callable[[Any], str]] = {
    "rich_text": plain,
    "title": plain,
    "number": _number,
    "string": str,
    "boolean": lambda held: CHECKED if held else UNCHECKED,
    "checkbox": lambda held: CHECKED if held else UNCHECKED,
    "select": _name,
    "status": _name,
    "multi_select": _list(_name),
    "date": _date,
    "people": _list(_name),
    "files": _list(_name),
    "url": str,
    "email": str,
    "phone_number": str,
    "created_by": _name,
    "created_time": str,
    "unique_id": _unique_id,
    "place": _place,
    "verification": lambda held: str(held.get("state") or ""),
    "formula": text_of,
    "rollup": text_of,
    "array": _list(text_of),
}


def table(title: tuple[str, str], cells: Sequence[tuple[str, str]]) -> str:
    """Names and values as a table in Markdown, whose head is the title; empty without any."""
    if not cells:
        return ""
    (name, text), rows = title, [f"| {cell(name)} | {cell(text)} |" for name, text in cells]
    return "\n".join((f"| {cell(name)} | {cell(text)} |", "| --- | --- |", *rows))


def cell(text: str) -> str:
    """A text as a cell of a table in Markdown."""
    return " ".join(text.replace("|", "\\|").split())
