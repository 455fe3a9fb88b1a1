"""A page of Notion as it is listed, and the text that is made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from core.conversation import value
from core.library.sync import printable
from core.sources.documents import AnchoredPart, AnchoredText, joined
from core.sources.notion.address import LABEL, bare_id
from core.sources.notion.blocks import PageBlock, parts_of
from core.sources.notion.files import NotionFile, Serves, files_of_properties, is_of_notion
from core.sources.notion.properties import Cell, cells_of, table, title_of
from core.sources.source import SourceItem

PAGE_NAME = "page.md"
UNTITLED = "–"
SHORT_ID = 6  # digits of an ID that tell pages of one title apart
#: Seconds after which a page cannot have been changed without a new time: Notion rounds it to the nearest minute
#: (changelog, "Last edited time is now rounded to the nearest minute").
SETTLED = 120.0


@value
class NotionPage:
    """A page, without what is written on it."""

    id: str
    title: str
    title_name: str  #: how the property is called that is the title
    url: str
    edited: str  #: ISO 8601, to the minute
    parent: str = ""  #: ID of the page, data source, database or block that it lies in; empty: the workspace
    parent_kind: str = ""  #: Notion's name of what that is: page_id, data_source_id, database_id or block_id
    cells: tuple[Cell, ...] = ()  #: of a row
    files: tuple[NotionFile, ...] = ()  #: in properties of a row

    @property
    def related(self) -> tuple[str, ...]:
        return tuple(page for each in self.cells for page in each.related)


def page_of(data: Mapping[str, Any], serves: Serves = is_of_notion) -> NotionPage | None:
    """The page that Notion sent; None for one in the trash, or of which it sent nothing but the ID."""
    if data.get("object") != "page" or is_trashed(data) or "last_edited_time" not in data:
        return None
    properties = data.get("properties") or {}
    parent, kind = parent_of(data)
    name, title = title_of(properties)
    return NotionPage(
        id=bare_id(str(data["id"])), title=title, title_name=name, url=str(data.get("url") or ""),
        edited=str(data["last_edited_time"]), parent=parent, parent_kind=kind,
        cells=cells_of(properties), files=files_of_properties(properties, serves),
    )  # fmt: skip


def is_trashed(data: Mapping[str, Any]) -> bool:
    """``archived`` is what ``in_trash`` was called before."""
    return bool(data.get("in_trash") or data.get("archived"))


def parent_of(data: Mapping[str, Any]) -> tuple[str, str]:
    """The ID of what something lies in, empty for the workspace; and of which type it is."""
    parent = data.get("parent") or {}
    kind = str(parent.get("type") or "")
    held = parent.get(kind)
    return (bare_id(held), kind) if isinstance(held, str) else ("", kind)


def item_of(page: NotionPage, titles: Mapping[str, str], now: float, memory: str = "") -> SourceItem:
    """``titles``: of related pages, as far as they are known; ``now``: seconds since the epoch, by Notion's clock.
    ``memory``: the mark of what is remembered of pages that were read; each is read again where that is lost.

    A page that was changed a moment ago may be changed again without a new time: it is read once more at the next sync.
    """
    changed = moment_of(page.edited)
    is_settled = changed is None or now - changed >= SETTLED
    told = repr((page.title_name, rows_of(page, titles)))
    mark = hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]
    title = printable(page.title) or UNTITLED
    return SourceItem(
        id=page.id,
        version=f"{page.edited} {mark} {memory}".rstrip() + ("" if is_settled else f" at {now:.0f}"),
        name=PAGE_NAME,
        source=f"{LABEL}/{title} ({page.id[-SHORT_ID:]})",
        title=title,
        url=page.url or None,
        changed_at=changed,
    )


def rows_of(page: NotionPage, titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """The properties as names and values; of related pages, the titles that are known."""
    rows = ((each.name, each.text or _titles(each, titles)) for each in page.cells)
    return [(name, text) for name, text in rows if text]


def _titles(cell: Cell, titles: Mapping[str, str]) -> str:
    return ", ".join(filter(None, (titles.get(page, "") for page in cell.related)))


def text_of_page(page: NotionPage, blocks: Sequence[PageBlock], titles: Mapping[str, str]) -> AnchoredText:
    """Its title, its properties, and its blocks."""
    head = AnchoredPart(text=f"# {' '.join(page.title.split()) or UNTITLED}")
    properties = AnchoredPart(text=table((page.title_name, page.title), rows_of(page, titles)))
    return joined((head, properties, *parts_of(blocks)))


def moment_of(text: str) -> float | None:
    """ISO 8601 in seconds since the epoch."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
