"""Assistants ask a process that is killed, several processes, and one at their own machine."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack, suppress

import pytest
from fakes.assistants import PROTOCOLS, over_http, over_stdio
from fakes.served import (
    CUP,
    CUP_URL,
    FERRY,
    FERRY_ANSWER,
    FRANCE,
    PATIENCE,
    environment,
    index_handbook,
)
from fakes.served_mcp import Balancer, ServedMcp
from fakes.thoughts import WatchedModel
from fakes.web_servers import FakeSearXNG
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

ANN = "ann@example.org"


@pytest.fixture
async def model():
    async with WatchedModel(taking=0.3) as model:
        yield model


def with_model(model):
    return {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": f"{model.base_url}/p"}


@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_an_end_in_the_middle_loses_no_question_and_asks_none_twice(
    template, tmp_path, model, end, monkeypatch
):
    # Milliseconds until a client looks for its server again, which is gone.
    monkeypatch.setattr("mcp.client.streamable_http.DEFAULT_RECONNECTION_DELAY_MS", 10)
    served = ServedMcp.copied(template, tmp_path / "home", settings=with_model(model))
    async with served:
        await served.open()
        token = await served.token("ann", ANN)
        with suppress(MCPError, AssertionError, OSError, ExceptionGroup):  # the client loses its server
            async with over_http(served.url, token) as assistant:
                asking = asyncio.create_task(assistant.ask(FERRY, request_id="r1"))
                await asyncio.wait_for(_until(lambda: model._open["p"]), PATIENCE)
                await getattr(served, end)()
                await asking
        await served.open()
        async with over_http(served.url, token) as assistant:
            answers = [await assistant.ask(FERRY, request_id="r1") for _ in range(2)]

    assert FERRY_ANSWER in answers[0]["text"]
    assert answers[0] == answers[1]


async def test_an_assistant_hears_how_far_it_is_and_ends_what_it_does_not_want_any_more(
    template, tmp_path, model
):
    served = ServedMcp.copied(template, tmp_path / "home", settings=with_model(model))
    async with served:
        await served.open()
        async with over_http(served.url, await served.token("ann", ANN)) as assistant:
            await assistant.ask(FERRY, thread="t1")
            model.taking = 60.0
            asking = asyncio.create_task(assistant.ask("Which pier is it?", thread="t1"))
            await asyncio.sleep(0)
            await asyncio.wait_for(_until(lambda: model._open["p"]), PATIENCE)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            await asyncio.wait_for(_until(lambda: not model._open["p"]), PATIENCE)
            model.taking = 0.0
            after = await assistant.ask(FERRY, thread="t1")

    assert "Reading your documents…" in assistant.steps
    assert FERRY_ANSWER in after["text"]
    assert [each for each in served.faults if each["level"] != "warning"] == []


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_a_question_that_is_cancelled_ends_for_clients_of_either_protocol(
    template, tmp_path, model, mode
):
    served = ServedMcp.copied(template, tmp_path / "home", settings=with_model(model))
    async with served:
        await served.open()
        async with over_http(served.url, await served.token("ann", ANN), mode=mode) as assistant:
            model.taking = 60.0
            asking = asyncio.create_task(assistant.ask("Which pier is it?", thread="t1"))
            await asyncio.wait_for(_until(lambda: model._open["p"]), PATIENCE)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            await asyncio.wait_for(_until(lambda: not model._open["p"]), PATIENCE)
            model.taking = 0.0
            after = await assistant.ask(FERRY, thread="t1")

    assert FERRY_ANSWER in after["text"]


async def _until(is_so):
    while not is_so():  # noqa: ASYNC110 - another process changes it
        await asyncio.sleep(0.05)


async def test_any_of_three_processes_goes_on_with_what_another_began(tmp_path, postgres_url):
    await asyncio.to_thread(index_handbook, tmp_path, postgres_url)
    shown = []

    def decide(message, _form):
        shown.append(message)
        return ElicitResult(action="accept", content={"query": "world cup 1998"})

    async with FakeSearXNG([FRANCE]) as engine, AsyncExitStack() as processes:
        settings = {"DATABASE_URL": postgres_url, "WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        replicas = []
        for number in range(3):
            (tmp_path / str(number)).mkdir()
            each = ServedMcp(folder=tmp_path / str(number), settings=settings)
            await processes.enter_async_context(each)
            await each.open()
            replicas.append(each)
        token = await replicas[0].token("ann", ANN)
        network = Balancer([each.port for each in replicas])
        async with over_http(replicas[0].url, token, decide=decide, network=network) as assistant:
            first = await assistant.ask(FERRY)
            follow_up = await assistant.ask("And does it take cars?", thread=first["thread"])
            found = await assistant.ask(CUP)
        queries = [request.query["q"] for request in engine.requests]

    assert network.count >= 4
    assert FERRY_ANSWER in first["text"]
    assert "no cars" in follow_up["text"]
    assert len(shown) == 1
    assert queries == ["world cup 1998"]
    assert "France won" in found["text"]


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_at_ones_own_machine_a_search_is_refused_and_another_is_allowed(template, tmp_path, mode):
    folder = shutil.copytree(template, tmp_path / "home")
    replies = [
        ElicitResult(action="decline"),
        ElicitResult(action="accept", content={"query": "football world cup 1998 winner"}),
    ]
    async with FakeSearXNG([FRANCE]) as engine:
        env = environment(folder) | {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        asked_with = {"mode": mode, "decide": lambda *_: replies.pop(0), "is_cold": mode == PROTOCOLS[0]}
        async with over_stdio(folder, env, **asked_with) as assistant:
            answer = await assistant.ask(FERRY)
            follow_up = await assistant.ask("And does it take cars?", thread=answer["thread"])
            document = await assistant.read(answer["citations"][0]["document"])
            refused = await assistant.ask(CUP)
            nothing_sent = list(engine.requests)
            found = await assistant.ask(CUP)
            passages = (await assistant.call("search", query="ferry")).structured_content["passages"]

    assert FERRY_ANSWER in answer["text"]
    assert "no cars" in follow_up["text"]
    assert answer["citations"][0]["quote"] in document
    assert (refused["outcome"], nothing_sent) == ("no_answer", [])
    assert "Nothing is sent until you allow it." in assistant.asked[0]
    assert [request.query["q"] for request in engine.requests] == ["football world cup 1998 winner"]
    assert {each["url"] for each in found["citations"]} == {CUP_URL}
    assert passages
    assert "Traceback" not in (folder / "mcp.log").read_text()


async def test_two_assistants_of_one_person_and_a_command_share_the_folder(template, tmp_path):
    folder = shutil.copytree(template, tmp_path / "home")
    async with (
        over_stdio(folder, environment(folder)) as one,
        over_stdio(folder, environment(folder)) as other,
    ):
        answers = [await each.ask(FERRY) for each in (one, other, one)]

    assert all(FERRY_ANSWER in each["text"] for each in answers)


async def test_beside_a_process_that_serves_it_does_the_work(template, tmp_path):
    served = ServedMcp.copied(template, tmp_path / "home")
    async with served:
        await served.open()
        async with over_stdio(served.folder, environment(served.folder)) as assistant:
            answer = await assistant.ask(FERRY)
            passages = (await assistant.call("search", query="ferry to Sark")).structured_content["passages"]
            listed = (await assistant.call("sources")).structured_content

    assert FERRY_ANSWER in answer["text"]
    assert "half past nine" in passages[0]["text"]
    assert [each["source"] for each in listed["documents"]] == ["handbook.md"]
