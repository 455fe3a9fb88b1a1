"""Requests to one website, and to nothing else; what its robots.txt allows (RFC 9309); and its sitemaps, at which a
crawl begins (https://www.sitemaps.org/protocol.html).

How requests go out, and to which addresses, says :mod:`core.sources.http`. A damaged sitemap is refused whole: what its
end would have listed must not be taken for gone.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from core.conversation import value
from core.errors import DocumentError, FootnoteError
from core.library.formats.encoding import decode
from core.sources.http import REDIRECTS, HostClient, Response, body_of, only_if_changed, throttle
from core.sources.source import ItemUnreadable, SourceUnavailable
from core.sources.website.convert import AGENT, WebsiteAddress, normal_url
from core.sources.website.memory import SITEMAPS, FrontierUrl, SitemapRecord, SiteMemory
from core.web.request import OK, SERVER_FAULT

NOT_MODIFIED = 304
REQUEST_TIME = 30.0  # seconds for one request, its body included
RULES_LIMIT = 500 * 1024  # bytes that are read of robots.txt, RFC 9309, 2.5
RULES_HOPS = 5  # redirects of it that are followed, RFC 9309, 2.3.1.2
LONGEST_DELAY = 60.0  # seconds between two requests; what asks for more gets this

#: The suffix that chooses a parser, by the content type of a response.
SUFFIX_OF_TYPE: Mapping[str, str] = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/pdf": ".pdf",
}
SITEMAP_TYPES = frozenset(
    {"application/xml", "text/xml", "application/gzip", "application/x-gzip", "application/octet-stream",
     "application/rss+xml", "application/atom+xml", "text/plain", "text/html"}
)  # fmt: skip


@value
class SiteResponse(Response):
    """The answer of a website, with the body of a page that is read: in UTF-8 where it is text in another encoding."""

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
        """A page of the origin, or that it is not modified ``since``: headers that make the request conditional.

        HostSilent, SourceThrottled.
        """
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
        return bool(self.parsed.can_fetch(url, AGENT))

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        return min(float(self.parsed.crawl_delay(AGENT) or 0.0), LONGEST_DELAY)


def parse_rules(text: bytes) -> RobotRules:
    """The rules in a robots.txt; without any, everything is allowed."""
    from protego import Protego

    return RobotRules(Protego.parse(text[:RULES_LIMIT].decode("utf-8", "replace").removeprefix("\ufeff")))


async def read_rules(client: SiteClient) -> RobotRules:
    """The rules of a website. SourceUnavailable where they cannot be read: then nothing is allowed."""
    url = f"{client.origin}/robots.txt"
    for _ in range(RULES_HOPS + 1):
        response = await client.get(url, sitemap=True)
        if response.status >= SERVER_FAULT:
            raise SourceUnavailable(
                f"{url} answered HTTP {response.status}. What it allows is not known, so nothing is read."
            )
        if response.location is None:
            return parse_rules(response.body if response.status == OK else b"")
        target = normal_url(response.location, url)
        if target is None or not target.startswith(f"{client.origin}/"):
            raise SourceUnavailable(led_elsewhere(url, target or response.location))
        url = target
    return parse_rules(b"")


def led_elsewhere(url: str, target: str) -> str:
    """The sentence about a website that has moved."""
    return f"{url} leads to {target}, which is not followed: ingest that address, if it is meant."


SIZE_LIMIT = 52_428_800  # bytes unpacked, "Sitemap file limits"
PACKED = b"\x1f\x8b"  # begins a gzip file
_WINDOW = zlib.MAX_WBITS | 16  # with gzip's header


class SitemapDamaged(FootnoteError):
    """The sitemap cannot be read to its end; the sentence completes "ADDRESS …"."""


@value
class SitemapEntry:
    """An address that a sitemap has."""

    url: str
    lastmod: str = ""  #: when it changed last, as the sitemap says; empty: it does not
    is_sitemap: bool = False


def read_sitemap(data: bytes) -> list[SitemapEntry]:
    """The entries of a sitemap. SitemapDamaged."""
    text = _unpacked(data) if data.startswith(PACKED) else data
    if len(text) > SIZE_LIMIT:
        raise SitemapDamaged("is larger than a sitemap may be")
    if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return list(_from_xml(text))
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SitemapDamaged("is not a sitemap") from None
    return [SitemapEntry(url=line) for line in map(str.strip, lines) if line.startswith("http")]


def _unpacked(data: bytes) -> bytes:
    inflate = zlib.decompressobj(_WINDOW)
    try:
        text = inflate.decompress(data, SIZE_LIMIT + 1)
    except zlib.error:
        raise SitemapDamaged("cannot be unpacked") from None
    if not inflate.eof and len(text) <= SIZE_LIMIT:
        raise SitemapDamaged("breaks off in its middle")
    return text


def _from_xml(text: bytes) -> Iterator[SitemapEntry]:
    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to, and reads nothing from outside
    except ET.ParseError:
        raise SitemapDamaged("is not XML to its end") from None
    kind = _name(root)
    if kind not in ("urlset", "sitemapindex"):
        raise SitemapDamaged("is not a sitemap")
    for entry in root:
        values = {_name(each): (each.text or "").strip() for each in entry}
        url, lastmod = values.get("loc"), values.get("lastmod", "")
        if url:
            yield SitemapEntry(url=url, lastmod=lastmod, is_sitemap=kind == "sitemapindex")


def _name(element: ET.Element) -> str:
    """Without its namespace."""
    return element.tag.rpartition("}")[2]


SITEMAP_LIMIT = 1_000  # that are read of one website
SITEMAP_REDIRECTS = 5  # of one sitemap


async def seeds_of(
    site: WebsiteAddress, client: SiteClient, memory: SiteMemory, rules: RobotRules
) -> tuple[list[FrontierUrl], bool]:
    """The addresses of the website that its sitemaps list, each once; and whether one of them is damaged.

    SourceUnavailable where one cannot be read now: what it lists must not be taken for gone.
    """
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
        except SitemapDamaged as damaged:
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


def _sitemaps(site: WebsiteAddress, rules: RobotRules) -> Sequence[str]:
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
    target = url
    for _ in range(SITEMAP_REDIRECTS + 1):
        response = await client.get(target, since=since, sitemap=True)
        if response.status >= SERVER_FAULT:
            raise SourceUnavailable(f"{target} answered HTTP {response.status}.")
        if response.status == NOT_MODIFIED and known is not None:
            return known
        if response.location is None:
            break
        moved = normal_url(response.location, target)
        if moved is None or not moved.startswith(f"{client.origin}/"):
            return None
        target = moved
    if response.status != OK:
        return None
    if response.fault:
        raise SitemapDamaged(response.fault)
    if response.headers.get("content-type", "").startswith("text/html"):
        return None  # a page in place of a sitemap that is not there
    entries = await asyncio.to_thread(read_sitemap, response.body)
    listed = tuple((each.url, each.lastmod, each.is_sitemap) for each in entries)
    etag, modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    sitemap = SitemapRecord(etag=etag, modified=modified, entries=listed)
    await asyncio.to_thread(memory.keep, SITEMAPS, {url: asdict(sitemap)})
    return sitemap
