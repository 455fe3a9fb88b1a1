"""``footnote chat`` at a real terminal: what is drawn, and what keys do."""

from __future__ import annotations

import re

import pytest
from fakes.harbour import CUP_QUESTION, FERRY_QUESTION
from fakes.terminals import CTRL_C, CTRL_D, ENTER, Terminal


@pytest.fixture
async def terminal(machine):
    async with Terminal(machine.folder, machine.environment) as made:
        yield made


async def test_a_conversation_at_a_terminal(machine, terminal):
    await terminal.start("chat", "docs", "--thread", "sark")
    greeting = await terminal.until("/help lists what else there is.")
    terminal.press(FERRY_QUESTION + ENTER)
    answer = await terminal.until("Answered in")
    await terminal.until("›")
    terminal.press(CTRL_D)
    await terminal.until("Come back with: footnote chat --thread sark")

    assert "Footnote · 2 documents, 4 passages · thread sark" in greeting
    assert "Quoted from your documents, not composed." in answer
    assert "half past nine. It takes bicycles" in answer or "half past nine. [1]" in answer
    assert await terminal.ended() == 0
    links = re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b", terminal.written)
    assert set(links) == {(machine.docs / "ferry.md").as_uri()}
    history = (machine.folder / ".footnote" / "history").read_text()
    assert f"+{FERRY_QUESTION}" in history


async def test_ctrl_c_drops_what_was_typed_and_then_leaves(terminal):
    await terminal.start("chat", "docs")
    await terminal.until("/help lists")
    await terminal.until("›")

    terminal.press("half a question")
    await terminal.until("half a question")
    terminal.press(CTRL_C)
    terminal.press("/help" + ENTER)
    assert "Footnote answers from 2 documents" in await terminal.until("Ctrl-D does the same")
    await terminal.until("›")
    terminal.press(CTRL_C)

    assert await terminal.ended() == 130
    assert "Traceback" not in terminal.written


async def test_a_search_is_shown_stopped_and_taken_up_again(hanging_searxng, terminal):
    await terminal.start("chat", "docs")
    await terminal.until("›")
    terminal.press(CUP_QUESTION + ENTER)
    card = await terminal.until("Search? y / n / e(dit), Enter to decide later ›")
    terminal.press("y" + ENTER)
    await terminal.until("Searching the web…")
    await hanging_searxng.asked.wait()
    terminal.press(CTRL_C)
    await terminal.until("Stopped. Press Enter to resume it; anything else drops it.")
    await terminal.until("›")
    terminal.press(ENTER)
    answer = await terminal.until("Answered in")
    await terminal.until("›")
    terminal.press("/quit" + ENTER)

    assert "I would search SearXNG for:\n  Who won the 1998 football world cup\n" in card
    assert "ada allowed this search at" in answer
    assert "From the web, not from your documents." in answer
    assert await terminal.ended() == 0
    assert len(hanging_searxng.requests) == 2


async def test_the_query_can_be_edited_where_it_stands(searxng, terminal):
    await terminal.start("chat", "docs")
    await terminal.until("›")
    terminal.press(CUP_QUESTION + ENTER)
    await terminal.until("Enter to decide later ›")
    terminal.press("e" + ENTER)
    await terminal.until("query › Who won the 1998 football world cup")
    terminal.press(" final" + ENTER)
    await terminal.until("Answered in")

    assert [request.query["q"] for request in searxng.requests] == [
        "Who won the 1998 football world cup final"
    ]
