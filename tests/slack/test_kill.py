"""The process is killed while it serves: counted at the Slack, nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
import random

import pytest
from fakes.office import CUP, FERRY, FRANCE
from fakes.slack import Hang, Message
from fakes.web_servers import FakeSearXNG


async def restart(office, slack):
    """Slack then brings again what was not acknowledged."""
    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    await office.open()
    await slack.redeliver()


@pytest.mark.parametrize("method", ["agents.sessions.setStatus", "chat.update"])
async def test_a_kill_after_a_decision_sends_one_search_and_gives_one_answer(
    office, slack, ann, general, method
):
    """Before its first sign, and before its card is settled."""
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await office.open()
        asked = await slack.mention(ann, general, CUP)
        (card,) = await office.until_answered(asked)
        await slack.until(lambda: slack.session(general, asked.ts) == "suspended")
        slack.faults.queue(method, Hang())
        await slack.press(card, "approve", ann)
        await slack.until(lambda: slack.faults.injected)

        await restart(office, slack)
        _, answer = await office.until_answered(asked, 2)

        assert "France" in answer.visible
        assert "ann allowed this search" in card.visible
        assert len(engine.requests) == 1
        assert len(slack.replies(general, asked.ts)) == 2


async def kill_at_random(office, slack, ann, general, *, questions, kills, seed):
    """Questions come in all the while; each question's thread is returned."""
    chance = random.Random(seed)
    asked: list[Message] = []
    await office.open()
    for _ in range(kills):
        asked += [await slack.mention(ann, general, FERRY) for _ in range(questions // kills)]
        await asyncio.sleep(chance.uniform(0.0, 1.5))
        await restart(office, slack)
    return asked


def endings(office, slack, asked):
    return [len(slack.replies(each.channel, each.ts)) for each in asked]


async def test_random_kills_under_load_lose_and_double_nothing(office, slack, ann, general):
    asked = await kill_at_random(office, slack, ann, general, questions=12, kills=3, seed=1)

    for each in asked:
        await office.until_answered(each)
    assert endings(office, slack, asked) == [1] * 12


@pytest.mark.long
async def test_two_hundred_random_kills_under_load_lose_and_double_nothing(office, slack, ann, general):
    asked = await kill_at_random(office, slack, ann, general, questions=1000, kills=200, seed=2)

    for each in asked:
        await office.until_answered(each)
    assert endings(office, slack, asked) == [1] * 1000
