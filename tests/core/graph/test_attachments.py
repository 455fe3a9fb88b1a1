"""A question that comes with files: who may let them be read, and what waits until then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, ScriptedWeb, assistant_over, hit

from core.conversation import Attachment, Conversation, Question
from core.graph.approval import may_allow_reading
from core.graph.policy import PRESETS
from core.graph.routing import route_of
from core.graph.state import Work
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.reasoner import Plan

HERE = Conversation(platform="cli", space="s", channel="c", thread="t")
FILE = Attachment(id="f", name="lease.md", url="", media_type="", size=1)
ASKED = Question(
    id="q", conversation=HERE, author="ann", text="When does it end?", asked_at=0.0, attachments=(FILE,)
)


@pytest.mark.parametrize(
    ("approval", "allowed"),
    [
        ("asker", {"ann", "carol"}),
        ("approvers", {"ann", "carol"}),
        ("anyone", {"ann", "bob", "carol"}),
        ("never_ask", {"ann", "bob", "carol"}),
    ],
)
def test_the_asker_and_whoever_may_decide_a_search_may_let_files_be_read(approval, allowed):
    groups = {"ann": (), "bob": (), "carol": ("librarians",)}

    may = {
        who
        for who, among in groups.items()
        if may_allow_reading(ASKED, who, among, approval=approval, approvers=("librarians",))
    }

    assert may == allowed


@pytest.mark.parametrize(("has_unread", "route"), [(False, "clarify"), (True, "web")])
def test_a_question_is_not_asked_back_while_a_file_may_say_what_it_means(has_unread, route):
    plan = Plan(route="clarify", standalone="When does it end?", reply="When does what end?")

    found = route_of(Work(plan=plan, has_unread=has_unread), PRESETS["footnote"], has_web=True)

    assert found == route


def test_a_file_is_unread_until_somebody_lets_it_be_read():
    assert ASKED.unread == ("lease.md",)


@pytest.mark.parametrize(
    ("sufficient", "route"), [((True,), "documents"), ((False,), "clarify"), ((), "clarify")]
)
def test_a_question_is_not_asked_back_where_the_file_that_was_read_answers_it(sufficient, route):
    plan = Plan(route="clarify", standalone="When does it end?", reply="When does what end?")
    work = Work(plan=plan, attached=("/uploads/lease.md",), sufficient=sufficient)

    assert route_of(work, PRESETS["footnote"], has_web=True) == route


async def test_a_file_that_shares_no_word_with_the_question_is_read_from_its_beginning(tmp_path):
    ends, rent = (hit(text, id=text[:8]) for text in ("The lease ends in May.", "The rent is 850 euros."))
    documents = ScriptedDocuments(first=(ends.passage, rent.passage), default=(rent,))
    asked = replace(ASKED, text="Summarise this", attached=("/uploads/lease.md",))

    async with assistant_over(tmp_path, ScriptedReasoner(), documents) as assistant:
        summary = await assistant.run(asked)
        other = await assistant.run(replace(asked, id="r", attached=()))

    assert {citation.quote for citation in summary.answer.citations} == {ends.passage.text, rent.passage.text}
    assert {citation.quote for citation in other.answer.citations} == {rent.passage.text}


@pytest.mark.parametrize(
    ("confidence", "length", "said"),
    [
        (0.2, 12, "For this I read 8 of the 12 passages of what you attached; the rest may say more."),
        (0.2, 8, None),
        (0.95, 12, None),  # the place that was asked for is found: the rest matters to nobody
    ],
)
async def test_an_answer_from_a_part_of_a_long_file_says_so(tmp_path, confidence, length, said):
    parts = tuple(
        hit(f"The lease has a clause {n}.", id=str(n), source="lease.md", score=1.0) for n in range(length)
    )
    documents = ScriptedDocuments(default=parts, confidence=confidence)
    asked = replace(ASKED, text="Summarise this", attached=("/uploads/lease.md",))

    async with assistant_over(tmp_path, ScriptedReasoner(), documents) as assistant:
        summary = await assistant.run(asked)

    assert summary.kind == "answered"
    assert summary.reason == said


async def test_without_a_model_a_summary_of_a_file_is_its_beginning_and_never_a_search(tmp_path):
    begins, ends = (
        hit(text, id=text[:8], source="lease.md") for text in ("The lease begins in June.", "It ends in May.")
    )
    documents = ScriptedDocuments(first=(begins.passage, ends.passage), default=(), confidence=0.1)
    asked = replace(
        ASKED, text="Summarise this file please", attached=("/uploads/lease.md",), reading_allowed_by="ann"
    )

    async with assistant_over(tmp_path, ExtractiveReasoner(), documents, web=ScriptedWeb()) as assistant:
        summary = await assistant.run(asked)
        of_no_file = await assistant.run(replace(asked, id="r", attached=()))

    assert (summary.kind, summary.proposal) == ("no_answer", None)
    assert [each.quote for each in summary.closest] == [begins.passage.text, ends.passage.text]
    assert summary.reason.startswith("I read lease.md, and quote how it begins. A summary")
    assert of_no_file.kind == "approval_needed"
