"""Search engines and sites of our own on loopback, each speaking its real protocol.

Every server takes a port of its own and counts what reaches it. The engines refuse a
request that breaks their documented contract, as the real ones do.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LoopbackServer:
    """An HTTP server that answers next what it was told to, else what its engine would."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.host, self.port, self.tls = host, port, tls
        self.requests: list[web.Request] = []
        self._next: deque[Handler] = deque()
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port, ssl_context=self.tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def will_answer(
        self, status: int, body: str | bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """The reply to the next request that has none yet."""

        async def answer(_request: web.Request) -> web.StreamResponse:
            data = body.encode() if isinstance(body, str) else body
            return web.Response(status=status, body=data, headers=headers)

        self._next.append(answer)

    def will_hang(self) -> None:
        """The next request is read and never answered."""
        self._next.append(self._hang)

    def will_drop(self) -> None:
        """The next connection is cut without a reply."""
        self._next.append(self._drop)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        await request.read()
        return await (self._next.popleft() if self._next else self.answer)(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    async def _hang(self, _request: web.Request) -> web.StreamResponse:
        await self._closing.wait()
        return web.Response(status=503)

    async def _drop(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a fake engine knows about one page."""

    title: str
    url: str
    content: str
    published: str | None = None


class FakeTavily(LoopbackServer):
    """``POST /search`` as Tavily documents it."""

    PARAMETERS = frozenset(
        {
            "query", "auto_parameters", "topic", "search_depth", "chunks_per_source", "max_results", "time_range",
            "days", "start_date", "end_date", "include_answer", "include_raw_content", "include_images",
            "include_image_descriptions", "include_favicon", "include_domains", "exclude_domains", "country",
        }
    )  # fmt: skip

    def __init__(self, results: Sequence[Result] = (), *, api_key: str = "tvly-fake") -> None:
        super().__init__()
        self.results, self.api_key = results, api_key

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path != "/search":
            return _detail(404, "Not Found")
        if request.method != "POST":
            return _detail(405, "Method Not Allowed")
        if request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return _detail(401, "Unauthorized: missing or invalid API key.")
        if request.content_type != "application/json":
            return _detail(422, "The body is not JSON.")
        body = await request.json()
        if fault := self._fault_of(body):
            return _detail(400, fault)
        return web.json_response(self._found(body))

    def _fault_of(self, body: Mapping[str, Any]) -> str | None:
        if unknown := set(body) - self.PARAMETERS:
            return f"Unknown parameters: {sorted(unknown)}"
        if not isinstance(body.get("query"), str) or not body["query"]:
            return "Query is missing."
        if len(body["query"]) > 400:
            return "Query is too long. Max query length is 400 characters."
        if body.get("search_depth", "basic") not in ("basic", "advanced", "fast", "ultra-fast"):
            return "Invalid search depth."
        if not 0 <= body.get("max_results", 5) <= 20:
            return "Max results must be between 0 and 20."
        return None

    def _found(self, body: Mapping[str, Any]) -> dict[str, Any]:
        rows = [
            {"title": each.title, "url": each.url, "content": each.content, "score": 0.9, "raw_content": None}
            | ({"published_date": each.published} if each.published else {})
            for each in self.results[: body.get("max_results", 5)]
        ]
        return {
            "query": body["query"],
            "answer": None,
            "images": [],
            "follow_up_questions": None,
            "results": rows,
            "response_time": 0.42,
            "request_id": "00000000-0000-0000-0000-000000000000",
        }


class FakeSearXNG(LoopbackServer):
    """``GET /search`` of a SearXNG instance; JSON must be switched on in its settings."""

    def __init__(
        self,
        results: Sequence[Result] = (),
        *,
        formats: Sequence[str] = ("html", "json"),
        unresponsive: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self.results, self.formats, self.unresponsive = results, formats, unresponsive

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path != "/search":
            return web.Response(status=404, text="404 Not Found")
        wanted = request.query.get("format", "html")
        if wanted not in self.formats:
            return web.Response(status=403, text="403 Forbidden")
        if not request.query.get("q"):
            return web.Response(status=400, text="No query")
        if wanted != "json":
            return web.Response(text="<!DOCTYPE html><title>SearXNG</title>", content_type="text/html")
        return web.json_response(
            {
                "query": request.query["q"],
                "number_of_results": 0,
                "results": [self._row(each) for each in self.results],
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": [list(each) for each in self.unresponsive],
            }
        )

    def _row(self, result: Result) -> dict[str, Any]:
        return {
            "url": result.url,
            "title": result.title,
            "content": result.content,
            "publishedDate": result.published,
            "engine": "wikipedia",
            "engines": ["wikipedia"],
            "category": "general",
            "score": 1.0,
        }


class HangingSearXNG(FakeSearXNG):
    """Keeps the first search waiting for ever, and says when it has come."""

    def __init__(self, results: Sequence[Result] = ()) -> None:
        super().__init__(results)
        self.asked = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if not self.asked.is_set():
            self.asked.set()
            await asyncio.Event().wait()
        return await super().answer(request)


class FakeDuckDuckGo(LoopbackServer):
    """The page of results without JavaScript: ``POST /html/`` with a form."""

    CHALLENGE = (
        '<!DOCTYPE html><html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js">'
        '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form></body></html>'
    )
    NOTHING = (
        '<!DOCTYPE html><html><body><div class="results"><div class="result results_links result--no-result">'
        '<div class="links_main links_deep result__body"><div class="no-results">No results.</div></div>'
        "</div></div></body></html>"
    )

    def __init__(self, results: Sequence[Result] = (), *, redirects: bool = False) -> None:
        super().__init__()
        self.results, self.redirects = results, redirects

    @property
    def search_url(self) -> str:
        return f"{self.url}/html/"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path != "/html/":
            return web.Response(status=404)
        form = await request.post()
        if request.method != "POST" or not form.get("q") or len(str(form["q"])) > 500:
            return web.Response(status=400)
        return web.Response(text=self.page(), content_type="text/html")

    def page(self) -> str:
        rows = "".join(map(self._row, self.results))
        return (
            f'<!DOCTYPE html><html><body><div class="results">{rows}</div></body></html>'
            if rows
            else self.NOTHING
        )

    def _row(self, result: Result) -> str:
        href = escape(self._link(result.url))
        return (
            '<div class="result results_links results_links_deep web-result">'
            '<div class="links_main links_deep result__body">'
            f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{result.title}</a></h2>'
            f'<div class="result__extras"><a class="result__url" href="{href}">shown address</a></div>'
            f'<a class="result__snippet" href="{href}">{result.content}</a>'
            '<div class="clear"></div></div></div>'
        )

    def _link(self, url: str) -> str:
        return f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&rut=0123abcd" if self.redirects else url


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a site sends for one path."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class FakeSite(LoopbackServer):
    """A web site of fixed pages."""

    def __init__(self, pages: Mapping[str, Served] | None = None, **server: Any) -> None:
        super().__init__(**server)
        self.pages = dict(pages or {})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        served = self.pages.get(request.path)
        if served is None:
            return web.Response(status=404, text="not here")
        headers = {"Content-Type": served.content_type, **served.headers}
        return web.Response(status=served.status, body=served.body, headers=headers)

    def will_drip(self) -> None:
        """The next request is answered one byte at a time, without end."""
        self._next.append(self._drip)

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while not self._closing.is_set():
            try:
                await response.write(b".")
                await asyncio.wait_for(self._closing.wait(), 0.01)
            except TimeoutError:
                continue
            except ConnectionError:
                break
        return response


class Canary:
    """Listens where nobody should come, and counts who does."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host, self.port, self.visits = host, port, 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._visit, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _visit(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        writer.close()


class FakeDns:
    """A resolver that knows a few names, gives each its answers in turn and repeats the last."""

    def __init__(self, names: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.asked: list[str] = []
        self._answers = {name: deque(answers) for name, answers in names.items()}

    async def __call__(self, host: str, _port: int) -> list[str]:
        self.asked.append(host)
        if host not in self._answers:
            raise OSError(f"unknown host {host}")
        answers = self._answers[host]
        return list(answers.popleft() if len(answers) > 1 else answers[0])


def _detail(status: int, text: str) -> web.Response:
    return web.json_response({"detail": {"error": text}}, status=status)
