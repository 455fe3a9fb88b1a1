"""A burst is shared: beside others, a process takes no more turns than it has seats."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from dbos import DBOS
from fakes.messengers import RecordingMessenger
from fakes.patience import PATIENCE
from fakes.scripted import HERE, TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over, question

from core.turns import dbos_patches
from core.turns.dbos_patches import FULL, Share
from core.turns.replicas import Replicas
from core.turns.turns import THINKING, open_turns

BURST = THINKING + 8


@dataclass(frozen=True, slots=True)
class BesideOthers(Replicas):
    are_several: bool = True


class PatientReasoner(ScriptedReasoner):
    """Begins to plan, and goes on when it may."""

    def __init__(self):
        super().__init__()
        self.go_on = asyncio.Event()

    async def plan(self, ask):
        await self.go_on.wait()
        return await super().plan(ask)


@asynccontextmanager
async def burst(folder, replicas):
    """So many questions in as many conversations, none of which ends yet."""
    reasoner, messenger = PatientReasoner(), RecordingMessenger()
    url = f"sqlite:///{folder / 'turns.sqlite'}"
    async with (
        assistant_over(folder, reasoner, ScriptedDocuments(default=(TOWER,))) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=url, drain=0.1, replicas=replicas) as turns,
    ):
        asked = [
            replace(question(id=f"q{number}"), conversation=replace(HERE, thread=f"t{number}"))
            for number in range(BURST)
        ]
        for each in asked:
            await turns.accept(each, {})
        yield reasoner, messenger, [each.id for each in asked]


async def _of_status(status):
    return await DBOS.list_workflows_async(status=status, load_input=False, load_output=False)


async def test_a_process_without_a_free_seat_leaves_the_others_what_it_cannot_think_about(
    folder, monkeypatch
):
    monkeypatch.setattr(dbos_patches, "FULL", 3600.0)
    looks = []

    class RecordingShare(Share):
        def take(self, running, now):
            looks.append(running)
            return super().take(running, now)

    monkeypatch.setattr(dbos_patches, "Share", RecordingShare)

    async with burst(folder, BesideOthers()) as (reasoner, messenger, ids):
        async with asyncio.timeout(PATIENCE):
            while looks.count(THINKING) < 5:  # noqa: ASYNC110 - DBOS looks in a thread of its own
                await asyncio.sleep(0.02)
        taken, left = len(await _of_status("PENDING")), len(await _of_status("ENQUEUED"))
        reasoner.go_on.set()
        await messenger.until_delivered(*ids)

    assert (taken, left) == (THINKING, BURST - THINKING)


async def test_a_process_that_is_alone_takes_all_at_once(folder, monkeypatch):
    monkeypatch.setattr(
        dbos_patches, "FULL", 3600.0
    )  # beside others, it would take no more than it has seats for

    async with burst(folder, Replicas()) as (reasoner, messenger, ids):
        for each in ids:
            await messenger.until_shown("begin", each)
        ended = list(messenger.delivered)
        reasoner.go_on.set()
        await messenger.until_delivered(*ids)

    assert ended == []


def test_it_takes_as_many_as_it_has_free_seats():
    mine = Share(seats=32)

    assert [mine.take(running, now=0.0) for running in (0, 20, 31)] == [32, 12, 1]


def test_without_a_free_seat_it_takes_more_only_now_and_then():
    mine = Share(seats=32)

    looks = ((31, 0.0), (32, FULL / 2), (32, FULL), (64, 1.5 * FULL), (64, 2 * FULL))

    assert [mine.take(running, now) for running, now in looks] == [1, 0, 32, 0, 32]
