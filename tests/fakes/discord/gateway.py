"""The Gateway: sessions that outlive their sockets, events in order, replay after a resume."""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web
from fakes.discord.sockets import Connection, compressor_for

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, RESUME, RECONNECT = 0, 1, 2, 3, 6, 7
REQUEST_MEMBERS, INVALID_SESSION, HELLO, ACK = 8, 9, 10, 11

INTENTS = {
    "guilds": 1 << 0, "guild_members": 1 << 1, "guild_messages": 1 << 9, "direct_messages": 1 << 12,
    "message_content": 1 << 15,
}  # fmt: skip
PRIVILEGED = {"guild_members": 1 << 1, "guild_presences": 1 << 8, "message_content": 1 << 15}
BUFFER = 1000  # events kept for a resume
SESSION_LIFETIME = 180.0  # seconds without a socket; Discord gives no number
HEARTBEAT_INTERVAL = 41.25  # seconds, what Discord sends


@dataclass(eq=False)
class Session:
    """What one IDENTIFY began: it goes on, without a socket too, until it is invalidated."""

    id: str
    intents: int
    sequence: int = 0
    events: deque[Json] = field(default_factory=lambda: deque(maxlen=BUFFER))  #: for a replay
    connection: Connection | None = None
    left_at: float | None = None  #: the clock's second at which it lost its socket

    def may_know(self, *intents: str) -> bool:
        return all(self.intents & INTENTS[name] for name in intents)


class Gateway:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []
        self.identifies: list[Json] = []  #: what came with each IDENTIFY
        self.resumed: list[str] = []  #: sessions, as often as they were resumed
        self.begun_at: list[float] = []  #: the clock's seconds at which a session began or was resumed
        self.presences: list[Json] = []
        self.close_codes: list[int] = []  #: with which this side closed sockets
        self.heartbeats = 0
        self.heartbeat_interval = HEARTBEAT_INTERVAL  #: seconds
        self.acknowledges_heartbeats = True
        self.breaks_before_ready = 0  #: so many sockets break once a session began, before anybody is told
        self.sent: list[tuple[str, Json]] = []  #: every event with its data, and again when it came twice
        self.opened = 0  #: sockets that there ever were

    @property
    def live(self) -> list[Session]:
        """Sessions that have a socket."""
        return [one for one in self.sessions.values() if one.connection is not None]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.discord.is_out("gateway"):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        compress = compressor_for(request.query.get("compress", ""))
        if compress is None or request.query.get("encoding", "json") != "json":
            return web.Response(status=400, text="neither zlib-stream nor zstd-stream, or not JSON")
        socket = web.WebSocketResponse(timeout=0.1)
        await socket.prepare(request)
        self.opened += 1
        connection = Connection(self.opened, socket, request, compress)
        self.connections.append(connection)
        connection.send({"op": HELLO, "d": {"heartbeat_interval": int(self.heartbeat_interval * 1000)}})
        writing = self.discord.spawn(connection.write())
        try:
            async for frame in socket:
                if frame.type == WSMsgType.TEXT:
                    await self._receive(connection, frame.data)
        finally:
            writing.cancel()
            self._left(connection)
        return socket

    def dispatch(
        self, name: str, make: Callable[[Session], Json | None], *intents: str, only: Session | None = None
    ) -> None:
        """One event to every session that may know of it; ``make`` gives its data, or None."""
        self._bury()
        times = 2 if self.discord.faults.random.random() < self.discord.faults.duplicate_chance else 1
        made: list[tuple[str, Json]] = []
        for session in [only] if only else list(self.sessions.values()):
            data = make(session) if session.may_know(*intents) else None
            for _ in range(times if data is not None else 0):
                self._send(session, name, data or {})
                made.append((name, data or {}))
        self.sent += made[:times]
        self.discord.changed()

    def repeat(self, name: str, id: int) -> int:
        """Brings the newest event of this name about this id once more; how many sessions got it."""
        found = [data for sent, data in self.sent if sent == name and data.get("id") == str(id)]
        for session in list(self.sessions.values()) if found else []:
            self._send(session, name, found[-1])
        self.sent += [(name, found[-1])] if found else []
        return len(self.sessions) if found else 0

    def drop(self) -> None:
        """Breaks every socket without a word; the sessions can be resumed."""
        for one in list(self.connections):
            one.abort()

    def reconnect(self) -> None:
        """Asks every client to come back, as Discord does at a deploy."""
        for one in list(self.connections):
            one.send({"op": RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """Tells every client that its session is not valid, or that it should only resume it."""
        for session in self.live:
            if not resumable:
                self.sessions.pop(session.id)
            assert session.connection is not None
            session.connection.send({"op": INVALID_SESSION, "d": resumable})

    def forget(self) -> None:
        """Loses every session without a word: the next resume is refused, and what happened is not replayed."""
        self.sessions.clear()

    async def close(self, code: int = 1001) -> None:
        """Closes every socket with this code; 4000 to 4009 let a client resume, 4004 and 4014 end it."""
        for one in list(self.connections):
            self.close_codes.append(code)
            await one.socket.close(code=code)

    def _bury(self) -> None:
        now = self.discord.state.clock.now()
        for one in list(self.sessions.values()):
            if one.left_at is not None and now - one.left_at > SESSION_LIFETIME:
                self.sessions.pop(one.id)

    def _left(self, connection: Connection) -> None:
        self.connections.remove(connection)
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection, session.left_at = None, self.discord.state.clock.now()
            if connection.socket.close_code in (1000, 1001):
                self.sessions.pop(session.id, None)
        self.discord.changed()

    def _send(self, session: Session, name: str, data: Json) -> None:
        session.sequence += 1
        event = {"op": DISPATCH, "t": name, "s": session.sequence, "d": json.loads(json.dumps(data))}
        session.events.append(event)
        if session.connection is not None:
            session.connection.send(event)

    async def _receive(self, connection: Connection, text: str) -> None:
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            return await self._end(connection, 4002)
        match op:
            case 1:
                self.heartbeats += 1
                if self.acknowledges_heartbeats:
                    connection.send({"op": ACK, "d": None})
            case 2:
                await self._identify(connection, data)
            case 6:
                await self._resume(connection, data)
            case 3:
                self.presences.append(data)
            case 8:
                self._members(connection, data)
            case _:
                await self._end(connection, 4001)
        return None

    async def _identify(self, connection: Connection, data: Json) -> None:
        self.identifies.append(data)
        asked = int(data["intents"])
        forbidden = [
            name for name in PRIVILEGED if asked & PRIVILEGED[name] and name not in self.discord.grants
        ]
        if data["token"] != self.discord.token:
            return await self._end(connection, 4004)
        if connection.session is not None:
            return await self._end(connection, 4005)
        if forbidden:
            return await self._end(connection, 4014)
        session = Session(uuid.uuid4().hex, asked, connection=connection)
        self.sessions[session.id] = connection.session = session
        self.begun_at.append(self.discord.state.clock.now())
        self.discord.events.ready(session)
        if self.breaks_before_ready:
            self.breaks_before_ready -= 1
            connection.abort()
        return None

    async def _resume(self, connection: Connection, data: Json) -> None:
        """Replays what was missed; refuses when the session, or a part of what was missed, is gone."""
        if data["token"] != self.discord.token:
            return await self._end(connection, 4004)
        self._bury()
        session = self.sessions.get(data["session_id"])
        oldest = session.events[0]["s"] if session and session.events else 1
        if session is None or data["seq"] is None or data["seq"] < oldest - 1:
            connection.send({"op": INVALID_SESSION, "d": False})
            return None
        session.connection, connection.session = connection, session
        session.left_at = None
        self.resumed.append(session.id)
        self.begun_at.append(self.discord.state.clock.now())
        for event in list(session.events):
            if event["s"] > data["seq"]:
                connection.send(event)
        self._send(session, "RESUMED", {"_trace": []})
        self.discord.changed()
        return None

    def _members(self, connection: Connection, data: Json) -> None:
        if connection.session is not None:
            self.discord.events.members_chunk(connection.session, data)

    async def _end(self, connection: Connection, code: int) -> None:
        self.close_codes.append(code)
        self.discord.rejected.append(f"gateway: closed with {code}")
        connection.is_ending = True
        await connection.socket.close(code=code)
        self.discord.changed()
