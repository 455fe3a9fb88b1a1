"""The log of questions on both databases: what is kept of a turn, for how long, and what is never lost to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import (
    OTHER,
    TOWER,
    WEB,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    question,
)

from core.conversation import Outcome
from core.reasoning.reasoner import Draft
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.log import DAY, EXPIRE_EVERY, open_question_log
from core.traces.trace import FORMAT, Trace, pack, unpack

NOON = 1_790_000_000.0


@pytest.fixture
def log(storage):
    with open_question_log(storage, days=14) as log:
        log.now = lambda: NOON
        yield log


def asked(text="How tall is the tower?", *, id="q1", at=NOON, **more):
    return replace(question(text, id=id, **more), asked_at=at)


def count(log, table):
    ((rows,),) = log.database.database.rows(f"SELECT count(*) FROM {table}")
    return rows


async def test_a_trace_tells_the_way_to_an_answer(tmp_path, log):
    reasoner = ScriptedReasoner(
        relevance=lambda hit: "correct" if hit.passage.id == "1" else "incorrect",
        writes=lambda _ask, _strips: Draft(text="It is 300 metres tall. [1] It is made of cheese. [1]", composed=True),
        unsupported=lambda texts: [texts.index("It is made of cheese.") + 1] if len(texts) > 1 else [],
    )  # fmt: skip
    documents = ScriptedDocuments(default=(TOWER, OTHER), confidence=0.7)

    async with assistant_over(tmp_path, reasoner, documents, log=log) as assistant:
        outcome = await assistant.run(asked())
    row, trace = await log.question("q1"), await log.trace("q1")

    assert (row.outcome, row.grounding, row.question) == ("answered", "documents", "How tall is the tower?")
    assert (row.author, row.channel, row.kind, row.about) == ("ada", "test/s/c", "question", "q1")
    assert [step.node for step in trace.steps] == ["enter", *outcome.steps]
    assert [(one.id, one.verdict) for one in trace.passages] == [("1", "correct"), ("2", "incorrect")]
    tall, cheese = trace.drafts[0].sentences
    assert (tall.is_cut, cheese.is_cut) == (False, True)
    assert (cheese.votes, cheese.against) == (3, 3)
    assert trace.text == outcome.answer.text
    assert trace.left_out == ("It is made of cheese.",)
    opened, verified = trace.steps[1].odds, trace.steps[-1].odds
    assert set(opened) <= {"confidence", "sufficient", "relevance"}
    assert {"grounding", "useful"} <= set(verified)


async def test_a_trace_holds_no_word_of_a_document_but_those_of_the_answer(tmp_path, log):
    async with assistant_over(
        tmp_path, ScriptedReasoner(), ScriptedDocuments(default=(TOWER, OTHER)), log=log
    ) as assistant:
        await assistant.run(asked())

    assert OTHER.passage.text not in str(replace(await log.trace("q1"), text="", drafts=()))


async def test_a_decision_is_about_the_question_that_led_to_it(tmp_path, log):
    reasoner, documents = ScriptedReasoner(sufficient=False), ScriptedDocuments()

    async with assistant_over(tmp_path, reasoner, documents, web=ScriptedWeb(WEB), log=log) as assistant:
        proposed = await assistant.run(asked())
        reasoner.sufficient = True
        await assistant.run(replace(decision(proposed.proposal.id), decided_at=NOON + 5))
    first, second = await log.question("q1"), await log.question("d1")
    trace = await log.trace("d1")

    assert (first.outcome, second.outcome, second.kind) == ("approval_needed", "answered", "approve")
    assert (second.about, second.question, second.grounding) == ("q1", first.question, "web")
    assert trace.citations[0].quote in WEB[0].passage.text


async def test_the_proposal_after_a_failed_search_is_about_the_first_question(tmp_path, log):
    reasoner = ScriptedReasoner(sufficient=False, relevance=lambda _hit: "incorrect", useful=False)

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(), web=ScriptedWeb(WEB), log=log
    ) as assistant:
        outcome = await assistant.run(asked())
        for number in (1, 2):
            outcome = await assistant.run(
                replace(decision(outcome.proposal.id, id=f"d{number}"), decided_at=NOON + number)
            )

    assert {(await log.question(turn)).about for turn in ("q1", "d1", "d2")} == {"q1"}


async def test_a_turn_that_is_told_again_is_logged_once(log):
    outcome = Outcome(kind="failed", turn_id="q1", reason="It took too long.")

    for trace in (Trace(policy="footnote"), Trace()):
        await log.record(asked(), outcome, trace)

    assert (count(log, "questions"), count(log, "traces")) == (1, 1)
    assert (await log.trace("q1")).policy == "footnote"


async def test_a_question_that_nobody_addressed_to_the_bot_is_logged_only_if_it_was_answered(log):
    unaddressed = asked(is_addressed=False)

    await log.record(unaddressed, Outcome(kind="no_answer", turn_id="q1", is_shown=False), Trace())

    assert count(log, "questions") == 0


async def test_texts_go_after_their_days_and_figures_stay(log):
    outcome = Outcome(kind="no_answer", turn_id="q1", confidence=0.3)
    await log.record(asked(at=NOON - 14 * DAY + 60), outcome, Trace())

    log.now = lambda: NOON + EXPIRE_EVERY
    await log.record(asked(id="q2"), replace(outcome, turn_id="q2"), Trace())

    old, new = await log.question("q1"), await log.question("q2")
    assert (old.question, old.author, old.confidence) == ("", "ada", 0.3)
    assert await log.trace("q1") is None
    assert new.question
    assert await log.trace("q2") is not None


async def test_with_no_days_only_figures_are_kept(storage):
    with open_question_log(storage, days=0) as log:
        await log.record(asked(), Outcome(kind="no_answer", turn_id="q1"), Trace())

        assert (await log.question("q1")).question == ""
        assert count(log, "traces") == 0


async def test_a_forgotten_conversation_leaves_figures_without_a_person(tmp_path, log):
    async with assistant_over(
        tmp_path, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,)), log=log
    ) as assistant:
        turn = asked()
        await assistant.run(turn)
        await log.rate("q1", "ada", is_positive=False, at=NOON)
        await log.explain("q1", "ada", "wrong", "the tower is taller")

        await assistant.forget(turn.conversation)

    row = await log.question("q1")
    assert (row.question, row.author, row.outcome) == ("", "", "answered")
    assert await log.trace("q1") is None
    assert log.database.database.rows("SELECT remark, author FROM ratings") == [("", "#1")]


async def test_a_forgotten_document_takes_the_texts_of_the_turns_that_read_it(tmp_path, log):
    documents = ScriptedDocuments(
        by_query={"How tall is the tower?": (TOWER,), "What is no tower?": (OTHER,)}
    )

    async with assistant_over(tmp_path, ScriptedReasoner(), documents, log=log) as assistant:
        await assistant.run(asked())
        await assistant.run(asked("What is no tower?", id="q2"))
    await log.forget_sources([TOWER.passage.source])

    assert (await log.question("q1")).question == ""
    assert await log.trace("q1") is None
    assert (await log.trace("q2")).text


async def test_a_log_that_cannot_be_written_loses_no_answer(tmp_path, caplog):
    with (
        open_storage(Settings(data_dir=tmp_path)) as storage,
        open_question_log(storage, days=14) as log,
    ):
        log.database.database._writing.execute("PRAGMA query_only = ON")  # as of a disk that turned read-only

        async with assistant_over(
            tmp_path, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,)), log=log
        ) as assistant:
            outcome = await assistant.run(asked())

    assert outcome.kind == "answered"
    assert "could not be logged" in caplog.text


async def test_a_trace_takes_little_room(tmp_path, log):
    sentences = [
        f"Part {n} of the tower was built in the year {1800 + n}, as the town's book says." for n in range(12)
    ]
    hits = tuple(
        replace(TOWER, passage=replace(TOWER.passage, id=str(n), text=" ".join(sentences), end=len(" ".join(sentences))))
        for n in range(8)
    )  # fmt: skip

    async with assistant_over(
        tmp_path, ScriptedReasoner(), ScriptedDocuments(default=hits), log=log
    ) as assistant:
        await assistant.run(asked())

    ((size,),) = log.database.database.rows("SELECT length(content) FROM traces")
    assert 0 < size <= 6_000


def test_a_trace_comes_back_as_it_was_stored_and_a_newer_one_is_left():
    trace = Trace(policy="footnote", queries=("one", "two"))

    assert unpack(pack(trace)) == trace
    assert FORMAT == 1
