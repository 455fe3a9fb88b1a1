"""The search engines with a documented HTTP interface, Tavily and SearXNG, and the choice that WEB_SEARCH makes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from core.errors import SearchTrouble
from core.web.duckduckgo import DuckDuckGo
from core.web.fetch import ACCEPT_ENCODING, default_tls, read_body
from core.web.request import OK, REPLY_LIMIT, EngineReply, ask, require_ok, seconds_asked, unreadable
from core.web.results import Hit, SearchEngine, clean_hits

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

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]:
        reply = await ask(self.name, lambda: self._send(query, limit), within=self.timeout)
        require_ok(self.name, reply, TAVILY_SENTENCES)
        rows = records(read_json(self.name, reply), "results", self.name)
        found = (hit_of(row, snippet="content", published="published_date") for row in rows)
        return clean_hits(found, limit=limit)

    async def _send(self, query: str, limit: int) -> EngineReply:
        return await exchange(
            self.name,
            "POST",
            f"{self.base_url.rstrip('/')}/search",
            headers={"Authorization": f"Bearer {self.api_key}".encode()},
            json={"query": query, "max_results": min(limit, TAVILY_RESULT_LIMIT), "search_depth": "basic"},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearXNG:
    """A SearXNG instance's search API: ``GET {base_url}/search?q=…&format=json``."""

    base_url: str
    timeout: float = 20.0  #: seconds for one search, its retry included
    name: ClassVar[str] = "SearXNG"

    async def search(self, query: str, *, limit: int) -> tuple[Hit, ...]:
        reply = await ask(self.name, lambda: self._send(query), within=self.timeout)
        require_ok(self.name, reply, SEARXNG_SENTENCES)
        answer = read_json(self.name, reply)
        rows = records(answer, "results", self.name)
        if not rows and answer.get("unresponsive_engines"):
            raise SearchTrouble("None of the engines behind SearXNG answered; try again in a minute.")
        found = (hit_of(row, snippet="content", published="publishedDate") for row in rows)
        return clean_hits(found, limit=limit)

    async def _send(self, query: str) -> EngineReply:
        params = {"q": query, "format": "json"}
        return await exchange(self.name, "GET", f"{self.base_url.rstrip('/')}/search", params=params)


async def exchange(engine: str, method: str, url: str, **content: Any) -> EngineReply:
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
            body = (
                await read_body(response, sender=engine, limit=REPLY_LIMIT)
                if response.status_code == OK
                else b""
            )
            retry_after = seconds_asked(response.headers.get("retry-after"))
            return EngineReply(status=response.status_code, body=body, retry_after=retry_after)
    except httpx.RequestError as trouble:
        raise ConnectionError(type(trouble).__name__) from trouble
    except httpx.InvalidURL:
        raise SearchTrouble(f"The address that is set for {engine} is not a web address.") from None


def read_json(engine: str, reply: EngineReply) -> Mapping[str, Any]:
    try:
        answer = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise unreadable(engine) from None
    if not isinstance(answer, dict):
        raise unreadable(engine)
    return answer


def records(answer: Mapping[str, Any], key: str, engine: str) -> list[Mapping[str, Any]]:
    rows = answer.get(key)
    if not isinstance(rows, list):
        raise unreadable(engine)
    return [row for row in rows if isinstance(row, dict)]


def hit_of(row: Mapping[str, Any], *, snippet: str, published: str) -> Hit:
    """A result as the engine sent it; a field that is missing or not a string is empty."""
    title, url, body, date = (
        value if isinstance(value := row.get(key), str) else ""
        for key in ("title", "url", snippet, published)
    )
    return Hit(title=title, url=url, snippet=body, published=date)


EngineName = Literal["duckduckgo", "tavily", "searxng", "off"]


def engine_for(
    name: EngineName,
    *,
    timeout: float,
    tavily_api_key: str = "",
    tavily_base_url: str = "https://api.tavily.com",
    searxng_url: str = "",
) -> SearchEngine | None:
    """The engine of this name, ``timeout`` seconds for one search; None when the web is off."""
    match name:
        case "duckduckgo":
            return DuckDuckGo(timeout=timeout)
        case "tavily":
            return Tavily(api_key=tavily_api_key, base_url=tavily_base_url, timeout=timeout)
        case "searxng":
            return SearXNG(base_url=searxng_url, timeout=timeout)
        case "off":
            return None
