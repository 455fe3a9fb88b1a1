"""Requests to one website, and to nothing else; and what its robots.txt allows (RFC 9309).

How they go out, and to which addresses, says :mod:`core.sources.http`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import DocumentError
from core.library.formats.encoding import decode
from core.sources.http import REDIRECTS, HostClient, Reply, body_of, throttle
from core.sources.source import ItemUnreadable, SourceUnavailable
from core.sources.website.address import normal_url
from core.sources.website.convert import AGENT
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
class SiteReply(Reply):
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
    ) -> SiteReply:
        """A page of the origin, or that it is not modified ``since``: headers that make the request conditional.

        HostSilent, SourceThrottled.
        """
        async with self._turns(), self.http.open(url, headers=since) as response:
            reply = SiteReply(status=response.status_code, headers=response.headers)
            if (throttled := throttle(reply, urlsplit(url).hostname or "")) is not None:
                raise throttled
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            suffix = SUFFIX_OF_TYPE.get(kind, "")
            if reply.status != OK or not (kind in SITEMAP_TYPES if sitemap else suffix):
                return reply
            try:
                body = await body_of(response, url)
            except ItemUnreadable as fault:
                return replace(reply, suffix=suffix, fault=str(fault))
        text = body if sitemap or suffix == ".pdf" else _in_utf8(body, response.charset_encoding)
        return replace(reply, suffix=suffix, body=text)

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

    parsed: Any = None  #: of protego; None: everything is allowed

    def allows(self, url: str) -> bool:
        return self.parsed is None or bool(self.parsed.can_fetch(url, AGENT))

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        asked = self.parsed.crawl_delay(AGENT) if self.parsed is not None else None
        return min(float(asked or 0.0), LONGEST_DELAY)

    @property
    def sitemaps(self) -> Sequence[str]:
        return () if self.parsed is None else tuple(self.parsed.sitemaps)


def parse_rules(text: bytes) -> RobotRules:
    from protego import Protego

    return RobotRules(Protego.parse(text[:RULES_LIMIT].decode("utf-8", "replace").removeprefix("\ufeff")))


async def read_rules(client: SiteClient) -> RobotRules:
    """The rules of a website. SourceUnavailable where they cannot be read: then nothing is allowed."""
    url = f"{client.origin}/robots.txt"
    for _ in range(RULES_HOPS + 1):
        reply = await client.get(url, sitemap=True)
        if reply.status >= SERVER_FAULT:
            raise SourceUnavailable(
                f"{url} answered HTTP {reply.status}. What it allows is not known, so nothing is read."
            )
        if reply.location is None:
            return parse_rules(reply.body) if reply.status == OK else RobotRules()
        target = normal_url(reply.location, url)
        if target is None or not target.startswith(f"{client.origin}/"):
            raise SourceUnavailable(led_elsewhere(url, target or reply.location))
        url = target
    return RobotRules()


def led_elsewhere(url: str, target: str) -> str:
    """The sentence about a website that has moved."""
    return f"{url} leads to {target}, which is not followed: ingest that address, if it is meant."
