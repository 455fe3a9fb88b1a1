"""Notion as a source: the pages that are shared with an integration, and their files.

The pages of data sources are among them. Each sync lists everything, and reads the blocks of what changed. Notion
tells nobody who may read a page: the collection decides.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial

from core.errors import SettingsError
from core.library.documents import Document
from core.sources import documents, source
from core.sources.documents import to_bytes
from core.sources.http import open_http
from core.sources.notion import client
from core.sources.notion import page as notion
from core.sources.notion.listing import THINGS, BlockTree, PageListing

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
    """All that is shared with an integration, or what lies below a page or a database of it."""

    root: str  #: ID; empty: all
    api: client.NotionApi
    memory: notion.NotionMemory
    mark: str  #: of the memory
    private_hosts: Sequence[str] = ()
    _listing: PageListing | None = None
    #: pages that are returned once everything is listed
    _later: dict[str, notion.NotionPage] = field(default_factory=dict)
    _listed: dict[str, source.SourceItem] = field(default_factory=dict)  #: pages of this list, by ID
    _pages: dict[str, notion.NotionPage] = field(default_factory=dict)  #: of the items of this batch

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        if cursor is None or self._listing is None:
            await self._require_root()
            self._listing = PageListing(api=self.api, memory=self.memory)
            self._later, self._listed = {}, {}
        try:
            while (pages := await self._next_pages(self._listing)) is not None:
                if pages:
                    yield await self._batch(pages)
                    titles = {page.id: page.title for page in pages}
                    await asyncio.to_thread(partial(self.memory.keep_pages, titles, are_items=True))
                    of_rows = {page.id: page.files for page in pages}
                    await asyncio.to_thread(self.memory.keep_files, notion.ROW_FILES, of_rows)
        except client.NotionRefused as refused:
            raise source.SourceUnavailable(f"What is in Notion {refused}.") from refused
        if not self._listed:
            raise source.SourceUnavailable(NOTHING)
        # Which files lie in blocks is known once a page was read, in whatever sync.
        files = await asyncio.to_thread(self.memory.files, self._listed)
        items = [
            item for page in self._listed.values() for item in notion.file_items(page, files.get(page.id, ()))
        ]
        yield source.SourceBatch(
            items=items,
            unread=await asyncio.to_thread(self._unread, self._listing),
            note=CUT_OFF if self._listing.is_cut_off else "",
        )
        # What counts only once everything that was listed is stored.
        known, rows = await asyncio.to_thread(self.memory.items), self._listing.row_lists
        gone = known - self._listed.keys() - self._listing.unread.keys()
        await asyncio.to_thread(self.memory.forget, gone)
        held = {each: asdict(listed) for each, listed in rows.items()}
        await asyncio.to_thread(self.memory.keep, notion.ROW_LISTS, held)

    async def _require_root(self) -> None:
        """A page that is away is not an empty one."""
        if not self.root:
            return
        for kind in THINGS.values():
            try:
                data = await self.api.one(kind, self.root)
            except (client.NotionMissing, client.NotionRefused):
                continue
            if notion.is_trashed(data):
                raise source.SourceUnavailable(f"The page {self.root} is in the trash of Notion.")
            return
        raise source.SourceUnavailable(NOT_SHARED.format(root=self.root))

    async def _next_pages(self, listing: PageListing) -> list[notion.NotionPage] | None:
        """The next pages; None after all. Those below a page are known once everything is listed."""
        found = await listing.more()
        if found is None:
            part = list(self._later.values())[:BATCH]
            below = [page for page in part if not self.root or await listing.lies_below(page, self.root)]
            for page in part:
                del self._later[page.id]
            return below if part else None
        self._later |= {page.id: page for page in found if self.root or page.related}
        return [page for page in found if not self.root and not page.related]

    async def _batch(self, pages: Sequence[notion.NotionPage]) -> source.SourceBatch:
        self._pages = {page.id: page for page in pages}
        related = [each for page in pages for each in page.related]
        titles = await asyncio.to_thread(self.memory.titles, related)
        items = [notion.item_of(page, titles, self.api.now, self.mark) for page in pages]
        self._listed |= {item.id: item for item in items}
        return source.SourceBatch(items=items, cursor=str(len(self._listed)))

    def _unread(self, listing: PageListing) -> list[source.UnreadItem]:
        known = self.memory.items()
        titles, files = self.memory.titles(listing.unread), self.memory.files(listing.unread)
        found = list[source.UnreadItem]()
        for page, why in listing.unread.items():
            if page in known:
                item = source.SourceItem(
                    id=page, version="", name=notion.PAGE_NAME, source=f"{client.LABEL}/{titles[page]}"
                )
                both = (item, *notion.file_items(item, files.get(page, ())))
                found += [source.UnreadItem(item=each, reason=why) for each in both]
        return found

    async def fetch(self, item: source.SourceItem) -> bytes:
        page, _, key = item.id.partition("/")
        try:
            return await self._file(page, key) if key else await self._page(page)
        except client.NotionMissing:
            raise source.ItemGone(f"{item.source} is gone.") from None
        except client.NotionRefused as refused:
            raise source.ItemUnreadable(str(refused)) from None

    async def _page(self, this: str) -> bytes:
        page = self._pages.get(this) or notion.parse_page(await self.api.one("page", this))
        if page is None:
            raise source.ItemGone(f"{this} is in the trash.")
        tree = BlockTree(api=self.api)
        try:
            blocks = await tree.read(this)
        except (client.NotionMissing, client.NotionRefused, source.ItemUnreadable):
            await asyncio.to_thread(self.memory.drop, notion.BLOCK_FILES, [this])
            raise
        await asyncio.to_thread(self.memory.keep, notion.CHILD_PAGES, {this: tree.children})
        await asyncio.to_thread(self.memory.keep_files, notion.BLOCK_FILES, {this: tree.files})
        titles = await asyncio.to_thread(self.memory.titles, page.related)
        return to_bytes(notion.text_of_page(page, blocks, titles))

    async def _file(self, page: str, key: str) -> bytes:
        """Its address is asked for now: it ends after an hour."""
        files = (await asyncio.to_thread(self.memory.files, [page])).get(page, ())
        block = next((each.block for each in files if each.key == key), "")
        data = await (self.api.one("block", block) if block else self.api.one("page", page))
        url = None if notion.is_trashed(data) else notion.url_of(data, key, self.api.serves)
        if url is None:
            raise source.ItemGone(f"The file {key} of {page} is gone.")
        return await client.read_file(url, self.private_hosts)


def parse_item(item: source.SourceItem, data: bytes) -> Document:
    """A page as Markdown with the names of its blocks, a file by its suffix. DocumentError."""
    return source.parse_as_file(item, data) if "/" in item.id else documents.parse_item(item, data)


@asynccontextmanager
async def open_notion(
    text: str,
    context: source.SourceContext,
    *,
    origin: str = client.ORIGIN,
    interval: float = client.INTERVAL,
    serves: notion.Serves = notion.is_of_notion,
) -> AsyncIterator[NotionSource]:
    """Raises SourceUnavailable where Notion may not be read, SettingsError where something is missing for it."""
    token, private = context.settings.notion_token, context.settings.private_hosts
    if not token:
        raise SettingsError(UNSET)
    headers = {
        "Authorization": f"Bearer {token}",
        "Notion-Version": client.API_VERSION,
        "Accept": "application/json",
    }
    opened = open_http(origin, private=private, connections=AT_ONCE, name=client.NAME, headers=headers)
    async with opened as http:
        api = client.NotionApi(http=http, origin=origin, serves=serves, interval=interval)
        with source.open_memory(notion.NotionMemory, context.folder) as memory:
            yield NotionSource(
                root=text.removeprefix(client.PREFIX), api=api, memory=memory, mark=await asyncio.to_thread(memory.mark),
                private_hosts=private,
            )  # fmt: skip
