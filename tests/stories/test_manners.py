"""People who talk to each other, in a thread of the bot and in a channel that it follows; alike in Slack and in Discord."""

from __future__ import annotations

import shutil

import pytest
from fakes.served import CUP, FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER
from fakes.stages import BeginChat, in_discord, in_slack
from fakes.web_servers import FakeSearXNG

#: What got search cards and quotes when it was said to somebody else, and a question that no document answers.
TALK = (
    "lgtm, lunch?", "Can you review my PR today?", "ok will do that tomorrow", "Ann, does the ferry leave on time?",
    "shall we take the ferry to Sark?", "the ferry to Sark was late again", CUP, "👍", "...", "ok",
)  # fmt: skip


@pytest.fixture
async def home(template, tmp_path):
    """A data folder, and settings with a search engine that could be proposed."""
    shutil.copytree(template, tmp_path / "home")
    async with FakeSearXNG([]) as engine:
        yield tmp_path / "home", {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
    assert engine.requests == []


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_talk_in_a_thread_is_left_alone_and_a_question_of_somebody_else_is_answered(
    begin: BeginChat, home
):
    async with begin(*home) as stage:
        await stage.command("follow thread")
        await stage.ask(FERRY)
        for words in TALK:
            await stage.remark(stage.bob, words)
        for words in ("thanks, I am booking it for tomorrow then", "ok, thanks!"):
            await stage.remark(stage.ann, words)
        await stage.remark(stage.bob, PONTOON)
        answer = await stage.until_answered()

    assert PONTOON_ANSWER in answer
    assert stage.seen == 2


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_by_default_only_who_asked_is_followed_up(begin: BeginChat, home):
    async with begin(*home) as stage:
        await stage.ask(FERRY)
        await stage.remark(stage.bob, PONTOON)
        await stage.remark(stage.ann, PONTOON)
        answer = await stage.until_answered()

    assert PONTOON_ANSWER in answer
    assert stage.seen == 2


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_channel_that_is_followed_gets_answers_that_anybody_can_take_back(begin: BeginChat, home):
    async with begin(*home) as stage:
        unfollowed = await stage.command("follow")
        followed = await stage.command("follow channel")
        await stage.remark_in_channel(stage.bob, CUP)
        await stage.remark_in_channel(stage.bob, "Can you look at my boat?")
        await stage.remark_in_channel(stage.bob, FERRY)
        answer, offered = await stage.until_answered(), stage.buttons()
        withdrawn, left = await stage.withdraw(), stage.buttons()
        await stage.remark(stage.bob, PONTOON)
        await stage.remark_in_channel(stage.ann, PONTOON)
        other = await stage.until_answered()
        helped = await stage.command("help")

    assert "whoever asked" in unfollowed
    assert "without a mention" in followed
    assert FERRY_ANSWER in answer
    assert (offered, left) == ({"withdraw", "footnotes"}, set())
    assert "Not helpful here" in withdrawn
    assert FERRY_ANSWER not in withdrawn
    assert PONTOON_ANSWER in other
    assert "I answered 2 questions here that nobody asked me; not helpful: 1." in helped


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_an_answer_is_taken_back_though_the_process_was_killed_meanwhile(begin: BeginChat, home):
    async with begin(*home) as stage:
        await stage.command("follow channel")
        await stage.remark_in_channel(stage.bob, FERRY)
        answer = await stage.until_answered()
        withdrawn = await stage.withdraw(is_cut_off=True)

    assert FERRY_ANSWER in answer
    assert "Not helpful here" in withdrawn
    assert FERRY_ANSWER not in withdrawn
