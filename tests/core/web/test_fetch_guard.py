"""What must never be visited: every spelling that was thought of, and not one connection."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from fakes.spellings import (
    DISGUISED,
    NAMES,
    REFUSED,
)
from fakes.web_servers import Canary, FakeSite, Served

from core.errors import FetchRefused, SearchTrouble
from core.web.fetch import PORTS, GuardedFetcher, resolve_host
from core.web.hosts import is_public

# What can stand in a Location header and does not lead back to the site itself.
REDIRECTS = [url for url in REFUSED if url.isascii() and url not in DISGUISED] + [
    "//127.0.0.1:{port}/",
    "http://public.example@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@public.example/",
]

_attempts: list[object] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        _attempts.append(arguments[1])


sys.addaudithook(_watch)


@pytest.fixture
def attempts() -> Iterator[list[object]]:
    """Addresses that this process tried to connect to, as the interpreter itself reports them."""
    _attempts.clear()
    yield _attempts
    _attempts.clear()


async def numbers_or_names(host: str, port: int) -> list[str]:
    """Names from the table; anything else as the system reads it, which for numbers asks no name server."""
    known = host.rstrip(".")
    return NAMES[known] if known in NAMES else await resolve_host(host, port)


def test_the_table_is_long_and_says_nothing_twice():
    assert len(REFUSED) == len(set(REFUSED)) >= 120


async def test_every_one_is_refused_without_a_single_connection(attempts):
    async with Canary() as canary:
        fetcher = GuardedFetcher(ports=PORTS | {canary.port}, resolve=numbers_or_names)

        refused = [await _is_refused(fetcher, url.format(port=canary.port)) for url in REFUSED]

        assert [url for url, was in zip(REFUSED, refused, strict=True) if not was] == []
        assert attempts == []
        # One visit that is allowed shows that both counters count, and that no earlier one is on its way.
        await _visit_openly(canary)
        assert (canary.visits, len(attempts)) == (1, 1)


async def test_no_redirect_leads_there_either(attempts):
    async with Canary() as canary, FakeSite(host="127.0.0.77") as site:
        fetcher = GuardedFetcher(
            ports=PORTS | {canary.port, site.port},
            resolve=numbers_or_names,
            is_public=lambda address: str(address) == site.host or is_public(address),
        )
        followed = []
        for url in REDIRECTS:
            site.pages["/"] = Served(status=302, headers={"Location": url.format(port=canary.port)})
            if not await _is_refused(fetcher, site.url):
                followed.append(url)

        assert followed == []
        assert set(attempts) == {(site.host, site.port)}
        await _visit_openly(canary)
        assert canary.visits == 1


async def _is_refused(fetcher: GuardedFetcher, url: str) -> bool:
    try:
        await fetcher.get_public(url)
    except FetchRefused as refusal:
        return str(refusal).endswith(".")
    except SearchTrouble:
        return False
    return False


async def _visit_openly(canary: Canary) -> None:
    fetcher = GuardedFetcher(ports=frozenset({canary.port}), is_public=lambda _: True)
    with pytest.raises(SearchTrouble, match="broke the connection off"):
        await fetcher.get_public(f"http://127.0.0.1:{canary.port}/")
