"""How the client libraries of sources reach their host: one origin, at the IP addresses that were checked.

They would resolve the name once more, follow what the environment says of proxies, and send the credentials wherever a
redirect leads. Here nothing of that happens, and a body is bounded after its decompression too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING

import httpx

from core.errors import SearchTrouble
from core.library.formats.read import FILE_LIMIT
from core.web.fetch import ACCEPT_ENCODING, CONNECT_LIMIT, ascii_host, default_tls, port_of, read_body

if TYPE_CHECKING:
    import ssl

REQUEST_TIME = 60.0  # seconds between two parts of an answer
#: Headers of an answer that speak of its body on the way.
_OF_THE_WAY = frozenset({"content-encoding", "content-length", "transfer-encoding"})

logger = logging.getLogger(__name__)


class PinnedTransport(httpx.AsyncBaseTransport):
    """Sends requests of one origin to these addresses, and those of any other nowhere.

    Raises httpx.TransportError, as transports do.
    """

    def __init__(
        self, origin: str, addresses: Sequence[str], *, connections: int, tls: ssl.SSLContext
    ) -> None:
        self._origin = httpx.URL(origin)
        self._addresses = [str(ip_address(each)) for each in addresses]
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._inner = httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if (request.url.scheme, ascii_host(request.url), port_of(request.url)) != (
            self._origin.scheme, ascii_host(self._origin), port_of(self._origin),
        ):  # fmt: skip
            raise httpx.UnsupportedProtocol(f"{ascii_host(request.url)} is not asked.", request=request)
        response = await self._open(request)
        try:
            body = await read_body(response, sender=ascii_host(self._origin), limit=FILE_LIMIT)
        except SearchTrouble as trouble:
            raise httpx.ReadError(str(trouble), request=request) from trouble
        finally:
            await response.aclose()
        headers = [pair for pair in response.headers.multi_items() if pair[0] not in _OF_THE_WAY]
        return httpx.Response(response.status_code, headers=headers, content=body, request=request)

    async def _open(self, request: httpx.Request) -> httpx.Response:
        headers = request.headers.copy()
        headers["Accept-Encoding"] = ACCEPT_ENCODING  # the one whose output is bounded
        timeout = {**request.extensions.get("timeout", {}), "connect": CONNECT_LIMIT}
        for address in self._addresses:
            try:
                return await self._inner.handle_async_request(
                    httpx.Request(
                        request.method,
                        request.url.copy_with(host=address),
                        headers=headers,
                        content=request.content,
                        extensions={"timeout": timeout, "sni_hostname": ascii_host(request.url)},
                    )
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as trouble:
                logger.info("%s at %s: %r", ascii_host(request.url), address, trouble)
        raise httpx.ConnectError(f"{ascii_host(request.url)} could not be reached.", request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def open_pinned(
    origin: str, addresses: Sequence[str], *, connections: int
) -> AsyncIterator[httpx.AsyncClient]:
    """A client without cookies, redirects and proxies."""
    transport = PinnedTransport(
        origin, addresses, connections=connections, tls=await asyncio.to_thread(default_tls)
    )
    async with httpx.AsyncClient(
        transport=transport, trust_env=False, follow_redirects=False, timeout=REQUEST_TIME
    ) as client:
        yield client
