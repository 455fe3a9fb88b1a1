"""Hybrid retrieval: BM25 over terms and cosine over dense vectors find, and one weighted sum orders.

Max-normalised scores summed with fixed weights beat reciprocal rank fusion on every set
published for the sets we measure with (SQuAD 2, MTRAG); :mod:`core.library.rerank` adds to them
where a passage holds the words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING

from core.conversation import Exchange
from core.library.confidence import Observation, confidence_of
from core.library.documents import Passage, Retrieval, Retrieved, Scope
from core.library.lexical import Words, bm25
from core.library.rerank import Scored, rerank
from core.library.store import DocumentStore
from core.text.characters import whole
from core.text.followup import asked_before, cited_before, merged_with, needs_history, points_back
from core.text.terms import known_terms, term_weights

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from core.library.embedding.embedder import Embedder
    from core.library.vectors import VectorIndex

CANDIDATES = 60  # passages taken from each index before fusion
EXACT_LIMIT = 3_000  # passages of a narrow scope that are compared one by one: about 5 ms
HISTORY_WEIGHT = 0.35  # of a term that only the history brings, next to the question's own, in what is asked
#: What the history's terms may weigh in all, next to the question's own: where a word points back, and
#: where the question is merely short. Unbounded, a history of forty terms outvotes a question of one.
HISTORY_SHARE, HISTORY_SHARE_OF_SHORT = 1.0, 0.5
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

    store: DocumentStore
    embedder: Embedder | None = None
    vectors: VectorIndex | None = None

    def retrieve(self, query: Query) -> Retrieval:
        """Blocking: call it in a thread."""
        searched = self.store.count_passages(query.scope)
        if not searched:
            return Retrieval()
        lexical = self.store.lexical
        languages = lexical.languages(query.scope)
        frequencies_of = partial(lexical.document_frequencies, scope=query.scope)
        own = known_terms(query.text, languages, frequencies_of)[:TERM_LIMIT]
        merged = merged_with(query.text, query.history) if needs_history(query.text) else query.text
        words = list(dict.fromkeys((*own, *known_terms(merged, languages, frequencies_of))))[:TERM_LIMIT]
        frequencies = frequencies_of(words)
        known = {word for word, count in frequencies.items() if count}
        leans, is_pointed = bool(query.history) and needs_history(query.text, known), points_back(query.text)
        if not leans:
            merged, words = query.text, own
        rarity = term_weights(words, frequencies, searched)
        held = limit_history(rarity, own, known, points_back=is_pointed)
        # An earlier answer's words help to find the passage; they do not say what is asked of it now. What was
        # asked before does, and where a word points to it, all of it must be in the passage.
        before = known_terms(asked_before(query.history), languages, frequencies_of) if leans else ()
        asked = {*own, *before}
        weights = {
            word: weight * (1 if word in own else HISTORY_WEIGHT)
            for word, weight in (rarity if is_pointed else held).items()
            if word in asked
        }
        found = self._candidates(query, held, frequencies, own, merged)
        passages = found.best(query.limit, cited_before(query.history) if is_pointed else ())
        observation = Observation(
            question=query.text,
            passages=passages,
            weights=weights,
            frequencies=frequencies,
            lexical=sorted(found.lexical.values(), reverse=True),
            dense=sorted(found.dense.values(), reverse=True),
        )
        return Retrieval(
            passages=passages, weights=weights, confidence=confidence_of(observation), searched=searched
        )

    def _candidates(
        self,
        query: Query,
        weights: Mapping[str, float],
        frequencies: Mapping[str, int],
        own: Collection[str],
        merged: str,
    ) -> Candidates:
        """The best by words and the nearest by meaning, each with both scores."""
        lexical = self.store.lexical
        listed: dict[str, float] = {}
        # A history of many words would leave no room for what the question's own few find.
        for looked_for in dict.fromkeys((tuple(weights), tuple(own))):
            listed |= lexical.search(looked_for, query.scope, limit=CANDIDATES, frequencies=frequencies)
        dense: dict[str, float] = {}
        if self.embedder is not None and self.vectors is not None:
            vector = _vector_of(self.embedder, query.text, merged)
            dense = self._nearest(self.vectors, vector, query.scope)
        passages = self.store.passages(listed | dense, query.scope)
        if dense and self.vectors is not None:
            unmeasured = {number: hit for number, hit in passages.items() if number not in dense}
            dense |= self.vectors.similarities(vector, _by_collection(unmeasured))
        # What was removed since it was listed, or has left a vector behind, is no passage any more.
        words = lexical.words(passages)
        return Candidates(
            passages=passages,
            words=words,
            weights=weights,
            lexical=bm25(words, weights),
            dense={number: cosine for number, cosine in dense.items() if number in passages},
        )

    def _nearest(self, vectors: VectorIndex, vector: NDArray[float32], scope: Scope) -> dict[str, float]:
        """Cosines of the nearest passages. A scope narrower than its collections is searched exactly."""
        if not scope.addresses:
            return dict(vectors.search(vector, collections=sorted(scope.collections), limit=CANDIDATES))
        within = self.store.ids(scope, limit=EXACT_LIMIT)
        if sum(map(len, within.values())) < EXACT_LIMIT:
            cosines = vectors.similarities(vector, within)
            return dict(nlargest(CANDIDATES, cosines.items(), key=itemgetter(1)))
        nearest = vectors.search(vector, collections=sorted(scope.collections), limit=EXACT_LIMIT)
        allowed = self.store.passages((number for number, _ in nearest), scope)
        return dict([hit for hit in nearest if hit[0] in allowed][:CANDIDATES])


def limit_history(
    rarity: Mapping[str, float], own: Collection[str], known: Collection[str], *, points_back: bool
) -> Mapping[str, float]:
    """The weights of terms, those of the history (all that are not the question's own) held to their share.

    Where a word points back, own terms that no passage knows give the history no measure: “Can you answer
    this?” speaks of nothing but what was said before. “Where is the anvil?” does.
    """
    telling = known if points_back else own
    share = HISTORY_SHARE if points_back else HISTORY_SHARE_OF_SHORT
    room = share * sum(weight for word, weight in rarity.items() if word in own and word in telling)
    brought = sum(weight for word, weight in rarity.items() if word not in own)
    if not room or brought <= room:
        return rarity
    return {word: weight * (1 if word in own else room / brought) for word, weight in rarity.items()}


def _vector_of(embedder: Embedder, question: str, merged: str) -> NDArray[float32]:
    """Half way between the question and the question merged with its history."""
    vector = embedder.embed_query(whole(question))
    if merged == question:
        return vector
    both = vector + embedder.embed_query(whole(merged))
    middle: NDArray[float32] = both / max(float((both @ both) ** 0.5), 1e-9)
    return middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages of the scope that may answer, before they are ranked."""

    passages: Mapping[str, Passage]  #: by id
    words: Mapping[str, Words]  #: by id
    weights: Mapping[str, float]  #: of the question's terms
    lexical: Mapping[str, float]  #: BM25 by id
    dense: Mapping[str, float]  #: cosine by id

    def best(self, limit: int, cited: Collection[str]) -> tuple[Retrieved, ...]:
        """The best of them, those of sources that were cited before preferred."""
        scores = rerank(self._scored(cited), self.weights)
        ranked = sorted(scores, key=lambda number: (-scores[number], int(number)))
        return tuple(
            Retrieved(
                passage=self.passages[number],
                score=scores[number],
                lexical=self.lexical.get(number, 0.0),
                dense=self.dense.get(number),
            )
            for number in ranked[:limit]
        )

    def _scored(self, cited: Collection[str]) -> dict[str, Scored]:
        """A passage without a vector is judged by its words alone, as all of them are when there are none."""
        words, meaning = _normalised(self.lexical), _normalised(self.dense)
        return {
            number: Scored(
                document=f"{self.passages[number].collection} {self.passages[number].source}",
                words=self.words[number],
                is_cited=self.passages[number].source in cited,
                lexical=words.get(number, 0.0),
                dense=meaning.get(number, words.get(number, 0.0)) if meaning else None,
            )
            for number in self.words.keys() & (words.keys() | meaning.keys())
        }


def _by_collection(found: Mapping[str, Passage]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for number, passage in found.items():
        ids.setdefault(passage.collection, []).append(number)
    return ids


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0)
    return (
        {key: max(score, 0.0) / top for key, score in scores.items()}
        if top > 0
        else dict.fromkeys(scores, 0.0)
    )
