"""What the clients of APIs may reach, and what is said where one is not installed."""

from __future__ import annotations

import gzip
import sys

import httpx
import pytest
from aiohttp import web
from fakes.web_servers import Canary, LoopbackServer

from core.errors import SettingsError
from core.library.formats.read import FILE_LIMIT
from core.settings import Settings
from core.sources.kinds import KINDS
from core.sources.pinned import open_pinned
from core.sources.source import SourceContext


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


async def test_only_the_addresses_that_were_checked_are_connected_to(api):
    origin = f"http://api.harbour.example:{api.port}"

    async with open_pinned(origin, ["127.0.0.1"], connections=1) as client:
        answer = await client.get(f"{origin}/")

    assert answer.text == f"api.harbour.example:{api.port}"


async def test_another_host_is_asked_nothing(api):
    async with Canary() as canary, open_pinned(api.url, ["127.0.0.1"], connections=1) as client:
        api.elsewhere = f"http://127.0.0.1:{canary.port}/"
        moved = await client.get(f"{api.url}/moved", headers={"Authorization": "Bearer sesame"})
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.get(api.elsewhere)

    assert (moved.status_code, canary.visits) == (302, 0)


async def test_a_body_is_bounded_after_its_decompression(api):
    api.body = gzip.compress(bytes(FILE_LIMIT + 1))

    async with open_pinned(api.url, ["127.0.0.1"], connections=1) as client:
        with pytest.raises(httpx.ReadError, match="sent more than"):
            await client.get(f"{api.url}/large")

    assert len(api.body) < FILE_LIMIT / 100


@pytest.mark.parametrize(
    ("kind", "package", "address"),
    [
        ("notion", "notion_client", "notion:"),
        ("github", "gidgethub", "github+https://127.0.0.1/acme/handbook/issues"),
    ],
)
async def test_a_client_that_is_not_installed_is_told_with_what_installs_it(
    monkeypatch, tmp_path, kind, package, address
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"core.sources.{kind}.client", raising=False)
    context = SourceContext(
        settings=Settings(notion_token="ntn", private_hosts=("127.0.0.1",)), folder=tmp_path
    )

    with pytest.raises(SettingsError, match=rf"uv sync --no-dev --inexact --extra {kind}"):
        async with KINDS[kind].open(address, context, origin="http://127.0.0.1:1"):
            raise AssertionError("it was opened")
