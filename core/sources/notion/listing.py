"""Listing all pages that are shared, and which of them lie below one; and all blocks of a page.

The search gives a hundred pages in one answer, with the time of their last change. It does not promise to be complete
(Notion, "Search optimizations and limitations"), so the rows of each data source are listed beside it, and a page that
was there before or that another page names is asked for by itself. Only what Notion says is gone is gone.

All rows of a data source are listed once a day, and in between those that were made since: a row that was there is
asked for by itself if the search leaves it out. What the search leaves out, and came to a data source in another way
than by being made there, is found a day later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from core.sources.http import Json
from core.sources.notion import client
from core.sources.notion import page as notion
from core.sources.notion.convert import CHILDREN, PageBlock
from core.sources.source import ItemUnreadable, SourceUnavailable

ROWS_EVERY = 86_400.0  # seconds after which all rows of a data source are listed again
OVERLAP = 120.0  # seconds: times of rows are rounded to the minute
ASKED_AT_ONCE = 20  # pages that are asked for one by one, before those that are there are returned
RESTARTS = 5  # of lists whose cursor Notion does not know any more
#: By Notion's names of what a thing lies in; anything else is a block.
THINGS: Mapping[str, client.ThingKind] = {
    "page_id": "page", "database_id": "database", "data_source_id": "data_source",
}  # fmt: skip
DEEPEST = 200  # things within one another

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class PageListing:
    """The course of a list of all pages. When asking fails, it can go on from where it was."""

    api: client.NotionApi
    memory: notion.NotionMemory
    is_cut_off: bool = False  #: whether Notion does not list all there are
    #: that were read to their ends, by data source
    row_lists: dict[str, notion.RowList] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)  #: pages that it does not send, and why
    _found: list[notion.NotionPage] = field(default_factory=list)  #: not returned yet
    _seen: dict[str, str] = field(default_factory=dict)  #: when each page was edited; empty: it is not there
    #: what each thing lies in, and its kind
    _parents: dict[str, tuple[str, str]] = field(default_factory=dict)
    _trashed: set[str] = field(default_factory=set)
    _data_sources: list[str] = field(default_factory=list)  #: whose rows are to be listed
    _known: set[str] = field(default_factory=set)  #: data sources and databases that need not be looked for
    _cursor: str | None = None
    _since: str = ""  #: when the rows were made that are listed next
    _row_list: notion.RowList | None = None  #: the one that is under way
    _is_searched: bool = False
    _restarts: int = 0

    async def more(self) -> list[notion.NotionPage] | None:
        """Pages not returned yet, or edited since; None at the end. NotionRefused, SourceUnavailable."""
        is_more = True
        if not self._is_searched:
            await self._search()
        elif self._data_sources:
            await self._rows(self._data_sources[-1])
        else:
            is_more = await self._look_for_missing()
        found, self._found = self._found, []
        return found if found or is_more else None

    async def _search(self) -> None:
        page = await self._part(partial(self.api.search, self._cursor))
        if page is None:
            return
        self._cursor = page.next_cursor
        self._is_searched = page.next_cursor is None
        for each in page.results:
            if each.get("object") != "data_source" or notion.is_trashed(each):
                continue
            this, (database, kind) = client.bare_id(str(each["id"])), notion.parent_of(each)
            if this not in self._known:
                self._data_sources.append(this)
            self._known |= {this, database}
            if database:
                self._parents[this] = (database, kind)
            if isinstance(each.get("database_parent"), dict):
                self._parents[database] = notion.parent_of({"parent": each["database_parent"]})
        await self._take(page.results)

    async def _rows(self, data_source: str) -> None:
        """Rows without their properties, which the search has given, unless it is not complete."""
        is_brief = not self.is_cut_off
        if self._row_list is None:
            self._row_list = await self._begin_rows(data_source)
        try:
            ask = partial(self.api.rows, data_source, self._cursor, since=self._since, is_brief=is_brief)
            page = await self._part(ask)
        except client.NotionMissing:
            self._end_rows()
            return
        if page is None:
            return
        if is_brief:
            await self._ask_for(client.bare_id(str(row["id"])) for row in page.results)
        else:
            await self._take(page.results)
        self._cursor = page.next_cursor
        if page.next_cursor is not None:
            return
        # More than 10,000 rows are listed from the last one's time on (guide "Query large data sources").
        newest = max((str(each.get("created_time", "")) for each in page.results), default="")
        self._since = newest if page.is_cut_off and newest > self._since else ""
        if not self._since:
            self.row_lists[data_source] = self._row_list
            self._end_rows()

    async def _begin_rows(self, data_source: str) -> notion.RowList:
        """Begin to list all rows, or those made since the last list."""
        now, held = self.api.now, await asyncio.to_thread(self.memory.some, notion.ROW_LISTS, [data_source])
        last = notion.RowList(**held[data_source]) if held else None
        if self.is_cut_off or last is None or not 0 <= now - last.full_at < ROWS_EVERY:
            self._since = ""
            return notion.RowList(full_at=now, read_at=now)
        self._since = datetime.fromtimestamp(last.read_at - OVERLAP, UTC).isoformat()
        return notion.RowList(full_at=last.full_at, read_at=now)

    def _end_rows(self) -> None:
        self._data_sources.pop()
        self._cursor, self._since, self._row_list = None, "", None

    async def _part(self, ask: Callable[[], Awaitable[client.ResultPage]]) -> client.ResultPage | None:
        """A part of a list; None if the list begins again, as its cursor is not known any more."""
        try:
            page = await ask()
        except client.CursorLost:
            self._restarts += 1
            if self._restarts > RESTARTS:
                raise SourceUnavailable("Notion does not finish its list of pages.") from None
            self._cursor = None
            return None
        self.is_cut_off = self.is_cut_off or (page.is_cut_off and not self._is_searched)
        return page

    async def _take(self, results: Sequence[Json]) -> None:
        pages = [page for each in results if (page := notion.parse_page(each, self.api.serves)) is not None]
        await self._find([page for page in pages if self._seen.get(page.id) != page.edited])

    async def _find(self, pages: Sequence[notion.NotionPage]) -> None:
        titles = {page.id: page.title for page in pages}
        await asyncio.to_thread(partial(self.memory.keep_pages, titles, are_items=False))
        for page in pages:
            self._seen[page.id] = page.edited
            self._parents[page.id] = (page.parent, page.parent_kind)
            self._found.append(page)

    async def _look_for_missing(self) -> bool:
        named = await asyncio.to_thread(lambda: self.memory.items() | self.memory.children("page"))
        databases = await asyncio.to_thread(lambda: self.memory.children("database"))
        if missing := sorted(databases - self._known):
            await self._look_into(missing[0])
            return True
        missing = sorted(named - self._seen.keys())
        await self._ask_for(missing[:ASKED_AT_ONCE])
        return bool(missing)

    async def _look_into(self, database: str) -> None:
        try:
            data = await self.api.one("database", database)
        except (client.NotionMissing, client.NotionRefused):
            self._known.add(database)
            return
        self._parents[database] = notion.parent_of(data)
        self._known.add(database)
        for each in () if notion.is_trashed(data) else data.get("data_sources") or ():
            if (this := client.bare_id(str(each["id"]))) not in self._known:
                self._known.add(this)
                self._parents[this] = (database, "database_id")
                self._data_sources.append(this)

    async def _ask_for(self, ids: Iterable[str]) -> None:
        """Find those of these pages that are there, and not in the trash with what they lie in."""
        for each in ids:
            if each in self._seen:
                continue
            try:
                page = notion.parse_page(await self.api.one("page", each), self.api.serves)
            except client.NotionMissing:
                page = None
            except client.NotionRefused as refused:
                self.unread[each] = str(refused)
                page = None
            if page is not None and await self.lies_below(page, ""):
                await self._find([page])
            else:
                self._seen[each] = ""

    async def lies_below(self, page: notion.NotionPage, root: str) -> bool:
        """True for the root and the pages below it. Without a root, true if none of the page's ancestors is
        in the trash."""
        here, kind = page.id, "page_id"
        for _ in range(DEEPEST):
            if here == root:
                return True
            if here not in self._parents:
                data: Json = {}
                with suppress(client.NotionMissing, client.NotionRefused):
                    data = await self.api.one(THINGS.get(kind, "block"), here)
                if notion.is_trashed(data):
                    self._trashed.add(here)
                self._parents[here] = notion.parent_of(data)
            if here in self._trashed:
                return False
            here, kind = self._parents[here]
            if not here:
                return not root
        return False


BLOCK_LIMIT = 20_000  # blocks of a page
DEPTH_LIMIT = 30  # blocks within one another
TRIES = 3  # to read a list whose cursor Notion does not know any more

_KINDS: Mapping[str, notion.ChildKind] = {"child_page": "page", "child_database": "database"}


@dataclass(slots=True, kw_only=True)
class BlockTree:
    """The blocks that were read of a page, its files and the pages within it."""

    api: client.NotionApi
    files: list[notion.NotionFile] = field(default_factory=list)
    children: dict[str, notion.ChildKind] = field(default_factory=dict)  #: pages and databases within it
    _count: int = 0

    async def read(self, block: str, depth: int = 0) -> tuple[PageBlock, ...]:
        """The blocks within one, or within a page. NotionMissing, NotionRefused, ItemUnreadable."""
        for _ in range(TRIES):
            with suppress(client.CursorLost):
                level = await self._level(block)
                break
        else:
            raise ItemUnreadable("changes too often to be read")
        return tuple([PageBlock(data=each, children=await self._within(each, depth + 1)) for each in level])

    async def _within(self, data: Json, depth: int) -> tuple[PageBlock, ...]:
        kind, block = str(data.get("type", "")), client.bare_id(str(data.get("id", "")))
        if kind in CHILDREN:
            self.children[block] = _KINDS[kind]
            return ()
        if (file := notion.file_of_block(data, self.api.serves)) is not None:
            self.files.append(file)
        if not data.get("has_children") or depth > DEPTH_LIMIT:
            return ()
        original = ((data.get("synced_block") or {}).get("synced_from") or {}).get("block_id")
        try:
            return await self.read(client.bare_id(original) if original else block, depth)
        except (client.NotionMissing, client.NotionRefused):
            if original:  # what this one shows is not shared with the integration
                return ()
            raise

    async def _level(self, block: str) -> list[Json]:
        found, cursor = list[Json](), None
        while True:
            page = await self.api.children(block, cursor)
            found += page.results
            if self._count + len(found) > BLOCK_LIMIT:
                raise ItemUnreadable(f"has more than {BLOCK_LIMIT:,} blocks")
            if (cursor := page.next_cursor) is None:
                self._count += len(found)
                return found
