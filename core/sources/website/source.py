"""A website as a source: every linked or listed page below the folder of its first one.

Each sync is a crawl, and lists everything. It costs little where nothing changed: a page that its sitemap dates is not
asked for unless the date is new, and any other is asked for with the marks of its last version, and answers that it is
the same. What the crawl knows is remembered, so that one which was cut off goes on.

A page that answers "gone" is gone. One that fails, or does not answer, stays as it was read last.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from core.conversation import value
from core.library.sync import printable
from core.sources import source
from core.sources.http import HostSilent, only_if_changed, open_http
from core.sources.website import client as web
from core.sources.website.convert import WebsiteAddress, head_of, normal_url, parse
from core.web.request import OK, http_moment

LOOKS = 20  # addresses that are looked at before what they have is read
AT_ONCE = 4  # requests
PAGE_LIMIT = 50_000  # addresses of one website
DEPTH_LIMIT = 20  # links from the first page
KEPT_BODIES = 16_000_000  # bytes of pages that are kept from the look until they are read
SILENCES = 10  # in a row, after which a website is taken to be down
GONE = frozenset({401, 403, 404, 410, 451})  # what may not be read is not quoted either

NOTES = {
    "pages": "More than {pages:,} addresses were found; only so many are looked at. A narrower address reads the others.",
    "depth": "Pages more than {depth} links away from the first one were not read.",
    "sitemap": "A sitemap is damaged; its pages were looked for by links alone.",
}


@value
class Look:
    """The look at an address: what was found there."""

    at: web.FrontierUrl
    outcome: web.Outcome = "other"
    record: web.PageRecord | None = None  #: of a page
    found: tuple[str, ...] = ()  #: links in it
    moved: str = ""  #: where it leads, or of what it is a copy
    fault: str = ""  #: why it could not be looked at, completing "PAGE …"
    is_silent: bool = False  #: whether nothing answered
    body: bytes | None = field(default=None, repr=False)


@dataclass(slots=True, kw_only=True)
class WebsiteSource:
    """A website."""

    site: WebsiteAddress
    client: web.SiteClient
    memory: web.SiteMemory
    rules: web.RobotRules
    page_limit: int = PAGE_LIMIT
    depth_limit: int = DEPTH_LIMIT
    _bodies: dict[str, bytes] = field(default_factory=dict)  #: of the items of this batch
    _silences: int = 0  #: in a row

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        if cursor is None:
            await self._begin()
        crawl = (await asyncio.to_thread(self.memory.all, web.CRAWL)).get("name", "")
        if cursor is not None and cursor.partition("/")[0] != crawl:
            raise source.CursorExpired("what the crawl had seen is not here any more")
        while urls := await asyncio.to_thread(self.memory.next, LOOKS):
            looks, trouble = await self._look_at(urls)
            self._require_site(looks)
            if looks:
                yield await asyncio.to_thread(self._batch, looks, f"{crawl}/{looks[-1].at.url}")
                self._bodies.clear()
                outcomes = [(each.at.url, each.outcome, each.moved) for each in looks]
                await asyncio.to_thread(self.memory.close, outcomes)
            if trouble is not None:
                raise trouble
        # Copies of pages that are not there are pages themselves.
        while copies := await asyncio.to_thread(self.memory.orphans, LOOKS):
            records = await asyncio.to_thread(self.memory.pages, copies)
            items = [self._item(records[url]) for url in copies if url in records]
            yield source.SourceBatch(items=items, cursor=f"{crawl}/{copies[-1]}")
            await asyncio.to_thread(self.memory.close, [(url, "item", "") for url in copies])
        if not await asyncio.to_thread(self.memory.has_items):
            raise source.SourceUnavailable(f"There is no page to read at {self.site.url}.")
        met, limits = (
            await asyncio.to_thread(self.memory.all, web.CRAWL),
            {"pages": self.page_limit, "depth": self.depth_limit},
        )
        note = " ".join(sentence.format(**limits) for name, sentence in NOTES.items() if name in met)
        yield source.SourceBatch(note=note)
        await asyncio.to_thread(self.memory.end)

    async def _begin(self) -> None:
        seeds, is_damaged = await web.list_seeds(self.site, self.client, self.memory, self.rules)
        await asyncio.to_thread(self.memory.begin)
        first = () if self.site.is_sitemap else (web.FrontierUrl(url=self.site.url, depth=0, lastmod=""),)
        if not await asyncio.to_thread(self.memory.add, (*first, *seeds), limit=self.page_limit):
            await asyncio.to_thread(self.memory.note, "pages")
        if is_damaged:
            await asyncio.to_thread(self.memory.note, "sitemap")

    async def _look_at(self, urls: Sequence[web.FrontierUrl]) -> tuple[list[Look], Exception | None]:
        """Looks at these addresses, as far as the website answered; and the trouble that ended them."""
        known = await asyncio.to_thread(self.memory.pages, [each.url for each in urls])
        remaining, looks, troubles = iter(urls), list[Look](), list[Exception]()

        async def work() -> None:
            for at in remaining:
                if troubles:
                    return
                try:
                    look = await self._look(at, known.get(at.url))
                except (source.SourceThrottled, source.SourceUnavailable) as trouble:
                    troubles.append(trouble)
                    return
                looks.append(look)
                self._silences = self._silences + 1 if look.is_silent else 0
                if self._silences >= SILENCES:
                    troubles.append(source.SourceUnavailable(f"{self.site.origin} does not answer any more."))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(urls))):
                group.create_task(work())
        if self._silences >= SILENCES:
            self._silences = 0
        return looks, troubles[0] if troubles else None

    async def _look(self, at: web.FrontierUrl, known: web.PageRecord | None) -> Look:
        if not self.rules.allows(at.url):
            return Look(at=at)
        if known is not None and at.lastmod and at.lastmod == known.lastmod:
            return self._look_again(at, known)
        since = {} if known is None else only_if_changed(known.etag, known.modified)
        try:
            response = await self.client.get(at.url, since=since)
        except HostSilent as silent:
            return replace(self._failing(at, known, silent.reason), is_silent=True)
        return await self._read_response(at, known, response)

    async def _read_response(
        self, at: web.FrontierUrl, known: web.PageRecord | None, response: web.SiteResponse
    ) -> Look:
        if response.location is not None:
            target = self.site.normal(response.location, at.url)
            if target is None and self._is_first(at):
                moved = normal_url(response.location, at.url) or response.location
                raise source.SourceUnavailable(web.describe_move(at.url, moved))
            return Look(at=at, moved=target or "")
        if response.status == web.NOT_MODIFIED and known is not None:
            return self._look_again(at, replace(known, lastmod=at.lastmod))
        if response.status in GONE:
            is_folder = self._is_first(at) and not at.url.endswith("/") and self.site.folder == self.site.path
            return Look(at=at, moved=f"{at.url}/" if is_folder else "")
        if response.status != OK or response.fault:
            return self._failing(at, known, response.fault or f"answered HTTP {response.status}")
        record = await asyncio.to_thread(self._record, at, response, known)
        return replace(self._look_again(at, record), body=response.body)

    def _failing(self, at: web.FrontierUrl, known: web.PageRecord | None, reason: str) -> Look:
        """A page that cannot be looked at now; what it linked to is looked at."""
        return (
            Look(at=at, fault=reason) if known is None else replace(self._look_again(at, known), fault=reason)
        )

    def _look_again(self, at: web.FrontierUrl, record: web.PageRecord) -> Look:
        outcome: web.Outcome = "copy" if record.canonical else "item"
        if not record.suffix or record.is_hidden:
            outcome = "other"
        moved = record.canonical if outcome == "copy" else ""
        return Look(at=at, outcome=outcome, record=record, found=record.links, moved=moved)

    def _record(
        self, at: web.FrontierUrl, response: web.SiteResponse, known: web.PageRecord | None
    ) -> web.PageRecord:
        page = web.PageRecord(
            url=at.url, etag=response.headers.get("etag", ""), lastmod=at.lastmod,
            modified=response.headers.get("last-modified", ""), suffix=response.suffix,
            hash=hashlib.sha256(response.body).hexdigest(), tries=known.tries if known is not None else 0,
        )  # fmt: skip
        if not page.suffix:
            return page
        head = head_of(response.body if page.suffix == ".html" else b"", at.url, self.site, response.headers)
        return replace(page, canonical=head.canonical or "", is_hidden=head.is_hidden, links=head.links)

    def _is_first(self, at: web.FrontierUrl) -> bool:
        return not self.site.is_sitemap and at.url == self.site.url

    def _require_site(self, looks: Iterable[Look]) -> None:
        """SourceUnavailable where the first page is none: a website that is away is not an empty one."""
        for look in looks:
            if not self._is_first(look.at) or look.moved or look.found or look.outcome != "other":
                continue
            url = self.site.url
            if not self.rules.allows(url):
                raise source.SourceUnavailable(
                    f"The robots.txt of {self.site.origin} does not allow to read {url}."
                )
            if look.fault:
                raise source.SourceUnavailable(f"{url} {look.fault}.")
            if look.record is None:
                raise source.SourceUnavailable(f"There is no page to read at {url}.")

    async def check(self) -> None:
        """Raises SourceUnavailable where the first page or the sitemap cannot be read."""
        if self.site.is_sitemap:
            await web.list_seeds(self.site, self.client, self.memory, self.rules)
            return
        look = await self._look(web.FrontierUrl(url=self.site.url, depth=0, lastmod=""), None)
        self._require_site([look])
        for _ in range(web.HOPS):
            if look.record is not None or not look.moved:
                break
            look = await self._look(web.FrontierUrl(url=look.moved, depth=1, lastmod=""), None)
        if look.record is None:
            nothing = f"There is no page to read at {self.site.url}."
            raise source.SourceUnavailable(f"{look.at.url} {look.fault}." if look.fault else nothing)

    def _batch(self, looks: Sequence[Look], cursor: str) -> source.SourceBatch:
        self.memory.keep_pages(look.record for look in looks if look.record is not None and not look.fault)
        for look in looks:
            self._follow(look)
        items, unread, room = list[source.SourceItem](), list[source.UnreadItem](), KEPT_BODIES
        for look in looks:
            if look.fault:
                if look.record is None or look.outcome == "item":
                    record = look.record or web.PageRecord(url=look.at.url, suffix=".html")
                    unread.append(source.UnreadItem(item=self._item(record), reason=look.fault))
            elif look.record is not None and look.outcome == "item":
                item = self._item(look.record)
                items.append(item)
                if look.body is not None and len(look.body) <= room:
                    room -= len(look.body)
                    self._bodies[item.id] = look.body
        return source.SourceBatch(items=items, unread=unread, total=self.memory.count(), cursor=cursor)

    def _follow(self, look: Look) -> None:
        """Have looked at what an address leads to. Redirects and copies are followed anywhere, links to a depth."""
        at = look.at
        if look.moved:
            self._add([look.moved], at.depth, self.page_limit, "pages")
        if self.site.is_sitemap or not look.found:
            return
        limit, note = (self.page_limit, "pages") if at.depth < self.depth_limit else (0, "depth")
        self._add(look.found, at.depth + 1, limit, note)

    def _add(self, urls: Iterable[str], depth: int, limit: int, note: str) -> None:
        if not self.memory.add(
            (web.FrontierUrl(url=url, depth=depth, lastmod="") for url in urls), limit=limit
        ):
            self.memory.note(note)

    def _item(self, page: web.PageRecord) -> source.SourceItem:
        path = printable(unquote(urlsplit(page.url).path)).rstrip("/")
        return source.SourceItem(
            id=self.site.item_of(page.url) or page.url,
            version=f"{page.hash} {page.tries}" if page.tries else page.hash,
            name=f"{PurePosixPath(path).stem or 'index'}{page.suffix}", source=page.url, url=page.url,
            changed_at=source.parse_moment(page.lastmod) or http_moment(page.modified),
        )  # fmt: skip

    async def fetch(self, item: source.SourceItem) -> bytes:
        if (body := self._bodies.pop(item.id, None)) is not None:
            return body
        url = item.url or ""
        look = await self._look(web.FrontierUrl(url=url, depth=1, lastmod=""), None)
        if look.fault:
            await asyncio.to_thread(self.memory.count_try, url)
            raise source.ItemUnreadable(look.fault)
        if look.body is None or look.outcome == "other":
            raise source.ItemGone(f"{url} is gone.")
        return look.body


@asynccontextmanager
async def open_website(
    text: str,
    context: source.SourceContext,
    *,
    page_limit: int = PAGE_LIMIT,
    depth_limit: int = DEPTH_LIMIT,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[WebsiteSource]:
    """Raises SourceUnavailable for a host that may not be read, or does not say what it allows; SourceThrottled."""
    site = parse(text)
    async with open_http(
        site.origin, private=context.settings.private_hosts, connections=AT_ONCE, name=site.origin,
        timeout=web.REQUEST_TIME,
    ) as http:  # fmt: skip
        rules = await web.read_rules(web.SiteClient(origin=site.origin, http=http))
        client = web.SiteClient(origin=site.origin, http=http, pause=pause, delay=rules.delay)
        with source.open_memory(web.SiteMemory, context.folder) as memory:
            yield WebsiteSource(
                site=site, client=client, memory=memory, rules=rules, page_limit=page_limit, depth_limit=depth_limit
            )  # fmt: skip
