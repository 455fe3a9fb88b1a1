"""Questions that documents answer in part: what is there is shown, with what is missing and a search for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from fakes.scripted import (
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    hit,
    question,
    web_hit,
)

from core.reasoning.reasoner import Draft, Grade, Grades, Plan
from core.traces.log import Log
from core.traces.trace import Trace

ASKED = "how much can i spend on home office kit and does it cover a standing desk? and who pays if i break my laptop"
BUDGET = hit(
    "Everybody has an annual budget for the home office. You see what is left of it in Hi Bob.", id="budget"
)
OTHERS = tuple(
    hit(text, id=f"other{n}", score=0.9 - n / 10)
    for n, text in enumerate([
        "The office has eight standing desks on the second floor.", "Laptops are replaced every third year.",
        "Kitchens are cleaned on Fridays.", "Parcels go to the front door.", "Visitors sign in at the desk.",
        "Screens are lent by the service desk.", "Chairs are ordered in spring.",
    ])
)  # fmt: skip
BOILERPLATE = (
    "This page belongs to the people team. They read it in January and in July, change what is out of date, and tell"
    " everybody in the weekly call what they have changed and why. If something on the {name} page is wrong, write to"
    " them or change it yourself, and somebody of the team looks at it within a week."
)
PAGES = (
    "travel",
    "lunch",
    "leave",
    "parking",
    "phone",
    "badge",
    "bus",
    "ski",
    "gym",
    "bank",
    "tax",
    "moving",
)
COPIES = tuple(hit(BOILERPLATE.format(name=name), id=f"copy{n}") for n, name in enumerate(PAGES))
NEW = (
    hit("Bicycles are insured up to the front door.", id="bike", score=0.2),
    hit("Ask Ann for a key.", id="key", score=0.1),
)
DRAFT = "There is an annual budget, seen in Hi Bob. [1] The amounts are not stated."
WEB = (web_hit("A standing desk costs 400."),)


@dataclass
class RecordingLog(Log):
    """Keeps the traces."""

    traces: list[Trace] = field(default_factory=list)

    async def record(self, _turn, _outcome, trace):
        self.traces.append(trace)


@dataclass
class Grader(ScriptedReasoner):
    """Grades by a table; whatever it was given is written down."""

    verdicts: list[dict[str, str]] = field(
        default_factory=list
    )  #: of each look; what is in none is incorrect
    seen: list[list[str]] = field(default_factory=list)

    async def grade(self, ask, passages):
        self.seen.append([each.passage.id for each in passages])
        found = self.verdicts[min(len(self.seen), len(self.verdicts)) - 1]
        return Grades(
            of={
                name: Grade(relevance=found.get(name, "incorrect"), evidence=(1, 2)) for name in self.seen[-1]
            },
            sufficient=False,
            missing=self.missing,
        )


def half(useful=False, **more) -> Grader:
    return Grader(
        missing="the amounts, and who pays for a broken laptop",
        plans=lambda ask: Plan(
            route="documents",
            standalone=ask.question,
            queries=("equipment allowance",),
            web_query="desk budget",
        ),
        writes=lambda _ask, _strips: Draft(text=DRAFT, composed=True),
        absent=lambda texts: [n for n, text in enumerate(texts, 1) if "not stated" in text],
        useful=useful,
        **more,
    )


def documents(confidence=0.308) -> ScriptedDocuments:
    return ScriptedDocuments(
        default=(BUDGET, *OTHERS),
        by_query={
            "equipment allowance": COPIES[:8],
            "the amounts, and who pays for a broken laptop": (*COPIES[8:], *NEW),
        },
        confidence=confidence,
    )


async def test_a_right_passage_is_worth_as_much_after_a_second_look_that_brought_nothing(tmp_path):
    """The odds were +.22 with one passage correct; a second look found one boilerplate paragraph twelve times."""
    log, web = RecordingLog(), ScriptedWeb(hits=WEB)
    reasoner = half(verdicts=[{"budget": "correct"}, {"budget": "correct"}])

    async with assistant_over(tmp_path, reasoner, documents(), web=web, log=log) as assistant:
        outcome = await assistant.run(question(ASKED))

    assert outcome.steps == ("open", "regrade", "generate", "verify")
    odds = {step.node: round(sum(step.odds.values()), 1) for step in log.traces[0].steps}
    assert odds["open"] == odds["regrade"] == 0.2
    _, second = reasoner.seen
    assert sum(name.startswith("copy") for name in second) == 1
    assert {"bike", "key", "budget"} <= set(second)
    assert outcome.kind == "answered"


@pytest.mark.parametrize("second", [{}, {"budget": "ambiguous"}, {"copy0": "ambiguous", "bike": "correct"}])
async def test_not_even_when_the_second_verdict_on_it_is_a_worse_one(tmp_path, second):
    log = RecordingLog()
    reasoner = half(verdicts=[{"budget": "correct"}, second])

    async with assistant_over(tmp_path, reasoner, documents(), log=log) as assistant:
        outcome = await assistant.run(question(ASKED))

    opened, again = (sum(step.odds.values()) for step in log.traces[0].steps[1:3])
    assert again >= opened
    assert "Hi Bob" in outcome.answer.text


@pytest.mark.parametrize("confidence", [0.15, 0.308, 0.9])
async def test_a_grounded_draft_that_says_what_is_missing_is_shown_though_no_vote_calls_it_useful(
    tmp_path, confidence
):
    web = ScriptedWeb(hits=WEB)
    reasoner = half(verdicts=[{"budget": "correct"}])

    async with assistant_over(tmp_path, reasoner, documents(confidence), web=web) as assistant:
        outcome = await assistant.run(question(ASKED))

    assert outcome.kind == "answered"
    assert outcome.answer.text == DRAFT
    assert outcome.answer.missing == "the amounts, and who pays for a broken laptop"
    assert outcome.reason is None
    assert outcome.proposal.query == "the amounts, and who pays for a broken laptop"
    assert web.sent == []


async def test_what_is_missing_is_the_search_of_the_plan_where_the_grader_missed_nothing(tmp_path):
    class Content(Grader):
        async def grade(self, ask, passages):
            return replace(await super().grade(ask, passages), sufficient=True, missing="")

    reasoner = half(verdicts=[{"budget": "correct"}])
    reasoner.__class__ = Content

    async with assistant_over(tmp_path, reasoner, documents(0.7), web=ScriptedWeb(hits=WEB)) as assistant:
        outcome = await assistant.run(question(ASKED))

    assert (outcome.kind, outcome.answer.missing) == ("answered", "desk budget")
    assert outcome.proposal.query == "desk budget"


@pytest.mark.parametrize(
    "changes",
    [
        {"absent": lambda _texts: ()},
        {"unsupported": lambda texts: [1]},
        {"verdicts": [{"budget": "ambiguous"}]},
    ],
    ids=["says of nothing that it is missing", "its claim is not supported", "nothing was found correct"],
)
async def test_else_a_draft_that_no_vote_calls_useful_is_not_shown(tmp_path, changes):
    reasoner = half(verdicts=[{"budget": "correct"}])
    for name, value in changes.items():
        setattr(reasoner, name, value)

    async with assistant_over(tmp_path, reasoner, documents(), web=ScriptedWeb(hits=WEB)) as assistant:
        outcome = await assistant.run(question(ASKED))

    assert outcome.kind == "approval_needed"
