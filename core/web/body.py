"""The body of a response, read no further than its limit, compressed or not."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from core.errors import SearchTrouble

if TYPE_CHECKING:
    import httpx

ACCEPT_ENCODING = "gzip"  # the one compression that is bounded below
PLAIN = ("", "identity")
GZIP = ("gzip", "x-gzip")
GZIP_WINDOW = zlib.MAX_WBITS | 16  # 16: with the gzip header and trailer


async def read_body(response: httpx.Response, *, sender: str, limit: int) -> bytes:
    """The body after decompression, at most ``limit`` bytes of it before and after.

    httpx would decompress each chunk whole, so 64 kB on the wire could become 64 MB in
    memory before anybody counts. SearchTrouble names the sender.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in PLAIN + GZIP:
        raise SearchTrouble(f"{sender} sent a page in a compression that was not asked for.")
    too_large = SearchTrouble(f"{sender} sent more than {limit / 1_000_000:g} MB.")
    if int(response.headers.get("content-length", 0)) > limit:
        raise too_large

    inflate = zlib.decompressobj(GZIP_WINDOW) if encoding in GZIP else None
    received, body = 0, bytearray()
    try:
        async for chunk in response.aiter_raw():
            received += len(chunk)
            body += inflate.decompress(chunk, limit + 1 - len(body)) if inflate else chunk
            if max(received, len(body)) > limit:
                raise too_large
    except zlib.error:
        raise SearchTrouble(f"{sender} sent a page that cannot be decompressed.") from None
    if inflate and received and not inflate.eof:
        raise SearchTrouble(f"{sender} broke off in the middle of a page.")
    return bytes(body)
