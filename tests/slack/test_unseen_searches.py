"""A written "approve" is about a search that stood in the thread when it was written."""

from __future__ import annotations

import pytest
from fakes.served import CUP, FRANCE
from fakes.slack import Hang
from fakes.web_servers import FakeSearXNG


@pytest.fixture
async def engine(office):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


async def test_words_allow_no_search_that_is_not_shown_yet(office, slack, engine, ann, general):
    """Its card is on the way for as long as Slack takes nothing."""
    await office.open()
    asked = await slack.mention(ann, general, f"{CUP} (0)")
    await office.until_answered(asked)
    slack.faults.queue("chat.postMessage", Hang())
    await slack.say(ann, general, f"{CUP} (1)", asked.ts)
    await slack.until(lambda: slack.faults.injected)

    approved = await slack.say(ann, general, "approve", asked.ts)
    await slack.until_acked(approved)
    slack.released.set()
    await slack.until(lambda: engine.requests)
    await office.until_answered(asked, 3)

    assert [request.query["q"] for request in engine.requests] == [f"{CUP} (0)"]
