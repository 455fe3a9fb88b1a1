"""Questions that nobody addressed to the bot: answered where the evidence is strong, else as if never said."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest
from fakes.messengers import RecordingMessenger
from fakes.scripted import (
    HERE,
    TOWER,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    question,
)

from core.reasoning import prompts
from core.reasoning.instructions import UNADDRESSED
from core.reasoning.reasoner import Ask, Plan
from core.reasoning.replies import PlanReply, to_plan
from core.turns.archive import questions_since
from core.turns.turns import open_turns

SECRET = "Shall I tell Bob that the tower is leaning?"
ELSEWHERE = replace(HERE, thread="elsewhere")


def overheard(text="How tall is the tower?", *, id="q2", author="bob"):
    return question(text, id=id, author=author, is_addressed=False)


@pytest.fixture
def documents():
    return ScriptedDocuments(default=(TOWER,), confidence=0.99)


async def answers_to(folder, turn, reasoner, documents, *, is_first=False, **deps):
    """The outcome of a turn after a first question, and what the conversation then remembers."""
    async with assistant_over(folder, reasoner, documents, **deps) as assistant:
        if not is_first:
            await assistant.run(question())
        before = (await assistant._open(HERE)).state
        outcome = await assistant.run(turn)
        return outcome, before, (await assistant._open(HERE)).state


async def test_a_follow_up_that_the_documents_answer_is_answered_and_remembered(tmp_path, documents):
    outcome, _, after = await answers_to(
        tmp_path, overheard("When was the tower built?"), ScriptedReasoner(), documents
    )

    assert (outcome.kind, outcome.is_shown) == ("answered", True)
    assert [exchange.question for exchange in after["history"]] == [
        "How tall is the tower?", "When was the tower built?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "script",
    [
        {"plans": lambda ask: Plan(route="documents", standalone=ask.question, is_for_assistant=False)},
        {"plans": lambda ask: Plan(route="none", standalone=ask.question, reply="Hello.")},
        {"plans": lambda ask: Plan(route="clarify", standalone=ask.question, reply="Which one?")},
        {"sufficient": False},
        {"sufficient": False, "missing": "the year"},
        {"unsupported": lambda claims: range(1, len(claims) + 1)},
    ],
)
@pytest.mark.parametrize("approval", ["asker", "never_ask"])
async def test_without_a_sure_answer_the_conversation_stays_as_it_was(tmp_path, documents, script, approval):
    web, reasoner = ScriptedWeb(), ScriptedReasoner()
    async with assistant_over(tmp_path, reasoner, documents, web=web, approval=approval) as assistant:
        await assistant.run(question())
        before = (await assistant._open(HERE)).state
        for name, said in script.items():
            setattr(reasoner, name, said)
        outcome = await assistant.run(overheard())
        after = (await assistant._open(HERE)).state

    assert (outcome.kind, outcome.is_shown, outcome.proposal, outcome.reason) == (
        "no_answer",
        False,
        None,
        None,
    )
    assert after == before
    assert web.sent == []


async def test_below_the_bar_no_model_is_asked(tmp_path, documents):
    reasoner = ScriptedReasoner()
    async with assistant_over(tmp_path, reasoner, documents) as assistant:
        await assistant.run(question())
        reasoner.calls.clear()
        documents.confidence = 0.5
        outcome = await assistant.run(overheard())

    assert not outcome.is_shown
    assert reasoner.calls == []


async def test_outside_a_conversation_the_bot_must_be_surer(tmp_path, documents):
    documents.confidence = 0.9

    inside, _, _ = await answers_to(tmp_path, overheard(), ScriptedReasoner(), documents)
    (tmp_path / "new").mkdir()
    outside, _, left = await answers_to(
        tmp_path / "new", overheard(), ScriptedReasoner(), documents, is_first=True
    )

    assert (inside.is_shown, outside.is_shown) == (True, False)
    assert left == {}


async def test_a_statement_is_no_question_however_much_the_documents_say_of_it(tmp_path, documents):
    outcome, _, _ = await answers_to(
        tmp_path, overheard("The tower is 300 metres tall."), ScriptedReasoner(), documents
    )

    assert not outcome.is_shown


async def test_whoever_was_asked_back_is_answered_whatever_they_say(tmp_path, documents):
    def clarify(ask):
        is_first = not ask.history
        return Plan(route="clarify" if is_first else "documents", standalone=ask.question, reply="Which one?")

    reply = overheard("the one in Paris", author="ada")
    other = overheard("the one in Paris", author="bob")
    reasoner = ScriptedReasoner(plans=clarify)
    documents.confidence = 0.5

    asked_back, _, _ = await answers_to(tmp_path, reply, reasoner, documents)
    (tmp_path / "new").mkdir()
    not_asked, _, _ = await answers_to(tmp_path / "new", other, reasoner, documents)

    assert (asked_back.kind, not_asked.is_shown) == ("answered", False)


@asynccontextmanager
async def turns_over(folder, messenger, reasoner, documents):
    async with (
        assistant_over(folder, reasoner, documents) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=f"sqlite:///{folder}/turns.sqlite") as turns,
    ):
        yield turns


def text_in(folder):
    """All that the files of conversations and turns hold, as bytes."""
    return b"".join(file.read_bytes() for file in folder.glob("*.sqlite*"))


async def test_what_is_not_answered_is_never_shown_and_leaves_no_word_in_any_file(folder, documents):
    messenger, route = RecordingMessenger(), {"opens": SECRET}
    reasoner = ScriptedReasoner(
        plans=lambda ask: Plan(route="documents", standalone=ask.question, is_for_assistant=ask.is_addressed)
    )

    async with turns_over(folder, messenger, reasoner, documents) as turns:
        await turns.accept(overheard(SECRET), route)
        await turns.accept(question(id="q3"), {})  # behind it, in the same conversation
        await messenger.until_delivered("q3")
        asked = await questions_since(-1.0)

    assert messenger.shown == [("begin", "q3"), ("answered", "q3")]
    assert [each.id for each in asked] == ["q3"]
    assert b"leaning" not in text_in(folder)


async def test_what_was_not_answered_is_not_answered_when_it_is_delivered_again(folder, documents):
    messenger, documents.confidence = RecordingMessenger(), 0.5
    for attempt in (1, 2):  # each a process of its own, as far as the queue knows
        async with turns_over(folder, messenger, ScriptedReasoner(), documents) as turns:
            await turns.accept(overheard(SECRET, id="q0"), {})
            await turns.accept(question(id=f"q{attempt}"), {})
            await messenger.until_delivered(f"q{attempt}")
        documents.confidence = 0.99

    assert messenger.delivered == ["q1", "q2"]
    assert b"leaning" not in text_in(folder)


async def test_what_is_answered_is_shown_at_once_without_a_first_sign(folder, documents):
    messenger = RecordingMessenger()

    async with turns_over(folder, messenger, ScriptedReasoner(), documents) as turns:
        await turns.accept(overheard(), {})
        await messenger.until_delivered("q2")

    assert messenger.shown == [("answered", "q2")]


async def test_a_fault_is_told_to_nobody(folder, documents):
    class Broken(ScriptedReasoner):
        async def plan(self, ask):
            if not ask.is_addressed:
                raise RuntimeError("broken")
            return await super().plan(ask)

    messenger = RecordingMessenger()
    async with turns_over(folder, messenger, Broken(), documents) as turns:
        await turns.accept(overheard(SECRET), {})
        await turns.accept(question(id="q3"), {})
        await messenger.until_delivered("q3")

    with closing(sqlite3.connect(folder / "turns.sqlite")) as database:
        states = database.execute("SELECT workflow_uuid, status FROM workflow_status ORDER BY 1").fetchall()
    assert messenger.shown == [("begin", "q3"), ("answered", "q3")]
    assert states == [("q2", "SUCCESS"), ("q3", "SUCCESS")]
    assert b"leaning" not in text_in(folder)


def test_the_model_is_asked_whether_it_is_meant_only_where_nobody_called_it():
    called, uncalled = Ask(question="How tall?"), Ask(question="How tall?", is_addressed=False)

    assert UNADDRESSED not in prompts.plan(called)[0][1]
    assert UNADDRESSED in prompts.plan(uncalled)[0][1]


def test_a_plan_that_does_not_say_whom_it_is_for_is_for_the_assistant():
    said = {
        "route": "documents", "standalone": "", "queries": [], "web_query": "", "reply": "", "options": [],
    }  # fmt: skip

    plans = [
        to_plan(PlanReply.model_validate(said | more), Ask(question="Why?"))
        for more in ({}, {"for_assistant": False})
    ]

    assert [plan.is_for_assistant for plan in plans] == [True, False]
