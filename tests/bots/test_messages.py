"""The sentences that every platform shares."""

from __future__ import annotations

import os
import time

import pytest

from bots.chat import texts
from core.conversation import Answer, Citation, Outcome, Progress, Proposal
from core.library.sync import Failure, SyncReport


def citation(**fields):
    usual = {
        "number": 1,
        "title": "Harbour handbook",
        "location": "Harbour handbook > Mooring fees",
        "source": "docs/harbour.md",
        "quote": "A night costs\n18 euros.",
        "start": 0,
        "end": 23,
    }
    return Citation(**{**usual, **fields})


@pytest.mark.parametrize(
    ("progress", "note"),
    [
        (Progress(stage="reading", count=1_024), "Reading 1,024 passages…"),
        (Progress(stage="reading"), "Reading your documents…"),
        (Progress(stage="checking", count=6), "Checking 6 passages…"),
        (Progress(stage="checking", count=1), "Checking 1 passage…"),
        (Progress(stage="writing"), "Writing…"),
        (Progress(stage="verifying"), "Checking every footnote…"),
        (Progress(stage="searching"), "Searching the web…"),
        (Progress(stage="fetching", count=3), "Reading 3 pages…"),
    ],
)
def test_progress(progress, note):
    assert texts.progress_note(progress) == note


def test_a_title_is_not_said_twice():
    assert texts.headings(citation()) == "Harbour handbook › Mooring fees"
    assert texts.headings(citation(location="page 3")) == "Harbour handbook › page 3"
    assert texts.headings(citation(location="Harbour handbook")) == "Harbour handbook"


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ("2026-03-12", "12 Mar 2026"),
        ("2026-03-12T08:00:00+00:00", "12 Mar 2026"),
        ("2 days ago", "2 days ago"),
        (None, ""),
    ],
)
def test_the_date_of_a_web_page(published, said):
    assert texts.calendar_date(published, "en") == said


@pytest.mark.parametrize(
    ("grounding", "composed", "line"),
    [
        ("documents", True, ""),
        ("documents", False, "Quoted from your documents, not composed."),
        ("web", True, "From the web, not from your documents."),
        ("both", True, "From your documents and from the web."),
    ],
)
def test_where_an_answer_comes_from(grounding, composed, line):
    answer = Answer(text="x [1]", citations=(citation(),), grounding=grounding, composed=composed)

    assert texts.provenance(Outcome(kind="answered", turn_id="t"), answer) == line


def test_an_answer_without_footnotes_is_marked():
    answer = Answer(text="Hello.", citations=(), grounding="none", composed=True)

    assert (
        texts.provenance(Outcome(kind="answered", turn_id="t"), answer)
        == "No footnotes: nothing here is taken from your documents."
    )


def test_times_are_local(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    proposal = Proposal(
        id="p",
        turn_id="t",
        question="?",
        asker="ada",
        query="q",
        reason="",
        tried=(),
        verdict="approve",
        decided_by="ada",
        decided_at=1_700_000_000.0,  # 22:13 UTC
    )
    try:
        assert texts.decided(proposal) == "ada allowed this search at 07:13."
    finally:
        del os.environ["TZ"]
        time.tzset()


def test_what_a_sync_did_names_only_what_happened():
    failed = (Failure(source="docs/x.pdf", reason="is empty"),)

    assert texts.synced(SyncReport(added=12, failed=failed)) == "12 documents added, 1 failed."
    assert texts.synced(SyncReport(changed=1, removed=2, skipped=1_500)) == (
        "1 document changed, 2 removed, 1,500 unchanged."
    )
    assert texts.synced(SyncReport()) == "0 documents changed."


def test_a_long_question_is_named_in_one_short_line():
    assert texts.clipped("When  is\nhigh tide?") == "When is high tide?"
    assert texts.clipped("word " * 100) == "word word word word word word word word word word word word…"
    assert texts.clipped("x" * 100) == "x" * 59 + "…"


def test_the_whole_outcome_as_text_for_a_file():
    answer = Answer(
        text="18 euros. [1]",
        citations=(citation(url="https://h.example/"),),
        grounding="documents",
        composed=True,
    )
    outcome = Outcome(kind="answered", turn_id="t", answer=answer, timing_ms={"total": 12.3})

    assert texts.page_of(outcome) == (
        "18 euros. [1]\n\n"
        "[1] Harbour handbook › Mooring fees · docs/harbour.md · https://h.example/\n"
        "    “A night costs 18 euros.”\n\n"
        "Answered in 12 ms from 1 passage · written by a language model."
    )


def test_a_table_among_the_closest_passages_is_clipped_words_in_a_file():
    rows = "\n".join(f"| Level {number} | {number} days | rather long remarks |" for number in range(40))
    table = f"| Level | Leave | Remarks |\n|---|---|---|\n{rows}"
    outcome = Outcome(kind="no_answer", turn_id="t", closest=(citation(quote=table),))

    quoted = texts.page_of(outcome).rpartition("“")[2]

    assert quoted.startswith("Level · Leave · Remarks; Level 0 · 0 days")
    assert "|" not in quoted
    assert len(quoted) <= texts.QUOTE_SHOWN + 2


def test_a_proposal_as_text_for_a_file():
    proposal = Proposal(
        id="p", turn_id="t", question="?", asker="ada", query="tides", reason="Not here.", tried=()
    )
    outcome = Outcome(kind="approval_needed", turn_id="t", proposal=proposal)

    assert texts.page_of(outcome, engine="DuckDuckGo") == (
        "Not here.\n\nI would search DuckDuckGo for:\n\n> tides\n\nNothing is sent until you allow it."
    )


def test_an_empty_folder_is_told_what_can_be_read():
    said = texts.nothing_to_read("notes", {".md": None, ".txt": None})

    assert said == "There is nothing to read in notes: Footnote reads .md, .txt."


@pytest.mark.parametrize(
    ("age", "when"),
    [
        (0.0, "just now"),
        (59.9, "just now"),
        (60.0, "1 minute ago"),
        (3_599.0, "59 minutes ago"),
        (7_200.0, "2 hours ago"),
    ],
)
def test_help_says_when_the_documents_were_looked_through(age, when):
    first, *_ = texts.help_lines("en", collections=("docs",), documents=12, age=age)

    assert (
        first
        == f"I answer from 12 documents in docs (looked through {when}), and show where each claim stands."
    )
