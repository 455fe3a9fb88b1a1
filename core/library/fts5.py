"""The lexical index in SQLite: its FTS5 finds candidates by their terms, and ranks them.

Every term begins with a prefix for its collection, so that a search reads and counts nothing of other
collections. The column ``scope`` has a passage's language and places: its document and each folder above.
A search within a narrower scope matches their terms.

FTS5's own BM25 weighs a term by the whole index, and not at all if half of a small index contains it: it
only says which candidates are scored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest

from core.library.documents import Scope
from core.library.lexical import FREQUENT_LIMIT, RARE_LIMIT, Indexed, Words, by_rarity
from core.library.roots import ancestors
from core.library.tables import WORDS_TABLE
from core.storage.database import Connection, Database
from core.text.language import LANGUAGES

TOGETHER = 8  # collections of one expression
TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body


@dataclass(frozen=True, slots=True)
class Fts5Index:
    """The table ``words``."""

    database: Database

    def search(
        self,
        words: Sequence[str],
        scope: Scope,
        *,
        limit: int,
        frequencies: Mapping[str, int] | None = None,
    ) -> list[tuple[str, float]]:
        within = self._within(scope)
        if not within.collections or not words:
            return []
        rare, frequent = by_rarity(words, frequencies or {})
        found: dict[str, float] = {}
        for step in zip(*(part.expressions(rare, frequent) for part in within.parts()), strict=True):
            among = FREQUENT_LIMIT if found or not rare else 2 * RARE_LIMIT
            fair = max(limit, among // len(step))
            ranked = (hit for expression in step for hit in self._ranked(expression, fair, limit))
            for passage, weight in nlargest(limit, ranked, key=lambda hit: (hit[1], -int(hit[0]))):
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
        names = tuple(scope.collections)
        rows = self.database.rows(
            f"WITH known (language) AS (VALUES {', '.join(['(?)'] * len(LANGUAGES))}),"
            f" within AS MATERIALIZED (SELECT number FROM collections WHERE name IN ({', '.join('?' * len(names))}))"
            " SELECT language FROM known WHERE EXISTS (SELECT 1 FROM words WHERE words MATCH (SELECT coalesce("
            "'scope : (' || group_concat('c' || number || 'x' || language, ' OR ') || ')', 'scope : nowhere') FROM within))",
            (*LANGUAGES, *names),
        )
        return [str(language) for (language,) in rows]

    def document_frequencies(self, words: Collection[str], scope: Scope) -> dict[str, int]:
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
        wanted = [int(number) for number in ids]
        rows = self.database.rows(
            f"SELECT rowid, title, body FROM words WHERE rowid IN ({', '.join('?' * len(wanted))})", wanted
        )
        return {
            str(passage): (_without_prefix(title), _without_prefix(body)) for passage, title, body in rows
        }

    def insert(
        self,
        writing: Connection,
        passages: Iterable[tuple[int, Indexed]],
        *,
        collection: int,
        document: int,  # noqa: ARG002 - its address is enough
        address: str,
    ) -> None:
        writing.executemany(
            "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
            ((passage, *words_row(indexed, collection, address)) for passage, indexed in passages),
        )

    def delete(self, writing: Connection, document: int, passages: Sequence[int]) -> None:  # noqa: ARG002 - the ids are enough
        writing.executemany("DELETE FROM words WHERE rowid = ?", ((passage,) for passage in passages))

    def erase_deleted(self, writing: Connection) -> None:
        """FTS5 only marks passages as deleted until its segments are merged."""
        writing.execute("INSERT INTO words (words) VALUES ('optimize')")

    def clear(self, writing: Connection) -> None:
        writing.execute("DROP TABLE IF EXISTS words")
        writing.execute(WORDS_TABLE)

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

    def parts(self) -> list[_Within]:
        """The same, in parts of a few collections: FTS5 looks at each term of an expression for each row that it ranks.
        The weights of rows are the same, since a term is of one collection.
        """
        if len(self.collections) <= TOGETHER:
            return [self]
        return [
            _Within(
                some, [place for place in self.places if any(place.startswith(_prefix(one)) for one in some)]
            )
            for start in range(0, len(self.collections), TOGETHER)
            if (some := self.collections[start : start + TOGETHER])
        ]

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


def words_row(indexed: Indexed, collection: int, address: str) -> tuple[str, str, str]:
    """Scope, title and body of a passage, as the table has them."""
    language, title, body = indexed
    places = " ".join(_place_term(collection, place) for place in ancestors(address))
    return (
        f"{places} {_prefix(collection)}{language}",
        _prefixed(collection, title),
        _prefixed(collection, body),
    )


def indexed_from(scope: str, title: str, body: str) -> Indexed:
    """What :func:`words_row` was made from, but for the places."""
    (language,) = _without_prefix(scope.rsplit(" ", 1)[-1])
    return language, " ".join(_without_prefix(title)), " ".join(_without_prefix(body))


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
