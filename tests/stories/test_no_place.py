"""A search is carried out only where its answer can be said; otherwise whoever allowed it learns why."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, FRANCE
from fakes.stages import BeginChat, in_discord, in_slack
from fakes.web_servers import FakeSearXNG


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_search_allowed_where_nobody_may_write_any_more_waits_until_somebody_may(
    begin: BeginChat, template, tmp_path
):
    folder = shutil.copytree(template, tmp_path / "home")
    async with FakeSearXNG([FRANCE]) as engine:
        searching = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        async with begin(folder, searching) as stage:
            card = await stage.ask(CUP)
            offered = stage.buttons()
            stage.close()
            told = await stage.press_in_private("approve", stage.ann)
            sent_where_closed, stays = list(engine.requests), stage.card.visible
            left = stage.buttons()
            stage.reopen()
            found = await stage.press("approve")
            settled, late = stage.card.visible, stage.buttons()

    assert "Nothing was sent to the web" in told
    assert sent_where_closed == []
    assert (stays, left) == (card, offered)
    assert "Nothing is sent until" in stays
    assert "France won" in found
    assert "ann allowed this search at" in settled
    assert "Nothing is sent until" not in settled
    assert late.isdisjoint({"approve", "edit", "deny"})
    assert len(engine.requests) == 1


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_search_that_failed_leaves_a_decided_card_and_can_be_tried_again(
    begin: BeginChat, template, tmp_path
):
    folder = shutil.copytree(template, tmp_path / "home")
    async with FakeSearXNG([FRANCE]) as engine:
        searching = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        async with begin(folder, searching) as stage:
            await stage.ask(CUP)
            stage.served.is_troubled, engine.formats = True, ("html",)
            failed = await stage.press("approve")
            settled, left = stage.card.visible, stage.buttons()
            engine.formats = ("html", "json")
            stage.card = stage.reply
            found = await stage.press("again")

    assert "ann allowed this search at" in settled
    assert "Nothing is sent until" not in settled
    assert left.isdisjoint({"approve", "edit", "deny"})
    assert "SearXNG" in failed
    assert "France won" in found
    assert len(engine.requests) == 2
