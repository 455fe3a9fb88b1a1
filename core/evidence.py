"""Verdicts are evidence, not gates: every judge errs, so their log-odds are added up.

A loop that asks the same judge again wears the check out; a sum of different judges does
not. The published policies keep their gates instead (``weights=None``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from core.policy import EvidenceWeights
from core.reasoner import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for and against answering from the passages at hand."""

    confidence: float  #: local, calibrated, 0 to 1; .5 says nothing
    sufficient: tuple[bool, ...] = ()  #: one verdict per vote
    relevant: bool | None = (
        None  #: some passage is correct; False: all are incorrect; None: between, or not graded
    )
    unsupported: tuple[float, ...] = ()  #: share of the draft's claims found unsupported, one per vote
    useful: tuple[bool, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether a model has had a say, and so may have another."""
        return bool(self.sufficient or self.useful)


def probability(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Probability that an answer from these passages is right, 0 to 1."""
    return 1 / (1 + exp(-log_odds(evidence, weights)))


def log_odds(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Sum of the weighted verdicts; 0 says nothing either way."""
    local = min(max(_logit(evidence.confidence), -weights.clamp), weights.clamp)
    total = weights.local * local
    total += weights.sufficient * _votes(
        [1.0 if vote else -1.0 for vote in evidence.sufficient], weights.repeat
    )
    total += weights.useful * _votes([1.0 if vote else -1.0 for vote in evidence.useful], weights.repeat)
    total += weights.grounded * _votes([1 - 2 * share for share in evidence.unsupported], weights.repeat)
    if evidence.relevant is not None:
        total += weights.relevant * (1 if evidence.relevant else -1)
    return total


def is_mixed(evidence: Evidence, weights: EvidenceWeights) -> bool:
    """Whether one more verdict could turn the decision: |log-odds| under one strong verdict."""
    return abs(log_odds(evidence, weights)) < max(weights.sufficient, weights.useful)


def relevance_of(grades: Sequence[Grade]) -> bool | None:
    """Corrective RAG's three ways: any correct, all incorrect, or ambiguous between."""
    if any(grade.relevance == "correct" for grade in grades):
        return True
    return False if grades and all(grade.relevance == "incorrect" for grade in grades) else None


def _votes(votes: Sequence[float], repeat: float) -> float:
    """Mean verdict, worth more the more votes there are: 1 vote 1, each further one ``repeat`` less."""
    if not votes:
        return 0.0
    mean = sum(votes) / len(votes)
    return mean * (1 + repeat * (len(votes) - 1))


def _logit(probability: float) -> float:
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return log(bounded / (1 - bounded))
