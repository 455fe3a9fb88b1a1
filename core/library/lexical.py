"""The lexical index: BM25 over the terms of :mod:`core.text.terms`, by SQLite's FTS5.

Every term is marked with the collection it stands in, so that a search in some collections meets
nothing of the others and counts nothing of them. Beside its words every passage holds its language and
the places it lies in: its document and each folder above. A narrower search asks for its scope as it asks
for words.

BM25 over the candidates of one retrieval, with the term weights of the scope it reads.

FTS5 finds the candidates, but weighs a term by the whole index and gives a term that half of
a small index holds no weight at all. Here a term weighs what it weighs for this question.
Terms that follow one another in the question count again where they do so in the text: a pair
is scored as a term of its own (Metzler and Croft's ordered windows, SIGIR 2005).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from sqlite3 import Connection

from core.library.database import WORDS_TABLE, Database
from core.library.documents import Scope
from core.library.roots import ancestors
from core.text.language import LANGUAGES, language_of
from core.text.terms import terms

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


Words = tuple[list[str], list[str]]  # terms of a passage's title path and of its text, in reading order

TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body
ALONE = 5_000  # passages that hold any of some terms, up to which all of them are ranked: about 5 ms
IN_COMPANY = 2_000  # passages that are ranked of those that hold frequent terms


def index_terms(title: str, path: Sequence[str], text: str) -> tuple[str, str, str]:
    """The language of a passage, and the terms of its title path and of its text, spaces between them."""
    language = language_of(text)
    headings = " ".join(dict.fromkeys((title, *path)))
    return language, " ".join(terms(headings, language)), " ".join(terms(text, language))


def place_terms(collection: int, address: str) -> str:
    """The terms of the places that a document lies in, spaces between them."""
    return " ".join(_place_term(collection, place) for place in ancestors(address))


def insert_terms(
    writing: Connection, collection: int, places: str, passages: Iterable[tuple[int, tuple[str, str, str]]]
) -> None:
    """Take passages of one document in: id and :func:`words_of`."""
    writing.executemany(
        "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
        (
            (
                passage,
                f"{places} {_language_term(collection, language)}",
                _prefixed(collection, title),
                _prefixed(collection, body),
            )
            for passage, (language, title, body) in passages
        ),
    )


def delete_terms(writing: Connection, passages: Iterable[int]) -> None:
    writing.executemany("DELETE FROM words WHERE rowid = ?", ((passage,) for passage in passages))


def optimize(writing: Connection) -> None:
    """Leave no word of what was struck: FTS5 keeps it beside a note that it is gone until its parts are merged."""
    writing.execute("INSERT INTO words (words) VALUES ('optimize')")


def recreate(writing: Connection) -> None:
    """Take everything out, be the index damaged or not."""
    writing.execute("DROP TABLE IF EXISTS words")
    writing.execute(WORDS_TABLE)


def reindex_all(writing: Connection) -> None:
    """Empty the lexical index, and take in all passages that there are."""
    recreate(writing)
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

        Where ``frequencies`` say that more passages hold them than can be ranked in time, frequent terms
        only count in what the rare ones find. What is found by two of them, or by one, fills up the list.
        """
        within = self._within(scope)
        if not within.collections or not words:
            return []
        alone, frequent = _by_rarity(words, frequencies or {})
        found: dict[str, float] = {}
        for expression in within.expressions(alone, frequent):
            among = IN_COMPANY if found or not alone else 2 * ALONE
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
            f"WITH asked (word, expression) AS (VALUES {', '.join(['(?, ?)'] * len(words))})"
            " SELECT word, (SELECT count(*) FROM words WHERE words MATCH expression) FROM asked",
            [value for word in words for value in (word, within.expression([word]))],
        )
        return {str(word): int(count) for word, count in rows}

    def words(self, ids: Iterable[str]) -> dict[str, Words]:
        """The terms of the passages with these ids, as they were entered: to cut them again takes longer."""
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
    """A scope in the index's own terms."""

    collections: Sequence[int]
    places: Sequence[str]  #: empty: the whole of the collections

    def expressions(self, alone: Sequence[str], frequent: Sequence[str]) -> Iterator[str]:
        """FTS5, one after the other: any of the words that find alone, two of the frequent ones, one of them."""
        if alone:
            yield self.expression(alone) + (self._and_any([*alone, *frequent]) if frequent else "")
        for company in (2, 1):
            if len(frequent) >= company:
                others = (self._and_any([word]) for word in frequent[1:company])
                yield self.expression(frequent[:1]) + "".join(others)

    def expression(self, words: Sequence[str]) -> str:
        """FTS5: any of the words, within the scope."""
        within = f"{{scope}} : ({' OR '.join(self.places)}) AND " if self.places else ""
        return f"{within}{{title body}} : ({self._any(words)})"

    def _and_any(self, words: Sequence[str]) -> str:
        return f" AND {{title body}} : ({self._any(words)})"

    def _any(self, words: Sequence[str]) -> str:
        quoted = (word.replace('"', '""') for word in words)
        return " OR ".join(f'"{_prefix(number)}{word}"' for word in quoted for number in self.collections)


def _by_rarity(words: Sequence[str], frequencies: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The words that few passages hold, few enough in all to be ranked; and the others, rarest first."""
    alone: list[str] = []
    ordered = sorted(words, key=lambda word: frequencies.get(word, 0))
    held = 0
    for word in ordered:
        held += frequencies.get(word, 0)
        if held > ALONE:
            break
        alone.append(word)
    return alone, ordered[len(alone) :]


def _prefix(collection: int) -> str:
    return f"c{collection}x"


def _prefixed(collection: int, words: str) -> str:
    """Each of the words behind the mark of its collection."""
    mark = _prefix(collection)
    return mark + words.replace(" ", f" {mark}") if words else ""


def _without_prefix(words: str) -> list[str]:
    mark = words[: words.find("x") + 1]
    return f" {words}".split(f" {mark}")[1:] if mark else []


def _language_term(collection: int, language: str) -> str:
    """The term of a language in a collection; terms of addresses are longer."""
    return f"{_prefix(collection)}{language}"


def _place_term(collection: int, address: str) -> str:
    """The term of an address in a collection; SQL checks again what is found by it."""
    return (
        f"{_prefix(collection)}{blake2b(address.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
    )
