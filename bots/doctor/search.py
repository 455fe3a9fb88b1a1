"""The web search, without a search: nothing is sent that a person has not allowed.

A request for the root shows whether a host answers. SearXNG says more: without a query its search
page answers 400 where JSON is enabled and 403 where it is not (searx/webapp.py, "search").
"""

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

from bots.chat.texts import ENGINE_NAMES
from bots.doctor.findings import Finding, failed, ok, warning
from bots.doctor.settings import Configuration
from core.settings import Settings
from core.tls import default_tls
from core.web.engines import SEARXNG_SENTENCES

NAME = "search"
TIMEOUT = 5.0  # seconds for one request, or SEARCH_TIMEOUT if that is less
NO_QUERY, TOO_MANY = 400, 429  # HTTP


async def examine(configuration: Configuration) -> list[Finding]:
    settings = configuration.settings
    if settings.web_search == "off":
        return [ok(NAME, "WEB_SEARCH=off: the web is never searched."), *_find_contradictions(configuration)]
    found = _searxng(settings) if settings.web_search == "searxng" else _host(settings)
    return [await found, *_find_contradictions(configuration)]


async def _host(settings: Settings) -> Finding:
    engine = ENGINE_NAMES[settings.web_search]
    root = await asyncio.to_thread(_root_of, settings)
    host = urlsplit(root).hostname
    if await status_of(root, settings) is None:
        return _unreachable(f"{engine} ({host})", "")
    return ok(NAME, f"{engine} ({host}) can be reached. Nothing more was tried, as that would send a query.")


def _root_of(settings: Settings) -> str:
    if settings.web_search == "tavily":
        return f"{settings.tavily_base_url}/"
    from ddgs.engines.duckduckgo import Duckduckgo

    parts = urlsplit(Duckduckgo.search_url)
    return f"{parts.scheme}://{parts.netloc}/"


async def _searxng(settings: Settings) -> Finding:
    status = await status_of(f"{settings.searxng_url}/search?format=json", settings)
    host = urlsplit(settings.searxng_url).hostname
    if status is None:
        return _unreachable(f"SearXNG ({host})", "Is it running? Check SEARXNG_URL. ")
    if status == NO_QUERY:
        return ok(NAME, f"SearXNG ({host}) can be reached and serves JSON. No query was sent.")
    if status in SEARXNG_SENTENCES:
        wrong, _, fix = SEARXNG_SENTENCES[status].partition("; ")
        return failed(NAME, f"{wrong.removesuffix('.')}.", fix or "Check SEARXNG_URL.")
    if status == TOO_MANY:
        fix = "Switch its limiter off for it."
        return warning(NAME, f"SearXNG ({host}) is rate-limiting this machine.", fix)
    fix = "Check that SEARXNG_URL leads to SearXNG itself."
    return warning(NAME, f"SearXNG ({host}) answered HTTP {status} where it should ask for a query.", fix)


async def status_of(url: str, settings: Settings) -> int | None:
    """The HTTP status of a GET; None when nothing answers. Redirects are not followed."""
    import httpx

    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # httpx would log a password
    login = (parts.username or "", parts.password or "") if parts.username or parts.password else None
    timeout = min(TIMEOUT, settings.search_timeout)
    try:
        async with (
            asyncio.timeout(timeout),
            httpx.AsyncClient(timeout=timeout, verify=await asyncio.to_thread(default_tls)) as client,
            client.stream("GET", bare, auth=login) as response,
        ):
            return response.status_code
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError):
        return None


def _unreachable(what: str, hint: str) -> Finding:
    fix = f"{hint}Check the network and HTTPS_PROXY; WEB_SEARCH=off does without the web."
    return failed(NAME, f"{what} cannot be reached.", fix)


def _find_contradictions(configuration: Configuration) -> Iterator[Finding]:
    """Settings that another setting makes ineffective."""
    settings, values = configuration.settings, configuration.values
    if settings.web_search != "off" and settings.web_approval == "never_ask":
        fix = "Set WEB_APPROVAL=asker to be asked before each."
        yield warning(NAME, "WEB_APPROVAL=never_ask: queries go to the web and nobody is asked.", fix)
    if settings.web_approvers and settings.web_approval in ("anyone", "never_ask"):
        yield warning(
            NAME,
            f"WEB_APPROVERS does nothing under WEB_APPROVAL={settings.web_approval}: approvers are not asked for.",
            "Set WEB_APPROVAL=approvers, or take WEB_APPROVERS out.",
        )
    for name, engine in (("TAVILY_API_KEY", "tavily"), ("SEARXNG_URL", "searxng")):
        if values.get(name, "").strip() and settings.web_search != engine:
            fix = f"Set WEB_SEARCH={engine} to use it, or take it out."
            yield warning(NAME, f"{name} is set, but WEB_SEARCH is {settings.web_search}.", fix)
    if both := sorted(set(settings.web_trusted_hosts) & set(settings.web_blocked_hosts)):
        fix = "Take it out of WEB_TRUSTED_HOSTS or of WEB_BLOCKED_HOSTS."
        yield warning(NAME, f"Trusted and blocked at once: {', '.join(both)}.", fix)
