"""Whether a file that is larger than it was announced is left before it is in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession, web

from bots.chat.uploads import FILE_LIMIT, PART, content_of
from core.errors import DocumentError


@dataclass
class EndlessFiles:
    """A server of files: of a size, or of none that it tells and without an end."""

    size: int = 0
    sent: int = 0
    url: str = ""
    _runner: web.AppRunner = field(init=False)

    async def __aenter__(self):
        app = web.Application()
        app.router.add_get("/file", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/file"
        return self

    async def __aexit__(self, *_exc):
        await self._runner.cleanup()

    async def _serve(self, request):
        response = web.StreamResponse()
        if self.size:
            response.content_length = self.size
        await response.prepare(request)
        while self.sent < (self.size or 10 * FILE_LIMIT):
            await response.write(b"x" * min(PART, (self.size or 10 * FILE_LIMIT) - self.sent))
            self.sent += PART
        return response


async def fetched(url):
    async with ClientSession() as session, session.get(url) as reply:
        return await content_of(reply, "book.pdf")


async def test_a_file_of_an_honest_size_comes_whole():
    async with EndlessFiles(size=100_000) as files:
        assert await fetched(files.url) == b"x" * 100_000


@pytest.mark.parametrize("size", [FILE_LIMIT + 1, 0], ids=["told", "not told"])
async def test_a_file_that_is_too_large_is_left_before_it_is_read_to_its_end(size):
    async with EndlessFiles(size=size) as files:
        with pytest.raises(DocumentError, match=r"book.pdf is larger than 32 MB\."):
            await fetched(files.url)

        assert files.sent < 2 * FILE_LIMIT
