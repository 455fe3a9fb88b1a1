"""The one way in which sources ask hosts over HTTP.

A host is public, or named in PRIVATE_HOSTS, and every connection goes to the IP addresses that were checked, under the
host's own name for TLS. There is no proxy, no cookie and no login that was not given; a redirect is reported, not followed;
a body is bounded after its decompression too. Nothing is asked twice: the engine waits, and tries again.

What people say and what the web returns never comes here: :mod:`core.web.fetch` refuses private addresses to both.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from core.conversation import value
from core.errors import SearchTrouble
from core.library.formats.read import FILE_LIMIT
from core.sources.source import ItemUnreadable, SourceThrottled, SourceUnavailable
from core.tls import default_tls
from core.web import fetch
from core.web.hosts import is_allowed, is_public
from core.web.request import SERVER_FAULT, TOO_MANY_REQUESTS, http_moment, seconds_asked

if TYPE_CHECKING:
    import httpx

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, GONE, UNAVAILABLE = 401, 403, 404, 410, 503
REDIRECTS = frozenset({301, 302, 303, 307, 308})
REQUEST_TIME = 120.0  # seconds for one request, its body included
RATE_PAUSE = 60.0  # seconds to wait where a limit does not say how long

Json = Mapping[str, Any]  # an object in the answer of an API

logger = logging.getLogger(__name__)


class HostSilent(SourceUnavailable):
    """A host did not answer, or broke off."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}.")
        self.reason = reason  #: completes "HOST …"


@value
class Response:
    """The answer of a host."""

    status: int
    headers: Mapping[str, str]  #: in any case
    body: bytes = field(default=b"", repr=False)

    def json(self) -> Any:
        """The value that the body holds; None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def fields(self) -> Json:
        """The object that the body holds; empty where it is none."""
        held = self.json()
        return held if isinstance(held, dict) else {}

    @property
    def date(self) -> float | None:
        """The time by the clock of the host, in seconds since the epoch; None where it does not tell."""
        return http_moment(self.headers.get("date", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostClient:
    """Asks the hosts whose addresses were checked, and no others. Its methods raise HostSilent."""

    addresses: Mapping[str, Sequence[str]]  #: IP addresses, by origin
    transport: httpx.AsyncHTTPTransport = field(repr=False)
    name: str = ""  #: how people call the host; empty: as its address does
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  #: of every request
    timeout: float = REQUEST_TIME  #: seconds for one request, its body included

    async def ask(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Response:
        """The whole answer, whatever its status. ItemUnreadable if its body is too large or damaged."""
        async with self.open(url, method=method, headers=headers, content=content) as response:
            return Response(
                status=response.status_code, headers=response.headers, body=await body_of(response, url)
            )

    async def post_json(self, url: str, given: object) -> Response:
        head = {"Content-Type": "application/json"}
        return await self.ask(url, method="POST", headers=head, content=json.dumps(given).encode())

    @asynccontextmanager
    async def open(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> AsyncIterator[httpx.Response]:
        """The answer before its body was read."""
        import httpx

        target = httpx.URL(url)
        name = self.name or fetch.ascii_host(target)
        try:
            async with asyncio.timeout(self.timeout):
                addresses = map(ip_address, self.addresses.get(origin_of(target), ()))
                head = {**self.headers, **(headers or {})}
                response = await fetch.send_pinned(
                    self.transport, target, addresses, method=method, headers=head, content=content
                )
                try:
                    yield response
                finally:
                    await response.aclose()
        except fetch.HostUnreachable as unreachable:
            raise HostSilent(name, str(unreachable)) from None
        except TimeoutError:
            raise HostSilent(name, f"took more than {self.timeout:g} seconds") from None
        except (httpx.HTTPError, ValueError) as trouble:
            logger.info("%s: %r", fetch.ascii_host(target), trouble)
            raise HostSilent(name, "could not be reached, or broke the connection off") from None


async def body_of(response: httpx.Response, url: str) -> bytes:
    """The body of an answer of a host. ItemUnreadable if it is too large or damaged."""
    import httpx

    try:
        return await fetch.read_body(response, sender=fetch.ascii_host(httpx.URL(url)), limit=FILE_LIMIT)
    except SearchTrouble as trouble:
        raise ItemUnreadable(f"could not be read: {trouble}") from trouble


def throttle(
    response: Response, name: str, *, pause: float = RATE_PAUSE, is_patient: bool = False
) -> SourceThrottled | None:
    """The error for an answer that asks to wait; None for any other. ``pause``: seconds where it does not say
    how long; ``is_patient``: whether any fault of the server is waited for."""
    asked = seconds_asked(response.headers.get("retry-after"))
    if is_patient and response.status >= SERVER_FAULT:
        sentence = f"{name} is out of order (HTTP {response.status})."
    elif response.status == TOO_MANY_REQUESTS or (response.status == UNAVAILABLE and asked is not None):
        sentence = f"{name} asks to be asked again later."
    else:
        return None
    return SourceThrottled(sentence, retry_after=pause if asked is None else asked)


def only_if_changed(etag: str | None, modified: str | None) -> dict[str, str]:
    """The headers that ask for something only if it is not as it was with these marks."""
    marks = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: mark for name, mark in marks.items() if mark}


def origin_of(url: httpx.URL) -> str:
    """The scheme, host and port of an address."""
    return f"{url.scheme}://{fetch.ascii_host(url)}:{fetch.port_of(url)}"


@asynccontextmanager
async def open_http(
    *urls: str,
    private: Sequence[str],
    connections: int,
    name: str = "",
    headers: Mapping[str, str] | None = None,
    timeout: float = REQUEST_TIME,  # noqa: ASYNC109 - of each request
) -> AsyncIterator[HostClient]:
    """A client for the hosts of these addresses. SourceUnavailable for one that may not be read."""
    import httpx

    targets = [httpx.URL(url) for url in urls]
    addresses = {
        origin_of(each): await permitted_addresses(fetch.ascii_host(each), fetch.port_of(each), private)
        for each in targets
    }
    tls = await asyncio.to_thread(default_tls)
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits) as transport:
        yield HostClient(
            addresses=addresses, transport=transport, name=name, headers=headers or {}, timeout=timeout
        )


async def permitted_addresses(host: str, port: int, private: Sequence[str]) -> tuple[str, ...]:
    """The IP addresses of a host that may be read. SourceUnavailable for one that may not be, or is not found."""
    try:
        found = tuple(dict.fromkeys(await fetch.resolve_host(host, port)))
    except (OSError, UnicodeError):
        found = ()
    if not found:
        raise SourceUnavailable(f"{host} could not be found.")
    named = f"[{host}]" if ":" in host else host
    is_named = bool(private) and is_allowed(f"https://{named}/", trusted=private)
    if not is_named and not all(is_public(ip_address(each)) for each in found):
        raise SourceUnavailable(
            f"{host} is not a public address. PRIVATE_HOSTS={host} lets your own `footnote ingest` read it."
        )
    return found
