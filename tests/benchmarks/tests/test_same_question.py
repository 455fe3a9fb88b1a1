"""The measuring of rewordings: its halves, its rules, and a small part with words alone and with vectors."""

from __future__ import annotations

import pytest
from benchmarks import same_question
from benchmarks.rewordings import Pairs
from fakes.tiny_network import write_tiny_network

from core.library import sameness

REWORDED = ("How long is the notice period?", "How long is the period of notice?")
SWAPPED = ("What is the wifi password in the Lyon office?", "What is the wifi password in the Brest office?")
DENIED = ("Which gloves may be worn in the lab?", "Which gloves may not be worn in the lab?")
OTHER = ("How long is the notice period?", "Who has the key to the boat shed?")


def taken_by(rule, *pairs):
    compared = same_question.compare(
        Pairs(same=(), near=pairs), same_question.weights_by((REWORDED, SWAPPED, DENIED, OTHER)), None
    )
    with same_question.constants(same_question.RULES[rule]):
        return [same_question.is_taken(each) for each in compared]


def test_a_swapped_word_is_taken_where_the_rule_looks_at_agreement_alone():
    pairs = (REWORDED, SWAPPED, DENIED, OTHER)

    assert taken_by("words agree", *pairs) == [True, True, True, False]
    assert taken_by("words agree, and none is swapped", *pairs) == [True, False, True, False]
    assert taken_by("words agree, and nothing tells them apart", *pairs) == [True, False, False, False]


def test_the_constants_are_their_own_again_after_a_rule():
    own = sameness.NEARLY_SAME

    with same_question.constants({"NEARLY_SAME": 9.0}):
        changed = sameness.NEARLY_SAME

    assert (changed, sameness.NEARLY_SAME) == (9.0, own)


def test_the_half_of_a_question_never_changes():
    assert same_question.half_of("How do I deploy it?") == "looked at"
    assert same_question.half_of("How do I add CORS?") == "judged"


@pytest.fixture(scope="module")
def by_words(shared_data):
    return same_question.run(print, data=shared_data, quick=True)


def test_a_quick_run_measures_every_rule_by_words_and_with_vectors(by_words, shared_data, tmp_path):
    network = str(write_tiny_network(tmp_path / "tiny"))

    with_vectors = same_question.run(print, data=shared_data, model=network, quick=True)

    for section, rules in ((by_words, 3), (with_vectors, 6)):
        pairs, cases, _ranked = section.tables
        assert len(pairs.rows) == 2 * rules * 3  # sets, rules, and all pairs beside their halves
        assert sum(row[-1] for row in cases.rows) == same_question.QUICK_ASKED
        figures = section.figures
        assert (
            figures["words, words agree, all, reworded: first"]
            >= figures["words, no credit, all, reworded: first"]
        )
        assert (
            figures["SQuAD 2, words agree, and none is swapped, all: taken"]
            < figures["SQuAD 2, words agree, all: taken"]
        )
    assert with_vectors.figures["vectors, no credit, all, near: of"] == same_question.QUICK_ASKED


def test_every_pair_is_in_one_half(by_words):
    figures = by_words.figures

    for name, what in (("FastAPI", "same"), ("FastAPI", "near"), ("SQuAD 2", "near")):
        whole, *parts = (
            figures[f"{name}, words agree, {half}: {what}"] for half in ("all", *same_question.HALVES)
        )
        assert whole == sum(parts)
        assert min(parts) > 0
