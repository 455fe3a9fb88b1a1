"""Verdicts are evidence, not gates: every judge errs, so their log-odds are added up.

A loop that asks the same judge until it agrees weakens the check; a sum over different judges does
not. The published policies keep their gates instead (``weights=None``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from core.graph.policy import EvidenceWeights
from core.reasoning.reasoner import Relevance

#: How likely each rank holds the answer: recall at 1, 5 and 10 of plain BM25 over SQuAD 2 is .80, .93 and .96. The
#: verdict on a passage is weighted by it.
RANKS = (0.80, 0.06, 0.04, 0.02, 0.015)
BEYOND = 0.01  # at each further rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence for and against answering from the passages at hand."""

    confidence: float  #: local, calibrated, 0 to 1; .5 says nothing
    sufficient: tuple[bool, ...] = ()  #: one verdict per vote
    relevances: tuple[tuple[Relevance, ...], ...] = ()  #: of the graded passages of each look, best first
    is_ranked: bool = True  #: a better rank is likelier to answer; on the web any hit may
    unsupported: tuple[float, ...] = ()  #: share of the draft's claims found unsupported, one per vote
    useful: tuple[bool, ...] = ()
    looks: int = 0  #: earlier looks, in other words or on the web, that brought no answer

    @property
    def is_judged(self) -> bool:
        """True if a model gave a verdict."""
        return bool(self.sufficient or self.useful)

    @property
    def is_partial(self) -> bool:
        """True if some passage states at least a part of the answer."""
        return any("correct" in look for look in self.relevances)


def probability(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Probability that an answer from these passages is right, 0 to 1."""
    return 1 / (1 + exp(-log_odds(evidence, weights)))


def log_odds(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Sum of the weighted verdicts; 0 says nothing either way."""
    return sum(verdicts(evidence, weights).values())


def verdicts(evidence: Evidence, weights: EvidenceWeights) -> dict[str, float]:
    """The weighted log-odds of each kind of verdict."""
    too_little = weights.partial / weights.sufficient if evidence.is_partial else 1.0
    enough = [1.0 if vote else -too_little for vote in evidence.sufficient]
    grounded = [
        weights.grounded - share * (weights.grounded + weights.ungrounded) for share in evidence.unsupported
    ]
    useful = [weights.useful if vote else -weights.useless for vote in evidence.useful]
    on_passages = weights.sufficient * _votes(enough, weights.repeat)
    on_draft = _votes(useful, weights.repeat)
    looks = (_found(look, weights, is_ranked=evidence.is_ranked) for look in evidence.relevances if look)
    return {
        "confidence": _local(evidence, on_passages + on_draft, weights),
        "sufficient": on_passages,
        "useful": on_draft,
        "relevance": max(looks, default=0.0),  # by the look that found most: a poor one takes nothing from it
        "grounding": _votes(grounded, weights.repeat),
        "looks": -weights.look * evidence.looks,
    }


def is_mixed(evidence: Evidence, weights: EvidenceWeights) -> bool:
    """True if one more verdict could turn the decision: |log-odds| under one strong verdict."""
    return abs(log_odds(evidence, weights)) < max(weights.sufficient, weights.useless)


def _local(evidence: Evidence, judged: float, weights: EvidenceWeights) -> float:
    """The library's log-odds. It cannot tell a near-miss from an answer, nor read another language: against a
    judge it counts little.

    Args:
        judged: log-odds of the model's verdicts on the passages together and on the draft
    """
    most = weights.doubted_clamp if evidence.is_judged and judged <= 0 else weights.clamp
    is_doubted = evidence.is_judged and (judged > 0 or evidence.is_partial)
    least = weights.doubted_clamp if is_doubted else weights.clamp
    chance = min(max(evidence.confidence, 1e-6), 1 - 1e-6)
    return weights.local * min(max(log(chance / (1 - chance)), -least), most)


def _found(look: Sequence[Relevance], weights: EvidenceWeights, *, is_ranked: bool) -> float:
    """Log-odds that one passage of a look answers, each verdict weighted by its rank."""
    count = len(look)
    shares = [*RANKS, *[BEYOND] * count][:count] if is_ranked else [1.0] * count
    worth = {"correct": weights.relevant, "ambiguous": 0.0, "incorrect": -weights.relevant}
    odds = sum(share * exp(worth[verdict]) for share, verdict in zip(shares, look, strict=True))
    return log(odds / sum(shares))


def _votes(votes: Sequence[float], repeat: float) -> float:
    """Mean verdict, worth more the more votes there are: 1 vote 1, each further one ``repeat`` less."""
    if not votes:
        return 0.0
    mean = sum(votes) / len(votes)
    return mean * (1 + repeat * (len(votes) - 1))
