"""Serves a web application, with bounds on its connections: how many, and for how long each may wait.

asyncio and aiohttp wait for half a request for ever. Every connection holds one of the files that the process may
open, and when none is left, the connections to Slack, Discord and the model fail too.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from core.conversation import value
from core.errors import SettingsError, reason_of

logger = logging.getLogger(__name__)

MOST = 256  # connections to one server
SHARE_OF_FILES = 4  # of the files that the process may open a quarter: two servers leave half of them
SHUTDOWN_TIMEOUT = 1.0  # seconds for replies that are on their way


@value
class Bounds:
    """The bounds of one server."""

    connections: int
    of_address: int = 32  #: a browser opens six
    request: float = 20.0  #: seconds for the headers of a request, and for its body; mod_reqtimeout's default
    #: Seconds without a word after a reply: more than proxies keep a connection for, which is 60 s (nginx, AWS), so that
    #: none sends a request into one that is just being closed.
    idle: float = 75.0
    reply: float = 900.0  #: seconds from the headers on; a thread on the page is watched for ten minutes


def bounds_here() -> Bounds:
    """The bounds that leave this process enough files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Bounds(
        connections=MOST if files == resource.RLIM_INFINITY else max(1, min(MOST, files // SHARE_OF_FILES))
    )


@asynccontextmanager
async def serve(
    application: web.Application,
    host: str | None,
    port: int,
    *,
    name: str,
    stands_for_many: Callable[[str], bool] = lambda _address: True,
    bounds: Bounds | None = None,
) -> AsyncIterator[int]:
    """Serve the application; yields the port. SettingsError if it cannot listen.

    ``host``: None for every address of this machine. ``name``: what is served, for the error.
    ``stands_for_many``: True for the address of a proxy, whose connections are other people's.
    """
    bounds = bounds or bounds_here()
    connections = HttpConnections(bounds=bounds, stands_for_many=stands_for_many)
    application.middlewares.insert(0, connections.noting())
    # aiohttp logs the address of a request that it cannot read, and addresses hold words that were searched for.
    silent = logging.getLogger(f"{__name__}.requests")
    silent.disabled = True
    runner = web.AppRunner(application, access_log=None, logger=silent, shutdown_timeout=SHUTDOWN_TIMEOUT)
    await runner.setup()
    try:
        assert runner.server is not None
        server = runner.server
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(lambda: HttpConnection(connections, server), host, port)
        except OSError as fault:
            address = f"{host}:{port}" if host else f"port {port}"
            reason = reason_of(fault).rpartition(": ")[2]  # without asyncio's words, which repeat the address
            raise SettingsError(f"{name} cannot be served on {address}: {reason}. Choose another.") from fault
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            listener.close()
    finally:
        await runner.cleanup()


@dataclass(slots=True, kw_only=True)
class HttpConnections:
    """The connections that are open to one server."""

    bounds: Bounds
    stands_for_many: Callable[[str], bool]
    held: dict[asyncio.BaseTransport, HttpConnection] = field(default_factory=dict)

    def admit(self, address: str) -> bool:
        """True if one more connection of this address has room; the longest waiting one is closed for it."""
        beside = [each for each in self.held.values() if each.address == address]
        if len(beside) >= self.bounds.of_address and not self.stands_for_many(address):
            return _close_longest_waiting(beside)
        return len(self.held) < self.bounds.connections or _close_longest_waiting(self.held.values())

    def noting(self) -> Middleware:
        """Note a request on its connection. Failures there are logged without the request's address."""

        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = self.held.get(request.transport) if request.transport else None
            if connection is None:
                raise ConnectionResetError
            connection.begin(request)
            try:
                return await handler(request)
            except (web.HTTPException, ConnectionError, TimeoutError):
                raise
            except Exception:
                # The boundary of a request: the server goes on.
                logger.exception("a request failed")
                return web.Response(status=500)
            finally:
                connection.end()

        return note


def _close_longest_waiting(connections: Iterable[HttpConnection]) -> bool:
    """False if all have sent their request, and are being answered."""
    waiting = [each for each in connections if each.is_waiting]
    if waiting:
        min(waiting, key=lambda each: each.since).abort()
    return bool(waiting)


class HttpConnection(asyncio.Protocol):
    """One connection, which hands what arrives on to aiohttp."""

    def __init__(self, connections: HttpConnections, server: web.Server) -> None:
        self.connections, self.handler = connections, server()
        self.loop = asyncio.get_running_loop()
        self.request: web.Request | None = None
        self.since = self.loop.time()  #: when its request, the request's body, the reply or the silence began
        self.is_idle = False  #: since a reply, nothing was said
        self.address = ""
        self.transport: asyncio.Transport
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.address = transport, (transport.get_extra_info("peername") or ("",))[0]
        if not self.connections.admit(self.address):
            transport.abort()
            return
        self.connections.held[transport] = self
        self.handler.connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.handler.connection_lost(exc)
        self.connections.held.pop(self.transport, None)

    def data_received(self, data: bytes) -> None:
        if self.is_idle:
            self.is_idle, self.since = False, self.loop.time()
            self._look()
        self.handler.data_received(data)

    def pause_writing(self) -> None:
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        self.handler.resume_writing()

    def begin(self, request: web.Request) -> None:
        """Note that the headers of a request have arrived."""
        self.request, self.since = request, self.loop.time()

    def end(self) -> None:
        """Note that the reply has been sent."""
        self.request, self.since, self.is_idle = None, self.loop.time(), True
        self._look()

    @property
    def is_waiting(self) -> bool:
        """True if the next step is the other side's: a request, the rest of one, or silence after a reply."""
        if self.request is not None:
            return not self.request.content.is_eof()
        return self.transport.get_write_buffer_size() == 0

    def abort(self) -> None:
        self.connections.held.pop(self.transport, None)
        self.transport.abort()

    def _look(self) -> None:
        """Close it if its time is over."""
        bounds, now = self.connections.bounds, self.loop.time()
        if self.timer is not None:
            self.timer.cancel()
        allowed = bounds.reply if not self.is_waiting else bounds.idle if self.is_idle else bounds.request
        if now >= self.since + allowed:
            self.abort()
            return
        self.timer = self.loop.call_at(min(self.since + allowed, now + bounds.request), self._look)
