"""A balancer as it stands before several processes of a web service: each request goes to the next of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import aiohttp
from aiohttp import web

#: Headers of one connection, which is another one behind the balancer (RFC 9110, 7.6.1).
HOP = ("Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Host")


@dataclass(eq=False)
class Balancer:
    """Round robin; a process that takes no connection is passed over, as by a health check."""

    backends: Sequence[str]  #: URLs without a path
    passed: list[tuple[int, str]] = field(
        default_factory=list
    )  #: to which of them, and the path; oldest first
    pinned: dict[str, int] = field(default_factory=dict)  #: path -> the one that gets every request for it
    next: int = 0  #: which of them gets the next of the others
    url: str = ""

    async def __aenter__(self) -> Self:
        # Its own jar keeps no cookies: they are the browser's.
        self._client = aiohttp.ClientSession(trust_env=False, cookie_jar=aiohttp.DummyCookieJar())
        routes = web.Application(client_max_size=64 * 1024**2)
        routes.router.add_route("*", "/{path:.*}", self._pass)
        self._runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._client.close()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = [(name, text) for name, text in request.headers.items() if name not in HOP]
        for _ in self.backends:
            chosen = self._choose(request.path)
            url = f"{self.backends[chosen]}{request.path_qs}"
            try:
                async with self._client.request(
                    request.method, url, data=body, headers=headers, allow_redirects=False
                ) as reply:
                    self.passed.append((chosen, request.path))
                    content = await reply.read()
                    kept = [(n, text) for n, text in reply.headers.items() if n not in HOP]
                    return web.Response(status=reply.status, body=content, headers=kept)
            except aiohttp.ClientConnectorError:
                continue
            except aiohttp.ClientError:  # it died over it; whether it did the work is not known
                break
        return web.Response(status=502)

    def _choose(self, path: str) -> int:
        if path in self.pinned:
            return self.pinned[path]
        chosen, self.next = self.next, (self.next + 1) % len(self.backends)
        return chosen
