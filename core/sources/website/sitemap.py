"""Sitemaps: sitemap.xml, an index of them, their packed form, and lists of addresses.

https://www.sitemaps.org/protocol.html. A damaged one is refused whole: what its end would have listed must not be
taken for gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree as ET

from core.conversation import value
from core.errors import FootnoteError

SIZE_LIMIT = 52_428_800  # bytes unpacked, "Sitemap file limits"
PACKED = b"\x1f\x8b"  # begins a gzip file
_WINDOW = zlib.MAX_WBITS | 16  # with gzip's header


class SitemapDamaged(FootnoteError):
    """The sitemap cannot be read to its end; the sentence completes "ADDRESS …"."""


@value
class SitemapEntry:
    """An address that a sitemap has."""

    url: str
    lastmod: str = ""  #: when it changed last, as the sitemap says; empty: it does not
    is_sitemap: bool = False


def read_sitemap(data: bytes) -> list[SitemapEntry]:
    """What a sitemap has. SitemapDamaged."""
    text = _unpacked(data) if data.startswith(PACKED) else data
    if len(text) > SIZE_LIMIT:
        raise SitemapDamaged("is larger than a sitemap may be")
    if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return list(_from_xml(text))
    return [SitemapEntry(url=line) for line in map(str.strip, _lines(text)) if line.startswith("http")]


def _lines(text: bytes) -> list[str]:
    try:
        return text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SitemapDamaged("is not a sitemap") from None


def _unpacked(data: bytes) -> bytes:
    inflate = zlib.decompressobj(_WINDOW)
    try:
        text = inflate.decompress(data, SIZE_LIMIT + 1)
    except zlib.error:
        raise SitemapDamaged("cannot be unpacked") from None
    if not inflate.eof and len(text) <= SIZE_LIMIT:
        raise SitemapDamaged("breaks off in its middle")
    return text


def _from_xml(text: bytes) -> Iterator[SitemapEntry]:
    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to, and reads nothing from outside
    except ET.ParseError:
        raise SitemapDamaged("is not XML to its end") from None
    kind = _name(root)
    if kind not in ("urlset", "sitemapindex"):
        raise SitemapDamaged("is not a sitemap")
    for entry in root:
        values = {_name(each): (each.text or "").strip() for each in entry}
        if values.get("loc"):
            yield SitemapEntry(
                url=values["loc"], lastmod=values.get("lastmod", ""), is_sitemap=kind == "sitemapindex"
            )


def _name(element: ET.Element) -> str:
    """Without its namespace."""
    return element.tag.rpartition("}")[2]


def moment_of(lastmod: str) -> float | None:
    """A W3C date in seconds since the epoch; None for anything else."""
    try:
        moment = datetime.fromisoformat(lastmod)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def http_moment(text: str) -> float | None:
    """A date of HTTP in seconds since the epoch; None for anything else."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, IndexError, OverflowError):
        return None
