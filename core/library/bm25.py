"""BM25 over the candidates of one retrieval, with the term weights of the scope it reads.

FTS5 finds the candidates, but weighs a term by the whole index and gives a term that half of
a small index holds no weight at all. Here a term weighs what it weighs for this question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from core.library.documents import Passage
from core.text.terms import terms

SATURATION = 1.2  # k1: how soon a term that comes again stops counting
LENGTH_PENALTY = 0.75  # b: how much a long passage must hold more
USUAL_LENGTH = 120  # terms of a passage; fixed, so that scores mean the same in every library
TITLE_COUNTS = 2  # a term of the title path counts as so many in the text


def bm25(passages: Mapping[str, Passage], weights: Mapping[str, float]) -> dict[str, float]:
    """Scores of the passages that hold any of the terms, by id."""
    scores = {number: _score(passage, weights) for number, passage in passages.items()}
    return {number: score for number, score in scores.items() if score > 0}


def _score(passage: Passage, weights: Mapping[str, float]) -> float:
    body = terms(passage.text)
    counts = Counter(body)
    for term in set(terms(" ".join(dict.fromkeys((passage.title, *passage.path))))):
        counts[term] += TITLE_COUNTS
    spread = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(body) / USUAL_LENGTH)
    held = ((weight, counts[term]) for term, weight in weights.items() if counts[term])
    return sum(weight * count * (SATURATION + 1) / (count + spread) for weight, count in held)
