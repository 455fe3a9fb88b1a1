"""What a public address served, and the readable part of it.

The body of a response, read no further than its limit, compressed or not.
"""

from __future__ import annotations

import logging
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.errors import DocumentError, SearchTrouble
from core.web.hosts import host_of
from core.web.results import Page

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


HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
READABLE_TYPES = HTML_TYPES | {"text/plain", "text/markdown", "text/x-markdown"}
INGESTED_TYPES = READABLE_TYPES | {"application/pdf"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a public address served."""

    url: str  #: after redirects
    content_type: str  #: lower case, without parameters
    data: bytes = field(repr=False)
    charset: str | None = None  #: as the server named it


def page_of(resource: Resource) -> Page:
    """The readable part of a fetched page; SearchTrouble when there is none."""
    host = host_of(resource.url)
    read = html_page if resource.content_type in HTML_TYPES else text_page
    try:
        title, text = read(resource)
    except DocumentError as trouble:
        logger.info("%s: %s", host, trouble)
        text = ""
    if not text.strip():
        raise SearchTrouble(f"{host} sent a page without readable text.")
    return Page(url=resource.url, title=title or host, text=text)


def text_page(resource: Resource) -> tuple[str, str]:
    """No title, and the text as sent."""
    from core.library.formats.encoding import decode

    return "", decode(resource.data, declared=resource.charset)


def html_page(resource: Resource) -> tuple[str, str]:
    """Title and readable text. What the server calls the charset outranks the page's word (HTML, 13.2.3.2)."""
    from core.library.formats.read import parse_html

    data = text_page(resource)[1] if resource.charset else resource.data
    document = parse_html(data, url=resource.url)
    return document.title, document.text
