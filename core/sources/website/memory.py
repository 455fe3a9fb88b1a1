"""The memory of a website's reader: how far its crawl is, and of each page what makes the next look cheap.

It holds addresses and marks of versions, no text. It lies in the source's folder, and may vanish: then the website is
looked at as if for the first time, and what did not change is not read again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Literal

from core.conversation import value
from core.sources.source import Memory
from core.storage.database import placeholders

_TABLES = """
CREATE TABLE IF NOT EXISTS pages (  -- that answered with a page, at the last look
    url TEXT PRIMARY KEY,
    etag TEXT NOT NULL,
    modified TEXT NOT NULL,   -- Last-Modified
    lastmod TEXT NOT NULL,    -- of the sitemap
    hash TEXT NOT NULL,       -- SHA-256 of its bytes
    suffix TEXT NOT NULL,     -- says how it is parsed; empty: no document
    canonical TEXT NOT NULL,  -- the page that it is a copy of; empty: it is none
    is_hidden INTEGER NOT NULL,  -- 1: it asks not to be indexed
    links TEXT NOT NULL,      -- JSON list of URLs
    tries INTEGER NOT NULL    -- how often it could be looked at and then not be read
);
CREATE TABLE IF NOT EXISTS sitemaps (
    url TEXT PRIMARY KEY, etag TEXT NOT NULL, modified TEXT NOT NULL, entries TEXT NOT NULL  -- JSON
);
CREATE TABLE IF NOT EXISTS frontier (  -- of this crawl, in its order
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    depth INTEGER NOT NULL,
    lastmod TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '',  -- item, copy or other; empty: it was not looked at yet
    target TEXT NOT NULL DEFAULT ''    -- of a copy
);
CREATE INDEX IF NOT EXISTS frontier_by_outcome ON frontier (outcome, number);
CREATE TABLE IF NOT EXISTS crawl (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

Outcome = Literal["item", "copy", "other"]


@value
class PageRecord:
    """A page, as it was at the last look."""

    url: str
    etag: str = ""
    modified: str = ""
    lastmod: str = ""
    hash: str = ""
    suffix: str = ""
    canonical: str = ""
    is_hidden: bool = False
    links: tuple[str, ...] = ()
    tries: int = 0


@value
class SitemapRecord:
    """A sitemap, as it was at the last look."""

    url: str
    etag: str
    modified: str
    entries: tuple[tuple[str, str, bool], ...]  #: URL, lastmod, whether it is a sitemap itself


@value
class FrontierUrl:
    """An address that is to be looked at."""

    url: str
    depth: int  #: links from the first page
    lastmod: str


_PAGE = tuple(each.name for each in fields(PageRecord))


class SiteMemory(Memory):
    """The course of a crawl, its pages and its sitemaps."""

    __slots__ = ()
    FILE, TABLES = "website.db", _TABLES

    def begin(self) -> str:
        """Forget the last crawl's course; the name of a new one."""
        name = secrets.token_hex(8)
        with self.database.transaction():
            self.write("DELETE FROM frontier")
            self.write("DELETE FROM crawl")
            self.write("INSERT INTO crawl VALUES ('name', ?)", name)
        return name

    def name(self) -> str:
        """The name of the crawl that is under way; empty if none is."""
        rows = self.rows("SELECT value FROM crawl WHERE name = 'name'")
        return str(rows[0][0]) if rows else ""

    def notes(self) -> frozenset[str]:
        """Which limits the crawl met."""
        rows = self.rows("SELECT name FROM crawl WHERE name <> 'name'")
        return frozenset(str(name) for (name,) in rows)

    def note(self, name: str) -> None:
        self.write("INSERT INTO crawl VALUES (?, '1') ON CONFLICT DO NOTHING", name)

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
            self.write("DELETE FROM pages WHERE url NOT IN (SELECT url FROM frontier)")
            self.write("DELETE FROM frontier")
            self.write("DELETE FROM crawl")

    # Pages

    def pages(self, urls: Sequence[str]) -> Mapping[str, PageRecord]:
        """The remembered ones of these pages."""
        rows = self.among(f"SELECT {', '.join(_PAGE)} FROM pages WHERE url {{}}", urls)
        named = (dict(zip(_PAGE, row, strict=True)) for row in rows)
        kept = (
            row | {"links": tuple(json.loads(row["links"])), "is_hidden": bool(row["is_hidden"])}
            for row in named
        )
        return {row["url"]: PageRecord(**row) for row in kept}

    def keep(self, pages: Iterable[PageRecord]) -> None:
        rows = (asdict(replace(page, links=())) | {"links": json.dumps(page.links)} for page in pages)
        query = f"INSERT OR REPLACE INTO pages ({', '.join(_PAGE)}) VALUES ({placeholders(_PAGE)})"
        self.write_all(query, (tuple(row.values()) for row in rows))

    def count_try(self, url: str) -> None:
        """Have a page read again at the next sync, whatever it is then."""
        self.write("UPDATE pages SET tries = tries + 1 WHERE url = ?", url)

    def sitemap(self, url: str) -> SitemapRecord | None:
        rows = self.rows("SELECT url, etag, modified, entries FROM sitemaps WHERE url = ?", url)
        if not rows:
            return None
        found, etag, modified, entries = rows[0]
        listed = tuple((loc, lastmod, bool(nested)) for loc, lastmod, nested in json.loads(entries))
        return SitemapRecord(url=found, etag=etag, modified=modified, entries=listed)

    def keep_sitemap(self, sitemap: SitemapRecord) -> None:
        row = (sitemap.url, sitemap.etag, sitemap.modified, json.dumps(sitemap.entries))
        self.write("INSERT OR REPLACE INTO sitemaps VALUES (?, ?, ?, ?)", *row)
