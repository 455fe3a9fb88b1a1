"""Socket Mode: the WebSockets that envelopes go down and acknowledgements come up."""

from __future__ import annotations

import itertools
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

CONNECTIONS = 10  # of one app, "Using Socket Mode"
GRACE = 1.0  # seconds from asking a client to leave to closing its socket; Slack takes about 10
CLOSE_WITHIN = 0.1  # seconds a client has to answer a close


@dataclass(eq=False)
class Connection:
    number: int
    socket: web.WebSocketResponse
    request: web.Request
    carried: int = 0  #: envelopes
    is_leaving: bool = False  #: the client was asked to come back on another


class Sockets:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.connections: list[Connection] = []
        self.opened = 0  #: connections that there ever were
        self.grace = GRACE
        self._tickets: set[str] = set()
        self._numbers = itertools.count(1)

    @property
    def live(self) -> list[Connection]:
        """The connections that get new envelopes."""
        return [one for one in self.connections if not one.is_leaving and not one.socket.closed]

    def ticket(self) -> str:
        """A URL that opens one connection."""
        ticket = uuid.uuid4().hex
        self._tickets.add(ticket)
        return f"{self.slack.url.replace('http', 'ws')}/link/?ticket={ticket}&app_id={self.slack.app.id}"

    async def serve(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            self.slack.rejected.append("socket: a ticket opens one connection")
            return web.Response(status=404)
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(timeout=CLOSE_WITHIN)
        await socket.prepare(request)
        connection = Connection(next(self._numbers), socket, request)
        self.opened += 1
        if len(self.live) >= CONNECTIONS:
            await self._say_goodbye(connection, "too_many_websockets")
            await socket.close()
            return socket
        self.connections.append(connection)
        try:
            await self._welcome(connection)
            async for frame in socket:
                if frame.type == WSMsgType.TEXT:
                    self._receive(frame.data)
        finally:
            self.connections.remove(connection)
            self.slack.changed()
        return socket

    async def send(self, envelope: dict[str, Any], connection: Connection | None = None) -> int:
        """Down one connection, at random where there are several; its number, or 0 when there is none."""
        live = self.live
        if connection is None and live:
            connection = self.slack.faults.random.choice(live)
        if connection is None:
            return 0
        try:
            await connection.socket.send_str(json.dumps(envelope))
        except ConnectionError:
            return 0
        connection.carried += 1
        faults = self.slack.faults
        if faults.drop_every and connection.carried % faults.drop_every == 0:
            self.drop(connection)
        elif faults.refresh_every and connection.carried % faults.refresh_every == 0:
            await self.refresh(connection=connection)
        return connection.number

    async def refresh(
        self, reason: str = "refresh_requested", *, connection: Connection | None = None
    ) -> None:
        """Asks one client, or all, to come back on a new connection.

        The old one gets nothing more, and is closed after ``grace`` if the client has not left.
        """
        for one in [connection] if connection else self.live:
            one.is_leaving = True
            await self._say_goodbye(one, reason)
            self.slack.later(self.grace, one.socket.close)
        self.slack.changed()

    def drop(self, connection: Connection | None = None) -> None:
        """Breaks one connection, or all, without a word."""
        for one in [connection] if connection else list(self.connections):
            one.is_leaving = True
            assert one.request.transport is not None
            one.request.transport.abort()

    async def close(self) -> None:
        for one in list(self.connections):
            await one.socket.close()

    async def _welcome(self, connection: Connection) -> None:
        host = f"applink-{connection.number}"
        await connection.socket.send_json(
            {
                "type": "hello", "num_connections": len(self.live),
                "connection_info": {"app_id": self.slack.app.id},
                "debug_info": {"host": host, "build_number": 1, "approximate_connection_time": 18060},
            }
        )  # fmt: skip
        await connection.socket.ping(f"Ping from {host}".encode())
        self.slack.changed()

    async def _say_goodbye(self, connection: Connection, reason: str) -> None:
        host = f"applink-{connection.number}"
        message = {"type": "disconnect", "reason": reason, "debug_info": {"host": host}}
        await connection.socket.send_json(message)

    def _receive(self, text: str) -> None:
        try:
            frame = json.loads(text)
            envelope_id, payload = frame["envelope_id"], frame.get("payload")
        except (ValueError, KeyError, TypeError, AttributeError):
            self.slack.rejected.append(f"socket: not an acknowledgement: {text[:200]}")
            return
        self.slack.deliveries.acknowledge(envelope_id, payload)
