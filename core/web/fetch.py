"""Fetching public pages, and nothing but public pages, from URLs that strangers chose.

A host is resolved once. Every address it resolves to must be public, and the connection
goes to exactly the address that was checked, so a name that resolves differently a moment
later (DNS rebinding) gains nothing. The same is done again at every redirect.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from core.errors import DocumentError, FetchRefused, SearchTrouble
from core.library.formats.encoding import decode
from core.library.formats.read import parse_html
from core.tls import certificate_fault, default_tls
from core.web.hosts import IPAddress, host_of, is_allowed, is_public, parse
from core.web.request import OK, Page

if TYPE_CHECKING:
    import ssl

    import httpx

DEFAULT_PORTS = {"http": 80, "https": 443}
PORTS = frozenset({80, 443, 8080, 8443})  # where sites are served; other ports are often internal services
ALL_PORTS = range(1, 65_536)
REDIRECT_LIMIT = 5
ADDRESSES_TRIED = 3  # of one host, in the resolver's order
BODY_LIMIT = 2_000_000  # bytes, compressed and decompressed
USER_AGENT = "Mozilla/5.0 (compatible; footnote)"  # the form that sites expect of a robot
CONNECT_LIMIT = 6.0  # seconds for one address, its TLS handshake included: a page has 20 for three of them

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
READABLE_TYPES = HTML_TYPES | {"text/plain", "text/markdown", "text/x-markdown"}
INGESTED_TYPES = READABLE_TYPES | {"application/pdf"}

ACCEPT_ENCODING = "gzip"  # the one compression whose output read_body bounds
PLAIN = ("", "identity")
GZIP = ("gzip", "x-gzip")
GZIP_WINDOW = zlib.MAX_WBITS | 16  # 16: with the gzip header and trailer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The content of a public address."""

    url: str  #: after redirects
    content_type: str  #: lower case, without parameters
    data: bytes = field(repr=False)
    charset: str | None = None  #: as the server named it


async def resolve_host(host: str, port: int) -> list[str]:
    """The IP addresses of a host, in the system's order of preference; OSError when there are none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFetcher:
    """Fetches pages that are public, readable, small and quick. It sends no cookies or credentials and uses
    no proxy: it is built on httpx's transport, not on the client that would add them."""

    timeout: float = 20.0  #: seconds from the first name look-up to the last byte, redirects included
    body_limit: int = BODY_LIMIT  #: bytes
    ports: frozenset[int] = PORTS
    trusted: tuple[str, ...] = ()  #: hosts; when set, a redirect may lead nowhere else
    blocked: tuple[str, ...] = ()  #: hosts never visited
    #: hosts that may be private, on any port, where the address itself names one; a redirect to one is refused
    private: tuple[str, ...] = ()
    resolve: Callable[[str, int], Awaitable[list[str]]] = resolve_host
    is_public: Callable[[IPAddress], bool] = is_public
    tls: ssl.SSLContext | None = None  #: None: default_tls()

    async def fetch(self, url: str) -> Page:
        async with self._limit_time(url):
            resource = await self._follow(url, READABLE_TYPES)
            return await asyncio.to_thread(page_of, resource)

    async def get_public(self, url: str) -> Resource:
        """The bytes behind a URL. FetchRefused for what must not be visited, SearchTrouble for what failed."""
        async with self._limit_time(url):
            return await self._follow(url, INGESTED_TYPES)

    @asynccontextmanager
    async def _limit_time(self, url: str) -> AsyncIterator[None]:
        import httpx

        try:
            async with asyncio.timeout(self.timeout):
                yield
        except TimeoutError:
            raise SearchTrouble(f"{host_of(url)} was too slow (more than {self.timeout:g} s).") from None
        except httpx.HTTPError as trouble:
            logger.info("%s: %r", host_of(url), trouble)
            raise SearchTrouble(f"{host_of(url)} broke the connection off.") from None

    async def _follow(self, url: str, accept: frozenset[str]) -> Resource:
        import httpx

        tls = await asyncio.to_thread(default_tls) if self.tls is None else self.tls
        named = host_of(url) if self.private and is_allowed(url, trusted=self.private) else ""
        for _ in range(REDIRECT_LIMIT + 1):
            is_private = bool(named) and host_of(url) == named
            ports = ALL_PORTS if is_private else self.ports
            target = check_url(url, ports=ports, trusted=self.trusted, blocked=self.blocked)
            addresses = await self._addresses(target, is_private=is_private)
            async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
                try:
                    response = await send_pinned(transport, target, addresses)
                except HostUnreachable as unreachable:
                    raise SearchTrouble(f"{ascii_host(target)} {unreachable}.") from None
                try:
                    if not response.has_redirect_location:
                        return await self._resource(response, target, accept)
                    url = redirect_target(target, response.headers["location"])
                finally:
                    await response.aclose()
        raise SearchTrouble(f"{host_of(url)} redirects more than {REDIRECT_LIMIT} times.")

    async def _addresses(self, target: httpx.URL, *, is_private: bool) -> list[IPAddress]:
        host = ascii_host(target)
        try:
            spelled = await self.resolve(host, port_of(target))
        except (OSError, UnicodeError):
            spelled = []
        if not spelled:
            raise SearchTrouble(f"{host} could not be found.")
        addresses = [ip_address(each) for each in dict.fromkeys(spelled)]
        if not (is_private or all(map(self.is_public, addresses))):
            raise FetchRefused(f"{host} is not a public address, so it is not visited.")
        return addresses[:ADDRESSES_TRIED]

    async def _resource(
        self, response: httpx.Response, target: httpx.URL, accept: frozenset[str]
    ) -> Resource:
        if response.status_code != OK:
            raise SearchTrouble(f"{ascii_host(target)} answered HTTP {response.status_code}.")
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in accept:
            raise SearchTrouble(f"{ascii_host(target)} sent something that is not a page of text.")
        data = await read_body(response, sender=ascii_host(target), limit=self.body_limit)
        return Resource(
            url=str(target), content_type=content_type, data=data, charset=response.charset_encoding
        )


def check_url(
    url: str, *, ports: Container[int] = PORTS, trusted: tuple[str, ...] = (), blocked: tuple[str, ...] = ()
) -> httpx.URL:
    """The URL in its canonical spelling, or FetchRefused. The host's IP addresses are checked later."""
    parsed = parse(url)
    if parsed.scheme not in DEFAULT_PORTS:
        raise FetchRefused("Only addresses that start with http:// or https:// are visited.")
    if parsed.userinfo:
        raise FetchRefused("An address with a user name in it is not visited.")
    host = host_of(url)
    if not host:
        raise FetchRefused("This is not a web address.")
    if port_of(parsed) not in ports:
        raise FetchRefused(f"Port {port_of(parsed)} of {host} is not one that web pages are served from.")
    if not is_allowed(url, trusted=trusted, blocked=blocked):
        raise FetchRefused(f"{host} is not among the hosts that may be visited.")
    return parsed.copy_with(host=host, fragment=None)


def port_of(url: httpx.URL) -> int:
    return DEFAULT_PORTS[url.scheme] if url.port is None else url.port


def ascii_host(url: httpx.URL) -> str:
    """The host as it is sent: punycode, IPv6 without brackets."""
    return url.raw_host.decode("ascii")


def redirect_target(target: httpx.URL, location: str) -> str:
    """The target of a redirect; FetchRefused when it is no address."""
    import httpx

    try:
        return str(target.join(location))
    except (httpx.InvalidURL, ValueError):
        raise FetchRefused(
            f"{ascii_host(target)} redirects to something that is not a web address."
        ) from None


def pin_request(
    target: httpx.URL,
    address: IPAddress,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
) -> httpx.Request:
    """The request, sent to exactly this IP address under the host's name for HTTP, SNI and certificate."""
    import httpx

    return httpx.Request(
        method,
        target.copy_with(host=str(address)),
        headers={
            "Host": target.netloc.decode("ascii"), "User-Agent": USER_AGENT,
            "Accept": ", ".join(sorted(INGESTED_TYPES)), "Accept-Encoding": ACCEPT_ENCODING,
            **(headers or {}),
        },
        content=content or None,
        extensions={"timeout": {"connect": CONNECT_LIMIT}, "sni_hostname": ascii_host(target)},
    )  # fmt: skip


class HostUnreachable(Exception):
    """No address of a host takes a connection; the text completes "HOST …"."""


async def send_pinned(
    transport: httpx.AsyncHTTPTransport, target: httpx.URL, addresses: Iterable[IPAddress], **request: Any
) -> httpx.Response:
    """The answer of the first of these addresses that takes the connection. ``request``: as of :func:`pin_request`."""
    import httpx

    for address in addresses:
        try:
            return await transport.handle_async_request(pin_request(target, address, **request))
        except (httpx.ConnectError, httpx.ConnectTimeout) as trouble:
            logger.info("%s at %s: %r", ascii_host(target), address, trouble)
            if fault := certificate_fault(trouble):
                raise HostUnreachable(fault) from None
    raise HostUnreachable("could not be reached")


async def read_body(response: httpx.Response, *, sender: str, limit: int) -> bytes:
    """The body, at most ``limit`` bytes before and after decompression; SearchTrouble names the sender. httpx
    would decompress each chunk whole, so that 64 kB on the wire could become 64 MB in memory before it is
    counted."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in PLAIN + GZIP:
        raise SearchTrouble(f"{sender} sent a page in a compression that was not asked for.")
    too_large = SearchTrouble(f"{sender} sent more than {limit / 1_000_000:g} MB.")
    if int(response.headers.get("content-length", 0)) > limit:
        raise too_large

    inflate = zlib.decompressobj(GZIP_WINDOW) if encoding in GZIP else None
    received, body = 0, bytearray()
    try:
        async for chunk in response.aiter_raw():
            received += len(chunk)
            body += inflate.decompress(chunk, limit + 1 - len(body)) if inflate else chunk
            if max(received, len(body)) > limit:
                raise too_large
    except zlib.error:
        raise SearchTrouble(f"{sender} sent a page that cannot be decompressed.") from None
    if inflate and received and not inflate.eof:
        raise SearchTrouble(f"{sender} broke off in the middle of a page.")
    return bytes(body)


def page_of(resource: Resource) -> Page:
    """The readable part of a fetched page; SearchTrouble when there is none."""
    host, title, text = host_of(resource.url), "", ""
    is_html = resource.content_type in HTML_TYPES
    try:
        if resource.charset or not is_html:
            text = decode(resource.data, declared=resource.charset)
        if is_html:
            # The charset in the server's header outranks the one in the page (HTML, 13.2.3.2).
            document = parse_html(text or resource.data, url=resource.url)
            title, text = document.title, document.text
    except DocumentError as trouble:
        logger.info("%s: %s", host, trouble)
        text = ""
    if not text.strip():
        raise SearchTrouble(f"{host} sent a page without readable text.")
    return Page(url=resource.url, title=title or host, text=text)
