"""Lines as a person types them, and what they become."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bots.terminal.receive import Situation, TerminalCommand, decide, read
from core.conversation import Conversation, Decision, Proposal, Question
from core.errors import QuestionRejected

HERE = Situation(
    turn_id="turn",
    now=1_700_000_000.0,
    conversation=Conversation(platform="cli", space="local", channel="terminal", thread="t"),
    author="ada",
)
PROPOSAL = Proposal(id="p1", turn_id="q", question="?", asker="ada", query="tides", reason="", tried=())
WAITING = replace(HERE, awaiting=PROPOSAL)


def test_a_line_is_a_question_within_the_sources_of_its_conversation():
    turn = read("  When is high tide? \n", replace(HERE, sources=("/docs",), passages=3))

    assert turn == Question(
        id="turn",
        conversation=HERE.conversation,
        author="ada",
        text="When is high tide?",
        asked_at=HERE.now,
        sources=("/docs",),
        report_passages=3,
    )


@pytest.mark.parametrize("line", ["", "   ", "\t\n"])
def test_an_empty_line_is_nothing(line):
    assert read(line, HERE) is None
    assert read(line, WAITING) is None


def test_a_pasted_paragraph_is_one_question():
    turn = read("We saw this:\n\n    KeyError: 'tide'\n\nWhy?", HERE)

    assert isinstance(turn, Question)
    assert turn.text == "We saw this:\n\n    KeyError: 'tide'\n\nWhy?"


def test_a_line_that_is_too_long_is_refused():
    with pytest.raises(QuestionRejected, match=r"too long: 4,001 characters, 4,000 at most"):
        read("x" * 4_001, HERE)


@pytest.mark.parametrize(
    ("line", "verdict"), [("y", "approve"), ("YES", "approve"), (" n ", "deny"), ("no", "deny")]
)
def test_a_bare_yes_or_no_decides_the_search_that_waits(line, verdict):
    turn = read(line, WAITING)

    assert isinstance(turn, Decision)
    assert (turn.proposal_id, turn.verdict, turn.query) == ("p1", verdict, None)
    assert (turn.id, turn.author, turn.decided_at) == ("turn", "ada", HERE.now)


@pytest.mark.parametrize("line", ["y", "no", "e"])
def test_the_same_words_show_what_waits_when_no_search_was_just_proposed(line):
    assert read(line, HERE) == TerminalCommand(name="proposals")


@pytest.mark.parametrize("line", ["no, I meant low tide", "yes please", "e coli in the harbour?"])
def test_more_than_a_bare_word_never_decides(line):
    turn = read(line, WAITING)

    assert isinstance(turn, Question)
    assert turn.text == line


@pytest.mark.parametrize("line", ["e", "Edit"])
def test_edit_asks_for_another_query(line):
    assert read(line, WAITING) == TerminalCommand(name="edit")


def test_an_edited_query_is_one_line_and_bounded():
    decision = decide("p1", "approve", HERE, query="  tides\n at Sark ")

    assert decision.query == "tides at Sark"
    with pytest.raises(QuestionRejected, match="The query is empty"):
        decide("p1", "approve", HERE, query="  ")
    with pytest.raises(QuestionRejected, match=r"401 characters, 400 at most"):
        decide("p1", "approve", HERE, query="x" * 401)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/help", TerminalCommand(name="help")),
        ("/MORE", TerminalCommand(name="more")),
        ("/exit", TerminalCommand(name="quit")),
        ("/proposals 2", TerminalCommand(name="proposals", argument="2")),
        ("/forget  docs/tide table.md ", TerminalCommand(name="forget", argument="docs/tide table.md")),
        ("/nonsense here", TerminalCommand(name="unknown", argument="/nonsense")),
    ],
)
def test_slash_commands(line, command):
    assert read(line, HERE) == command


def test_a_path_at_the_start_of_a_question_is_no_command():
    turn = read("/etc/hosts names which harbour?", HERE)

    assert isinstance(turn, Question)


def test_a_number_chooses_a_reading_and_any_other_number_is_a_question():
    asked_back = replace(HERE, options=("high tide", "low tide"))

    assert read("2", asked_back).text == "low tide"
    assert read("3", asked_back).text == "3"
    assert read("1", HERE).text == "1"


def test_bytes_that_are_no_text_do_not_reach_the_checkpoint():
    turn = read("caf\udce9 at the pier?", HERE)

    assert turn.text == "caf\ufffd at the pier?"
