"""BM25 over the candidates of one retrieval, with the term weights of the scope it reads.

FTS5 finds the candidates, but weighs a term by the whole index and gives a term that half of
a small index holds no weight at all. Here a term weighs what it weighs for this question.
Terms that follow one another in the question count again where they do so in the text: a pair
is scored as a term of its own (Metzler and Croft's ordered windows, SIGIR 2005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from core.library.lexical import Words

SATURATION = 1.2  # k1: how soon a term that comes again stops counting
LENGTH_PENALTY = 0.75  # b: how much a long passage must hold more
USUAL_LENGTH = 120  # terms of a passage; fixed, so that scores mean the same in every library
TITLE_COUNTS = 2  # a term of the title path counts as so many in the text

REACH = 2  # terms from the first of a pair to the second, at most: one other may stand between them
PAIR_COUNTS = 0.7  # of the mean weight of its two terms


def bm25(passages: Mapping[str, Words], weights: Mapping[str, float]) -> dict[str, float]:
    """Scores of the passages that hold any of the terms, by id; the terms in the order of the question."""
    scores = {number: _score(words, weights) for number, words in passages.items()}
    return {number: score for number, score in scores.items() if score > 0}


def highest(weights: Mapping[str, float]) -> float:
    """What no passage scores more than."""
    pairs = sum(_pair_weight(weights, first, second) for first, second in pairwise(weights))
    return (SATURATION + 1) * (sum(weights.values()) + pairs)


def _score(words: Words, weights: Mapping[str, float]) -> float:
    title, body = words
    counts = Counter(body)
    pairs = {first: second for first, second in pairwise(weights) if counts[first] and counts[second]}
    together = _together(body, pairs) if pairs else Counter()
    for term in set(title):
        counts[term] += TITLE_COUNTS
    spread = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(body) / USUAL_LENGTH)
    held = [(weight, counts[term]) for term, weight in weights.items() if counts[term]]
    held += [(_pair_weight(weights, first, pairs[first]), count) for first, count in together.items()]
    return sum(weight * count * (SATURATION + 1) / (count + spread) for weight, count in held)


def _together(body: Sequence[str], pairs: Mapping[str, str]) -> Counter[str]:
    """How often the second term of each pair follows soon after the first, by the first."""
    return Counter(
        term
        for place, term in enumerate(body)
        if term in pairs and pairs[term] in body[place + 1 : place + 1 + REACH]
    )


def _pair_weight(weights: Mapping[str, float], first: str, second: str) -> float:
    return PAIR_COUNTS * (weights[first] + weights[second]) / 2
