"""Whether a question needs what was said before it."""

from __future__ import annotations

import pytest
from benchmarks.followups import precision_and_recall

from core.conversation import Exchange
from core.text.intent import (
    merge_history,
    names_its_subject,
    needs_history,
    points_back,
    recent_questions,
    recent_sources,
    replaces_subject,
)
from core.text.terms import query_terms


@pytest.mark.parametrize(
    "question",
    [
        "How do I enable it?",
        "And for cookies, what would I have to change there?",
        "What about requests that come from other origins?",
        "Why?",
        "Which of these is the quickest way to do so?",
        "Can I also use the other one with several workers?",
        "Who wrote his biography in the nineteenth century?",
        "はい、なぜ？",
    ],
)
def test_a_question_that_points_back_or_is_short_needs_its_history(question):
    assert needs_history(question)


@pytest.mark.parametrize(
    "question",
    [
        "How do I declare a request body in FastAPI?",
        "Are there any limits for the size of uploaded files?",
        "Which functions are run before a request that has a body is read?",
        "What is one of the ways of testing a WebSocket endpoint?",
        "Where does this project keep both logs and backups of the database?",
        "東京タワーの高さは何メートルですか？",
    ],
)
def test_a_question_that_stands_alone_does_not(question):
    assert not needs_history(question)


def test_a_short_question_may_point_at_nothing():
    assert needs_history("What is CORS?")
    assert not points_back("What is CORS?")


def test_a_question_that_only_asks_for_a_number_or_a_choice_is_not_what_later_ones_are_about():
    assert names_its_subject("Where is the spade?")
    assert names_its_subject("What is CORS?")
    assert names_its_subject("How many people does the ferry carry?")
    assert not names_its_subject("Which states?")
    assert not names_its_subject("How many people?")
    assert not names_its_subject("And on which days does it leave?")


def test_a_merged_question_holds_earlier_questions_the_last_answer_and_itself():
    history = [Exchange(question=f"Question {n}?", answer=f"Answer {n}.", author="ada") for n in range(5)]

    assert (
        merge_history("And then?", history) == "Question 2?\nQuestion 3?\nQuestion 4?\nAnswer 4.\nAnd then?"
    )
    assert recent_questions(history) == "Question 2?\nQuestion 3?\nQuestion 4?"


def test_a_long_answer_is_not_merged_whole():
    history = [Exchange(question="Q?", answer="word " * 1000, author="ada")]

    assert len(merge_history("And then?", history)) < 500


def test_without_a_history_a_question_is_merged_with_nothing():
    assert merge_history("Why?", []) == "Why?"


def test_follow_ups_that_people_rewrote_are_found(shared_data):
    precision, recall = precision_and_recall(shared_data / "canard/dev.jsonl")
    precision_known, recall_known = precision_and_recall(shared_data / "canard/dev.jsonl", is_known=True)

    assert min(precision, precision_known) >= 0.95
    assert min(recall, recall_known) >= 0.75


@pytest.mark.parametrize(
    "question",
    ["How fast is ingestion?", "What is CORS?", "Who created FastAPI?", "Does ingestion need CORS?"],
)
def test_a_short_question_whose_own_words_find_something_stands_alone(question):
    known = set(query_terms("fast ingestion CORS created FastAPI need"))

    assert not needs_history(question, known)
    assert needs_history(question, known - set(query_terms("ingestion CORS FastAPI")))


@pytest.mark.parametrize(
    "question",
    ["How fast is it?", "Parking?", "Which states?", "Which is more important?", "How can I apply?"],
)
def test_a_fragment_leans_on_what_was_said_whatever_its_words_find(question):
    assert needs_history(question, set(query_terms(question)))


def test_the_talk_is_about_the_sources_of_the_last_answer_that_had_any():
    asked = Exchange(question="Q?", answer="A. [1]", author="ada", sources=("a.md", "b.md"))
    vain = Exchange(question="And?", answer="(no answer was found)", author="ada")

    assert recent_sources([asked, vain]) == ("a.md", "b.md")
    assert recent_sources([vain]) == ()


@pytest.mark.parametrize(
    "question",
    [
        "And of mercury?",
        "what about mercury?",
        "And how about mercury?",
        "und von Quecksilber?",
        "Was ist mit Quecksilber?",
        "et pour le mercure ?",
    ],
)
def test_a_follow_up_that_only_names_another_subject_replaces_it(question):
    assert replaces_subject(question)


@pytest.mark.parametrize(
    "question",
    [
        "And how long does it take?",
        "and what does it cost?",
        "Mercury?",
        "and?",
        "Und wie teuer ist das?",
        "and that one?",
    ],
)
def test_a_follow_up_that_asks_something_of_its_own_does_not(question):
    assert not replaces_subject(question)
