"""A draft written ahead of its grades: when it is tried, kept, dropped, called off and resumed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from fakes.scripted import HERE, ScriptedDocuments, ScriptedReasoner, assistant_over, hit, question

from core.conversation import Usage
from core.errors import ModelTrouble
from core.graph.asking import is_confirmed, may_pay, strips_ahead, with_draft, writing_ahead
from core.graph.checking import AT_ONCE
from core.graph.context import Deps
from core.graph.policy import PRESETS
from core.graph.state import Work
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.reasoner import Ask, Draft, Grade, Plan

TOWER = hit("The tower is 300 metres tall. It was built in 1889.")
OTHER = hit("Bridges are not towers.", id="2", score=0.5)
THIRD = hit("The tower has three floors.", id="3", score=0.4)
SURE = 0.9
VOTES = ["grounding"] * AT_ONCE  # on a draft that no program doubts and on which they agree
ASK = Ask(question="How tall is the tower?")


def model(**more) -> ScriptedReasoner:
    """A scripted reasoner that counts as a chat model."""
    return ScriptedReasoner(usage=Usage(name="scripted"), **more)


def library(*passages, confidence=SURE) -> ScriptedDocuments:
    return ScriptedDocuments(default=passages, confidence=confidence)


def deps(reasoner, policy="footnote") -> Deps:
    return Deps(policy=PRESETS[policy], reasoner=reasoner, documents=library(), web=None)


def graded(**relevance) -> Work:
    """Work that goes on to write, whose passages were graded so."""
    grades = {number: Grade(relevance=verdict) for number, verdict in relevance.items()}
    return Work(passages=(TOWER, OTHER), confidence=SURE, grades=grades, next="generate")


def no_other_wording(ask: Ask) -> Plan:
    return Plan(route="documents", standalone=ask.question)


def draft(text: str, **more) -> Draft:
    return Draft(text=text, composed=True, **more)


# When it is worth a call


@pytest.mark.parametrize(
    ("reasoner", "policy", "confidence", "is_tried"),
    [
        (model(), "footnote", SURE, True),
        (model(), "footnote", 0.7, False),
        (ExtractiveReasoner(), "footnote", 1.0, False),
        *((model(), name, 1.0, False) for name in PRESETS if name != "footnote"),
    ],
)
def test_a_draft_is_tried_where_a_model_writes_and_the_library_is_sure(
    reasoner, policy, confidence, is_tried
):
    work = Work(passages=(TOWER,), confidence=confidence)

    assert may_pay(work, deps(reasoner, policy)) == is_tried


def test_without_passages_there_is_nothing_to_write_from():
    assert not may_pay(Work(confidence=SURE), deps(model()))


# When it is kept


@pytest.mark.parametrize(
    ("written", "is_kept"),
    [
        (draft("The tower is 300 metres tall. [1]"), True),
        (draft("Bridges are not towers. [2]"), False),
        (draft("The tower is 300 metres tall. [1] Bridges are not towers. [2]"), False),
        (draft("The tower is 300 metres tall."), False),
        (draft("", answers=False), False),
        (Draft(text="", composed=False, quotes=(1,)), False),
    ],
    ids=["relevant", "irrelevant", "one of each", "nothing cited", "no answer", "quotes"],
)
def test_a_draft_is_kept_when_nothing_that_it_cites_was_graded_incorrect(written, is_kept):
    work = graded(**{"1": "correct", "2": "incorrect"})

    assert is_confirmed(work, written) == is_kept


@pytest.mark.parametrize("verdict", ["correct", "ambiguous"])
def test_an_ambiguous_passage_may_be_cited_as_it_may_be_read(verdict):
    assert is_confirmed(graded(**{"1": verdict}), draft("The tower is 300 metres tall. [1]"))


def test_a_draft_is_not_kept_when_the_evidence_is_too_thin():
    work = replace(graded(**{"1": "correct"}), next="regrade")

    assert not is_confirmed(work, draft("The tower is 300 metres tall. [1]"))


def test_strips_keep_their_numbers_when_the_grades_take_some_out():
    before = Work(passages=(TOWER, OTHER, THIRD))
    after = replace(before, grades={"2": Grade(relevance="incorrect")})

    assert [strip.number for strip in strips_ahead(before)] == [1, 2, 3]
    assert [strip.number for strip in strips_ahead(after)] == [1, 3]
    assert strips_ahead(after)[1].text == THIRD.passage.text


# When it comes to nothing


async def test_a_draft_that_nobody_waits_for_is_called_off():
    ended = []

    class Slow(ScriptedReasoner):
        async def write(self, ask, strips, before=None, hear=None):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("write")

    async with writing_ahead(deps(Slow(usage=Usage(name="slow"))), ASK, graded()) as writing:
        await asyncio.sleep(0)

    assert writing.cancelled()
    assert ended == ["write"]


async def test_trouble_with_a_draft_ahead_is_no_trouble_of_the_turn():
    class Busy(ScriptedReasoner):
        async def write(self, ask, strips, before=None, hear=None):
            raise ModelTrouble("The model is busy.")

    ports = deps(Busy(usage=Usage(name="busy")))
    async with writing_ahead(ports, ASK, graded()) as writing:
        work = await with_draft(graded(), writing, ports)

    assert work == graded()


async def test_when_planning_breaks_the_draft_goes_with_it(tmp_path):
    def broken(_ask):
        raise ModelTrouble("The model refused this question.")

    async with assistant_over(tmp_path, model(plans=broken), library(TOWER)) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "failed"
    assert outcome.reason == "The model refused this question."


# Whole turns


async def test_a_draft_ahead_goes_straight_to_its_check(tmp_path):
    reasoner = model()

    async with assistant_over(tmp_path, reasoner, library(TOWER)) as assistant:
        outcome = await assistant.run(question())

    assert outcome.steps == ("open", "verify")
    assert sorted(reasoner.calls) == ["grade", *VOTES, "plan", "usefulness", "write"]
    assert outcome.kind == "answered"


async def test_footnotes_lead_to_what_the_writer_cited_though_the_grades_took_passages_out(tmp_path):
    """Among the graded strips the third passage would have another number."""
    reasoner = model(
        relevance=lambda found: "correct" if found.passage.id == "3" else "incorrect",
        writes=lambda _ask, _strips: draft("The tower has three floors. [3]"),
    )

    async with assistant_over(tmp_path, reasoner, library(TOWER, OTHER, THIRD)) as assistant:
        outcome = await assistant.run(question())

    assert outcome.steps == ("open", "verify")
    (citation,) = outcome.answer.citations
    assert (citation.source, citation.quote) == ("3.md", THIRD.passage.text)
    assert outcome.answer.text == "The tower has three floors. [1]"


async def test_a_dropped_draft_leaves_no_trace_in_the_answer(tmp_path):
    written = iter(["Bridges are not towers. [2]", "The tower is 300 metres tall. [1]"])
    reasoner = model(
        relevance=lambda found: "incorrect" if found.passage.id == "2" else "correct",
        writes=lambda _ask, _strips: draft(next(written)),
    )

    async with assistant_over(tmp_path, reasoner, library(TOWER, OTHER)) as assistant:
        outcome = await assistant.run(question())

    assert outcome.steps == ("open", "generate", "verify")
    assert "Bridges" not in outcome.answer.text
    assert [citation.source for citation in outcome.answer.citations] == ["1.md"]


async def test_judges_hold_for_a_draft_ahead_as_for_any(tmp_path):
    written = iter(["The tower is 999 metres tall. [1]", "It is pink. [1]"])
    reasoner = model(
        plans=no_other_wording,
        writes=lambda _ask, _strips: draft(next(written)),
        unsupported=lambda claims: range(1, len(claims) + 1),
    )

    async with assistant_over(tmp_path, reasoner, library(TOWER)) as assistant:
        outcome = await assistant.run(question())

    assert outcome.steps == ("open", "verify", "generate", "verify")
    assert not outcome.answer.composed
    assert not {"999", "pink"} & set(outcome.answer.text.split())


async def test_quotes_in_place_of_a_draft_ahead_are_the_graded_evidence_and_not_whole_passages(tmp_path):
    evidence = "The tower is 300 metres tall."

    class Narrow(ScriptedReasoner):
        async def grade(self, ask, passages):
            grades = await super().grade(ask, passages)
            return replace(grades, of={name: Grade(relevance="correct", evidence=(1,)) for name in grades.of})

    tall = hit(f"{evidence} " + "It has floors. " * 5)
    reasoner = Narrow(
        usage=Usage(name="scripted"),
        plans=no_other_wording,
        writes=lambda _ask, _strips: draft("It is pink. [1]"),
        unsupported=lambda _claims: [1],
    )

    policy = replace(PRESETS["footnote"], redrafts=0)
    async with assistant_over(tmp_path, reasoner, library(tall), policy=policy) as assistant:
        outcome = await assistant.run(question())

    assert outcome.steps == ("open", "verify")
    assert len(outcome.answer.citations[0].quote) < len(tall.passage.text)
    assert outcome.answer.citations[0].quote.startswith(evidence)


async def test_a_turn_cut_off_after_the_draft_ahead_goes_on_with_its_check(tmp_path):
    class Killed(BaseException):
        pass

    written = "The tower has three floors. [3]"
    doomed = model(
        relevance=lambda found: "incorrect" if found.passage.id == "2" else "correct",
        writes=lambda _ask, _strips: draft(written),
        unsupported=lambda _claims: (_ for _ in ()).throw(Killed),
    )
    documents = library(TOWER, OTHER, THIRD)
    async with assistant_over(tmp_path, doomed, documents) as assistant:
        with pytest.raises(Killed):
            await assistant.run(question())
    survivor = model()

    async with assistant_over(tmp_path, survivor, documents) as assistant:
        outcome = await assistant.run(await assistant.unfinished(HERE))

    assert sorted(survivor.calls) == [*VOTES, "usefulness"]
    assert [citation.source for citation in outcome.answer.citations] == ["3.md"]


async def test_the_thread_on_disk_holds_one_checkpoint_and_neither_draft_nor_passages(tmp_path):
    reasoner, documents = model(), library(TOWER)

    async with assistant_over(tmp_path, reasoner, documents) as assistant:
        sizes = []
        for turn in range(20):
            await assistant.run(question(f"Question {turn}?", id=f"q{turn:02}"))
            counted = "SELECT count(*), sum(length(checkpoint)) FROM checkpoints"
            sizes += assistant.checkpoints.conn.execute(counted).fetchall()

    assert {kept for kept, _ in sizes} == {1}
    assert sizes[-1][1] < sizes[12][1] * 1.05
