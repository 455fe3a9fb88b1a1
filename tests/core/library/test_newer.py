"""Of passages that say the same, the newer one goes first; nothing else moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.library.documents import Passage
from core.library.retriever import TIE
from core.library.sameness import Dated, differ, is_newer, newer_first

WORDS = "the deposit for a flat is due before keys"


def edition(number, *, day="", score=1.0, document="", words=WORDS):
    return Dated(
        document=document or f"doc {number}", terms=frozenset([*words.split(), number]), day=day, score=score
    )


def test_a_newer_edition_that_scores_about_as_much_goes_first():
    old, new = edition("200", day="2024-02-01"), edition("250", day="2026-03-12", score=0.96)

    assert newer_first([old, new], lambda each: each, least=TIE) == [new, old]
    assert newer_first([new, old], lambda each: each, least=TIE) == [new, old]


def test_of_three_editions_the_newest_goes_first_and_the_others_keep_their_order_by_day():
    days = ("2022-01-01", "2026-01-01", "2024-01-01")
    first, second, third = (edition(day, day=day) for day in days)

    assert newer_first([first, second, third], lambda each: each) == [second, third, first]


def test_what_scores_less_or_says_something_else_or_is_of_one_document_or_without_a_day_stays():
    old = edition("200", day="2024-02-01")
    others = (
        edition("250", day="2026-03-12", score=0.9),
        edition("250", day="2026-03-12", words="the caretaker has all of them"),
        edition("250", day="2026-03-12", document=old.document),
        edition("250"),
    )

    assert all(newer_first([old, each], lambda each: each, least=TIE) == [old, each] for each in others)
    assert newer_first([edition("200"), others[0]], lambda each: each) == [edition("200"), others[0]]


def said(number, *, at, question="Where does broken glass go?", score=1.0):
    passage = Passage(
        id=number, collection="c", source=f"answer:{number}", title="Ann", path=(question,), location="", text=number,
        start=0, end=1, changed_at=at,
    )  # fmt: skip
    return Dated.of(passage, [number], score)


def test_of_two_answers_of_people_to_one_question_the_newer_goes_first_in_whatever_words_and_at_any_hour():
    old = said("1", at=1_000.0)
    new = said("2", at=1_060.0, question="Where do I put broken glass?", score=0.2)
    other = said("3", at=2_000.0, question="Who empties the bins?")

    assert newer_first([old, other, new], lambda each: each, least=TIE) == [new, old, other]


def test_what_a_person_answered_is_not_compared_with_the_day_of_a_document():
    paper, person = edition("200", day="2024-02-01"), said("2", at=1_790_000_000.0)

    assert not is_newer(person, paper)
    assert not is_newer(paper, person)


def test_more_words_contradict_nothing():
    assert differ(edition("200"), edition("250"))
    assert not differ(edition("200"), edition("200", words=f"{WORDS} at noon"))


EDITIONS = st.builds(
    edition,
    st.sampled_from(["200", "250"]),
    day=st.sampled_from(["", "2024-01-01", "2025-01-01", "2026-01-01"]),
    score=st.floats(0, 1),
    document=st.sampled_from("abc"),
    words=st.sampled_from([WORDS, "something else"]),
)


@given(ranked=st.lists(EDITIONS, max_size=8))
def test_nothing_is_lost_and_the_last_word_is_no_older_than_what_stood_before_it(ranked):
    ordered = newer_first(ranked, lambda each: each)

    assert sorted(map(repr, ordered)) == sorted(map(repr, ranked))
    assert not any(
        is_newer(later, first) for place, first in enumerate(ordered) for later in ordered[place + 1 :]
    )


@given(ranked=st.lists(EDITIONS, max_size=8))
def test_without_two_days_the_order_is_that_of_the_ranking(ranked):
    undated = [
        edition(*each.terms & {"200", "250"}, score=each.score, document=each.document) for each in ranked
    ]

    assert newer_first(undated, lambda each: each) == undated
