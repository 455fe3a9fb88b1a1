"""The memory of a website's reader: how far its crawl is, and of each page what makes the next look cheap.

It holds addresses and marks of versions, no text. It lies in the source's folder, and may vanish: then the website is
looked at as if for the first time, and what did not change is not read again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal

from core.conversation import value
from core.sources.source import Memory

_TABLES = """
CREATE TABLE IF NOT EXISTS frontier (  -- of this crawl, in its order
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    depth INTEGER NOT NULL,
    lastmod TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '',  -- item, copy or other; empty: it was not looked at yet
    target TEXT NOT NULL DEFAULT ''    -- of a copy
);
CREATE INDEX IF NOT EXISTS frontier_by_outcome ON frontier (outcome, number);
"""

Outcome = Literal["item", "copy", "other"]


@value
class PageRecord:
    """A page, as it was at the last look."""

    url: str
    etag: str = ""
    modified: str = ""  #: Last-Modified
    lastmod: str = ""  #: of the sitemap
    hash: str = ""  #: SHA-256 of its bytes
    suffix: str = ""  #: says how it is parsed; empty: no document
    canonical: str = ""  #: the page that it is a copy of; empty: it is none
    is_hidden: bool = False  #: whether it asks not to be indexed
    links: tuple[str, ...] = ()  #: URLs
    tries: int = 0  #: how often it could be looked at and then not be read


@value
class SitemapRecord:
    """A sitemap, as it was at the last look."""

    etag: str
    modified: str
    entries: Sequence[tuple[str, str, bool]]  #: URL, lastmod, whether it is a sitemap itself


@value
class FrontierUrl:
    """An address that is to be looked at."""

    url: str
    depth: int  #: links from the first page
    lastmod: str


PAGES, SITEMAPS = "page", "sitemap"  # kinds of what is remembered, by URL
CRAWL = "crawl"  # its name, and which limits it met


class SiteMemory(Memory):
    """The course of a crawl, its pages and its sitemaps."""

    __slots__ = ()
    TABLES = Memory.TABLES + _TABLES

    def begin(self) -> None:
        """Forget the last crawl's course, and give a new one its name."""
        with self.database.transaction():
            self.write("DELETE FROM frontier")
            self.drop_all(CRAWL)
            self.keep(CRAWL, {"name": secrets.token_hex(8)})

    def name(self) -> str:
        """The name of the crawl that is under way; empty if none is."""
        return str(self.all(CRAWL).get("name", ""))

    def note(self, name: str) -> None:
        """Note that the crawl met a limit."""
        self.keep(CRAWL, {name: True})

    def count(self) -> int:
        """Addresses that the crawl knows."""
        ((count,),) = self.rows("SELECT count(*) FROM frontier")
        return int(count)

    def add(self, found: Iterable[FrontierUrl], *, limit: int) -> bool:
        """Have addresses looked at that are new to the crawl; False if they are more than it may know."""
        room = limit - self.count()
        with self.database.transaction() as writing:
            for each in found:
                if room <= 0:
                    known = writing.execute("SELECT 1 FROM frontier WHERE url = ?", (each.url,)).fetchone()
                    if known is None:
                        return False
                    continue
                room -= writing.execute(
                    "INSERT INTO frontier (url, depth, lastmod) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (each.url, each.depth, each.lastmod),
                ).rowcount
        return True

    def next(self, limit: int) -> list[FrontierUrl]:
        query = "SELECT url, depth, lastmod FROM frontier WHERE outcome = '' ORDER BY number LIMIT ?"
        rows = self.rows(query, limit)
        return [FrontierUrl(url=url, depth=depth, lastmod=lastmod) for url, depth, lastmod in rows]

    def close(self, outcomes: Sequence[tuple[str, Outcome, str]]) -> None:
        """Note what became of addresses, and the targets of copies."""
        self.write_all(
            "UPDATE frontier SET outcome = ?, target = ? WHERE url = ?",
            ((outcome, target, url) for url, outcome, target in outcomes),
        )

    def orphans(self, limit: int) -> list[str]:
        """Copies of pages that are not there, or are copies of them in turn."""
        rows = self.rows(
            "SELECT f.url FROM frontier f WHERE f.outcome = 'copy' AND NOT EXISTS (SELECT 1 FROM frontier t"
            " WHERE t.url = f.target AND (t.outcome = 'item' OR t.outcome = 'copy' AND t.target <> f.url))"
            " ORDER BY f.number LIMIT ?",
            limit,
        )
        return [str(url) for (url,) in rows]

    def has_items(self) -> bool:
        """True if the crawl found any page."""
        return bool(self.rows("SELECT 1 FROM frontier WHERE outcome IN ('item', 'copy') LIMIT 1"))

    def end(self) -> None:
        """Forget pages that are no part of the website any more."""
        with self.database.transaction():
            self.write("DELETE FROM kept WHERE kind = ? AND name NOT IN (SELECT url FROM frontier)", PAGES)
            self.write("DELETE FROM frontier")
            self.drop_all(CRAWL)

    def pages(self, urls: Sequence[str]) -> Mapping[str, PageRecord]:
        """The remembered ones of these pages."""
        kept = self.some(PAGES, urls)
        return {url: PageRecord(**row | {"links": tuple(row["links"])}) for url, row in kept.items()}

    def keep_pages(self, pages: Iterable[PageRecord]) -> None:
        self.keep(PAGES, {page.url: asdict(page) for page in pages})

    def count_try(self, url: str) -> None:
        """Have a page read again at the next sync, whatever it is then."""
        self.keep_pages(replace(page, tries=page.tries + 1) for page in self.pages([url]).values())

    def sitemap(self, url: str) -> SitemapRecord | None:
        found = self.some(SITEMAPS, [url]).get(url)
        return None if found is None else SitemapRecord(**found)
