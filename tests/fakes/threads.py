"""A server of ours on a loop of its own, for tests that wait for a process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

Server = TypeVar("Server", bound=AbstractAsyncContextManager)


@contextlib.contextmanager
def in_thread(server: Server) -> Iterator[Server]:
    """The server while it runs; those that can be acted on from outside have ``run``."""
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10), "the server did not start"
        yield server
    finally:
        done.set()
        thread.join()
