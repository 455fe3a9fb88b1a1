"""An operator who lets searches go unasked may take that back while one is under way."""

from __future__ import annotations

import asyncio

from fakes.scripted import WEB, ScriptedDocuments, ScriptedReasoner, ScriptedWeb, assistant_over, question


class HangingWeb(ScriptedWeb):
    """It never says what it found."""

    async def find(self, query, question, report):
        self.sent.append(query)
        await asyncio.Event().wait()


async def test_a_search_that_nobody_allowed_is_not_sent_again_once_people_are_asked(tmp_path):
    hanging, web = HangingWeb(), ScriptedWeb(hits=WEB)
    reasoner = ScriptedReasoner(sufficient=False, relevance=lambda _hit: "incorrect")
    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(), web=hanging, approval="never_ask"
    ) as assistant:
        running = asyncio.create_task(assistant.run(question(), is_queued=True))
        while not hanging.sent:  # noqa: ASYNC110 - the state of a fake is what is waited for
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(), web=web, approval="asker"
    ) as assistant:
        outcome = await assistant.run(question(), is_queued=True)

    assert hanging.sent
    assert web.sent == []
    assert (outcome.kind, outcome.proposal.is_open) == ("approval_needed", True)
