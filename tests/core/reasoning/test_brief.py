"""The reasoner for slow models asks its model twice at most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from fakes.passages import statements
from fakes.scripted import ScriptedReasoner, hit

from core.reasoning.brief import BriefReasoner, is_doubted
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.reasoner import Ask, Grounded

ASK = Ask(question="How tall is the tower?")
TOWER = hit("The tower is 300 metres tall.")


@dataclass
class Asked(ScriptedReasoner):
    """Notes what it is asked to judge, and rejects all of it."""

    judged: list[list[int]] = field(default_factory=list)

    async def check_grounding(self, statements, strips, ballot=0):
        self.judged.append([each.number for each in statements])
        return Grounded(judged=tuple(self.judged[-1]), unsupported=tuple(self.judged[-1]))


@pytest.fixture
def chat():
    return Asked()


async def test_planning_and_grading_ask_no_model(chat):
    brief = BriefReasoner(chat, ExtractiveReasoner(None))

    plan = await brief.plan(ASK)
    grades = await brief.grade(ASK, (TOWER,))

    assert plan.route == "documents"
    assert set(grades.of) == {TOWER.passage.id}
    assert chat.usage.calls == 0
    assert await brief.check_usefulness(ASK, "300 metres.") is None


async def test_only_what_a_program_doubts_goes_to_the_judge(chat):
    brief = BriefReasoner(chat, ExtractiveReasoner(None))
    (said,) = statements("It is 300 metres tall. [1]")
    plain, doubted = replace(said, is_close=True), replace(said, number=2, is_close=True, doubts=("900",))

    sure = await brief.check_grounding((plain,), ())
    mixed = await brief.check_grounding((plain, doubted), ())

    assert (sure.judged, sure.unsupported) == ((1,), ())
    assert (mixed.judged, mixed.unsupported) == ((1, 2), (2,))
    assert chat.judged == [[2]]


@pytest.mark.parametrize("change", [{"doubts": ("900",)}, {"is_close": False}], ids=["doubts", "other words"])
def test_what_is_doubted(change):
    (said,) = statements("It is 300 metres tall. [1]")
    plain = replace(said, is_close=True)

    assert not is_doubted(plain)
    assert is_doubted(replace(plain, **change))
