"""How sure the library is that retrieved passages answer a question, without a model.

A logistic regression over how much of the question's weight the passages cover. The
coefficients come from tests/benchmarks/fit_confidence.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from core.library.documents import Retrieved
from core.text.sentences import split_sentences
from core.text.terms import query_terms, term_weights, terms

LOOKED_AT = 5  # best passages that the features read


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the estimate is made from; every value about 0 to 1."""

    passage_coverage: float  #: best share of the question's weight found in one passage or its headings
    sentence_coverage: float  #: best share found in one sentence
    union_coverage: float  #: share found anywhere in the best passages
    rarest: float  #: share of the heaviest third of the terms found in the best covered passage
    bm25: float  #: best BM25 over the sum of term weights
    cosine: float  #: best cosine; 0 without vectors
    cosine_margin: float  #: best cosine less the mean of the others


def features_of(passages: Sequence[Retrieved], weights: Mapping[str, float]) -> Features:
    """Features of the best passages for a question with these term weights."""
    best = passages[:LOOKED_AT]
    total = sum(weights.values()) or 1.0
    found = [_terms_of(hit) for hit in best]
    shares = [_share(weights, present) / total for present in found]
    heavy = dict(sorted(weights.items(), key=lambda item: -item[1])[: max(1, len(weights) // 3)])
    most = found[shares.index(max(shares))] if found else frozenset()
    cosines = [hit.dense for hit in best if hit.dense is not None]
    return Features(
        passage_coverage=max(shares, default=0.0),
        sentence_coverage=max((_best_sentence(hit, weights) for hit in best), default=0.0) / total,
        union_coverage=_share(weights, frozenset().union(*found)) / total,
        rarest=_share(heavy, most) / (sum(heavy.values()) or 1.0),
        bm25=min(max((hit.lexical for hit in best), default=0.0) / (total * 2.2), 2.0),
        cosine=max(cosines, default=0.0),
        cosine_margin=max(cosines) - sum(cosines) / len(cosines) if cosines else 0.0,
    )


def confidence_of(passages: Sequence[Retrieved], weights: Mapping[str, float]) -> float:
    """Probability that the passages hold the answer, 0 to 1."""
    if not passages:
        return 0.0
    features = features_of(passages, weights)
    has_vectors = any(hit.dense is not None for hit in passages)
    bias, coefficients = WITH_VECTORS if has_vectors else LEXICAL_ALONE
    score = bias + sum(weight * float(getattr(features, name)) for name, weight in coefficients.items())
    return 1 / (1 + exp(-score))


def coverage_of(question: str, passages: Sequence[Retrieved]) -> float:
    """Best share of a question's terms in one passage, terms weighted among these passages alone; 0 to 1."""
    words = query_terms(question)
    found = [_terms_of(hit) for hit in passages]
    weights = term_weights(words, {w: sum(w in present for present in found) for w in words}, len(found))
    total = sum(weights.values())
    return max((_share(weights, present) / total for present in found), default=0.0) if total else 0.0


def _terms_of(hit: Retrieved) -> frozenset[str]:
    passage = hit.passage
    return frozenset(terms(" ".join((passage.title, *passage.path, passage.text))))


def _best_sentence(hit: Retrieved, weights: Mapping[str, float]) -> float:
    text = hit.passage.text
    return max((_share(weights, frozenset(terms(text[a:b]))) for a, b in split_sentences(text)), default=0.0)


def _share(weights: Mapping[str, float], present: frozenset[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)


Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

WITH_VECTORS: Coefficients = (-6.0, {"passage_coverage": 4.0, "sentence_coverage": 2.0, "cosine": 5.0})
LEXICAL_ALONE: Coefficients = (-5.0, {"passage_coverage": 5.0, "sentence_coverage": 3.0})
