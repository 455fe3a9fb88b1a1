"""Who is answered in a thread: at most 2% of the talk, at least 90% of the follow-ups, without a model and with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from benchmarks.manners import HALVES, Message, figures_of, read_messages, verdicts_on

from core.reasoning.reasoner import Ask, Grades, Plan, Reasoner

FOLLOW_UPS, TALK = 0.9, 0.02  # share answered: at least, at most


@dataclass
class Discerning:
    """A reasoner that says of each message whether it is for the assistant, as a good model does."""

    reasoner: Any
    message: Message

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reasoner, name)

    async def plan(self, ask: Ask) -> Plan:
        assert not ask.is_addressed
        return Plan(route="documents", standalone=ask.question, is_for_assistant=self.message.answered)

    async def grade(self, ask: Ask, passages: Any) -> Grades:
        grades: Grades = await self.reasoner.grade(ask, passages)
        return Grades(of=grades.of, sufficient=True)


def test_there_are_enough_messages_of_each_kind():
    messages = read_messages()

    assert {each.language for each in messages} == {"en", "de", "fr", "es"}
    assert len(messages) >= 200
    assert len({(each.language, each.question, each.message) for each in messages}) == len(messages)


@pytest.fixture(scope="module")
def messages():
    return read_messages()


async def test_without_a_model_follow_ups_are_answered_and_talk_is_not(messages):
    verdicts = await verdicts_on(messages)

    for half in HALVES:
        figures = figures_of(verdicts, half)
        assert figures["answered"] >= FOLLOW_UPS, half
        assert figures["wrongly answered"] <= TALK, half


async def test_with_a_model_no_less_is_answered_and_no_talk_that_the_model_knows(messages):
    def discerning(reasoner: Reasoner, message: Message) -> Reasoner:
        return Discerning(reasoner, message)  # type: ignore[return-value]

    verdicts = await verdicts_on(messages, judge=discerning)

    for half in HALVES:
        figures = figures_of(verdicts, half)
        assert figures["answered"] >= FOLLOW_UPS, half
        assert figures["wrongly answered"] <= TALK, half
