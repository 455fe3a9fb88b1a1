"""A judge that did not find enough says where to look: in few steps, and only as far as the turn has room."""

from __future__ import annotations

import pytest
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, assistant_over, hit, question

from core.conversation import Usage
from core.graph.looking import in_turn, pick_passages
from core.graph.policy import PRESETS
from core.graph.state import Work
from core.reasoning.reasoner import SearchStep

COVER = hit(
    "The report of the tower for 2022.", id="1", source="report.pdf", path=("Cover",), location="page 1"
)
PAGES = tuple(
    hit(
        text, id=f"{number}", source="report.pdf", path=(heading,), location=f"page {number}, {heading}"
    ).passage
    for number, heading, text in (
        (2, "Staff", "The tower had 12 guides."),
        (3, "Income", "Tickets brought 300 thousand."),
        (4, "Costs", "Paint cost 40 thousand."),
    )
)
WHOLE = {"/docs/report.pdf": (COVER.passage, *PAGES)}
INCOME = SearchStep(
    kind="open", address="/docs/report.pdf", source="report.pdf", words="Income", path=("Income",)
)
COSTS = SearchStep(kind="find", address="/docs/report.pdf", source="report.pdf", words="paint cost")


def reading(*, until, asks):
    """A reasoner that has enough as soon as it has graded these passages, and asks for these steps before."""
    seen = set()

    def relevance(found):
        seen.add(found.passage.id)
        return "correct" if found.passage.id in until else "ambiguous"

    reasoner = ScriptedReasoner(
        usage=Usage(name="a model"),
        relevance=relevance,
        sufficient=lambda: set(until) <= seen,
        search_steps=lambda ask: asks if ask.contents and not set(until) <= seen else (),
        missing="income",
    )
    reasoner.asked = []
    grade = reasoner.grade

    async def noted(ask, passages):
        reasoner.asked.append(ask)
        return await grade(ask, passages)

    reasoner.grade = noted
    return reasoner


def documents():
    """Other words find only what does not answer either."""
    other = {"income": (hit("Trees grow.", id="9"),)}
    return ScriptedDocuments(default=(COVER,), by_query=other, whole=WHOLE, confidence=0.5)


async def test_what_a_judge_asks_to_open_and_to_find_is_graded_and_answers(tmp_path):
    reasoner, library = reading(until={"3", "4"}, asks=(INCOME, COSTS)), documents()

    async with assistant_over(tmp_path, reasoner, library) as assistant:
        outcome = await assistant.run(question("What did the tower earn?"))

    assert outcome.steps == ("open", "regrade", "regrade", "generate", "verify")
    assert {each.location for each in outcome.answer.citations} >= {"page 3, Income", "page 4, Costs"}


async def test_an_easy_question_is_not_told_of_any_document_and_takes_no_further_trip(tmp_path):
    reasoner, library = reading(until={"1"}, asks=(INCOME,)), documents()

    async with assistant_over(tmp_path, reasoner, library) as assistant:
        outcome = await assistant.run(question("What did the tower earn?"))

    assert outcome.steps == ("open", "generate", "verify")
    assert [ask.contents for ask in reasoner.asked] == [()]
    assert library.read == []


async def test_where_figures_are_to_be_compared_the_first_judge_may_already_say_where_they_stand(tmp_path):
    reasoner, library = reading(until={"3", "4"}, asks=(INCOME, COSTS)), documents()

    async with assistant_over(tmp_path, reasoner, library) as assistant:
        outcome = await assistant.run(question("What is the ratio of income to costs?"))

    assert outcome.steps == ("open", "regrade", "generate", "verify")


@pytest.mark.parametrize("text", ["What did the tower earn?", "What is the ratio of income to costs?"])
async def test_a_judge_that_never_has_enough_gets_four_steps_and_two_trips_more(tmp_path, text):
    reasoner, library = reading(until={"none"}, asks=(INCOME, COSTS, INCOME)), documents()

    async with assistant_over(tmp_path, reasoner, library) as assistant:
        outcome = await assistant.run(question(text))

    policy = PRESETS["footnote"]
    assert outcome.kind == "no_answer"
    assert outcome.steps.count("regrade") <= policy.rewrites + policy.search_trips
    assert len(library.read) == policy.search_steps
    assert [ask.steps_left for ask in reasoner.asked if ask.contents][-1] == 1


async def test_a_published_policy_asks_for_no_steps(tmp_path):
    reasoner, library = reading(until={"none"}, asks=(INCOME,)), documents()

    async with assistant_over(tmp_path, reasoner, library, policy="self-rag") as assistant:
        await assistant.run(question("What is the ratio of income to costs?"))

    assert not any(ask.contents for ask in reasoner.asked)
    assert library.read == []


def test_of_an_opened_section_those_with_the_most_words_of_the_question_come_first():
    section = [
        hit(text, id=text, path=("Costs",)).passage for text in ("General.", "Cost of paint.", "Paint.")
    ]
    step = SearchStep(kind="open", address="a", words="Costs", path=("Costs",))

    chosen = pick_passages(Work(question="What did the paint cost?"), step, section, 2)

    assert [each.passage.text for each in chosen] == ["Cost of paint.", "Paint."]


def test_every_step_has_its_turn_and_nothing_is_graded_twice():
    first, second = ([hit("t", id=f"{name}{n}") for n in range(3)] for name in "ab")
    work = Work(passages=(first[0],))

    new = in_turn(work, [first, second], [hit("t", id="c"), second[0]], 4)

    assert [each.passage.id for each in new] == ["b0", "a1", "b1", "a2"]
