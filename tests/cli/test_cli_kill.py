"""Processes that end in the middle of a turn, and what the next one makes of it."""

from __future__ import annotations

import asyncio
import signal

import pytest
from fakes.gemini import FakeGemini, Hang
from fakes.harbour import CUP_QUESTION, FERRY_QUESTION, PATIENCE, PONTOON_QUESTION


@pytest.fixture
async def gemini(machine):
    async with FakeGemini() as model:
        machine.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        yield model


async def killed_in(machine, wait, *arguments):
    """A command that is killed once ``wait`` is over: what it printed."""
    process = await machine.start(*arguments)
    async with asyncio.timeout(PATIENCE):
        await wait
    process.kill()
    out, _ = await process.communicate()
    assert process.returncode == -signal.SIGKILL
    return out


async def questions_remembered(machine, thread):
    """What was asked in the thread, as its follow-ups would see it."""
    from core.graph.graph import build_graph
    from core.turns.checkpoints import open_checkpoints

    async with open_checkpoints(machine.folder / ".footnote" / "conversations.sqlite") as checkpoints:
        config = {"configurable": {"thread_id": f"cli/local/terminal/{thread}"}}
        state = await build_graph(checkpoints).aget_state(config)
    return [exchange.question for exchange in state.values["history"]]


async def test_a_question_killed_while_the_model_thinks_is_finished_by_asking_it_again(machine, gemini):
    gemini.queue("grade", Hang())
    ask = ("ask", FERRY_QUESTION, "--docs", "docs", "--thread", "sark", "--json")
    assert await killed_in(machine, gemini.until_step("grade"), *ask) == b""

    again = await machine.run(*ask)

    assert (again.code, again.err) == (0, "")
    assert again.record["outcome"] == "answered"
    assert await questions_remembered(machine, "sark") == [FERRY_QUESTION]
    assert gemini.rejected == []


async def test_another_question_first_finishes_the_one_that_was_cut_off(machine, gemini):
    gemini.queue("grade", Hang())
    thread = ("--docs", "docs", "--thread", "sark", "--json")
    await killed_in(machine, gemini.until_step("grade"), "ask", FERRY_QUESTION, *thread)

    other = await machine.run("ask", PONTOON_QUESTION, *thread)

    finishing, *answered = other.err.splitlines()
    assert finishing == f"First finishing “{FERRY_QUESTION}”, which was cut off…"
    assert answered == ["The ferry to Sark leaves pier three at half past nine. [1]"]
    assert "18 euros" in other.out
    assert await questions_remembered(machine, "sark") == [FERRY_QUESTION, PONTOON_QUESTION]


async def test_coming_back_to_a_conversation_finishes_the_question_and_shows_its_answer(machine, gemini):
    gemini.queue("grade", Hang())
    ask = ("ask", FERRY_QUESTION, "--docs", "docs", "--thread", "sark", "--json")
    await killed_in(machine, gemini.until_step("grade"), *ask)

    chat = await machine.run("chat", "--thread", "sark")

    assert f"First finishing “{FERRY_QUESTION}”" in chat.err
    assert "half past nine" in chat.out
    assert await questions_remembered(machine, "sark") == [FERRY_QUESTION]


async def test_a_search_killed_on_its_way_is_finished_by_the_same_decision(machine, hanging_searxng):
    asked = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--thread", "cup", "--json")
    decide = ("decide", asked.record["proposal"]["id"], "--approve", "--json")
    assert await killed_in(machine, hanging_searxng.asked.wait(), *decide) == b""

    answered = await machine.run(*decide)
    once_more = await machine.run(*decide)

    assert answered.record["outcome"] == "answered"
    assert len(hanging_searxng.requests) == 2
    assert once_more.code == 1
    assert "already allowed this search" in once_more.record["reason"]
    assert await questions_remembered(machine, "cup") == [CUP_QUESTION]


async def test_ctrl_c_during_a_search_leaves_at_once_and_without_a_traceback(machine, hanging_searxng):
    asked = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--json")
    process = await machine.start("decide", asked.record["proposal"]["id"], "--approve", "--json")
    await asyncio.wait_for(hanging_searxng.asked.wait(), PATIENCE)

    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)

    assert (process.returncode, out, err) == (130, b"", b"")
