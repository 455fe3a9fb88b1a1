"""Hybrid retrieval: BM25 and the cosine of dense vectors find candidates, and one weighted sum ranks them.

Sums of max-normalised scores with fixed weights beat reciprocal rank fusion on SQuAD 2 and MTRAG;
:mod:`core.library.rerank` adds credits for where a passage contains the question's words.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest
from operator import itemgetter

from core.characters import storable
from core.conversation import Exchange
from core.library import names, sameness
from core.library.confidence import Observation, confidence_of
from core.library.documents import Passage, Retrieval, Retrieved, Scope, embedded_text
from core.library.embedding import Vectors
from core.library.embedding.embedder import Embedder, on_scale
from core.library.embedding.reranker import Reranker
from core.library.embedding.scale import network_name
from core.library.lexical import Words, bm25
from core.library.names import Meant
from core.library.rerank import Scored, rerank
from core.library.store import DocumentStore, by_collection
from core.library.vectors import VectorIndex
from core.text import intent
from core.text.terms import known_terms, term_weights

FIRST = 20  # passages that a reranker reorders
CANDIDATES = 60  # passages taken from each index before fusion
#: For the confidence, of a term from the history alone beside the question's own. The words of earlier answers help to
#: find the passage, but are not part of the question. Those of earlier questions are, with their full weight if a word
#: points back to them.
HISTORY_WEIGHT = 0.35
#: The limit of the history's total weight, relative to the question's: if a word points back, and if the
#: question is merely short. Without a limit, a history of forty terms outweighs a question of one.
HISTORY_SHARE, HISTORY_SHARE_OF_SHORT = 1.0, 0.5
TIE = 0.95  # share of a passage's score: with as much, one that says the same answers as well
TERM_LIMIT = 40  # terms of one lexical query
#: A language is one of the library's if one passage in so many is in it, or as many as are counted: of a few
#: passages of names and code it is easily taken for another.
ONE_IN, COUNTED = 100, 1_000
NAME_WEIGHT = 0.25  # of the name of a document that is meant, beside what is asked about it
SAID = 0.3  # share of the rest of the question from which a passage says enough of it to count in full
NAME_ALONE = 0.25  # of the worth of a passage by its words, where it has only that name
COMPARED = 8  # answers of people whose questions are compared by meaning, each by a call of the embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query: the question, what it adds from its history, and its scope."""

    text: str
    scope: Scope
    history: tuple[Exchange, ...] = ()  #: used only if the text depends on it
    limit: int = 8


@dataclass(frozen=True, slots=True)
class Retriever:
    """Finds passages by their words and, with an embedder and vectors, by meaning."""

    store: DocumentStore
    embedder: Embedder | None = None
    vectors: VectorIndex | None = None
    #: that people answered
    questions: sameness.QuestionVectors = field(default_factory=sameness.QuestionVectors)
    reranker: Reranker | None = None  #: of the first that are found

    def retrieve(self, query: Query) -> Retrieval:
        """Blocking: call it in a thread."""
        searched = self.store.count_passages(query.scope)
        if not searched:
            return Retrieval()
        lexical, text, history = self.store.lexical, query.text, query.history
        query = replace(query, scope=lexical.look_up(query.scope))
        common = max(1, min(searched // ONE_IN, COUNTED))
        languages = lexical.languages(query.scope, enough=common)
        frequencies_of = partial(lexical.document_frequencies, scope=query.scope)
        own = known_terms(text, languages, frequencies_of)[:TERM_LIMIT]
        merged = intent.merge_history(text, history) if intent.needs_history(text) else text
        words = list(dict.fromkeys((*own, *known_terms(merged, languages, frequencies_of))))[:TERM_LIMIT]
        frequencies = frequencies_of(words)
        known = {word for word, count in frequencies.items() if count}
        depends = bool(history) and intent.needs_history(text, known)
        points = intent.points_back(text)
        if not depends:
            merged, words = text, own
        rarity = term_weights(words, frequencies, searched)
        limited = limit_history(rarity, own, known, points_back=points)
        before = known_terms(intent.recent_questions(history), languages, frequencies_of) if depends else ()
        weights = rarity if points else limited
        asked = {*own, *before}
        weights = {w: weights[w] * (1 if w in own else HISTORY_WEIGHT) for w in weights if w in asked}
        is_substitution = depends and intent.replaces_subject(text)
        found = self._candidates(query, limited, frequencies, own, merged, is_substitution=is_substitution)
        reorder = self.reranker and partial(_rerank, self.reranker, merged, found.passages)
        hits = found.best(query.limit, intent.recent_sources(history) if points else (), reorder or list)
        observation = Observation(
            question=text, weights=weights, frequencies=frequencies,
            passages=[hit for hit in hits if hit.passage.id not in found.beside],
            lexical=_best_first(found.lexical, found.beside), dense=_best_first(found.scaled, found.beside),
            network=network_name(self.embedder.name) if self.embedder else "",
        )  # fmt: skip
        return Retrieval(
            passages=hits, weights=weights, confidence=confidence_of(observation), searched=searched,
            languages=tuple(name for name, count in languages.items() if count >= common),
        )  # fmt: skip

    def _candidates(
        self, query: Query, weights: Mapping[str, float], frequencies: Mapping[str, int],
        own: Collection[str], merged: str, *, is_substitution: bool,
    ) -> "Candidates":  # fmt: skip
        """The best passages by words and by meaning, each with both scores."""
        lexical, scope = self.store.lexical, query.scope
        follow_up = query.text if merged != query.text else ""
        meant = names.find_meant(self.store.database, merged, scope, own=follow_up)
        asked = {word: w * (NAME_WEIGHT if word in meant.terms else 1.0) for word, w in weights.items()}
        others = tuple(word for word in weights if word not in meant.terms) or tuple(weights)
        # A second search by the question's own terms, which a long history could crowd out; and a third within the
        # documents that it names, unless the scope is of a few, without what all their passages are about.
        searches = [(terms, scope) for terms in dict.fromkeys((tuple(weights), tuple(own)))]
        named = () if scope.addresses else meant.addresses
        within = [replace(scope, addresses=named)] if named else []
        searches += [(others, where) for where in within]
        listed, dense = dict[str, float](), dict[str, float]()
        for looked_for, where in searches:
            listed |= lexical.search(looked_for, where, limit=CANDIDATES, frequencies=frequencies)
        closeness: Mapping[str, float] = {}
        if self.embedder is not None and self.vectors is not None:
            vector = _vector_of(self.embedder, query.text, merged)
            for where in (scope, *within):
                dense |= self._nearest(self.vectors, vector, where)
        passages = self.store.passages(listed | dense, scope)
        if self.embedder is not None and self.vectors is not None:
            missing = ((number, hit.collection) for number, hit in passages.items() if number not in dense)
            dense |= self.vectors.similarities(vector, by_collection(missing)) if dense else {}
            closeness = self._closeness(self.embedder, vector, passages, dense)
        # Without passages that were removed meanwhile, or have only a vector left.
        words = lexical.words(passages)
        answers_other = partial(sameness.answers_another, query.text, is_substitution=is_substitution)
        return Candidates(
            question=query.text, passages=passages, words=words, weights=weights,
            lexical=bm25(words, weights),
            beside=frozenset(number for number, hit in passages.items() if answers_other(hit)),
            dense=(near := {number: cosine for number, cosine in dense.items() if number in passages}),
            scaled=dict(zip(near, on_scale([*near.values()], self.embedder), strict=False)) if near else {},
            closeness=closeness, meant=meant, asked=asked,
        )  # fmt: skip

    def _closeness(
        self, embedder: Embedder, vector: Vectors, passages: Mapping[str, Passage], dense: Mapping[str, float]
    ) -> Mapping[str, float]:
        """Closeness of this question to those of the nearest kept answers, by passage."""
        kept = {number: asked for number, hit in passages.items() if (asked := sameness.question_of(hit))}
        likely = nlargest(COMPARED, kept, key=lambda number: (dense.get(number, 0.0), number))
        close = self.questions.closeness(embedder, vector, [kept[n] for n in likely]) if likely else ()
        return dict(zip(likely, close, strict=True))

    def _nearest(self, vectors: VectorIndex, vector: Vectors, scope: Scope) -> dict[str, float]:
        """Cosines of the nearest passages. A scope narrower than its collections is searched exactly if it is small."""
        if not scope.addresses:
            return dict(vectors.search(vector, collections=sorted(scope.collections), limit=CANDIDATES))
        within = self.store.ids(scope, limit=vectors.exact_limit)
        if sum(map(len, within.values())) < vectors.exact_limit:
            cosines = vectors.similarities(vector, within)
            return dict(nlargest(CANDIDATES, cosines.items(), key=itemgetter(1)))
        nearest = vectors.search(vector, collections=sorted(scope.collections), limit=vectors.exact_limit)
        allowed = self.store.passages((number for number, _ in nearest), scope)
        return dict([hit for hit in nearest if hit[0] in allowed][:CANDIDATES])


def limit_history(
    rarity: Mapping[str, float], own: Collection[str], known: Collection[str], *, points_back: bool
) -> Mapping[str, float]:
    """The weights of terms, with those of the history (all but the question's own) limited to their share.

    If a word points back, own terms that no passage contains do not count for the share: “Can you answer
    this?” is only about what was said before. “Where is the anvil?” is not.
    """
    counted = known if points_back else own
    share = HISTORY_SHARE if points_back else HISTORY_SHARE_OF_SHORT
    room = share * sum(weight for word, weight in rarity.items() if word in own and word in counted)
    added = sum(weight for word, weight in rarity.items() if word not in own)
    if not room or added <= room:
        return rarity
    return {word: weight * (1 if word in own else room / added) for word, weight in rarity.items()}


def _vector_of(embedder: Embedder, question: str, merged: str) -> Vectors:
    """The mean of the vectors of the question and of the question merged with its history."""
    vector = embedder.embed_query(storable(question))
    if merged == question:
        return vector
    both = vector + embedder.embed_query(storable(merged))
    middle: Vectors = both / max(float((both @ both) ** 0.5), 1e-9)
    return middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Passages that may answer, before they are ranked."""

    question: str
    passages: Mapping[str, Passage]  #: by id
    #: Ids of what people answered to other questions: it says nothing about this one, however many words they share.
    beside: frozenset[str]
    words: Mapping[str, Words]  #: by id
    weights: Mapping[str, float]  #: of the question's terms
    lexical: Mapping[str, float]  #: BM25 by id
    dense: Mapping[str, float]  #: cosine by id
    #: the same on the scale on which credits and coefficients were fitted; empty where they say nothing
    scaled: Mapping[str, float]
    closeness: Mapping[str, float]  #: of the question that a person answered, by id
    meant: Meant  #: the documents that the question names
    asked: Mapping[str, float]  #: the same; names of documents that are meant, which are found, weigh less

    def best(
        self, limit: int, cited: Collection[str], reorder: Callable[[Sequence[str]], Sequence[str]] = list
    ) -> tuple[Retrieved, ...]:
        """The best passages, preferring sources that were cited before. ``reorder`` ranks their ids once more."""
        scores = rerank(self._score(cited), self.asked)
        by_score = sorted(scores, key=lambda number: (-scores[number], int(number)))
        best_scores = [scores[number] for number in by_score]
        ranked = list(reorder(by_score))[: 2 * limit]
        scores |= dict(zip(ranked, best_scores, strict=False))  # a score is that of a rank
        ordered = sameness.newer_first(
            ranked, lambda n: sameness.Dated.of(self.passages[n], self.words[n][1], scores[n]), least=TIE
        )
        return tuple(
            Retrieved(
                passage=self.passages[number], score=scores[scored],  # that of its rank
                lexical=self.lexical.get(number, 0.0), dense=self.dense.get(number),
            )
            for number, scored in list(zip(ordered, ranked, strict=True))[:limit]
        )  # fmt: skip

    def _score(self, cited: Collection[str]) -> dict[str, Scored]:
        """A passage without a vector is scored by its words alone, and so are all if none has one."""
        words, meaning = _normalise(self._score_words()), _normalise(self.scaled or self.dense)
        likeness = self.meant.likeness
        return {
            number: Scored(
                document=f"{passage.collection} {passage.source}",
                words=self.words[number],
                is_cited=passage.source in cited,
                # An answer that a person gave to another question says nothing about this one.
                answered=frozenset()
                if number in self.beside
                else sameness.answered_terms(sameness.question_of(passage), self.question),
                closeness=self.closeness.get(number, 0.0),
                named=likeness.get((passage.collection, passage.source), 0.0) * words.get(number, 0.0),
                lexical=words.get(number, 0.0),
                dense=meaning.get(number, words.get(number, 0.0)) if meaning else None,
            )
            for number in self.words.keys() & (words.keys() | meaning.keys())
            for passage in (self.passages[number],)
        }

    def _score_words(self) -> dict[str, float]:
        """BM25 by id. A passage that shares little with the question but the name of its document gets a
        part."""
        besides = {word: weight for word, weight in self.weights.items() if word not in self.meant.terms}
        enough = SAID * sum(besides.values())
        scores = bm25(self.words, self.asked)
        if not self.meant.terms or not enough:
            return scores
        said = {n: sum(besides[w] for w in besides.keys() & set(self.words[n][1])) for n in scores}
        return {n: score * min(1.0, NAME_ALONE + said[n] / enough) for n, score in scores.items()}


def _rerank(
    reranker: Reranker, question: str, passages: Mapping[str, Passage], ranked: Sequence[str]
) -> Sequence[str]:
    """The ids in their order, the first of them as the reranker has them."""
    first = ranked[:FIRST]
    order = reranker.order(question, [embedded_text(passages[number]) for number in first])
    return ranked if order is None else [*(first[index] for index in order), *ranked[FIRST:]]


def _best_first(scores: Mapping[str, float], but: Collection[str]) -> list[float]:
    return sorted((score for number, score in scores.items() if number not in but), reverse=True)


def _normalise(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values(), default=0.0)
    return {key: max(score, 0.0) / top if top > 0 else 0.0 for key, score in scores.items()}
