"""Which servers of models are found on this machine, and how they are offered."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from fakes.ports import free_port

from core.reasoning.providers import OLLAMA_LISTS, OPENAI_LISTS, find_local_servers


async def found(reply, lists_at, *, status=200):
    """What is found where this is listed; and what was asked for."""
    asked = []

    async def list_them(request):
        asked.append(request.path)
        return web.json_response(reply, status=status) if reply is not None else web.Response(text="<html>")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", list_them)
    async with TestServer(app) as server:
        servers = await find_local_servers({"It": (server.port, lists_at), "Nobody": (free_port(), lists_at)})
    return servers, asked


async def test_ollama_is_offered_with_a_chat_model_that_was_pulled():
    models = [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b"}, {"name": "llama3.1:8b"}]

    (server,), asked = await found({"models": models}, OLLAMA_LISTS)

    assert server.models == ("qwen3:8b", "llama3.1:8b")
    assert "It on this machine has qwen3:8b, llama3.1:8b." in server.hint
    assert "CHAT_MODEL=ollama:qwen3:8b" in server.hint
    assert asked == [OLLAMA_LISTS]


async def test_other_servers_are_offered_through_the_protocol_of_openai():
    (server,), _ = await found({"object": "list", "data": [{"id": "qwen3-8b"}]}, OPENAI_LISTS)

    assert (
        f"CHAT_MODEL=openai:qwen3-8b, OPENAI_BASE_URL={server.address}/v1 and OPENAI_API_KEY=local"
        in server.hint
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"models": []}, 200),
        ({"models": [{"name": "nomic-embed-text"}]}, 200),
        ({"models": None}, 200),
        ({"models": ["x"]}, 200),
        ({}, 200),
        ([], 200),
        (None, 200),
        ({"models": [{"name": "qwen3"}]}, 500),
    ],
)
async def test_what_has_no_model_or_is_something_else_is_not_offered(reply, status):
    assert (await found(reply, OLLAMA_LISTS, status=status))[0] == ()
