"""Turns and outcomes as JSON, and back."""

from __future__ import annotations

import json

import pytest
from fakes.scripted import decision, question

from core.conversation import Answer, Citation, Outcome, Proposal, Ranked
from core.turns import archive

FOOTNOTE = Citation(number=1, title="Guide", location="Top", source="a.md", quote="So it is.", start=0, end=9)
ANSWER = Answer(text="So it is. [1]", citations=(FOOTNOTE,), grounding="documents", composed=True)
PROPOSAL = Proposal(
    id="p1", turn_id="q1", question="Why?", asker="ada", query="why", reason="Nothing said so.", tried=("why?",),
    closest=(FOOTNOTE,),
)  # fmt: skip


@pytest.mark.parametrize(
    "turn",
    [
        question("Where?", sources=("/a.md", "https://example.org/"), report_passages=3),
        question("Anyone?", is_addressed=False),
        decision("p1", query="other words", groups=("S1", "S2")),
        decision("p1", "deny"),
    ],
)
def test_a_turn_survives_json_unchanged(turn):
    stored = json.dumps(archive.plain(turn))

    assert archive.turn_from(json.loads(stored)) == turn


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(kind="answered", turn_id="q1", answer=ANSWER, confidence=0.9, timing_ms={"total": 1.5}),
        Outcome(kind="approval_needed", turn_id="q1", proposal=PROPOSAL, closest=(FOOTNOTE,), reason="No."),
        Outcome(kind="failed", turn_id="q1", reason="The model is busy.", steps=("open",)),
        Outcome(
            kind="clarify", turn_id="q1", options=("one", "two"),
            ranked=(Ranked(source="a.md", location="Top", score=0.5, start=0, end=9),),
        ),
    ],
)  # fmt: skip
def test_an_outcome_survives_json_unchanged(outcome):
    stored = json.dumps(archive.plain(outcome))

    assert archive.read(Outcome, json.loads(stored)) == outcome


@pytest.mark.parametrize("record", [{}, {"kind": "Order"}, {"kind": "Question", "id": "q1"}])
def test_what_is_no_turn_is_refused(record):
    with pytest.raises(ValueError):
        archive.turn_from(record)
