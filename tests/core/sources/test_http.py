"""What the HTTP client of sources reaches, and what its answers mean."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from aiohttp import web
from fakes.web_servers import Canary, LoopbackServer

from core.library.formats.read import FILE_LIMIT
from core.sources.http import HostClient, HostSilent, Response, open_http, permitted_addresses, throttle
from core.sources.source import ItemUnreadable, SourceUnavailable

HERE = ("127.0.0.1",)


class FakeApi(LoopbackServer):
    """Answers with the host that it was asked for, or sends elsewhere."""

    elsewhere = ""
    body = b""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": self.elsewhere})
        if request.path == "/large":
            return web.Response(body=self.body, headers={"Content-Encoding": "gzip"})
        return web.Response(text=request.headers["Host"])


@pytest.fixture
async def api():
    async with FakeApi() as api:
        yield api


def at(client: HostClient, origin: str, *addresses: str) -> HostClient:
    """The client as if the name of an origin had been looked up."""
    return replace(client, addresses={origin: addresses})


async def test_only_the_addresses_that_were_checked_are_connected_to(api):
    origin = f"http://api.harbour.example:{api.port}"

    async with open_http(api.url, private=HERE, connections=1) as client:
        reply = await at(client, origin, "127.0.0.1").ask(f"{origin}/")

    assert reply.body.decode() == f"api.harbour.example:{api.port}"


async def test_an_address_that_does_not_answer_is_followed_by_the_next(api):
    async with open_http(api.url, private=HERE, connections=1) as client:
        reply = await at(client, f"http://127.0.0.1:{api.port}", "127.0.0.2", "127.0.0.1").ask(api.url)

    assert reply.status == 200


async def test_another_host_is_asked_nothing(api):
    async with Canary() as canary, open_http(api.url, private=HERE, connections=1) as client:
        api.elsewhere = f"http://127.0.0.1:{canary.port}/"
        moved = await client.ask(f"{api.url}/moved", headers={"Authorization": "Bearer sesame"})
        with pytest.raises(HostSilent):
            await client.ask(api.elsewhere)

    assert (moved.status, canary.visits) == (302, 0)


async def test_a_body_is_bounded_after_its_decompression(api):
    api.body = gzip.compress(bytes(FILE_LIMIT + 1))

    async with open_http(api.url, private=HERE, connections=1) as client:
        with pytest.raises(ItemUnreadable, match="sent more than"):
            await client.ask(f"{api.url}/large")

    assert len(api.body) < FILE_LIMIT / 100


async def test_a_host_that_is_away_is_named_as_people_call_it():
    async with open_http("http://127.0.0.1:1", private=HERE, connections=1, name="Harbour") as client:
        with pytest.raises(SourceUnavailable, match=r"^Harbour could not be reached\.$"):
            await client.ask("http://127.0.0.1:1/")


async def test_a_private_host_that_is_not_named_is_not_asked():
    with pytest.raises(SourceUnavailable, match=r"PRIVATE_HOSTS=127\.0\.0\.1"):
        await permitted_addresses("127.0.0.1", 80, ("127.0.0.2",))


@pytest.mark.parametrize(
    ("status", "headers", "is_patient", "seconds"),
    [
        (429, {}, False, 60.0),
        (429, {"retry-after": "7"}, False, 7.0),
        (503, {"retry-after": "7"}, False, 7.0),
        (503, {}, False, None),
        (500, {}, False, None),
        (500, {}, True, 60.0),
        (503, {"retry-after": "7"}, True, 7.0),
        (404, {"retry-after": "7"}, True, None),
        (200, {}, True, None),
    ],
)
def test_what_asks_to_wait_says_for_how_long(status, headers, is_patient, seconds):
    found = throttle(Response(status=status, headers=headers), "Harbour", is_patient=is_patient)

    assert (None if found is None else found.retry_after) == seconds
