"""The process is killed while it serves: counted at the Slack, nothing is lost and nothing doubled."""

from __future__ import annotations

import pytest
from fakes.office import CUP, FRANCE
from fakes.slack import Hang
from fakes.web_servers import FakeSearXNG


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

        await office.kill()
        await slack.until(lambda: not slack.sockets.live)
        await office.open()
        await slack.redeliver()
        _, answer = await office.until_answered(asked, 2)

        assert "France" in answer.visible
        assert "ann allowed this search" in card.visible
        assert len(engine.requests) == 1
        assert len(slack.replies(general, asked.ts)) == 2
