"""One story, word for word the same at a terminal, in Slack and in Discord; it ends alike."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, CUP_URL, FERRY, FERRY_ANSWER, FRANCE
from fakes.stages import Begin, at_terminal, in_discord, in_slack
from fakes.web_servers import FakeSearXNG


@pytest.mark.parametrize("begin", [at_terminal, in_slack, in_discord])
async def test_a_question_a_follow_up_a_search_that_is_refused_and_one_that_is_changed_and_allowed(
    begin: Begin, template, tmp_path
):
    folder = tmp_path / "home"
    shutil.copytree(template, folder)
    async with FakeSearXNG([FRANCE]) as engine:
        searching = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        async with begin(folder, searching) as stage:
            answer = await stage.ask(FERRY)
            follow_up = await stage.ask("And does it take cars?")
            card = await stage.ask(CUP)
            refused = await stage.say_no()
            nothing_sent = list(engine.requests)
            await stage.ask(CUP)
            found = await stage.allow("football world cup 1998 winner")

    assert FERRY_ANSWER in answer
    assert "Quoted from your documents, not composed." in answer
    assert "Harbour handbook › Ferry" in answer
    assert "handbook.md" in answer
    assert "no cars" in follow_up
    assert "I would search SearXNG for:" in card
    assert "Who won the 1998 football world cup" in card
    assert "Nothing is sent until" in card
    assert "ann said no at" in refused
    assert nothing_sent == []
    assert "ann allowed this search at" in found
    assert "From the web, not from your documents." in found
    assert "France won the 1998 football World Cup" in found
    assert CUP_URL.partition("/cup")[0].removeprefix("http://").partition(":")[0] in found
    assert [request.query["q"] for request in engine.requests] == ["football world cup 1998 winner"]
