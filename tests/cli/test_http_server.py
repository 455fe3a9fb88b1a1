"""Connections to a web server of ours: how many are held, and how long each may wait."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from fakes.patience import PATIENCE

from bots.http_server import Bounds, serve
from bots.process import NO_FILE_LEFT, once_a_minute
from core.errors import SettingsError

HALF = b"GET /here HTTP/1.1\r\nHost: x\r\n"
WHOLE = HALF + b"\r\n"
LOCAL = "127.0.0.1"
SOON = 0.05  # seconds


class Peer:
    """The other side of one connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def status(self):
        """Of the next reply, read whole; 0 where the connection was closed instead."""
        async with asyncio.timeout(PATIENCE):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await self.reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0
        return int(head.split()[1])

    async def is_closed(self):
        return await self.status() == 0


@asynccontextmanager
async def served(**bounds):
    """A server of one page, whose replies wait until ``released`` is set; ``connect`` opens one more connection."""
    released, begun, peers = asyncio.Event(), asyncio.Semaphore(0), []
    released.set()

    async def here(request):
        await request.read()
        begun.release()
        await released.wait()
        return web.Response(text="here")

    async def broken(_request):
        raise ValueError("words that were asked")

    application = web.Application()
    application.router.add_route("*", "/here", here)
    application.router.add_get("/broken", broken)

    async def connect(data=b"", address=LOCAL):
        peer = Peer(*await asyncio.open_connection(LOCAL, port, local_addr=(address, 0)))
        peers.append(peer)
        await peer.send(data)
        return peer

    many = bounds.pop("stands_for_many", lambda _: False)
    async with serve(application, LOCAL, 0, name="It", stands_for_many=many, bounds=Bounds(**bounds)) as port:
        connect.released, connect.begun = released, begun
        try:
            yield connect
        finally:
            released.set()
            for peer in peers:
                peer.writer.close()


async def test_a_request_that_stays_unfinished_is_closed():
    async with served(connections=9, request=SOON) as connect:
        peers = [await connect(), await connect(b"G"), await connect(HALF),
                 await connect(b"POST /here HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbody")]  # fmt: skip

        closed = [await each.is_closed() for each in peers]

    assert closed == [True] * 4


async def test_a_connection_that_is_silent_after_a_reply_is_closed():
    async with served(connections=9, request=SOON, idle=SOON) as connect:
        peer = await connect(WHOLE)

        statuses = [await peer.status(), await peer.status()]

    assert statuses == [200, 0]


async def test_between_two_requests_there_is_more_time_than_within_one():
    """So that a proxy, which keeps connections for a minute, never sends into one that is being closed."""
    async with served(connections=9, request=SOON, idle=PATIENCE) as connect:
        kept, waiting = await connect(WHOLE), await connect(HALF)
        assert await kept.status() == 200
        assert await waiting.is_closed()  # by now the time of a request is over
        again = await connect(HALF)
        assert await again.is_closed()

        await kept.send(WHOLE)
        assert await kept.status() == 200
        await kept.send(HALF)
        assert await kept.is_closed()


async def test_a_reply_may_take_longer_than_a_request():
    async with served(connections=9, request=SOON) as connect:
        connect.released.clear()
        working, waiting = await connect(WHOLE), await connect(HALF)
        await connect.begun.acquire()
        assert await waiting.is_closed()
        connect.released.set()

        assert await working.status() == 200


async def test_a_reply_that_never_ends_is_closed_too():
    async with served(connections=9, request=SOON, reply=SOON) as connect:
        connect.released.clear()
        assert await (await connect(WHOLE)).is_closed()


async def test_of_too_many_connections_the_one_that_waits_longest_makes_room():
    async with served(connections=3) as connect:
        old, *_ = [await connect(HALF) for _ in range(3)]
        new = await connect(WHOLE)

        assert [await new.status(), await old.is_closed()] == [200, True]


async def test_what_is_being_answered_makes_no_room():
    async with served(connections=2) as connect:
        connect.released.clear()
        working = [await connect(WHOLE) for _ in range(2)]
        for _ in working:
            await connect.begun.acquire()
        turned_away = await (await connect(WHOLE)).is_closed()
        connect.released.set()

        assert turned_away
        assert [await each.status() for each in working] == [200, 200]


async def test_one_address_takes_no_room_from_another():
    async with served(connections=9, of_address=2) as connect:
        other = await connect(HALF, "127.0.0.2")
        crowd = [await connect(HALF) for _ in range(3)]
        await other.send(b"\r\n")

        assert await other.status() == 200
        assert await crowd[0].is_closed()


async def test_the_address_of_a_proxy_stands_for_many():
    async with served(connections=9, of_address=2, stands_for_many=lambda _: True) as connect:
        crowd = [await connect(HALF) for _ in range(3)]
        for each in crowd:
            await each.send(b"\r\n")

        assert [await each.status() for each in crowd] == [200] * 3


async def test_what_fails_in_a_request_is_logged_without_its_address(caplog):
    async with served(connections=9) as connect:
        peer = await connect(b"GET /broken?text=harbour HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await peer.status() == 500
        garbage = await connect(b"\x00\xff harbour\r\n\r\n")
        assert await garbage.status() == 400

    assert [record.message for record in caplog.records] == ["a request failed"]
    assert "harbour" not in caplog.text


@pytest.mark.parametrize(("host", "told"), [(LOCAL, "{host}:{port}"), (None, "port {port}")])
async def test_a_port_that_is_taken_is_told_in_a_sentence(host, told):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(SettingsError) as refused:
            async with serve(web.Application(), host, port, name="It"):
                pass

    place = told.format(host=host, port=port)
    assert re.fullmatch(
        f"It cannot be served on {place}: address already in use\\. Choose another\\.", str(refused.value)
    ), str(refused.value)


def test_that_no_file_or_no_server_is_left_is_logged_once_a_minute():
    admits = once_a_minute()
    away = [
        admits(logging.makeLogRecord({"msg": "error connecting in %r: %s", "args": ("stores", number)}))
        for number in range(100)
    ]
    told = [
        admits(logging.makeLogRecord({"msg": f"{NO_FILE_LEFT}\nsocket: {number}"})) for number in range(100)
    ]
    others = [admits(logging.makeLogRecord({"msg": "another thing"})) for _ in range(100)]

    assert (told.count(True), away.count(True), others.count(True)) == (1, 1, 100)


async def test_what_asyncio_says_without_files_is_what_the_log_looks_for():
    """By its own listener, which a socket without a file to give makes fail."""
    loop = asyncio.get_running_loop()
    said = loop.create_future()
    loop.set_exception_handler(lambda _loop, context: said.set_result(context["message"]))

    class Full(socket.socket):
        def accept(self):
            raise OSError(24, "Too many open files")

    full = Full()
    full.bind((LOCAL, 0))
    server = await loop.create_server(asyncio.Protocol, sock=full, backlog=1)
    _, writer = await asyncio.open_connection(*full.getsockname())
    message = await asyncio.wait_for(said, PATIENCE)
    writer.close()
    server.close()

    assert message.startswith(NO_FILE_LEFT)
