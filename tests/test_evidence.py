"""Verdicts as evidence: each moves the sum its own way, and none without bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.evidence import Evidence, is_mixed, log_odds, probability, relevance_of
from core.policy import EvidenceWeights
from core.reasoner import Grade

WEIGHTS = EvidenceWeights()
VOTES = st.lists(st.booleans(), max_size=5).map(tuple)
SHARES = st.lists(st.floats(0, 1), max_size=5).map(tuple)
EVIDENCE = st.builds(
    Evidence,
    confidence=st.floats(0, 1),
    sufficient=VOTES,
    relevant=st.sampled_from([True, False, None]),
    unsupported=SHARES,
    useful=VOTES,
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
@given(EVIDENCE)
def test_relevant_passages_say_more_than_a_doubt_and_a_doubt_more_than_none(evidence):
    odds = [log_odds(replace(evidence, relevant=relevant), WEIGHTS) for relevant in (False, None, True)]

    assert odds == sorted(set(odds))


@thorough
@given(EVIDENCE)
def test_no_verdict_counts_without_bound(evidence):
    furthest = WEIGHTS.clamp * WEIGHTS.local + WEIGHTS.relevant
    for votes, weight in (
        (evidence.sufficient, WEIGHTS.sufficient),
        (evidence.useful, WEIGHTS.useful),
        (evidence.unsupported, WEIGHTS.grounded),
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


def test_a_draft_that_is_half_supported_says_nothing():
    assert log_odds(Evidence(confidence=0.5, unsupported=(0.5,)), WEIGHTS) == 0


@pytest.mark.parametrize(
    ("evidence", "mixed"),
    [
        (Evidence(confidence=0.5), True),
        (Evidence(confidence=0.5, sufficient=(True,)), False),
        (Evidence(confidence=0.1, sufficient=(True,)), True),
        (Evidence(confidence=0.99, sufficient=(True,), relevant=True), False),
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


@pytest.mark.parametrize(
    ("relevances", "verdict"),
    [
        ([], None),
        (["incorrect"], False),
        (["incorrect", "incorrect"], False),
        (["incorrect", "ambiguous"], None),
        (["incorrect", "ambiguous", "correct"], True),
    ],
)
def test_one_correct_passage_is_enough_and_one_ambiguous_leaves_it_open(relevances, verdict):
    assert relevance_of([Grade(relevance=relevance) for relevance in relevances]) is verdict
