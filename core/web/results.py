"""What a web search gives, and the port that gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
