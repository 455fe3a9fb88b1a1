"""The search engines with a documented HTTP interface, Tavily and SearXNG, and the choice that WEB_SEARCH makes.

Only ddgs's DuckDuckGo engine is used. Its ``DDGS`` class raises the same exception for "nothing
found", "blocked" and "unreachable", and its ``auto`` backend sends the query to half a dozen
other companies, although the person allowed a search with DuckDuckGo alone.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

from core.errors import SearchTrouble
from core.tls import default_tls
from core.web import request
from core.web.fetch import ACCEPT_ENCODING, read_body

logger = logging.getLogger(__name__)


REGION = "us-en"  # ddgs's own default; the query is sent in whatever language it is
CHUNK = 65_536  # bytes read at a time

BLOCKED_STATUSES = (202, 403, 429)  # 202: the page that asks whether a person is there
BLOCKED_MARKS = ("anomaly-modal", "anomaly.js", "challenge-form")  # the same page, sent as 200
NOTHING_MARKS = ("no-results", "result--no-result")

# A "!bang" in the query makes DuckDuckGo redirect it to another site, which no person allowed.
SENTENCES = dict.fromkeys(
    (301, 302, 303, 307, 308),
    "DuckDuckGo would pass this query on to another site; edit it so that no word starts with “!”.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDuckGo:
    """The search engine that needs no key."""

    timeout: float = 20.0  #: seconds for one search, its retry included
    name: ClassVar[str] = "DuckDuckGo"

    async def search(self, query: str, *, limit: int) -> tuple[request.Hit, ...]:
        # ddgs is synchronous. Its thread ends by itself at the same timeout.
        send = partial(asyncio.to_thread, post_query, query, self.timeout)
        reply = await request.ask(self.name, send, within=self.timeout)
        found = await asyncio.to_thread(read_results, reply)
        return request.clean_hits(found, limit=limit)


def post_query(query: str, seconds: float) -> request.EngineReply:
    """DuckDuckGo's reply. Blocks. ConnectionError, TimeoutError, UnicodeError or SearchTrouble."""
    import primp
    from ddgs.engines.duckduckgo import Duckduckgo

    query.encode()  # for a lone surrogate; primp would report a failed request
    engine = Duckduckgo()
    form = engine.build_payload(query, region=REGION, safesearch="moderate", timelimit=None)
    try:
        response = engine.http_client.client.request(
            engine.search_method, engine.search_url, data=form, timeout=seconds, stream=True,
            follow_redirects=False,
        )  # fmt: skip
        with closing(response):
            body = bytearray()
            for chunk in response.iter_bytes(CHUNK):
                body += chunk
                if len(body) > request.REPLY_LIMIT:
                    raise request.unreadable(DuckDuckGo.name)
        return request.EngineReply(
            status=response.status_code,
            body=bytes(body),
            retry_after=request.seconds_asked(response.headers.get("retry-after")),
        )
    except primp.TimeoutError:
        raise TimeoutError from None
    except primp.PrimpError as trouble:
        raise ConnectionError(repr(trouble)) from trouble


def read_results(reply: request.EngineReply) -> list[request.Hit]:
    """The results in DuckDuckGo's order, without its redirect around each; SearchTrouble if it is no page of results."""
    from ddgs.engines.duckduckgo import Duckduckgo

    page, engine = reply.body.decode("utf-8", errors="replace"), Duckduckgo()
    hits: list[request.Hit] = []
    # The prefix gives lxml a document even if the page is blank or starts with a declaration.
    rows = engine.extract_results("<html><body>" + page) if reply.status == request.OK else []
    for row in engine.post_extract_results(rows):
        # ddgs has percent-decoded the link already, so the target ends at the redirect's last parameter.
        _, redirect, target = row.href.partition("duckduckgo.com/l/?uddg=")
        url = (target.rpartition("&rut=")[0] or target) if redirect else row.href
        if url.startswith(("http://", "https://")):
            hits.append(request.Hit(title=row.title, url=url, snippet=row.body))
    if hits:
        return hits
    if reply.status in BLOCKED_STATUSES or any(mark in page for mark in BLOCKED_MARKS):
        raise request.rate_limited(DuckDuckGo.name, reply.retry_after)
    request.require_ok(DuckDuckGo.name, reply, SENTENCES)
    if not any(mark in page for mark in NOTHING_MARKS):
        logger.warning("DuckDuckGo's page holds neither results nor its note that there are none")
    return hits


TAVILY_RESULT_LIMIT = 20  # results, Tavily "max_results"

# Statuses with a meaning of their own at this engine; 432 and 433 are Tavily's.
TAVILY_SENTENCES = {
    400: "Tavily could not use this query; edit it and try again.",
    401: "Tavily refused the API key; check TAVILY_API_KEY.",
    403: "Tavily refused the API key; check TAVILY_API_KEY.",
    432: "The Tavily plan of this API key is used up.",
    433: "The pay-as-you-go limit of this Tavily API key is reached.",
}
SEARXNG_SENTENCES = {
    401: "SearXNG asks for a user name and password; put them into SEARXNG_URL.",
    403: "SearXNG does not serve JSON; add json to search.formats in its settings.yml.",
    404: "There is no SearXNG at SEARXNG_URL.",
    **dict.fromkeys((301, 302, 307, 308), "SearXNG has moved to another address; check SEARXNG_URL."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tavily:
    """Tavily's "Search" endpoint: ``POST {base_url}/search``."""

    api_key: str = field(repr=False)
    base_url: str = "https://api.tavily.com"
    timeout: float = 20.0  #: seconds for one search, its retry included
    name: ClassVar[str] = "Tavily"

    async def search(self, query: str, *, limit: int) -> tuple[request.Hit, ...]:
        send = partial(
            exchange, self.name, "POST", f"{self.base_url.rstrip('/')}/search",
            headers={"Authorization": f"Bearer {self.api_key}".encode()},
            json={"query": query, "max_results": min(limit, TAVILY_RESULT_LIMIT), "search_depth": "basic"},
        )  # fmt: skip
        reply = await request.ask(self.name, send, within=self.timeout)
        request.require_ok(self.name, reply, TAVILY_SENTENCES)
        _, rows = read_json(self.name, reply)
        return request.clean_hits((parse_hit(row, "published_date") for row in rows), limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearXNG:
    """A SearXNG instance's search API: ``GET {base_url}/search?q=…&format=json``."""

    base_url: str
    timeout: float = 20.0  #: seconds for one search, its retry included
    name: ClassVar[str] = "SearXNG"

    async def search(self, query: str, *, limit: int) -> tuple[request.Hit, ...]:
        url, params = f"{self.base_url.rstrip('/')}/search", {"q": query, "format": "json"}
        reply = await request.ask(
            self.name, partial(exchange, self.name, "GET", url, params=params), within=self.timeout
        )
        request.require_ok(self.name, reply, SEARXNG_SENTENCES)
        answer, rows = read_json(self.name, reply)
        if not rows and answer.get("unresponsive_engines"):
            raise SearchTrouble("None of the engines behind SearXNG answered; try again in a minute.")
        return request.clean_hits((parse_hit(row, "publishedDate") for row in rows), limit=limit)


async def exchange(engine: str, method: str, url: str, **content: Any) -> request.EngineReply:
    """One request and its reply; ``content`` is httpx's. ConnectionError when none comes."""
    import httpx

    headers = {"Accept": "application/json", "Accept-Encoding": ACCEPT_ENCODING, **content.pop("headers", {})}
    tls = await asyncio.to_thread(default_tls)
    try:
        # No timeout here: core.web.request.ask bounds the whole search.
        async with (
            httpx.AsyncClient(timeout=None, verify=tls) as client,  # noqa: S113 - see above
            client.stream(method, url, headers=headers, **content) as response,
        ):
            is_ok, after = response.status_code == request.OK, response.headers.get("retry-after")
            body = await read_body(response, sender=engine, limit=request.REPLY_LIMIT) if is_ok else b""
            return request.EngineReply(
                status=response.status_code, body=body, retry_after=request.seconds_asked(after)
            )
    except httpx.RequestError as trouble:
        raise ConnectionError(type(trouble).__name__) from trouble
    except httpx.InvalidURL:
        raise SearchTrouble(f"The address that is set for {engine} is not a web address.") from None


def read_json(engine: str, reply: request.EngineReply) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The engine's answer, and the results in it."""
    try:
        answer = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise request.unreadable(engine) from None
    rows = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise request.unreadable(engine)
    return answer, [row for row in rows if isinstance(row, dict)]


def parse_hit(row: Mapping[str, Any], published: str) -> request.Hit:
    """A result as the engine sent it; a field that is missing or not a string is empty."""
    title, url, snippet, date = (
        value if isinstance(value := row.get(key), str) else ""
        for key in ("title", "url", "content", published)
    )
    return request.Hit(title=title, url=url, snippet=snippet, published=date)


EngineName = Literal["duckduckgo", "tavily", "searxng", "off"]


def engine_for(
    name: EngineName,
    *,
    timeout: float,
    tavily_api_key: str = "",
    tavily_base_url: str = "https://api.tavily.com",
    searxng_url: str = "",
) -> request.SearchEngine | None:
    """The engine of this name, ``timeout`` seconds for one search; None when the web is off."""
    engines: Mapping[str, request.SearchEngine] = {
        "duckduckgo": DuckDuckGo(timeout=timeout),
        "tavily": Tavily(api_key=tavily_api_key, base_url=tavily_base_url, timeout=timeout),
        "searxng": SearXNG(base_url=searxng_url, timeout=timeout),
    }
    return engines.get(name)
