"""Which search engine the operator chose."""

from __future__ import annotations

from typing import Literal

from core.web.duckduckgo import DuckDuckGo
from core.web.http_engines import SearXNG, Tavily
from core.web.results import SearchEngine

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
