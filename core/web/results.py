"""Search results and fetched pages, the ports they come through, and results made safe to show and store."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Protocol

from core.errors import FetchRefused
from core.web.hosts import host_of, is_allowed, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of a web search."""

    title: str
    url: str
    snippet: str
    published: str | None = None  #: as the search engine gave it


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A fetched page, reduced to readable Markdown."""

    url: str  #: after redirects
    title: str
    text: str


class SearchEngine(Protocol):
    """Asks a search engine. Raises SearchTrouble with a sentence when it fails."""

    @property
    def name(self) -> str:
        """As people know it: "DuckDuckGo"."""
        ...

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]: ...


class PageFetcher(Protocol):
    """Fetches a public page. Raises FetchRefused or SearchTrouble."""

    async def fetch(self, url: str) -> Page: ...


TITLE_LIMIT = 200  # characters; engines cut titles near 70
SNIPPET_LIMIT = 1_000  # characters; Tavily sends up to 500 in a chunk, the others fewer
DATE_LIMIT = 40  # characters; an ISO 8601 date with time and zone has 32

# A terminal's escape sequence. Removing the control character alone would leave its letters.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_JOINERS = "\u200c\u200d"  # they carry meaning in Persian, in Indic scripts and in emoji


def clean_hits(hits: Iterable[Hit], *, limit: int) -> tuple[Hit, ...]:
    """At most ``limit`` hits with plain text, each page once.

    A hit is dropped when its URL is not an absolute http(s) one or contains a user name, which can look
    like another host. URLs that differ only in their fragment are one page; the first hit is kept.
    """
    kept: dict[str, Hit] = {}
    for hit in hits:
        url = page_url(hit.url)
        if url and url not in kept:
            kept[url] = Hit(
                title=plain(hit.title, TITLE_LIMIT) or host_of(url),
                url=url,
                snippet=plain(hit.snippet, SNIPPET_LIMIT),
                published=plain(hit.published or "", DATE_LIMIT) or None,
            )
        if len(kept) >= limit:
            break
    return tuple(kept.values())


def filter_hits(
    hits: Iterable[Hit], *, trusted: Sequence[str] = (), blocked: Sequence[str] = ()
) -> tuple[Hit, ...]:
    """The hits that may be read, in their order."""
    return tuple(hit for hit in hits if is_allowed(hit.url, trusted=trusted, blocked=blocked))


def page_url(url: str) -> str:
    """The URL without its fragment; empty when it should not be followed."""
    try:
        parsed = parse(url)
    except FetchRefused:
        return ""
    if parsed.scheme not in ("http", "https") or parsed.userinfo or not host_of(url):
        return ""
    return str(parsed.copy_with(fragment=None))


def plain(text: str, limit: int) -> str:
    """Text without markup, entities, control characters and repeated spaces, cut between words."""
    text = unescape(text[: limit * 8])  # bounds the work on a hostile text
    text = "".join(
        sign
        for sign in _ESCAPE.sub("", text)
        if sign.isspace() or sign in _JOINERS or unicodedata.category(sign)[0] != "C"
    )
    while (shorter := _TAG.sub("", text)) != text:  # a round removes the innermost of nested tags
        text = shorter
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    return text[: limit + 1].rpartition(" ")[0] or text[:limit]
