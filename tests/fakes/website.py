"""A website on loopback, as servers of documentation are: pages with marks of their versions, redirects, a sitemap, and
parts that fail. And an author who writes one from a set of documents, and goes on writing.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import ssl
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from pathlib import Path

from aiohttp import web
from fakes.web_servers import LoopbackServer
from markdown_it import MarkdownIt

EPOCH = 1_600_000_000  # seconds, when the first page was written


@dataclass
class WebPage:
    """What lies at a path."""

    body: bytes
    at: int = EPOCH  #: when it changed last
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'

    @property
    def modified(self) -> str:
        return format_datetime(datetime.fromtimestamp(self.at, UTC), usegmt=True)


class FakeWebsite(LoopbackServer):
    """Serves what its author wrote, and counts what it sends."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self.pages: dict[str, WebPage] = {}
        self.redirects: dict[str, str] = {}
        self.failing: dict[str, int] = {}  #: statuses, by path
        self.silent: set[str] = set()  #: paths at which the connection is cut
        self.slow: set[str] = set()
        self.throttled: Counter[str] = (
            Counter()
        )  #: how often a path is to be asked for again, before it answers
        self.retry_after: str | None = "7"
        self.robots: str | None = None
        self.sends_etags = self.sends_dates = True
        self.sent = 0  #: bytes, with the headers
        self.asked: list[str] = []  #: paths
        self.statuses: Counter[int] = Counter()

    def forget_counts(self) -> None:
        self.sent, self.asked, self.statuses = 0, [], Counter()

    def put(self, path: str, text: str | bytes, **more: object) -> None:
        self.pages[path] = WebPage(text.encode() if isinstance(text, str) else text, **more)  # type: ignore[arg-type]

    def put_sitemap(self, path: str, urls: Sequence[tuple[str, int | None]], *, kind: str = "urlset") -> None:
        """``urls``: with the moment of the last change, where the sitemap tells it."""
        name = "sitemap" if kind == "sitemapindex" else "url"
        listed = "".join(
            f"<{name}><loc>{url}</loc>"
            + (f"<lastmod>{datetime.fromtimestamp(at, UTC).isoformat()}</lastmod>" if at is not None else "")
            + f"</{name}>"
            for url, at in urls
        )
        text = f'<?xml version="1.0"?><{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</{kind}>'
        body = gzip.compress(text.encode(), mtime=0) if path.endswith(".gz") else text.encode()
        self.put(path, body, kind="application/gzip" if path.endswith(".gz") else "application/xml")

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path_qs
        self.asked.append(path)
        if path in self.silent:
            return await self._drop(request)
        if path in self.slow:
            await asyncio.sleep(0.02)
        response = self._response(path, request)
        head = sum(len(name) + len(text) + 4 for name, text in response.headers.items()) + 60
        self.sent += head + (len(response.body) if isinstance(response.body, bytes) else 0)
        self.statuses[response.status] += 1
        return response

    def _response(self, path: str, request: web.Request) -> web.Response:
        if self.throttled[path] > 0:
            self.throttled[path] -= 1
            return web.Response(
                status=429, headers={"Retry-After": self.retry_after} if self.retry_after else {}
            )
        if path in self.failing:
            return web.Response(status=self.failing[path], text="out of order")
        if path == "/robots.txt" and self.robots is not None:
            return web.Response(text=self.robots)
        if path in self.redirects:
            return web.Response(status=301, headers={"Location": self.redirects[path]})
        return self._page(path, request)

    def _page(self, path: str, request: web.Request) -> web.Response:
        page = self.pages.get(path)
        if page is None:
            return web.Response(status=404, text="There is nothing here.")
        marks = ({"ETag": page.etag} if self.sends_etags else {}) | (
            {"Last-Modified": page.modified} if self.sends_dates else {}
        )
        if _is_same(page, request, marks):
            return web.Response(status=304, headers=marks)
        headers = {"Content-Type": page.kind, **marks, **page.headers}
        return web.Response(body=page.body, headers=headers)


def _is_same(page: WebPage, request: web.Request, marks: Mapping[str, str]) -> bool:
    """RFC 9110, 13.2.2: a date counts only where no mark is given."""
    if "If-None-Match" in request.headers:
        return "ETag" in marks and request.headers["If-None-Match"] == page.etag
    return "Last-Modified" in marks and request.headers.get("If-Modified-Since") == page.modified


def html(title: str, main: str, *, head: str = "", frame: str = "", links: Sequence[str] = ()) -> str:
    menu = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{frame}<nav><ul>{menu}</ul></nav>"
        f"<main>{main}</main></body></html>"
    )


@cache
def _rendered(source: str) -> str:
    return MarkdownIt().render(source)


class WebAuthor:
    """Writes a website of sections and pages from documents in Markdown, each repeated with variation."""

    def __init__(
        self, site: FakeWebsite, documents: Sequence[str], *, seed: int = 1, dated: bool = False
    ) -> None:
        self.site, self.documents, self.chance, self.dated = site, documents, random.Random(seed), dated
        self.now, self.number = EPOCH, 0
        self.sections: dict[str, list[str]] = {}  #: paths of pages, by section

    def begin(self, pages: int) -> None:
        for number in range(max(2, int(pages**0.5) // 2)):
            self.sections[f"/part-{number}/"] = []
        for _ in range(pages - len(self.sections) - 1):
            self._add(self.chance.choice(sorted(self.sections)))
        self.site.put(
            "/hidden.html",
            html("Hidden", "<p>Not to be kept.</p>", head='<meta name=robots content="noindex">'),
        )
        self.site.put("/private/plan.html", html("Plan", "<p>Not to be asked for.</p>"))
        self.site.robots = "User-agent: *\nDisallow: /private/\n"
        self._write_menus()

    def go_on(self, changes: int) -> None:
        """Pages are changed, deleted, moved and added."""
        self.now += 86_400
        for _ in range(changes):
            section = self.chance.choice([each for each in sorted(self.sections) if self.sections[each]])
            path = self.chance.choice(self.sections[section])
            match self.chance.choice(("change", "change", "delete", "move", "add")):
                case "change":
                    self._write(path)
                case "delete":
                    self.sections[section].remove(path)
                    del self.site.pages[path]
                case "move":
                    self.sections[section].remove(path)
                    moved = self._path(self.chance.choice(sorted(self.sections)))
                    self.site.pages[moved] = self.site.pages.pop(path)
                    self.site.redirects[path] = moved
                    self.sections[f"{moved.rpartition('/')[0]}/"].append(moved)
                case "add":
                    self._add(section)
        self._write_menus()

    def _path(self, section: str) -> str:
        self.number += 1
        return f"{section}page-{self.number}.html"

    def _add(self, section: str) -> None:
        path = self._path(section)
        self.sections[section].append(path)
        self._write(path)
        if self.number % 7 == 0:  # the same page under another address
            canonical = f'<link rel="canonical" href="{path}">'
            self.site.put(f"{path}?print=1", html("Print", f"<p>Printed {path}</p>", head=canonical))

    def _write(self, path: str) -> None:
        self.now += 1
        source = self.chance.choice(self.documents)
        begin = f"# Page {self.number}\n\nEdition {self.chance.randrange(10**9)} of {path}."
        main = MarkdownIt().render(begin) + _rendered(source)
        titles = (each.partition("\n")[0].lstrip("# ") for each in self.documents)
        menu = "".join(
            f'<li class="nav-item"><span class="nav-title">{title}</span></li>' for title in titles
        )
        frame = (
            f"<aside><nav><ul>{menu}</ul></nav></aside>"  # the whole set's, as generators put into each page
        )
        self.site.put(
            path, html(f"Page at {path}", main, frame=frame, links=["/", "../", "#top"]), at=self.now
        )

    def _write_menus(self) -> None:
        for section, pages in self.sections.items():
            links = [*pages, *(f"{path}?print=1" for path in pages if f"{path}?print=1" in self.site.pages)]
            self._write_menu(section, links)
        self._write_menu(
            "/", [*self.sections, "/hidden.html", "/private/plan.html", "/lost.html", *self.site.redirects]
        )
        if self.dated:
            listed = [(f"{self.site.url}{path}", self.site.pages[path].at) for path in self.live()]
            self.site.put_sitemap("/sitemap.xml", listed)

    def _write_menu(self, path: str, links: Sequence[str]) -> None:
        text = html(
            f"Menu of {path}",
            f"<h1>Menu of {path}</h1><p>There are {len(links)} pages here.</p>",
            links=links,
        )
        if path not in self.site.pages or self.site.pages[path].body != text.encode():
            self.site.put(path, text, at=self.now)

    def live(self) -> list[str]:
        """The paths of all pages that are to be read."""
        return ["/", *self.sections, *(path for pages in self.sections.values() for path in pages)]

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each page that is to be read, by its name in the source."""
        return {
            path.removeprefix("/") or "/": hashlib.sha256(self.site.pages[path].body).hexdigest()
            for path in self.live()
        }


def own_documents() -> list[str]:
    """The Markdown of this repository."""
    root = Path(__file__).resolve().parents[2]
    return [file.read_text(encoding="utf-8") for file in sorted(root.glob("core/**/*.md"))]


def own_sections(count: int) -> list[str]:
    """Short parts of it, for who reads much of it often."""
    parts = [f"# {part}" for text in own_documents() for part in text.split("\n## ")[1:]]
    return [part for part in parts if 200 < len(part) < 1_200][:count]
