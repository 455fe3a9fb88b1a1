"""Requests to one website alone: its robots.txt (RFC 9309), its sitemaps, and the memory of its reader.

A crawl begins at the sitemaps.

The memory holds how far the crawl is, and of each page what makes the next look cheap: addresses and marks of
versions, no text. It may vanish: then the website is looked at as if for the first time, and what did not change is
not read again.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import DocumentError
from core.library.formats.encoding import decode
from core.sources.http import REDIRECTS, HostClient, Response, body_of, only_if_changed, throttle
from core.sources.source import ItemUnreadable, Memory, SourceUnavailable
from core.sources.website import convert
from core.web.request import OK, SERVER_FAULT

NOT_MODIFIED = 304
REQUEST_TIME = 30.0  # seconds for one request, its body included
RULES_LIMIT = 500 * 1024  # bytes that are read of robots.txt, RFC 9309, 2.5
HOPS = 5  # redirects of it, or of a sitemap, that are followed, RFC 9309, 2.3.1.2
LONGEST_DELAY = 60.0  # seconds between two requests; what asks for more gets this

#: The suffix that chooses a parser, by the content type of a response.
SUFFIX_OF_TYPE: Mapping[str, str] = {
    "text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md",
    "text/x-markdown": ".md", "application/pdf": ".pdf",
}  # fmt: skip
SITEMAP_TYPES = frozenset(
    {"application/xml", "text/xml", "application/gzip", "application/x-gzip", "application/octet-stream",
     "application/rss+xml", "application/atom+xml", "text/plain", "text/html"}
)  # fmt: skip


@value
class SiteResponse(Response):
    """The answer of a website, with the body of a page that is read. A text in another encoding is converted
    to UTF-8."""

    suffix: str = ""  #: says how it is parsed; empty for what is no document
    fault: str = ""  #: why its body could not be read, completing "PAGE …"

    @property
    def location(self) -> str | None:
        """The target of a redirect; None for any other answer."""
        return self.headers.get("location") if self.status in REDIRECTS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteClient:
    """Asks the host at an origin."""

    origin: str
    http: HostClient
    delay: float = 0.0  #: seconds between two requests, as robots.txt asks; 0: several at once
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(
        self, url: str, *, since: Mapping[str, str] | None = None, sitemap: bool = False
    ) -> SiteResponse:
        """A page, or that it is not modified ``since`` these headers. HostSilent, SourceThrottled."""
        async with self._turns(), self.http.open(url, headers=since) as opened:
            response = SiteResponse(status=opened.status_code, headers=opened.headers)
            if (throttled := throttle(response, urlsplit(url).hostname or "")) is not None:
                raise throttled
            kind = opened.headers.get("content-type", "").partition(";")[0].strip().lower()
            suffix = SUFFIX_OF_TYPE.get(kind, "")
            if response.status != OK or not (kind in SITEMAP_TYPES if sitemap else suffix):
                return response
            try:
                body = await body_of(opened, url)
            except ItemUnreadable as fault:
                return replace(response, suffix=suffix, fault=str(fault))
        text = body if sitemap or suffix == ".pdf" else _in_utf8(body, opened.charset_encoding)
        return replace(response, suffix=suffix, body=text)

    async def follow(self, url: str, *, since: Mapping[str, str] | None = None) -> tuple[str, SiteResponse]:
        """The last answer, and whose, of robots.txt or a sitemap, over redirects on this website."""
        for left in reversed(range(HOPS + 1)):
            response = await self.get(url, since=since, sitemap=True)
            target = self.own(response.location, url)
            if not left or target is None:
                break
            url = target
        return url, response

    def own(self, location: str | None, base: str) -> str | None:
        """The target of a redirect on this website; None for any other."""
        target = None if location is None else convert.normal_url(location, base)
        return target if target is not None and target.startswith(f"{self.origin}/") else None

    @asynccontextmanager
    async def _turns(self) -> AsyncIterator[None]:
        if not self.delay:
            yield
            return
        async with self._turn:
            await self.pause(self.delay)
            yield


def _in_utf8(body: bytes, charset: str | None) -> bytes:
    """The text in the encoding that the parsers try first, where the server names another."""
    if not charset or charset.lower().replace("_", "-") in ("utf-8", "us-ascii", "ascii"):
        return body
    try:
        return decode(body, declared=charset).encode()
    except DocumentError:
        return body


@dataclass(frozen=True, slots=True)
class RobotRules:
    """The rules of a website: what may be asked for, and how fast."""

    parsed: Any  #: of protego

    def allows(self, url: str) -> bool:
        return bool(self.parsed.can_fetch(url, convert.AGENT))

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        return min(float(self.parsed.crawl_delay(convert.AGENT) or 0.0), LONGEST_DELAY)


async def read_rules(client: SiteClient) -> RobotRules:
    """The rules of a website. SourceUnavailable where they cannot be read: then nothing is allowed."""
    from protego import Protego

    url, response = await client.follow(f"{client.origin}/robots.txt")
    if response.status >= SERVER_FAULT:
        raise SourceUnavailable(
            f"{url} answered HTTP {response.status}. What it allows is not known, so nothing is read."
        )
    if response.location is not None and client.own(response.location, url) is None:
        target = convert.normal_url(response.location, url) or response.location
        raise SourceUnavailable(describe_move(url, target))
    text = response.body if response.status == OK else b""  # without rules, everything is allowed
    return RobotRules(Protego.parse(text[:RULES_LIMIT].decode("utf-8", "replace").removeprefix("\ufeff")))


def describe_move(url: str, target: str) -> str:
    """The sentence about a website that has moved."""
    return f"{url} leads to {target}, which is not followed: ingest that address, if it is meant."


_TABLES = """
CREATE TABLE IF NOT EXISTS frontier (  -- of this crawl, in its order
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    depth INTEGER NOT NULL,
    lastmod TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '',  -- item, copy or other; empty: it was not looked at yet
    target TEXT NOT NULL DEFAULT ''    -- of a copy
);
CREATE INDEX IF NOT EXISTS frontier_by_outcome ON frontier (outcome, number);
"""

Outcome = Literal["item", "copy", "other"]


@value
class PageRecord:
    """A page, as it was at the last look."""

    url: str
    etag: str = ""
    modified: str = ""  #: Last-Modified
    lastmod: str = ""  #: of the sitemap
    hash: str = ""  #: SHA-256 of its bytes
    suffix: str = ""  #: says how it is parsed; empty: no document
    canonical: str = ""  #: the page that it is a copy of; empty: it is none
    is_hidden: bool = False  #: whether it asks not to be indexed
    links: tuple[str, ...] = ()  #: URLs
    tries: int = 0  #: how often it could be looked at and then not be read


@value
class SitemapRecord:
    """A sitemap, as it was at the last look."""

    etag: str
    modified: str
    entries: Sequence[convert.SitemapEntry]


@value
class FrontierUrl:
    """An address that is to be looked at."""

    url: str
    depth: int  #: links from the first page
    lastmod: str


PAGES, SITEMAPS = "page", "sitemap"  # kinds of what is remembered, by URL
CRAWL = "crawl"  # its name, and which limits it met


class SiteMemory(Memory):
    """The course of a crawl, its pages and its sitemaps."""

    __slots__ = ()
    TABLES = Memory.TABLES + _TABLES

    def begin(self) -> None:
        """Forget the last crawl's course, and give a new one its name."""
        with self.database.transaction():
            self.write("DELETE FROM frontier")
            self.drop_all(CRAWL)
            self.keep(CRAWL, {"name": secrets.token_hex(8)})

    def note(self, name: str) -> None:
        """Note that the crawl met a limit."""
        self.keep(CRAWL, {name: True})

    def count(self) -> int:
        """Addresses that the crawl knows."""
        ((count,),) = self.rows("SELECT count(*) FROM frontier")
        return int(count)

    def add(self, found: Iterable[FrontierUrl], *, limit: int) -> bool:
        """Have addresses looked at that are new to the crawl; False if they are more than it may know."""
        room = limit - self.count()
        with self.database.transaction() as writing:
            for each in found:
                if room <= 0:
                    known = writing.execute("SELECT 1 FROM frontier WHERE url = ?", (each.url,)).fetchone()
                    if known is None:
                        return False
                    continue
                room -= writing.execute(
                    "INSERT INTO frontier (url, depth, lastmod) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (each.url, each.depth, each.lastmod),
                ).rowcount
        return True

    def next(self, limit: int) -> list[FrontierUrl]:
        query = "SELECT url, depth, lastmod FROM frontier WHERE outcome = '' ORDER BY number LIMIT ?"
        rows = self.rows(query, limit)
        return [FrontierUrl(url=url, depth=depth, lastmod=lastmod) for url, depth, lastmod in rows]

    def close(self, outcomes: Sequence[tuple[str, Outcome, str]]) -> None:
        """Note what became of addresses, and the targets of copies."""
        self.write_all(
            "UPDATE frontier SET outcome = ?, target = ? WHERE url = ?",
            ((outcome, target, url) for url, outcome, target in outcomes),
        )

    def orphans(self, limit: int) -> list[str]:
        """Copies of pages that are not there, or are copies of them in turn."""
        rows = self.rows(
            "SELECT f.url FROM frontier f WHERE f.outcome = 'copy' AND NOT EXISTS (SELECT 1 FROM frontier t"
            " WHERE t.url = f.target AND (t.outcome = 'item' OR t.outcome = 'copy' AND t.target <> f.url))"
            " ORDER BY f.number LIMIT ?",
            limit,
        )
        return [str(url) for (url,) in rows]

    def has_items(self) -> bool:
        """True if the crawl found any page."""
        return bool(self.rows("SELECT 1 FROM frontier WHERE outcome IN ('item', 'copy') LIMIT 1"))

    def end(self) -> None:
        """Forget pages that are no part of the website any more."""
        with self.database.transaction():
            self.write("DELETE FROM kept WHERE kind = ? AND name NOT IN (SELECT url FROM frontier)", PAGES)
            self.write("DELETE FROM frontier")
            self.drop_all(CRAWL)

    def pages(self, urls: Sequence[str]) -> Mapping[str, PageRecord]:
        """The remembered ones of these pages."""
        kept = self.some(PAGES, urls)
        return {url: PageRecord(**row | {"links": tuple(row["links"])}) for url, row in kept.items()}

    def keep_pages(self, pages: Iterable[PageRecord]) -> None:
        self.keep(PAGES, {page.url: asdict(page) for page in pages})

    def count_try(self, url: str) -> None:
        """Have a page read again at the next sync, whatever it is then."""
        self.keep_pages(replace(page, tries=page.tries + 1) for page in self.pages([url]).values())

    def sitemap(self, url: str) -> SitemapRecord | None:
        found = self.some(SITEMAPS, [url]).get(url)
        return None if found is None else SitemapRecord(**found)


SITEMAP_LIMIT = 1_000  # that are read of one website


async def list_seeds(
    site: convert.WebsiteAddress, client: SiteClient, memory: SiteMemory, rules: RobotRules
) -> tuple[list[FrontierUrl], bool]:
    """The addresses of the website that its sitemaps list, each once; and whether one of them is damaged.
    SourceUnavailable where one cannot be read now: what it lists must not be taken for gone."""
    waiting = deque(_sitemaps(site, rules))
    seen, is_damaged = set[str](), False
    found: dict[str, FrontierUrl] = {}
    while waiting and len(seen) < SITEMAP_LIMIT:
        url = waiting.popleft()
        if url in seen:
            continue
        seen.add(url)
        try:
            sitemap = await _read(url, client, memory)
        except convert.SitemapDamaged as damaged:
            if site.is_sitemap and url == site.url:
                raise SourceUnavailable(f"{url} {damaged}.") from None
            sitemap, is_damaged = await asyncio.to_thread(memory.sitemap, url), True
        if sitemap is None and site.is_sitemap and url == site.url:
            raise SourceUnavailable(f"There is no sitemap at {url}.")
        for location, lastmod, is_sitemap in sitemap.entries if sitemap is not None else ():
            if is_sitemap:
                waiting.extend(filter(None, (site.own(location, url),)))
            elif (page := site.normal(location, url)) is not None:
                found.setdefault(page, FrontierUrl(url=page, depth=0, lastmod=lastmod))
    return list(found.values()), is_damaged


def _sitemaps(site: convert.WebsiteAddress, rules: RobotRules) -> Sequence[str]:
    """The sitemap that was named, those of robots.txt on the website's own host, or where one usually is."""
    if site.is_sitemap:
        return (site.url,)
    named = (site.own(each, f"{site.origin}/") for each in rules.parsed.sitemaps)
    return tuple(filter(None, named)) or tuple(
        dict.fromkeys((f"{site.origin}{site.folder}/sitemap.xml", f"{site.origin}/sitemap.xml"))
    )


async def _read(url: str, client: SiteClient, memory: SiteMemory) -> SitemapRecord | None:
    """A sitemap, as it is now; None if there is none. SitemapDamaged, SourceUnavailable, SourceThrottled."""
    known = await asyncio.to_thread(memory.sitemap, url)
    since = only_if_changed(known.etag, known.modified) if known is not None else {}
    target, response = await client.follow(url, since=since)
    if response.status >= SERVER_FAULT:
        raise SourceUnavailable(f"{target} answered HTTP {response.status}.")
    if response.status == NOT_MODIFIED and known is not None:
        return known
    if response.status != OK:
        return None
    if response.fault:
        raise convert.SitemapDamaged(response.fault)
    if response.headers.get("content-type", "").startswith("text/html"):
        return None  # a page in place of a sitemap that is not there
    entries = await asyncio.to_thread(convert.read_sitemap, response.body)
    etag, modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    sitemap = SitemapRecord(etag=etag, modified=modified, entries=entries)
    await asyncio.to_thread(memory.keep, SITEMAPS, {url: asdict(sitemap)})
    return sitemap
