"""Proposals that expire, through the real queue: the time decides once, and never before a person who was earlier."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace

from dbos import DBOS
from fakes.messengers import RecordingMessenger
from fakes.patience import PATIENCE
from fakes.scripted import (
    HERE,
    WEB,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    question,
)

from core.reasoning.reasoner import Plan
from core.turns.archive import count_unfinished
from core.turns.queue import system_database
from core.turns.turns import enqueue_expiry, open_turns

TO_HERE = {"channel": "C1"}


class SlowReasoner(ScriptedReasoner):
    """Thinks about the second question until it is let go on."""

    def __init__(self):
        super().__init__(sufficient=False, relevance=lambda _hit: "incorrect")
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def plan(self, ask) -> Plan:
        if ask.question == "Slow?":
            self.asked.set()
            await self.goes_on.wait()
        return await super().plan(ask)


@asynccontextmanager
async def turns_over(folder, messenger, web, reasoner=None, *, expire):
    documents = ScriptedDocuments(confidence=0.1)
    url = f"sqlite:///{folder / 'turns.sqlite'}"
    ports = {"web": web, "proposals_expire": expire}
    async with (
        assistant_over(folder, reasoner or SlowReasoner(), documents, **ports) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=url, drain=0.1) as turns,
    ):
        yield turns


async def until_ended(turn_id):
    async with asyncio.timeout(PATIENCE):
        await (await DBOS.retrieve_workflow_async(turn_id)).get_result()


async def test_the_time_decides_once_also_over_a_restart_and_what_waits_for_it_is_no_work(folder):
    messenger, web = RecordingMessenger(), ScriptedWeb(hits=WEB)

    async with turns_over(folder, messenger, web, expire=1.5) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        await until_ended("q1")
        unfinished = await asyncio.to_thread(count_unfinished)
    async with turns_over(folder, messenger, web, expire=1.5) as turns:
        await messenger.until_delivered("q1/expiry")
        (proposal,) = await turns.assistant.proposals(HERE)

    assert unfinished == 0
    assert messenger.delivered == ["q1", "q1/expiry"]
    assert (proposal.verdict, proposal.decided_at) == ("expire", proposal.expires_at)
    assert web.sent == []


async def test_an_expiry_that_several_processes_store_is_one(folder):
    """As a run that a kill cut off stores it again, wherever it goes on."""
    messenger, web = RecordingMessenger(), ScriptedWeb(hits=WEB)

    async with turns_over(folder, messenger, web, expire=1.0) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        proposal = messenger.outcomes["q1"].proposal
        await asyncio.gather(*(enqueue_expiry(proposal, question(), TO_HERE) for _ in range(3)))
        await messenger.until_delivered("q1/expiry")
        await enqueue_expiry(proposal, question(), TO_HERE)
        await until_ended("q1/expiry")

    assert messenger.delivered == ["q1", "q1/expiry"]


async def test_a_press_in_time_is_carried_out_though_it_waits_past_the_expiry_behind_another_turn(folder):
    messenger, web, reasoner = RecordingMessenger(), ScriptedWeb(hits=WEB), SlowReasoner()

    async with turns_over(folder, messenger, web, reasoner, expire=2.0) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        proposal = messenger.outcomes["q1"].proposal
        await turns.accept(replace(question("Slow?", id="q2"), asked_at=1.0), TO_HERE)
        await reasoner.asked.wait()
        await asyncio.sleep(proposal.expires_at - time.time())
        await asyncio.to_thread(system_database().transition_delayed_workflows)  # as DBOS does once a second
        press = replace(decision(proposal.id), decided_at=proposal.expires_at - 0.5)
        await turns.accept(press, TO_HERE)
        reasoner.goes_on.set()
        await messenger.until_delivered("q2", "d1")
        await until_ended("q1/expiry")

    assert web.sent == [proposal.query]
    assert "q1/expiry" not in messenger.delivered


async def test_of_a_press_and_the_expiry_at_the_same_moment_one_counts_and_nothing_is_sent(folder):
    messenger, web = RecordingMessenger(), ScriptedWeb(hits=WEB)

    async with turns_over(folder, messenger, web, expire=1.0) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        proposal = messenger.outcomes["q1"].proposal
        await turns.accept(replace(decision(proposal.id), decided_at=proposal.expires_at), TO_HERE)
        await messenger.until_delivered("d1", "q1/expiry")

    assert messenger.outcomes["d1"].kind == "failed"
    assert "expired" in messenger.outcomes["d1"].reason
    assert web.sent == []


async def test_without_a_limit_nothing_waits_for_an_expiry(folder):
    messenger, web = RecordingMessenger(), ScriptedWeb(hits=WEB)

    async with turns_over(folder, messenger, web, expire=0.0) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        await until_ended("q1")
        stored = await DBOS.get_workflow_status_async("q1/expiry")

    assert stored is None
