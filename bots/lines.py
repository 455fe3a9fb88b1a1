"""Lines from a pipe or a file, without blocking the loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

CHUNK = 65_536  # bytes read at a time


async def lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """Lines without their ends, each as soon as it is there.

    A thread reads, because a file cannot be waited for in the loop. It is a daemon over the bare
    descriptor: one that holds ``sys.stdin`` while it waits would keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        # The loop may be gone before the last line is.
        with suppress(RuntimeError):
            for line in _split(descriptor):
                loop.call_soon_threadsafe(inbox.put_nowait, line)
            loop.call_soon_threadsafe(inbox.put_nowait, None)

    threading.Thread(target=read, name="lines", daemon=True).start()
    while (line := await inbox.get()) is not None:
        yield line


def _split(descriptor: int) -> Iterator[bytes]:
    begun = b""
    while chunk := _read(descriptor):
        *whole, begun = (begun + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in whole)
    if begun:
        yield begun


def _read(descriptor: int) -> bytes:
    """What is there; nothing at the end, or when the other side broke off."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""
