"""What the queue writes down of a turn, and what a later run of it knows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from dbos import DBOS
from fakes.messengers import RecordingMessenger
from fakes.patience import PATIENCE
from fakes.scripted import question
from fakes.turns import TO_HERE, turns_over


@dataclass
class NotingMessenger(RecordingMessenger):
    """Writes down which acts it was told to be careful with; its delivery can hang."""

    again: list[tuple[str, bool]] = field(default_factory=list)
    hangs: bool = False
    delivering: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self, turn, address, *, is_again):
        self.again.append(("begin", is_again))
        return await super().begin(turn, address, is_again=is_again)

    async def deliver(self, turn, address, handle, outcome, *, is_again):
        self.again.append(("deliver", is_again))
        self.delivering.set()
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        await super().deliver(turn, address, handle, outcome, is_again=is_again)


async def test_a_turn_is_written_down_in_two_steps_and_its_end(folder):
    messenger = NotingMessenger()

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")
        steps = await DBOS.list_workflow_steps_async("q1")

    assert [step["function_name"] for step in steps] == ["begin", "think"]
    assert messenger.again == [("begin", False), ("deliver", False)]


async def test_a_delivery_that_was_cut_off_is_done_once_more_and_with_care(folder):
    cut_off, after = NotingMessenger(hangs=True), NotingMessenger()

    async with turns_over(folder, cut_off) as turns:
        await turns.accept(question(), TO_HERE)
        await asyncio.wait_for(cut_off.delivering.wait(), PATIENCE)
    async with turns_over(folder, after):
        await after.until_delivered("q1")

    assert cut_off.again == [("begin", False), ("deliver", False)]
    assert after.again == [("deliver", True)]
    assert after.outcomes["q1"].kind == "answered"
