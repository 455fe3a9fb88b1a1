"""Sitemaps, at which a crawl begins: sitemap.xml, an index of them, their packed form, and lists of addresses.

https://www.sitemaps.org/protocol.html. A damaged one is refused whole: what its end would have listed must not be
taken for gone.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from core.conversation import value
from core.errors import FootnoteError
from core.sources.source import SourceUnavailable
from core.sources.website.address import WebsiteAddress, normal_url
from core.sources.website.client import NOT_MODIFIED, RobotRules, SiteClient
from core.sources.website.memory import FrontierUrl, SitemapRecord, SiteMemory
from core.web.request import OK, SERVER_FAULT

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
    return [SitemapEntry(url=line) for line in map(str.strip, _lines(text)) if line.startswith("http")]


def _lines(text: bytes) -> list[str]:
    try:
        return text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SitemapDamaged("is not a sitemap") from None


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
        if values.get("loc"):
            yield SitemapEntry(
                url=values["loc"], lastmod=values.get("lastmod", ""), is_sitemap=kind == "sitemapindex"
            )


def _name(element: ET.Element) -> str:
    """Without its namespace."""
    return element.tag.rpartition("}")[2]


SITEMAPS = 1_000  # that are read of one website
REDIRECTS = 5  # of one sitemap


async def seeds_of(
    site: WebsiteAddress, client: SiteClient, memory: SiteMemory, rules: RobotRules
) -> tuple[list[FrontierUrl], bool]:
    """The addresses of the website that its sitemaps list, each once; and whether one of them is damaged.

    SourceUnavailable where one cannot be read now: what it lists must not be taken for gone.
    """
    waiting = deque(_sitemaps(site, rules))
    seen, is_damaged = set[str](), False
    found: dict[str, FrontierUrl] = {}
    while waiting and len(seen) < SITEMAPS:
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
                if (nested := _own(location, url, site)) is not None:
                    waiting.append(nested)
            elif (page := site.normal(location, url)) is not None:
                found.setdefault(page, FrontierUrl(url=page, depth=0, lastmod=lastmod))
    return list(found.values()), is_damaged


def _sitemaps(site: WebsiteAddress, rules: RobotRules) -> Sequence[str]:
    if site.is_sitemap:
        return (site.url,)
    named = (_own(each, f"{site.origin}/", site) for each in rules.sitemaps)
    own = tuple(each for each in named if each is not None)
    return own or tuple(
        dict.fromkeys((f"{site.origin}{site.folder}/sitemap.xml", f"{site.origin}/sitemap.xml"))
    )


def _own(link: str, base: str, site: WebsiteAddress) -> str | None:
    """The address of a sitemap on the website's own host; None for one elsewhere."""
    url = normal_url(link, base)
    if url is None:
        return None
    if site.origin.startswith("https:") and url.startswith("http:"):
        url = f"https:{url.removeprefix('http:')}"
    return url if url.startswith(f"{site.origin}/") else None


async def _read(url: str, client: SiteClient, memory: SiteMemory) -> SitemapRecord | None:
    """A sitemap, as it is now; None if there is none. SitemapDamaged, SourceUnavailable, SourceThrottled."""
    known = await asyncio.to_thread(memory.sitemap, url)
    since = {"If-None-Match": known.etag, "If-Modified-Since": known.modified} if known is not None else {}
    since = {name: mark for name, mark in since.items() if mark}
    target = url
    for _ in range(REDIRECTS + 1):
        reply = await client.get(target, since=since, sitemap=True)
        if reply.status >= SERVER_FAULT:
            raise SourceUnavailable(f"{target} answered HTTP {reply.status}.")
        if reply.status == NOT_MODIFIED and known is not None:
            return known
        if reply.location is None:
            break
        moved = normal_url(reply.location, target)
        if moved is None or not moved.startswith(f"{client.origin}/"):
            return None
        target = moved
    if reply.status != OK:
        return None
    if reply.fault:
        raise SitemapDamaged(reply.fault)
    if reply.headers.get("content-type", "").startswith("text/html"):
        return None  # a page in place of a sitemap that is not there
    entries = await asyncio.to_thread(read_sitemap, reply.body)
    sitemap = SitemapRecord(
        url=url,
        etag=reply.headers.get("etag", ""),
        modified=reply.headers.get("last-modified", ""),
        entries=tuple((each.url, each.lastmod, each.is_sitemap) for each in entries),
    )
    await asyncio.to_thread(memory.keep_sitemap, sitemap)
    return sitemap
