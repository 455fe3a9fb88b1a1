"""How much of an attached file is read into memory, whatever size it was announced with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import DocumentError

if TYPE_CHECKING:
    from aiohttp import ClientResponse

FILE_LIMIT = 32_000_000  # bytes of one attached file, as for a page
PART = 65_536  # bytes read at a time


def check_size(name: str, size: int) -> None:
    """DocumentError for more than is read."""
    if size > FILE_LIMIT:
        raise DocumentError(f"{name} is larger than {FILE_LIMIT // 1_000_000} MB.")


async def content_of(reply: ClientResponse, name: str) -> bytes:
    """The body of a reply; DocumentError as soon as it is too large."""
    check_size(name, reply.content_length or 0)
    body = bytearray()
    async for part in reply.content.iter_chunked(PART):
        body += part
        check_size(name, len(body))
    return bytes(body)
