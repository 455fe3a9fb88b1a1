"""Whoever presses "Show quotes" sees, alone, where each sentence stands; nobody sees another channel's."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, FERRY, FRANCE, PONTOON, ingest
from fakes.stages import BeginChat, in_discord, in_slack
from fakes.web_servers import FakeSearXNG

LAMP = "How often does the lamp of the lighthouse turn?"
GUIDE = "# Lighthouse\n\n{}\n"
PARAGRAPH = "The lamp of the lighthouse turns every nine seconds. Visitors climb 90 steps."
CHANGED = "This no longer stands in the document"


@pytest.fixture
def folder(template, tmp_path):
    home = shutil.copytree(template, tmp_path / "home")
    (home / "guide.md").write_text(GUIDE.format(PARAGRAPH))
    ingest(home, "guide.md")
    return home


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_quote_stands_in_its_paragraph_until_the_document_changes(begin: BeginChat, folder):
    async with begin(folder, {}) as stage:
        answer, asked = await stage.ask(LAMP), stage.card
        offered = stage.buttons()
        quotes = await stage.press_in_private("footnotes", stage.bob)
        (folder / "guide.md").write_text(GUIDE.format(PARAGRAPH.replace("nine", "ten")))
        await stage.kill_and_open()
        await stage.ask(PONTOON)  # what changed is read again before the question
        changed = await stage.press_in_private("footnotes", stage.bob, as_on=asked)

    assert PARAGRAPH not in answer
    assert "footnotes" in offered
    assert PARAGRAPH in quotes
    assert "1 Lighthouse · guide.md" in quotes
    assert "turns every nine seconds" in changed
    assert "Visitors" not in changed
    assert CHANGED in changed


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_button_shows_nothing_of_another_channel(begin: BeginChat, folder):
    async with begin(folder, {}) as stage:
        await stage.ask(PONTOON)
        elsewhere = await stage.ask_elsewhere(FERRY)
        shown = await stage.press_in_private("footnotes", stage.ann, as_on=elsewhere)

    assert shown == "I no longer have these footnotes."


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_the_quotes_of_a_web_answer_are_shown_too(begin: BeginChat, folder):
    async with FakeSearXNG([FRANCE]) as engine:
        searching = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        async with begin(folder, searching) as stage:
            await stage.ask(CUP)
            await stage.press("approve")
            quotes = await stage.press_in_private("footnotes", stage.ann, as_on=stage.reply)

    assert FRANCE.content in quotes
    assert CHANGED not in quotes
