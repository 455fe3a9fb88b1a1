"""Verdicts as evidence: each moves the sum its own way, and none without bound."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.graph.policy import PRESETS, Evidence, EvidenceWeights, is_mixed, log_odds, probability
from core.reasoning.reasoner import Relevance

DEFAULT = PRESETS["footnote"]
WEIGHTS = EvidenceWeights()
VOTES = st.lists(st.booleans(), max_size=5).map(tuple)
SHARES = st.lists(st.floats(0, 1), max_size=5).map(tuple)
LOOKS = st.lists(st.sampled_from(get_args(Relevance)), max_size=10).map(tuple)
EVIDENCE = st.builds(
    Evidence,
    confidence=st.floats(0, 1),
    sufficient=VOTES,
    relevances=st.lists(LOOKS, max_size=3).map(tuple),
    is_ranked=st.booleans(),
    unsupported=SHARES,
    useful=VOTES,
    looks=st.integers(0, 4),
)


def test_half_a_confidence_says_nothing():
    assert log_odds(Evidence(confidence=0.5), WEIGHTS) == 0
    assert probability(Evidence(confidence=0.5), WEIGHTS) == 0.5


def test_without_a_model_the_probability_is_the_librarys_own():
    assert probability(Evidence(confidence=0.8), WEIGHTS) == pytest.approx(0.8)


@thorough
@given(EVIDENCE, st.floats(0, 1))
def test_more_confidence_never_says_less(evidence, confidence):
    low, high = sorted((evidence.confidence, confidence))

    assert log_odds(replace(evidence, confidence=low), WEIGHTS) <= log_odds(
        replace(evidence, confidence=high), WEIGHTS
    )


@thorough
@given(EVIDENCE, st.sampled_from(["sufficient", "useful"]), st.data())
def test_a_vote_that_turns_to_yes_always_says_more(evidence, field, data):
    votes = getattr(evidence, field) or (False,)
    index = data.draw(st.integers(0, len(votes) - 1))

    no = replace(evidence, **{field: (*votes[:index], False, *votes[index + 1 :])})
    yes = replace(evidence, **{field: (*votes[:index], True, *votes[index + 1 :])})

    assert log_odds(no, WEIGHTS) < log_odds(yes, WEIGHTS)


@thorough
@given(EVIDENCE, st.sampled_from(["sufficient", "useful"]), st.booleans())
def test_one_more_vote_never_speaks_against_itself(evidence, field, vote):
    votes = getattr(evidence, field)

    more = log_odds(replace(evidence, **{field: (*votes, vote)}), WEIGHTS)

    before = log_odds(evidence, WEIGHTS)
    assert more >= before - 1e-9 if vote else more <= before + 1e-9


@thorough
@given(EVIDENCE, SHARES.filter(bool), st.floats(0, 1), st.data())
def test_fewer_unsupported_claims_never_say_less(evidence, shares, share, data):
    index = data.draw(st.integers(0, len(shares) - 1))
    low, high = sorted((shares[index], share))

    fewer, more = (
        replace(evidence, unsupported=(*shares[:index], each, *shares[index + 1 :])) for each in (low, high)
    )

    assert log_odds(fewer, WEIGHTS) >= log_odds(more, WEIGHTS)


@thorough
@given(EVIDENCE, LOOKS.filter(bool), st.data())
def test_a_passage_found_better_always_says_more(evidence, look, data):
    index = data.draw(st.integers(0, len(look) - 1))
    before, after = look[:index], look[index + 1 :]

    odds = [
        log_odds(replace(evidence, relevances=((*before, verdict, *after),)), WEIGHTS)
        for verdict in ("incorrect", "ambiguous", "correct")
    ]

    assert odds == sorted(set(odds))


@thorough
@given(EVIDENCE.filter(lambda evidence: any(evidence.relevances)), LOOKS)
def test_a_further_look_takes_nothing_from_an_earlier_one(evidence, look):
    further = replace(evidence, relevances=(*evidence.relevances, look))

    assert log_odds(further, WEIGHTS) >= log_odds(evidence, WEIGHTS)


def test_a_correct_passage_says_the_more_the_better_it_ranks_except_on_the_web():
    first, last = ("correct", "incorrect", "incorrect"), ("incorrect", "incorrect", "correct")

    ranked = [log_odds(Evidence(confidence=0.5, relevances=(each,)), WEIGHTS) for each in (first, last)]
    unranked = [
        log_odds(Evidence(confidence=0.5, relevances=(each,), is_ranked=False), WEIGHTS)
        for each in (first, last)
    ]

    assert ranked[0] > 0 > ranked[1]
    assert unranked[0] == pytest.approx(unranked[1])


def test_one_passage_in_eight_found_correct_does_not_outweigh_that_they_are_not_enough():
    stray = ("incorrect",) * 7 + ("correct",)

    assert log_odds(Evidence(confidence=0.95, sufficient=(False,), relevances=(stray,)), WEIGHTS) < 0


def test_once_a_model_judged_the_library_speaks_against_an_answer_louder_than_for_one():
    sure, unsure = (Evidence(confidence=c, sufficient=(True, False)) for c in (0.99, 0.01))

    assert 0 < log_odds(sure, WEIGHTS) < -log_odds(unsure, WEIGHTS)


def test_a_judge_who_found_enough_outweighs_a_library_that_reads_another_language():
    """A German question over English documents: .13 sure, two passages correct, after a further look."""
    found = ("ambiguous", "correct", "correct", *["incorrect"] * 5)
    evidence = Evidence(confidence=0.13, sufficient=(True,), relevances=(found,), looks=1)

    assert probability(evidence, WEIGHTS) > DEFAULT.draft_at
    assert probability(replace(evidence, unsupported=(0.0,) * 3, useful=(True,)), WEIGHTS) > DEFAULT.answer_at


def test_whatever_is_found_correct_makes_too_little_half_an_answer():
    nothing = Evidence(confidence=0.82, sufficient=(False,), relevances=(("ambiguous",) * 8,))
    part = replace(nothing, relevances=(("ambiguous",) * 7 + ("correct",),))
    checked = replace(part, unsupported=(0.0,) * 3, useful=(True,))

    gained = log_odds(part, WEIGHTS) - log_odds(nothing, WEIGHTS)
    assert gained > WEIGHTS.sufficient - WEIGHTS.partial
    assert probability(checked, WEIGHTS) > DEFAULT.answer_at
    assert probability(replace(checked, useful=(False,)), WEIGHTS) < DEFAULT.answer_at


def test_failing_a_check_says_more_than_passing_it():
    passed = log_odds(Evidence(confidence=0.5, unsupported=(0.0,), useful=(True,)), WEIGHTS)
    failed = log_odds(Evidence(confidence=0.5, unsupported=(1.0,), useful=(False,)), WEIGHTS)

    assert 0 < passed < -failed


@thorough
@given(EVIDENCE)
def test_each_look_that_brought_nothing_speaks_against(evidence):
    further = replace(evidence, looks=evidence.looks + 1)

    assert log_odds(further, WEIGHTS) < log_odds(evidence, WEIGHTS)


@thorough
@given(EVIDENCE)
def test_no_verdict_counts_without_bound(evidence):
    furthest = WEIGHTS.clamp * WEIGHTS.local + WEIGHTS.relevant + WEIGHTS.look * evidence.looks
    for votes, weight in (
        (evidence.sufficient, WEIGHTS.sufficient),
        (evidence.useful, WEIGHTS.useless),
        (evidence.unsupported, WEIGHTS.ungrounded),
    ):
        furthest += weight * (1 + WEIGHTS.repeat * max(0, len(votes) - 1))

    assert abs(log_odds(evidence, WEIGHTS)) <= furthest + 1e-9
    assert 0 < probability(evidence, WEIGHTS) < 1


def test_a_second_vote_of_the_same_judge_counts_less_than_the_first():
    one, two, three = (log_odds(Evidence(confidence=0.5, useful=(True,) * n), WEIGHTS) for n in (1, 2, 3))

    assert 0 < two - one < one
    assert two - one == pytest.approx(three - two)


def test_votes_that_disagree_say_nothing():
    assert log_odds(Evidence(confidence=0.5, sufficient=(True, False)), WEIGHTS) == 0


def test_a_draft_that_is_half_supported_speaks_against_itself():
    assert log_odds(Evidence(confidence=0.5, unsupported=(0.5,)), WEIGHTS) < 0


@pytest.mark.parametrize(
    ("evidence", "mixed"),
    [
        (Evidence(confidence=0.5), True),
        (Evidence(confidence=0.5, sufficient=(True,)), False),
        (Evidence(confidence=0.1, sufficient=(True,)), True),
        (Evidence(confidence=0.99, sufficient=(True,), relevances=(("correct",),)), False),
    ],
)
def test_evidence_is_mixed_while_one_verdict_could_turn_it(evidence, mixed):
    assert is_mixed(evidence, WEIGHTS) == mixed


@pytest.mark.parametrize(
    ("evidence", "judged"),
    [
        (Evidence(confidence=0.9), False),
        (Evidence(confidence=0.9, sufficient=(False,)), True),
        (Evidence(confidence=0.9, useful=(True,)), True),
    ],
)
def test_a_model_has_had_its_say_once_it_gave_a_verdict(evidence, judged):
    assert evidence.is_judged == judged
