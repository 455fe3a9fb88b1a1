"""The JSON object that scripts read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bots.chat.texts import answered_in, money
from bots.record import failed, record_of
from core.conversation import Answer, Citation, Outcome, Proposal, Ranked, Usage

KEYS = [
    "outcome",
    "text",
    "grounding",
    "citations",
    "proposal",
    "closest",
    "reason",
    "thread",
    "turn",
    "confidence",
    "steps",
    "model",
    "timing_ms",
    "left_out",
    "missing",
    "sure",
]
CITATION = Citation(
    number=1,
    title="Harbour handbook",
    location="Harbour handbook > Mooring fees",
    source="docs/harbour.md",
    quote="18 euros",
    start=5,
    end=13,
)
ANSWERED = Outcome(
    kind="answered",
    turn_id="t",
    answer=Answer(text="18 euros [1]", citations=(CITATION,), grounding="documents", composed=False),
    confidence=0.93,
    steps=("open", "generate", "verify"),
    usage=Usage(name="m", calls=3, round_trips=2, input_tokens=10, output_tokens=5),
    timing_ms={"total": 12.1, "retrieve": 3.0},
    ranked=(Ranked(source="docs/harbour.md", location="x", score=1.0, start=0, end=9),),
)


def test_an_answer_has_every_key_in_the_order_of_the_contract():
    record = record_of(ANSWERED, thread="cli/local/terminal/x", engine="DuckDuckGo")

    assert list(record) == KEYS
    assert json.loads(json.dumps(record)) == {
        "outcome": "answered",
        "text": "18 euros [1]",
        "grounding": "documents",
        "citations": [
            {
                "number": 1,
                "title": "Harbour handbook",
                "location": "Harbour handbook > Mooring fees",
                "source": "docs/harbour.md",
                "url": None,
                "quote": "18 euros",
                "start": 5,
                "end": 13,
                "changed_at": None,
                "unseen_since": None,
            }
        ],
        "proposal": None,
        "closest": [],
        "reason": None,
        "thread": "cli/local/terminal/x",
        "turn": "t",
        "confidence": 0.93,
        "steps": ["open", "generate", "verify"],
        "model": {"name": "m", "calls": 3, "round_trips": 2, "input_tokens": 10, "output_tokens": 5},
        "timing_ms": {"total": 12.1, "retrieve": 3.0},
        "left_out": [],
        "missing": "",
        "sure": True,
    }


def test_what_an_answer_cost_is_told_only_where_the_operator_set_prices():
    usage = replace(ANSWERED.usage, cost=0.0042, currency="EUR")

    with_prices = record_of(replace(ANSWERED, usage=usage), thread=None, engine="")
    without = record_of(ANSWERED, thread=None, engine="")

    assert with_prices["model"] == without["model"] | {"cost": 0.0042, "currency": "EUR"}


@pytest.mark.parametrize(
    ("amount", "language", "said"),
    [
        (0.0, "en", "0.00 USD"), (12.3, "en", "12.30 USD"), (0.19, "de", "0,19 USD"),
        (0.00423, "en", "0.0042 USD"), (0.0000001, "en", "0.000000 USD"),
    ],
)  # fmt: skip
def test_an_amount_shows_two_digits(amount, language, said):
    assert money(amount, "USD", language) == said


def test_the_small_line_says_what_an_answer_cost_if_the_operator_wants_it():
    usage = replace(ANSWERED.usage, cost=0.0042, currency="EUR")

    shown, hidden, quoted = (
        answered_in(replace(ANSWERED, usage=each))
        for each in (
            replace(usage, is_cost_shown=True),
            usage,
            Usage(cost=0.0, currency="EUR", is_cost_shown=True),
        )
    )

    assert shown == f"{hidden} · 0.0042 EUR"
    assert quoted == hidden


def test_passages_come_only_when_they_were_asked_for():
    record = record_of(ANSWERED, thread=None, engine="", passages=True)

    assert list(record) == [*KEYS, "passages"]
    assert record["passages"] == [
        {"source": "docs/harbour.md", "location": "x", "score": 1.0, "start": 0, "end": 9}
    ]


def test_a_proposal_carries_what_is_needed_to_decide():
    proposal = Proposal(
        id="p1",
        turn_id="t",
        question="?",
        asker="ada",
        query="tides",
        reason="Not here.",
        tried=("tide?",),
        closest=(CITATION,),
    )
    outcome = Outcome(
        kind="approval_needed", turn_id="t", proposal=proposal, closest=(CITATION,), reason="Not here."
    )

    record = record_of(outcome, thread=None, engine="Tavily")

    assert record["proposal"] == {"id": "p1", "query": "tides", "reason": "Not here.", "tried": ["tide?"]}
    assert record["grounding"] == "none"
    assert record["closest"][0]["source"] == "docs/harbour.md"
    assert "I would search Tavily for:" in record["text"]


def test_every_ending_says_something():
    outcomes = (
        Outcome(kind="no_answer", turn_id="t", reason="I did not find this."),
        Outcome(kind="clarify", turn_id="t", reason="Which one?", options=("A", "B")),
        Outcome(kind="failed", turn_id="t", reason="The model is busy."),
        failed("Line 3 is not a JSON object."),
    )

    texts = [record_of(outcome, thread=None, engine="")["text"] for outcome in outcomes]

    assert texts == [
        "I did not find this. You can rephrase, name the document, or add one.",
        "Which one?\n\n1. A\n\n2. B",
        "The model is busy.",
        "Line 3 is not a JSON object.",
    ]


def test_moments_are_written_as_iso_8601_has_them():
    cited = replace(CITATION, changed_at=1_773_316_800.4, unseen_since=1_773_316_800.0)
    outcome = replace(ANSWERED, answer=replace(ANSWERED.answer, citations=(cited,)))

    (citation,) = record_of(outcome, thread=None, engine="DuckDuckGo")["citations"]

    assert citation["changed_at"] == citation["unseen_since"] == "2026-03-12T12:00:00Z"
