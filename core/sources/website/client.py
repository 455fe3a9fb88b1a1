"""Requests to one website, and to nothing else; and what its robots.txt allows (RFC 9309).

Its host was checked before (:mod:`core.sources.hosts`), and every connection goes to the addresses that were checked
then. A redirect is told, not followed. There are no cookies, no credentials and no proxy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import DocumentError, FootnoteError, SearchTrouble
from core.library.formats.encoding import decode
from core.library.formats.read import FILE_LIMIT
from core.sources.source import SourceThrottled, SourceUnavailable
from core.sources.website.address import normal_url
from core.sources.website.convert import AGENT
from core.web.fetch import DEFAULT_PORTS, certificate_fault, default_tls, pin_request, read_body
from core.web.request import OK, SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    import httpx


NOT_MODIFIED = 304
UNAVAILABLE = 503
REDIRECTS = frozenset({301, 302, 303, 307, 308})
REQUEST_TIME = 30.0  # seconds for one request, its body included
RATE_PAUSE = 60.0  # seconds to wait where a site that limits us does not say how long

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

logger = logging.getLogger(__name__)


class SiteSilent(FootnoteError):
    """The website did not answer, or broke off; the sentence completes "HOST …"."""


@value
class SiteReply:
    """What a website answered."""

    status: int
    headers: Mapping[str, str]  #: names in lower case
    body: bytes = b""  #: of a page that is read; in UTF-8 where it is text in another encoding
    suffix: str = ""  #: says how it is parsed; empty for what is no document
    fault: str = ""  #: why its body could not be read, completing "PAGE …"

    @property
    def location(self) -> str | None:
        """Where a redirect leads."""
        return self.headers.get("location") if self.status in REDIRECTS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteClient:
    """Asks the host at an origin."""

    origin: str
    addresses: Sequence[str]  #: IP addresses that were checked
    transport: httpx.AsyncHTTPTransport
    timeout: float = REQUEST_TIME
    delay: float = 0.0  #: seconds between two requests, as robots.txt asks; 0: several at once
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(
        self, url: str, *, since: Mapping[str, str] | None = None, sitemap: bool = False
    ) -> SiteReply:
        """A page of the origin, or that it is not modified ``since``: headers that make the request conditional.

        SiteSilent, SourceThrottled.
        """
        import httpx

        async with self._turns():
            try:
                async with asyncio.timeout(self.timeout):
                    return await self._get(url, since or {}, sitemap=sitemap)
            except TimeoutError:
                raise SiteSilent(f"took more than {self.timeout:g} seconds") from None
            except (httpx.HTTPError, ValueError) as trouble:
                logger.info("%s: %r", url, trouble)
                raise SiteSilent("could not be reached, or broke the connection off") from None

    @asynccontextmanager
    async def _turns(self) -> AsyncIterator[None]:
        if not self.delay:
            yield
            return
        async with self._turn:
            await self.pause(self.delay)
            yield

    async def _get(self, url: str, since: Mapping[str, str], *, sitemap: bool) -> SiteReply:
        import httpx

        target = httpx.URL(url)
        response = await self._open(target, since)
        try:
            headers = {name.lower(): text for name, text in response.headers.items()}
            _require_leave(target.host, response.status_code, headers)
            if response.status_code != OK:
                return SiteReply(status=response.status_code, headers=headers)
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            suffix = SUFFIX_OF_TYPE.get(kind, "")
            if not (kind in SITEMAP_TYPES if sitemap else suffix):
                return SiteReply(status=OK, headers=headers)
            try:
                body = await read_body(response, sender=target.host, limit=FILE_LIMIT)
            except SearchTrouble as trouble:
                return SiteReply(
                    status=OK, headers=headers, suffix=suffix, fault=f"could not be read: {trouble}"
                )
        finally:
            await response.aclose()
        text = body if sitemap or suffix == ".pdf" else _in_utf8(body, response.charset_encoding)
        return SiteReply(status=OK, headers=headers, body=text, suffix=suffix)

    async def _open(self, target: httpx.URL, headers: Mapping[str, str]) -> httpx.Response:
        import httpx

        for address in self.addresses:
            try:
                return await self.transport.handle_async_request(
                    pin_request(target, ip_address(address), headers=headers)
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as trouble:
                logger.info("%s at %s: %r", target.host, address, trouble)
                if fault := certificate_fault(trouble):
                    raise SiteSilent(fault) from None
        raise SiteSilent("could not be reached")


def _require_leave(host: str, status: int, headers: Mapping[str, str]) -> None:
    asked = seconds_asked(headers.get("retry-after"))
    if status == TOO_MANY_REQUESTS or (status == UNAVAILABLE and asked is not None):
        raise SourceThrottled(
            f"{host} asks to be asked again later.", retry_after=asked if asked is not None else RATE_PAUSE
        )


def _in_utf8(body: bytes, charset: str | None) -> bytes:
    """The text in the encoding that the parsers try first, where the server names another."""
    if not charset or charset.lower().replace("_", "-") in ("utf-8", "us-ascii", "ascii"):
        return body
    try:
        return decode(body, declared=charset).encode()
    except DocumentError:
        return body


@asynccontextmanager
async def open_client(
    origin: str, addresses: Sequence[str], *, connections: int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[SiteClient]:
    import httpx

    verify = await asyncio.to_thread(default_tls) if tls is None else tls
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits) as transport:
        yield SiteClient(origin=origin, addresses=addresses, transport=transport)


def host_and_port(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]


SIZE_LIMIT = 500 * 1024  # bytes that are read of it, RFC 9309, 2.5
RULES_HOPS = 5  # that are followed, RFC 9309, 2.3.1.2
LONGEST_DELAY = 60.0  # seconds between two requests; what asks for more gets this


@dataclass(frozen=True, slots=True)
class RobotRules:
    """What may be asked for, and how fast."""

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

    return RobotRules(Protego.parse(text[:SIZE_LIMIT].decode("utf-8", "replace").removeprefix("\ufeff")))


async def read_rules(client: SiteClient) -> RobotRules:
    """The rules of a website. SourceUnavailable where they cannot be read: then nothing is allowed."""
    url = f"{client.origin}/robots.txt"
    for _ in range(RULES_HOPS + 1):
        try:
            reply = await client.get(url, sitemap=True)
        except SiteSilent as silent:
            raise SourceUnavailable(f"{client.origin} {silent}.") from None
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
