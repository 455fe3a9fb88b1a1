"""The lexical index: candidates by the terms of :mod:`core.text.terms`, and the BM25 that scores them.

What finds candidates differs by the database: :mod:`core.library.fts5` in SQLite, :mod:`core.library.postings`
in PostgreSQL. The candidates of a retrieval are scored here, with the term weights of its scope. A pair of
terms that follow each other in the question is scored as another term (the ordered windows of Metzler and
Croft, SIGIR 2005).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from core.library.documents import Scope
from core.storage.database import Connection
from core.text.language import language_of
from core.text.terms import terms

Words = tuple[list[str], list[str]]  # terms of a passage's title path and of its text, in reading order
Indexed = tuple[str, str, str]  # language of a passage, and its Words separated by spaces

RARE_LIMIT = 5_000  # passages with any of the rare terms, up to which all are ranked: about 5 ms
FREQUENT_LIMIT = 2_000  # passages that are ranked of those with frequent terms

SATURATION = 1.2  # k1: how soon repetitions of a term stop counting
LENGTH_PENALTY = 0.75  # b: how much the length of a passage reduces its score
USUAL_LENGTH = 120  # terms of a passage; fixed, so that scores mean the same in every library
TITLE_COUNTS = 2  # a term of the title path counts as this many in the text

REACH = 2  # from the first term of a pair to the second at most: one other may be between them
PAIR_COUNTS = 0.7  # of the mean weight of its two terms


def bm25(passages: Mapping[str, Words], weights: Mapping[str, float]) -> dict[str, float]:
    """Scores of the passages with any of the terms, by id. The order of the weights is that of the question."""
    scores = {number: _score(words, weights) for number, words in passages.items()}
    return {number: score for number, score in scores.items() if score > 0}


def highest(weights: Mapping[str, float]) -> float:
    """The upper bound of a score."""
    pairs = PAIR_COUNTS * sum(map(sum, pairwise(weights.values()))) / 2
    return (SATURATION + 1) * (sum(weights.values()) + pairs)


def _score(words: Words, weights: Mapping[str, float]) -> float:
    title, body = words
    counts = Counter(body)
    pairs = {first: second for first, second in pairwise(weights) if counts[first] and counts[second]}
    together = Counter[str]()  # how often the second term of a pair follows the first within REACH
    for index, term in enumerate(body) if pairs else ():
        if term in pairs and pairs[term] in body[index + 1 : index + 1 + REACH]:
            together[term] += 1
    for term in set(title):
        counts[term] += TITLE_COUNTS
    spread = _saturation(body)
    counted = [(weight, counts[term]) for term, weight in weights.items() if counts[term]]
    for first, count in together.items():
        counted.append((PAIR_COUNTS * (weights[first] + weights[pairs[first]]) / 2, count))
    return sum(weight * count * (SATURATION + 1) / (count + spread) for weight, count in counted)


def term_scores(words: Words) -> dict[str, float]:
    """The share of each term of a passage in a score, except for the term's weight."""
    title, body = words
    counts = Counter(body)
    for term in set(title):
        counts[term] += TITLE_COUNTS
    spread = _saturation(body)
    return {term: count * (SATURATION + 1) / (count + spread) for term, count in counts.items()}


def _saturation(body: Sequence[str]) -> float:
    """The frequency at which a term in a text of this length counts for half of what it can."""
    return SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(body) / USUAL_LENGTH)


def index_terms(title: str, path: Sequence[str], text: str, words: tuple[str, str] | None = None) -> Indexed:
    """A passage's language, and the terms of its path and text. ``words``: those of its text, if known."""
    language, body = words or text_terms(text)
    headings = " ".join(dict.fromkeys((title, *path)))
    return language, " ".join(terms(headings, language)), body


def text_terms(text: str) -> tuple[str, str]:
    """The language of a text, and its terms, separated by spaces."""
    language = language_of(text)
    return language, " ".join(terms(text, language))


def by_rarity(words: Sequence[str], frequencies: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The rare words, whose passages are few enough to rank them all; and the others, rarest first."""
    rare: list[str] = []
    ordered = sorted(words, key=lambda word: frequencies.get(word, 0))
    total = 0
    for word in ordered:
        total += frequencies.get(word, 0)
        if total > RARE_LIMIT:
            break
        rare.append(word)
    return rare, ordered[len(rare) :]


class LexicalIndex(Protocol):
    """Finds passages by their words."""

    def look_up(self, scope: Scope) -> Scope:
        """The same scope, so that each of several searches need not look up what it names."""

    def search(
        self, words: Sequence[str], scope: Scope, *, limit: int, frequencies: Mapping[str, int] | None = None
    ) -> list[tuple[str, float]]:
        """(passage id, BM25) of the best passages with any of the terms, best first.

        If ``frequencies`` say that more passages contain them than can be ranked in time, frequent terms
        only rank what the rare ones find. Passages with two frequent terms, or with one, fill up the list.
        """

    def languages(self, scope: Scope, *, enough: int = 1) -> dict[str, int]:
        """Number of a scope's passages by language, counted up to ``enough``; only languages that it has."""

    def document_frequencies(self, words: Collection[str], scope: Scope) -> dict[str, int]:
        """Number of the scope's passages in which each term occurs."""

    def words(self, ids: Iterable[str]) -> dict[str, Words]:
        """The terms of the passages with these ids, as inserted: reading them is faster than making them again."""

    def insert(
        self,
        writing: Connection,
        passages: Iterable[tuple[int, Indexed]],
        *,
        collection: int,
        document: int,
        address: str,
    ) -> None:
        """Insert the passages of a document: their ids and :func:`index_terms`."""

    def delete(self, writing: Connection, document: int, passages: Sequence[int]) -> None:
        """Delete the passages of a document, all that it has."""

    def erase_deleted(self, writing: Connection) -> None:
        """Leave nothing of deleted passages where the index itself would keep it."""

    def clear(self, writing: Connection) -> None:
        """Rebuild the index as an empty one, even if it is damaged."""
