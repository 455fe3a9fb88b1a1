"""Notion as a source: the pages that are shared with an integration, those of data sources among them.

Each sync lists everything, and reads the blocks of what changed. Notion tells nobody who may read a page: the
collection decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from core.errors import SettingsError
from core.sources.anchored import parse_item, to_bytes
from core.sources.hosts import addresses_of
from core.sources.notion.address import LABEL, PREFIX, canonical_address, root_of
from core.sources.notion.client import INTERVAL, ORIGIN, NotionApi, NotionMissing, NotionRefused, open_api
from core.sources.notion.guide import GUIDE
from core.sources.notion.listing import PageListing
from core.sources.notion.memory import NotionMemory, open_memory
from core.sources.notion.page import NotionPage, is_trashed, item_of, page_of, text_of_page
from core.sources.notion.tree import BlockTree
from core.sources.source import (
    ItemGone,
    ItemUnreadable,
    SourceBatch,
    SourceContext,
    SourceItem,
    SourceKind,
    SourceUnavailable,
    UnreadItem,
)

BATCH = 100  # items
AT_ONCE = 4  # connections
UNSET = "Set NOTION_TOKEN to the token of an integration, and share pages with it in Notion."
NOTHING = (
    "Nothing is shared with the integration of NOTION_TOKEN: add it to the connections of a page in Notion."
)
NOT_SHARED = "Notion has no page {root}, or it is not shared with the integration of NOTION_TOKEN."
CUT_OFF = (
    "Notion does not list all that is shared. Narrower addresses, as notion:ID of a page, read the rest."
)


@dataclass(slots=True, kw_only=True)
class NotionSource:
    """What is shared with an integration, or what lies below a page or a database of it."""

    root: str  #: ID; empty: all
    api: NotionApi
    memory: NotionMemory
    _listing: PageListing | None = None
    _later: dict[str, NotionPage] = field(default_factory=dict)  #: to be told when everything is listed
    _told: set[str] = field(default_factory=set)  #: IDs of the items of this list
    _pages: dict[str, NotionPage] = field(default_factory=dict)  #: of the items of this batch

    async def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        if cursor is None or self._listing is None:
            await self._require_root()
            self._listing = PageListing(api=self.api, memory=self.memory)
            self._later, self._told = {}, set()
        try:
            while (pages := await self._next_pages(self._listing)) is not None:
                if pages:
                    yield await self._batch(pages)
                    await asyncio.to_thread(self._keep, pages)
        except NotionRefused as refused:
            raise SourceUnavailable(f"What is in Notion {refused}.") from refused
        if not self._told:
            raise SourceUnavailable(NOTHING)
        yield SourceBatch(
            unread=self._unread(self._listing), note=CUT_OFF if self._listing.is_cut_off else ""
        )
        await asyncio.to_thread(self._forget_others)

    async def _require_root(self) -> None:
        """A page that is away is not an empty one."""
        if not self.root:
            return
        for ask in (self.api.page, self.api.database, self.api.data_source):
            try:
                data = await ask(self.root)
            except (NotionMissing, NotionRefused):
                continue
            if is_trashed(data):
                raise SourceUnavailable(f"The page {self.root} is in the trash of Notion.")
            return
        raise SourceUnavailable(NOT_SHARED.format(root=self.root))

    async def _next_pages(self, listing: PageListing) -> list[NotionPage] | None:
        """The pages of the next batch; None if all were told.

        What lies below a page, and the titles of the pages that a row names, are known when everything is listed.
        """
        found = await listing.more()
        if found is None:
            return await self._later_pages(listing)
        now = [page for page in found if not self.root and not page.related]
        self._later |= {page.id: page for page in found if self.root or page.related}
        return now

    async def _later_pages(self, listing: PageListing) -> list[NotionPage] | None:
        if not self._later:
            return None
        part = list(self._later.values())[:BATCH]
        below = [page for page in part if not self.root or await listing.lies_below(page, self.root)]
        for page in part:
            del self._later[page.id]
        return below

    async def _batch(self, pages: Sequence[NotionPage]) -> SourceBatch:
        self._pages = {page.id: page for page in pages}
        titles = await asyncio.to_thread(
            self.memory.titles, [each for page in pages for each in page.related]
        )
        self._told |= self._pages.keys()
        return SourceBatch(
            items=[item_of(page, titles, self.api.now) for page in pages], cursor=str(len(self._told))
        )

    def _keep(self, pages: Sequence[NotionPage]) -> None:
        self.memory.keep({page.id: page.title for page in pages}, are_items=True)

    def _unread(self, listing: PageListing) -> list[UnreadItem]:
        items = self.memory.items()
        titles = self.memory.titles(listing.unread)
        return [
            UnreadItem(item=SourceItem(id=page, version="", name="page.md", source=f"{LABEL}/{titles[page]}"), reason=why)
            for page, why in listing.unread.items()
            if page in items
        ]  # fmt: skip

    def _forget_others(self) -> None:
        unread = self._listing.unread if self._listing is not None else {}
        self.memory.forget(self.memory.items() - self._told - unread.keys())

    # Pages

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        pass

    async def fetch(self, item: SourceItem) -> bytes:
        try:
            page = self._pages.get(item.id) or page_of(await self.api.page(item.id))
            if page is None:
                raise ItemGone(f"{item.source} is in the trash.")
            tree = BlockTree(api=self.api)
            blocks = await tree.read(item.id)
        except NotionMissing:
            raise ItemGone(f"{item.source} is gone.") from None
        except NotionRefused as refused:
            raise ItemUnreadable(str(refused)) from None
        await asyncio.to_thread(self.memory.keep_children, item.id, tree.children)
        titles = await asyncio.to_thread(self.memory.titles, page.related)
        return to_bytes(text_of_page(page, blocks, titles))


@asynccontextmanager
async def open_notion(
    text: str,
    context: SourceContext,
    *,
    origin: str = ORIGIN,
    interval: float = INTERVAL,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[NotionSource]:
    """Raises SourceUnavailable where Notion may not be read, SettingsError where something is missing for it."""
    token = context.settings.notion_token
    if not token:
        raise SettingsError(UNSET)
    parts = urlsplit(origin)
    addresses = await addresses_of(parts.hostname or "", parts.port or 443, context.settings.private_hosts)
    opened = partial(open_api, token, addresses, origin=origin, interval=interval, pause=pause)
    async with opened(connections=AT_ONCE) as api:
        with open_memory(context.folder) as memory:
            yield NotionSource(root=root_of(text), api=api, memory=memory)


KIND = SourceKind(
    prefixes=(PREFIX,),
    canonical=canonical_address,
    label=lambda _address: LABEL,
    open=open_notion,
    parse=parse_item,
    guide=GUIDE,
)
