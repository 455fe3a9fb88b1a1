"""The sentences that every platform shares."""

from __future__ import annotations

import os
import time

import pytest

from bots.chat import texts
from core.conversation import Answer, Citation, Outcome, Progress, Proposal
from core.library.sync import Failure, SourceNote, SyncReport


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


NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
LATE = 1_773_359_999.0  # a second before midnight, UTC


@pytest.mark.parametrize(
    ("language", "changed", "unseen"),
    [
        ("en", "changed 12 Mar 2026", "not seen at its source since 12 Mar 2026"),
        ("de", "geändert am 12. März 2026", "seit dem 12. März 2026 nicht mehr an der Quelle gesehen"),
        ("fr", "modifié le 12 mars 2026", "pas revu à sa source depuis le 12 mars 2026"),
        ("es", "modificado el 12 de marzo de 2026", "sin ver en su origen desde el 12 de marzo de 2026"),
        ("pt", "alterado em 12 de março de 2026", "não visto na origem desde 12 de março de 2026"),
        ("ja", "2026年3月12日更新", "2026年3月12日以降、元の場所で確認されていません"),
    ],
)
def test_how_fresh_a_document_is_in_every_language(language, changed, unseen):
    fresh = citation(changed_at=NOON)
    both = citation(changed_at=LATE, unseen_since=NOON)

    assert texts.title_and_origin(citation(), language)[1] == "docs/harbour.md"
    assert texts.title_and_origin(fresh, language)[1] == f"docs/harbour.md · {changed}"
    assert texts.title_and_origin(both, language)[1] == f"docs/harbour.md · {changed} · {unseen}"


def test_what_stands_before_a_quote_are_the_names_of_its_columns():
    row = citation(quote="| Gold | 1 hour |", columns="| Plan | **Time** |")

    assert texts.columns_of(row) == "Plan · Time: "
    assert texts.columns_of(citation()) == ""


def test_the_date_stays_where_the_source_says_the_same_as_the_title_or_is_long():
    same = citation(title="docs/harbour.md", location="", changed_at=NOON)
    long = citation(source=f"docs/{'harbour/' * 50}", changed_at=NOON)

    assert texts.title_and_origin(same, "en") == ("docs/harbour.md", "changed 12 Mar 2026")
    assert texts.title_and_origin(long, "en")[1].endswith("… · changed 12 Mar 2026")


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


def test_a_source_that_could_not_be_read_is_no_document_that_failed():
    source = Failure(source="drive:", reason="It was away.", is_source=True)
    document = Failure(source="a.md", reason="is empty")

    assert texts.synced(SyncReport(failed=(source,))) == "1 source could not be read."
    assert texts.synced(SyncReport(added=2, failed=(source, document, source)), "de") == (
        "2 Dokumente hinzugefügt, 1 nicht lesbar. 2 Quellen konnten nicht gelesen werden."
    )
    assert texts.note_line(source.source, source.reason) == "drive: It was away."


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


def test_a_folder_of_older_files_is_told_what_to_save_them_as():
    older = SourceNote(
        source="notes/a.doc", text="is an older Word document (.doc), which is not read; save it as .docx"
    )

    said = texts.nothing_to_read("notes", {".md": None}, [older])

    assert said.endswith(
        "notes/a.doc: is an older Word document (.doc), which is not read; save it as .docx."
    )


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
