"""One WebSocket of the Gateway: what goes down it is compressed as the client asked."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from typing import Any

from aiohttp import web

Json = dict[str, Any]
Compress = Callable[[str], bytes | str]


class Connection:
    """A socket and the queue before it, so that events keep their order and nobody waits for a client."""

    def __init__(
        self, number: int, socket: web.WebSocketResponse, request: web.Request, compress: Compress
    ) -> None:
        self.number = number
        self.socket = socket
        self.session: Any = None  #: the Session that it carries
        self.is_ending = False
        self._request = request
        self._compress = compress
        self._waiting: asyncio.Queue[Json] = asyncio.Queue()

    def send(self, payload: Json) -> None:
        self._waiting.put_nowait({"t": None, "s": None} | payload)

    async def write(self) -> None:
        """Sends what is in the queue, for as long as the socket is open."""
        while not self.is_ending:
            payload = self._compress(json.dumps(await self._waiting.get()))
            try:
                if isinstance(payload, str):
                    await self.socket.send_str(payload)
                else:
                    await self.socket.send_bytes(payload)
            except ConnectionError:
                return

    def abort(self) -> None:
        self.is_ending = True
        if self._request.transport is not None:
            self._request.transport.abort()


def compressor_for(kind: str) -> Compress | None:
    """One stream for the whole connection, flushed after each message; None for a kind that there is not."""
    match kind:
        case "":
            return str
        case "zlib-stream":
            stream = zlib.compressobj()
            return lambda text: stream.compress(text.encode()) + stream.flush(zlib.Z_SYNC_FLUSH)
        case "zstd-stream":
            import zstandard  # a client asks for it only where it is installed

            packer = zstandard.ZstdCompressor().compressobj()
            flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
            return lambda text: packer.compress(text.encode()) + packer.flush(flush)
    return None
