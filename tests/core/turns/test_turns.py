"""Turns through the real queue, told as stories: what a platform brings, and what it gets."""

from __future__ import annotations

import asyncio
import base64
import pickle
import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest
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
from fakes.turns import TO_HERE, turns_over
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from core.conversation import Command, ThreadMessage
from core.errors import SettingsError, StoreUnavailable
from core.reasoning.reasoner import Plan
from core.turns.archive import NOWHERE, forget_turns, outcome_of, question_of
from core.turns.messenger import Unreachable
from core.turns.queue import sweep
from core.turns.turns import TurnsClosed, open_turns
from core.turns.waiting import TurnRun, queue_priority

THERE = replace(HERE, thread="elsewhere")


class HangingReasoner(ScriptedReasoner):
    """Begins to plan, and never ends."""

    def __init__(self):
        super().__init__()
        self.asked = asyncio.Event()

    async def plan(self, ask) -> Plan:
        self.asked.set()
        return await asyncio.get_running_loop().create_future()


async def test_a_turn_that_is_brought_four_times_ends_once(folder):
    messenger, reasoner = RecordingMessenger(), ScriptedReasoner()

    async with turns_over(folder, messenger, reasoner) as turns:
        await asyncio.gather(*(turns.accept(question(), TO_HERE) for _ in range(3)))
        await messenger.until_delivered("q1")
        await turns.accept(question(), TO_HERE)
        await turns.accept(question(id="q2"), TO_HERE)
        await messenger.until_delivered("q2")

    assert messenger.shown == [("begin", "q1"), ("answered", "q1"), ("begin", "q2"), ("answered", "q2")]


async def test_turns_of_one_conversation_end_in_the_order_in_which_they_were_said(folder):
    messenger = RecordingMessenger()
    said = [replace(question(id=f"q{number}"), asked_at=1000.0 + number) for number in range(10)]

    async with turns_over(folder, messenger) as turns:
        for turn in said:
            await turns.accept(turn, TO_HERE)
        await messenger.until_delivered(*(turn.id for turn in said))

    assert messenger.delivered == [turn.id for turn in said]


async def test_a_later_turn_that_comes_first_waits_for_the_earlier_one(folder):
    messenger = RecordingMessenger()
    first, second = (replace(question(id=f"q{number}"), asked_at=1000.0 + number) for number in (1, 2))

    async with turns_over(folder, messenger) as turns:
        await asyncio.gather(*(turns.accept(turn, TO_HERE, reorder_window=0.05) for turn in (second, first)))
        await messenger.until_delivered("q1", "q2")

    assert messenger.delivered == ["q1", "q2"]


async def test_an_errand_is_carried_out_once_and_in_its_order_among_the_turns(folder):
    messenger, reasoner = RecordingMessenger(), HangingReasoner()
    command = Command(id="e1", conversation=HERE, author="ada", name="forget", said_at=2000.0)

    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(), TO_HERE)
        await reasoner.asked.wait()
        await asyncio.gather(*(turns.accept(command, TO_HERE) for _ in range(3)))
        await turns.stop(HERE)
        await messenger.until_shown("command", "e1")

    assert messenger.shown == [("begin", "q1"), ("failed", "q1"), ("command", "e1")]


async def test_the_first_question_of_a_thread_brings_what_was_said_before_and_no_later_one_does(folder):
    remark = ThreadMessage(author="bob", text="How tall is the tower?")
    messenger, seen = RecordingMessenger(remarks=(remark,)), []

    def plan(ask):
        seen.append(ask.thread_context)
        messenger.remarks = ()
        return Plan(route="documents", standalone=ask.question)

    async with turns_over(folder, messenger, ScriptedReasoner(plans=plan)) as turns:
        for turn in (question(), question(id="q2")):
            await turns.accept(turn, TO_HERE)
            await messenger.until_delivered(turn.id)

    assert seen == [(remark,), (remark,)]


async def test_what_is_forgotten_leaves_no_word_in_the_queues_file(folder):
    messenger = RecordingMessenger()

    async with turns_over(folder, messenger) as turns:
        for turn in (
            question("What is secret?"),
            replace(question("And open?", id="q2"), conversation=THERE),
        ):
            await turns.accept(turn, TO_HERE)
            await messenger.until_delivered(turn.id)
        asked = await question_of("q1")
        forgotten = await wait_until_finished_and_forget(HERE)
        left = await question_of("q1"), await outcome_of("q1"), await question_of("q2")

    assert asked.text == "What is secret?"
    assert forgotten == ("q1",)
    assert left == (None, None, replace(question("And open?", id="q2"), conversation=THERE))


async def wait_until_finished_and_forget(conversation):
    """A turn is delivered a moment before its workflow is recorded as finished."""
    while not (forgotten := await forget_turns(conversation)):  # noqa: ASYNC110 - only the database knows
        await asyncio.sleep(0.01)
    return forgotten


async def test_a_conversation_that_hangs_holds_up_no_other(folder):
    messenger, reasoner = RecordingMessenger(), HangingReasoner()

    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(id="slow"), TO_HERE)
        await reasoner.asked.wait()
        reasoner.asked.clear()
        await turns.accept(replace(question(id="other"), conversation=THERE), TO_HERE)
        await asyncio.wait_for(reasoner.asked.wait(), PATIENCE)
        assert await turns.stop(THERE)
        await messenger.until_delivered("other")
        assert await turns.stop(HERE)
        await messenger.until_delivered("slow")

    assert messenger.delivered == ["other", "slow"]


async def test_who_finds_every_seat_taken_is_told_how_many_come_first(folder, monkeypatch):
    monkeypatch.setattr("core.turns.turns.THINKING", 1)
    messenger, reasoner = RecordingMessenger(), HangingReasoner()
    threads = {name: replace(HERE, thread=name) for name in ("one", "two", "three")}

    async with turns_over(folder, messenger, reasoner) as turns:
        for number, (name, thread) in enumerate(threads.items(), start=1):
            await turns.accept(replace(question(id=name), conversation=thread), TO_HERE)
            await messenger.until_shown("begin", name)
            if number == 1:
                await reasoner.asked.wait()
            await messenger.until_waiting(number - 1)
        for name, thread in threads.items():
            await asyncio.wait_for(reasoner.asked.wait(), PATIENCE)
            reasoner.asked.clear()
            assert await turns.stop(thread)
            await messenger.until_delivered(name)

    assert [note.count for note in messenger.notes if note.stage == "waiting"] == [0, 1]


class UnreadableThreads(RecordingMessenger):
    """Its platform shows everything, but in the thread ``away`` nothing can be read."""

    def __init__(self, away):
        super().__init__()
        self.away, self.asked = away, asyncio.Event()

    async def thread_context(self, turn, route):
        if turn.conversation == self.away:
            self.asked.set()
            raise Unreachable
        return ()


async def test_a_turn_whose_platform_is_out_of_reach_leaves_its_seat_and_can_be_stopped(folder, monkeypatch):
    monkeypatch.setattr("core.turns.turns.THINKING", 1)
    monkeypatch.setattr("core.turns.waiting.FIRST_PAUSE", 3600.0)
    messenger = UnreadableThreads(away=HERE)

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(id="away"), TO_HERE)
        await messenger.asked.wait()
        await turns.accept(replace(question(id="other"), conversation=THERE), TO_HERE)
        await messenger.until_delivered("other")
        assert await turns.stop(HERE)
        await messenger.until_delivered("away")

    assert messenger.delivered == ["other", "away"]
    assert messenger.outcomes["away"].reason == "Stopped."


async def test_a_turn_that_is_stopped_while_it_waits_for_its_seat_again_takes_none(folder, monkeypatch):
    monkeypatch.setattr("core.turns.turns.THINKING", 1)
    monkeypatch.setattr("core.turns.waiting.FIRST_PAUSE", 0.0)
    messenger, reasoner = UnreadableThreads(away=HERE), HangingReasoner()

    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(id="away"), TO_HERE)
        await messenger.asked.wait()
        await turns.accept(replace(question(id="other"), conversation=THERE), TO_HERE)
        await asyncio.wait_for(reasoner.asked.wait(), PATIENCE)
        assert await turns.stop(HERE)
        await messenger.until_delivered("away")
        assert await turns.stop(THERE)
        await messenger.until_delivered("other")

    assert messenger.delivered == ["away", "other"]


async def test_an_errand_that_is_apart_waits_for_no_turn_of_its_conversation(folder):
    messenger, reasoner = RecordingMessenger(), HangingReasoner()
    told = Command(id="told", conversation=HERE, author="ada", name="tell", said_at=9.0, is_apart=True)

    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(), TO_HERE)
        await reasoner.asked.wait()
        await turns.accept(told, TO_HERE)
        await messenger.until_shown("command", "told")
        await turns.stop(HERE)
        await messenger.until_delivered("q1")

    assert messenger.delivered == ["told", "q1"]


async def test_a_turn_that_a_person_stops_says_so(folder):
    messenger, reasoner = RecordingMessenger(), HangingReasoner()

    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(), TO_HERE)
        await reasoner.asked.wait()
        was_running = await turns.stop(HERE)
        await messenger.until_delivered("q1")

    assert was_running
    assert not await turns.stop(HERE)
    assert (messenger.outcomes["q1"].kind, messenger.outcomes["q1"].reason) == ("failed", "Stopped.")


async def test_a_turn_that_begins_again_where_its_first_run_slept_ends_neither_run_with_a_fault(folder):
    """Others put it back into the queue meanwhile, and this process took it before it knew that it had slept."""
    reasoner = HangingReasoner()

    async with turns_over(folder, RecordingMessenger(), reasoner) as turns:
        runs = [
            asyncio.create_task(turns.think(TurnRun(attempt=attempt), question(), TO_HERE, ""))
            for attempt in (1, 2)
        ]
        await reasoner.asked.wait()
        await turns.abandon()

        assert [run.cancelled() for run in runs] == [True, True]


async def test_a_fault_of_our_own_ends_in_a_sentence_without_the_exceptions_text(folder):
    def break_down(_ask):
        raise RuntimeError("secret detail")

    messenger = RecordingMessenger()

    async with turns_over(folder, messenger, ScriptedReasoner(plans=break_down)) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")

    assert messenger.outcomes["q1"].kind == "failed"
    assert "secret" not in messenger.outcomes["q1"].reason


@pytest.mark.parametrize("fault", [Unreachable(), StoreUnavailable("The disk is full.")])
async def test_what_is_out_of_reach_is_tried_again(folder, fault):
    messenger = RecordingMessenger(faults=[fault])

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")

    assert messenger.shown == [("begin", "q1"), ("answered", "q1")]


async def test_what_a_platform_refuses_does_not_hold_up_the_turn_behind_it(folder):
    messenger = RecordingMessenger(faults=[ValueError("bad"), ValueError("bad")])

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(), TO_HERE)
        await turns.accept(question(id="q2"), TO_HERE)
        await messenger.until_delivered("q2")

    assert messenger.delivered == ["q2"]


class UnheardMessenger(RecordingMessenger):
    """Of a platform that lets nothing be said where the turn is from."""

    async def begin(self, turn, address, *, is_again):
        await super().begin(turn, address, is_again=is_again)
        return f"{NOWHERE} 160005 This thread is locked"


async def test_a_turn_whose_answer_can_be_shown_nowhere_is_not_thought_of(folder):
    messenger, asked = UnheardMessenger(), []

    async with turns_over(folder, messenger, ScriptedReasoner(plans=asked.append)) as turns:
        await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")

    assert asked == []
    assert messenger.outcomes["q1"].reason == "The answer could not be shown where it was asked for."


@pytest.mark.parametrize("fault", [None, ValueError("refused")], ids=["nowhere", "fault"])
async def test_a_search_whose_answer_can_be_shown_nowhere_is_not_sent_and_stays_open(folder, fault):
    """Whether the platform says so, or its messenger breaks before the first sign."""
    unsure = ScriptedReasoner(sufficient=False, relevance=lambda _hit: "incorrect")
    web = ScriptedWeb(hits=WEB)
    messenger = RecordingMessenger() if fault else UnheardMessenger()
    url = f"sqlite:///{folder / 'turns.sqlite'}"

    async with (
        assistant_over(folder, unsure, ScriptedDocuments(confidence=0.1), web=web) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=url) as turns,
    ):
        proposed = await assistant.run(question())
        messenger.faults = [fault] if fault else []
        await turns.accept(decision(proposed.proposal.id, id="d1"), TO_HERE)
        await messenger.until_delivered("d1")
        (proposal,) = await assistant.proposals(HERE)

    assert messenger.outcomes["d1"].kind == "failed"
    assert web.sent == []
    assert proposal.is_open


async def test_a_stop_leaves_what_runs_to_the_next_start(folder):
    messenger, reasoner = RecordingMessenger(), HangingReasoner()
    async with turns_over(folder, messenger, reasoner) as turns:
        await turns.accept(question(), TO_HERE)
        await reasoner.asked.wait()
        await turns.accept(question(id="q2"), TO_HERE)

    async with turns_over(folder, messenger):
        await messenger.until_delivered("q1", "q2")

    assert messenger.shown == [("begin", "q1"), ("answered", "q1"), ("begin", "q2"), ("answered", "q2")]


async def test_a_turn_that_ten_stops_cut_off_ends_in_its_answer(folder):
    messenger = RecordingMessenger()
    for start in range(10):
        reasoner = HangingReasoner()
        async with turns_over(folder, messenger, reasoner) as turns:
            if start == 0:
                await turns.accept(question(), TO_HERE)
            await asyncio.wait_for(reasoner.asked.wait(), PATIENCE)

    async with turns_over(folder, messenger) as turns:
        await messenger.until_delivered("q1")

    assert messenger.delivered == ["q1"]
    assert messenger.outcomes["q1"].kind == "answered"


async def test_a_database_that_cannot_be_opened_is_told_as_a_setting(tmp_path):
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        async with turns_over(tmp_path, RecordingMessenger(), database=tmp_path / "no" / "t.sqlite"):
            pass


async def test_what_is_stored_can_be_read_by_its_owner_alone(tmp_path):
    async with turns_over(tmp_path, RecordingMessenger()) as turns:
        await turns.accept(question(), TO_HERE)

        modes = {file.name: file.stat().st_mode & 0o077 for file in tmp_path.glob("turns.sqlite*")}

    assert len(modes) >= 2
    assert set(modes.values()) == {0}


async def test_nothing_is_taken_once_the_queue_is_closed(folder):
    async with turns_over(folder, RecordingMessenger()) as turns:
        pass

    with pytest.raises(TurnsClosed):
        await turns.accept(question(), TO_HERE)


async def test_finished_turns_are_forgotten_when_they_are_old(folder):
    messenger = RecordingMessenger()

    async with turns_over(folder, messenger) as turns:
        for number in (1, 2):
            await turns.accept(question(id=f"q{number}"), TO_HERE)
        await turns.accept(question(id="q3"), TO_HERE)
        await messenger.until_delivered("q1", "q2", "q3")
        kept = await sweep(timedelta(days=1))
        forgotten = await sweep(timedelta(seconds=-1))

    assert kept == 0
    assert forgotten >= 2  # the last one may not have been written down as finished yet


class Hostile:
    """Unpickled, it leaves a trace."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


async def test_a_pickle_that_somebody_put_into_the_database_is_never_unpickled(folder):
    trace, messenger = folder / "trace", RecordingMessenger()
    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(id="q1"), TO_HERE)
        await messenger.until_delivered("q1")
    crafted = base64.b64encode(pickle.dumps({"args": (Hostile(trace),), "kwargs": {}})).decode()
    with sqlite3.connect(folder / "turns.sqlite") as database:
        database.execute(
            "UPDATE workflow_status SET status = 'PENDING', serialization = 'py_pickle', inputs = ? "
            "WHERE workflow_uuid = 'q1'",
            (crafted,),
        )
        database.execute("UPDATE workflow_input SET inputs = ? WHERE workflow_uuid = 'q1'", (crafted,))

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(id="q2"), TO_HERE)
        await messenger.until_delivered("q2")

    assert not trace.exists()
    assert messenger.delivered == ["q1", "q2"]


def test_the_order_is_that_of_being_said_to_the_millisecond():
    earlier, later = (
        queue_priority(replace(question(), asked_at=1_763_650_000.120)),
        queue_priority(replace(question(), asked_at=1_763_650_000.121)),
    )

    assert 1 <= earlier < later <= 2**31 - 1


async def test_no_error_of_the_queues_database_says_what_a_statement_was_about(folder):
    from dbos._dbos import _get_dbos_instance

    async with turns_over(folder, RecordingMessenger()):
        engine = _get_dbos_instance()._sys_db.engine
        with engine.connect() as connection, pytest.raises(SQLAlchemyError) as raised:
            connection.execute(text("SELECT :said FROM nowhere"), {"said": "What is the ferry's name?"})

    assert "ferry" not in str(raised.value)
