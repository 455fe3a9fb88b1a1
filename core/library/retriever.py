"""Hybrid retrieval: BM25 over terms and cosine over dense vectors, fused by a weighted sum.

Max-normalised scores summed with fixed weights beat reciprocal rank fusion on every set
measured (tests/benchmarks/retrieval.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.conversation import Exchange
from core.library.catalogue import Catalogue
from core.library.confidence import Finding, confidence_of
from core.library.documents import Passage, Retrieval, Retrieved, Scope
from core.text.followup import asked_before, merged_with, needs_history
from core.text.terms import query_terms, term_weights

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from core.library.embedding import Embedder
    from core.library.vectors import VectorIndex

CANDIDATES = 60  # passages taken from each index before fusion
EXACT_LIMIT = 3_000  # passages of a narrow scope that are compared one by one: about 5 ms
LEXICAL_WEIGHT = 0.4  # of the fused score when there are vectors; the rest is cosine
HISTORY_WEIGHT = 0.35  # of a term that only the history brings, next to the question's own
TERM_LIMIT = 40  # terms of one lexical query


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for."""

    text: str
    scope: Scope
    history: tuple[Exchange, ...] = ()  #: merged in only where the text leans on it
    limit: int = 8


@dataclass(frozen=True, slots=True)
class Retriever:
    """Finds passages in the catalogue and, where there are vectors, by meaning."""

    catalogue: Catalogue
    embedder: Embedder | None = None
    vectors: VectorIndex | None = None

    def retrieve(self, query: Query) -> Retrieval:
        """Blocking: call it in a thread."""
        searched = self.catalogue.count_passages(query.scope)
        if not searched:
            return Retrieval()
        own = query_terms(query.text)[:TERM_LIMIT]
        leans = bool(query.history) and needs_history(query.text)
        merged = merged_with(query.text, query.history) if leans else query.text
        words = list(dict.fromkeys((*own, *query_terms(merged))))[:TERM_LIMIT]
        # An earlier answer's words help to find the passage; they do not say what is asked of it now.
        asked = {*own, *(query_terms(asked_before(query.history)) if leans else ())}
        frequencies = self.catalogue.document_frequencies(words, query.scope)
        weights = term_weights(words, frequencies, searched)
        weights = {
            word: weight * (1 if word in own else HISTORY_WEIGHT)
            for word, weight in weights.items()
            if word in asked
        }

        lexical = dict(self.catalogue.search(words, query.scope, limit=CANDIDATES))
        dense = self._dense(query, merged, lexical)
        fused = fuse(lexical, dense)
        best = sorted(fused, key=lambda passage: (-fused[passage], int(passage)))
        found = self.catalogue.passages(best[: query.limit * 2], query.scope)
        passages = tuple(
            Retrieved(
                passage=found[number],
                score=fused[number],
                lexical=lexical.get(number, 0.0),
                dense=dense.get(number) if dense else None,
            )
            for number in best
            if number in found
        )[: query.limit]
        finding = Finding(
            question=query.text,
            passages=passages,
            weights=weights,
            frequencies=frequencies,
            lexical=sorted(lexical.values(), reverse=True),
            dense=sorted(dense.values(), reverse=True),
        )
        return Retrieval(
            passages=passages, weights=weights, confidence=confidence_of(finding), searched=searched
        )

    def _dense(self, query: Query, merged: str, lexical: Mapping[str, float]) -> dict[str, float]:
        """Cosines of the nearest passages and of all lexical candidates; empty without vectors."""
        if self.embedder is None or self.vectors is None:
            return {}
        vector = self.embedder.embed_query(query.text)
        if merged != query.text:
            both = vector + self.embedder.embed_query(merged)
            vector = both / max(float((both @ both) ** 0.5), 1e-9)
        nearest = self._nearest(vector, query.scope)
        found = self.catalogue.passages([i for i in lexical if i not in nearest], query.scope)
        return {**nearest, **self.vectors.similarities(vector, _by_collection(found))}

    def _nearest(self, vector: NDArray[float32], scope: Scope) -> dict[str, float]:
        """Cosines of the scope's nearest passages. A scope narrower than its collections is searched exactly."""
        assert self.vectors is not None
        if scope.addresses:
            within = self.catalogue.ids(scope, limit=EXACT_LIMIT)
            if sum(map(len, within.values())) < EXACT_LIMIT:
                return self.vectors.similarities(vector, within)
        wide = EXACT_LIMIT if scope.addresses else CANDIDATES
        nearest = self.vectors.search(vector, collections=sorted(scope.collections), limit=wide)
        allowed = self.catalogue.passages((i for i, _ in nearest), scope) if scope.addresses else None
        return dict([hit for hit in nearest if allowed is None or hit[0] in allowed][:CANDIDATES])


def _by_collection(found: Mapping[str, Passage]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for number, passage in found.items():
        ids.setdefault(passage.collection, []).append(number)
    return ids


def fuse(lexical: Mapping[str, float], dense: Mapping[str, float]) -> dict[str, float]:
    """Weighted sum of max-normalised scores, 0 to 1; one side alone when the other is empty."""
    if not dense:
        return _normalised(lexical)
    words, meaning = _normalised(lexical), _normalised(dense)
    return {
        passage: LEXICAL_WEIGHT * words.get(passage, 0.0) + (1 - LEXICAL_WEIGHT) * meaning.get(passage, 0.0)
        for passage in words.keys() | meaning.keys()
    }


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0)
    return (
        {key: max(score, 0.0) / top for key, score in scores.items()}
        if top > 0
        else dict.fromkeys(scores, 0.0)
    )
