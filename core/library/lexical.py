"""The lexical index: SQLite's FTS5 finds candidates by the terms of :mod:`core.text.terms`, and BM25 scores them.

Every term begins with a prefix for its collection, so that a search reads and counts nothing of other
collections. The column ``scope`` has a passage's language and places: its document and each folder above.
A search within a narrower scope matches their terms.

FTS5's own BM25 weighs a term by the whole index, and not at all if half of a small index contains it. The
candidates of a retrieval are therefore scored again, with the term weights of its scope. A pair of terms
that follow each other in the question is scored as another term (the ordered windows of Metzler and Croft,
SIGIR 2005).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from core.library.documents import Scope
from core.library.roots import ancestors
from core.library.tables import WORDS_TABLE
from core.storage.database import Connection, Database
from core.text.language import LANGUAGES, language_of
from core.text.terms import terms

Words = tuple[list[str], list[str]]  # terms of a passage's title path and of its text, in reading order

TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body
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
    counted = [(weight, counts[term]) for term, weight in weights.items() if counts[term]]
    counted += [(_pair_weight(weights, first, pairs[first]), count) for first, count in together.items()]
    return sum(weight * count * (SATURATION + 1) / (count + spread) for weight, count in counted)


def _together(body: Sequence[str], pairs: Mapping[str, str]) -> Counter[str]:
    """How often the second term of each pair follows the first within REACH, by the first."""
    return Counter(
        term
        for place, term in enumerate(body)
        if term in pairs and pairs[term] in body[place + 1 : place + 1 + REACH]
    )


def _pair_weight(weights: Mapping[str, float], first: str, second: str) -> float:
    return PAIR_COUNTS * (weights[first] + weights[second]) / 2


def index_terms(title: str, path: Sequence[str], text: str) -> tuple[str, str, str]:
    """The language of a passage, and the terms of its title path and of its text, separated by spaces."""
    language = language_of(text)
    headings = " ".join(dict.fromkeys((title, *path)))
    return language, " ".join(terms(headings, language)), " ".join(terms(text, language))


def place_terms(collection: int, address: str) -> str:
    """The terms of a document's address and of each folder above, separated by spaces."""
    return " ".join(_place_term(collection, place) for place in ancestors(address))


def insert_terms(
    writing: Connection, collection: int, places: str, passages: Iterable[tuple[int, tuple[str, str, str]]]
) -> None:
    """Insert passages of one document: id and :func:`index_terms`."""
    writing.executemany(
        "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
        (
            (
                passage,
                f"{places} {_prefix(collection)}{language}",
                _prefixed(collection, title),
                _prefixed(collection, body),
            )
            for passage, (language, title, body) in passages
        ),
    )


def delete_terms(writing: Connection, passages: Iterable[int]) -> None:
    writing.executemany("DELETE FROM words WHERE rowid = ?", ((passage,) for passage in passages))


def optimize(writing: Connection) -> None:
    """Leave nothing of deleted passages: FTS5 only marks them as deleted until its segments are merged."""
    writing.execute("INSERT INTO words (words) VALUES ('optimize')")


def reindex_all(writing: Connection) -> None:
    """Create the lexical index again, even if it is damaged, and insert all passages."""
    writing.execute("DROP TABLE IF EXISTS words")
    writing.execute(WORDS_TABLE)
    rows = writing.execute(
        "SELECT p.id, d.collection, d.address, d.title, p.path, p.text"
        " FROM passages p JOIN documents d ON d.id = p.document"
    )
    for passage, number, address, title, path, text in rows:
        words = index_terms(title, json.loads(path), text)
        insert_terms(writing, number, place_terms(number, address), [(passage, words)])


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Finds passages by their words."""

    database: Database

    def search(
        self,
        words: Sequence[str],
        scope: Scope,
        *,
        limit: int,
        frequencies: Mapping[str, int] | None = None,
    ) -> list[tuple[str, float]]:
        """(passage id, BM25) of the best passages with any of the terms, best first.

        If ``frequencies`` say that more passages contain them than can be ranked in time, frequent terms
        only rank what the rare ones find. Passages with two frequent terms, or with one, fill up the list.
        """
        within = self._within(scope)
        if not within.collections or not words:
            return []
        rare, frequent = _by_rarity(words, frequencies or {})
        found: dict[str, float] = {}
        for expression in within.expressions(rare, frequent):
            among = FREQUENT_LIMIT if found or not rare else 2 * RARE_LIMIT
            for passage, weight in self._ranked(expression, among, limit):
                found.setdefault(passage, weight)
            if len(found) >= limit:
                break
        return list(found.items())[:limit]

    def _ranked(self, expression: str, among: int, limit: int) -> list[tuple[str, float]]:
        rows = self.database.rows(
            "SELECT * FROM (SELECT rowid, -bm25(words, 0.0, ?, 1.0) AS weight FROM words WHERE words MATCH ? LIMIT ?)"
            " ORDER BY weight DESC, rowid LIMIT ?",
            (TITLE_WEIGHT, expression, among, limit),
        )
        return [(str(passage), float(weight)) for passage, weight in rows]

    def languages(self, scope: Scope) -> list[str]:
        """The languages of the passages in the collections of a scope."""
        names = tuple(scope.collections)
        rows = self.database.rows(
            f"WITH known (language) AS (VALUES {', '.join(['(?)'] * len(LANGUAGES))})"
            " SELECT DISTINCT language FROM known CROSS JOIN collections"
            f" WHERE name IN ({', '.join('?' * len(names))})"
            " AND EXISTS (SELECT 1 FROM words WHERE words MATCH 'scope : c' || number || 'x' || language)",
            (*LANGUAGES, *names),
        )
        return [str(language) for (language,) in rows]

    def document_frequencies(self, words: Collection[str], scope: Scope) -> dict[str, int]:
        """In how many passages of the scope each term occurs."""
        within = self._within(scope)
        if not within.collections or not words:
            return dict.fromkeys(words, 0)
        rows = self.database.rows(
            f"WITH terms (word, expression) AS (VALUES {', '.join(['(?, ?)'] * len(words))})"
            " SELECT word, (SELECT count(*) FROM words WHERE words MATCH expression) FROM terms",
            [value for word in words for value in (word, within.expression([word]))],
        )
        return {str(word): int(count) for word, count in rows}

    def words(self, ids: Iterable[str]) -> dict[str, Words]:
        """The terms of the passages with these ids, as inserted: reading them is faster than making them again."""
        wanted = [int(number) for number in ids]
        rows = self.database.rows(
            f"SELECT rowid, title, body FROM words WHERE rowid IN ({', '.join('?' * len(wanted))})", wanted
        )
        return {
            str(passage): (_without_prefix(title), _without_prefix(body)) for passage, title, body in rows
        }

    def _within(self, scope: Scope) -> _Within:
        names = tuple(scope.collections)
        rows = self.database.rows(
            f"SELECT number FROM collections WHERE name IN ({', '.join('?' * len(names))})", names
        )
        numbers = [int(number) for (number,) in rows]
        addresses = [address.rstrip("/") or "/" for address in scope.addresses]
        return _Within(numbers, [_place_term(number, address) for number in numbers for address in addresses])


@dataclass(frozen=True, slots=True)
class _Within:
    """A scope as terms of the index."""

    collections: Sequence[int]
    places: Sequence[str]  #: empty: the whole of the collections

    def expressions(self, rare: Sequence[str], frequent: Sequence[str]) -> Iterator[str]:
        """FTS5 expressions in order: any of the rare words, two of the frequent ones, one of them."""
        if rare:
            yield self.expression(rare) + (self._and_any([*rare, *frequent]) if frequent else "")
        for count in (2, 1):
            if len(frequent) >= count:
                others = (self._and_any([word]) for word in frequent[1:count])
                yield self.expression(frequent[:1]) + "".join(others)

    def expression(self, words: Sequence[str]) -> str:
        """An FTS5 expression: any of the words, within the scope."""
        within = f"{{scope}} : ({' OR '.join(self.places)}) AND " if self.places else ""
        return f"{within}{{title body}} : ({self._any(words)})"

    def _and_any(self, words: Sequence[str]) -> str:
        return f" AND {{title body}} : ({self._any(words)})"

    def _any(self, words: Sequence[str]) -> str:
        quoted = (word.replace('"', '""') for word in words)
        return " OR ".join(f'"{_prefix(number)}{word}"' for word in quoted for number in self.collections)


def _by_rarity(words: Sequence[str], frequencies: Mapping[str, int]) -> tuple[list[str], list[str]]:
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


def _prefix(collection: int) -> str:
    return f"c{collection}x"


def _prefixed(collection: int, words: str) -> str:
    """Each of the words with the prefix of its collection."""
    prefix = _prefix(collection)
    return prefix + words.replace(" ", f" {prefix}") if words else ""


def _without_prefix(words: str) -> list[str]:
    prefix = words[: words.find("x") + 1]
    return f" {words}".split(f" {prefix}")[1:] if prefix else []


def _place_term(collection: int, address: str) -> str:
    """The term for an address in a collection: a short hash, so SQL checks the address again. Longer than a language."""
    return (
        f"{_prefix(collection)}{blake2b(address.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
    )
