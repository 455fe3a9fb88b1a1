"""Scores of passages by the words of a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.lexical import REACH, bm25, highest

WEIGHTS = {"cat": 2.0, "purr": 3.0, "night": 1.0}


def score(body, title="", weights=WEIGHTS):
    return bm25({"1": (title.split(), body.split())}, weights).get("1", 0.0)


def test_a_passage_without_any_of_the_terms_is_left_out():
    assert bm25({"1": ([], ["dog"]), "2": ([], ["cat"])}, WEIGHTS).keys() == {"2"}
    assert bm25({}, WEIGHTS) == bm25({"1": ([], ["cat"])}, {}) == {}


def test_a_rarer_term_counts_for_more_and_a_repeated_one_for_less_each_time():
    assert score("purr x x") > score("cat x x")
    assert score("cat cat x") - score("cat x x") > score("cat cat cat") - score("cat cat x") > 0


def test_a_longer_passage_must_hold_more():
    assert score("cat") > score("cat" + " x" * 200)


def test_the_title_path_counts():
    assert score("x", title="cat") > score("cat")


def test_terms_that_follow_one_another_in_the_question_count_again_where_they_do_in_the_text():
    near = score("cat" + " x" * (REACH - 1) + " purr x x x x")
    far = score("cat" + " x" * REACH + " purr x x x")
    turned = score("purr cat x x x x x")

    assert near > far == pytest.approx(turned)


def test_terms_that_are_no_neighbours_in_the_question_gain_nothing():
    assert score("cat night x x") == pytest.approx(score("cat x x night"))


@given(body=st.lists(st.sampled_from(["cat", "purr", "night", "x"]), max_size=60))
def test_no_score_exceeds_the_highest(body):
    assert 0 <= score(" ".join(body)) <= highest(WEIGHTS)
