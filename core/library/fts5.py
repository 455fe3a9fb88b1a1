"""The lexical index in SQLite: its FTS5 finds candidates by their terms, and ranks them.

FTS5's own BM25 weighs a term by the whole index, and not at all if half of a small index contains it: it
only says which candidates are scored.

Every term begins with a prefix for its collection, so that a search reads and counts nothing of other
collections. Where only some people may read a collection, the prefix is that of its base, and the collection's own
number ends the term: a few such collections are searched by name, and hundreds of them as all terms that begin
alike, without those that may not be read. The column ``scope`` has a passage's language and addresses: its document
and each folder above. A search within a narrower scope matches their terms.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import nlargest
from typing import Literal, Self

from core.conversation import value
from core.library.documents import Scope
from core.library.lexical import FREQUENT_LIMIT, RARE_LIMIT, Indexed, Words, by_rarity
from core.library.readers import READERS_MARK, base_of, bases_of, is_restricted
from core.library.roots import ancestors
from core.library.tables import WORDS_TABLE
from core.storage.database import Connection, Database, among
from core.text.language import LANGUAGES

TOGETHER = 8  # partitions of one expression
SET = "¦"  # between a term and its collection's number; no letter or digit, but FTS5 does not split at it
AFTER = chr(ord(SET) + 1)  # ends the range of all terms that begin with a term and SET

Kind = Literal["word", "language", "address"]

#: The first letter of a term whose collection only some people may read. Words have one of their own, so that
#: a count of them counts nothing else.
_LETTERS: dict[Kind, str] = {"word": "r", "language": "l", "address": "p"}


@value
class Partition:
    """The part of the index that has the passages of a collection."""

    collection: int | None  #: its number; None: all collections beside the base
    base: int | None = None  #: beside which it is, if only some people may read it

    def before(self, kind: Kind = "word") -> str:
        return f"c{self.collection}x" if self.base is None else f"{_LETTERS[kind]}{self.base}x"

    @property
    def after(self) -> str:
        return "" if self.base is None else f"{SET}{self.collection}"

    def phrase(self, term: str, kind: Kind = "word") -> str:
        """An FTS5 phrase: this term in the partition."""
        if self.collection is None:
            return f'"{self.before(kind)}{term}{SET}" *'
        return f'"{self.before(kind)}{term}{self.after}"'


@value
class Within:
    """A scope as partitions of the index."""

    partitions: tuple[Partition, ...]
    addresses: tuple[str, ...] = ()  #: empty: the whole of the partitions

    @property
    def is_mixed(self) -> bool:
        """True if it reaches passages that are not in the scope."""
        return any(partition.collection is None for partition in self.partitions)

    def parts(self) -> list[Self]:
        """The scope in parts of a few partitions. FTS5 looks at each term of an expression for each row that
        it ranks."""
        mixed = [partition for partition in self.partitions if partition.collection is None]
        named = [partition for partition in self.partitions if partition.collection is not None]
        return [
            type(self)(partitions=tuple(some[start : start + TOGETHER]), addresses=self.addresses)
            for some in (named, mixed)
            for start in range(0, len(some), TOGETHER)
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
        return f"{self._below}{{title body}} : ({self._any(words)})"

    def in_language(self, language: str) -> str:
        """An FTS5 expression: all passages of a language, within the scope."""
        return f"{self._below}{{scope}} : ({self._any([language], 'language')})"

    @property
    def _below(self) -> str:
        terms = [_address_term(address) for address in self.addresses]
        return f"{{scope}} : ({self._any(terms, 'address')}) AND " if terms else ""

    def _and_any(self, words: Sequence[str]) -> str:
        return f" AND {{title body}} : ({self._any(words)})"

    def _any(self, terms: Iterable[str], kind: Kind = "word") -> str:
        quoted = (term.replace('"', '""') for term in terms)
        return " OR ".join(partition.phrase(term, kind) for term in quoted for partition in self.partitions)


def partitions_of(numbers: Mapping[str, int]) -> dict[int, Partition]:
    """Partitions by the numbers of collections; the base of each collection is among them."""
    bases = bases_of(numbers)
    return {number: Partition(collection=number, base=bases.get(number)) for number in numbers.values()}


def words_row(indexed: Indexed, partition: Partition, address: str) -> tuple[str, str, str]:
    """Scope, title and body of a passage, as the table has them."""
    language, title, body = indexed
    above = (
        f"{partition.before('address')}{_address_term(each)}{partition.after}" for each in ancestors(address)
    )
    scope = " ".join((*above, f"{partition.before('language')}{language}{partition.after}"))
    return scope, _mark(partition, title), _mark(partition, body)


def from_words_row(scope: str, title: str, body: str) -> Indexed:
    """The text that :func:`words_row` was made from, except for the partition."""
    (language,) = bare(scope.rsplit(" ", 1)[-1])
    return language, " ".join(bare(title)), " ".join(bare(body))


def bare(words: str) -> list[str]:
    """The terms of a column without what says where they are."""
    if not words:
        return []
    before, end = words[: words.find("x") + 1], words.rfind(SET)
    after = words[end:] if end >= 0 else ""
    return words[len(before) : len(words) - len(after)].split(f"{after} {before}")


def _mark(partition: Partition, words: str) -> str:
    """Each of the words as a term of this partition."""
    before, after = partition.before(), partition.after
    return before + words.replace(" ", f"{after} {before}") + after if words else ""


def _address_term(address: str) -> str:
    """A short hash of an address, so SQL checks the address again. Longer than a language."""
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body
AT_ONCE = 400  # expressions of one statement; SQLite takes 500
#: Of the sets of readers beside a collection, one in so many is to be readable for all of them to be searched
#: without the others: a search of all costs a few microseconds for each passage with a term, a search by name
#: some fifteen for each term and set.
SHARE = 8

#: What an expression finds, in any order; and what of that is in some collections.
_FOUND = """
SELECT * FROM (SELECT rowid AS passage, -bm25(words, 0.0, ?, 1.0) AS weight FROM words WHERE words MATCH ? LIMIT ?)
"""
_FOUND_IN = """
SELECT * FROM (
    SELECT words.rowid AS passage, -bm25(words, 0.0, ?, 1.0) AS weight FROM words
    CROSS JOIN passages p ON p.id = words.rowid CROSS JOIN documents d ON d.id = p.document
    WHERE words MATCH ? AND d.collection IN (SELECT value FROM json_each(?)) LIMIT ?
)
"""
_COUNTED = """
SELECT word, (SELECT count(*) FROM words WHERE words MATCH expression) FROM terms
"""
_COUNTED_IN = """
SELECT word, (
    SELECT count(*) FROM words CROSS JOIN passages p ON p.id = words.rowid CROSS JOIN documents d ON d.id = p.document
    WHERE words MATCH expression AND d.collection IN (SELECT value FROM json_each(?))
) FROM terms
"""
#: How many passages hold each of some terms, in sets of readers.
_HELD = f"""
SELECT asked.value, coalesce(sum(doc), 0) FROM json_each(?) asked CROSS JOIN json_each(?) base
CROSS JOIN word_counts
WHERE term >= 'r' || base.value || 'x' || asked.value || '{SET}'
    AND term < 'r' || base.value || 'x' || asked.value || '{AFTER}'
    AND CAST(substr(term, instr(term, '{SET}') + 1) AS INTEGER) IN (SELECT value FROM json_each(?))
GROUP BY asked.value
"""
#: How many passages each language has, counted up to a number.
_SPOKEN = f"""
SELECT language, (SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH expression LIMIT ?)) + coalesce((
    SELECT sum(doc) FROM (
        SELECT doc FROM json_each(?) base CROSS JOIN word_counts
        WHERE term >= 'l' || base.value || 'x' || language || '{SET}'
            AND term < 'l' || base.value || 'x' || language || '{AFTER}'
            AND CAST(substr(term, instr(term, '{SET}') + 1) AS INTEGER) IN (SELECT value FROM json_each(?)) LIMIT ?
    )
), 0) FROM known
"""

NOWHERE = "scope : nowhere"  # an expression that finds nothing


@value
class NumberedScope(Scope):
    """A scope whose collections have their numbers."""

    open: tuple[int, ...]
    sets: Mapping[int, tuple[int, ...]]  #: by the number of their base: those that only some people may read

    @property
    def numbers(self) -> str:
        """All numbers, as one value of a query."""
        return json.dumps([*self.open, *(each for some in self.sets.values() for each in some)])

    def within(self, together: Collection[int]) -> Within:
        """Partitions to search. ``together``: bases whose sets are searched with those that may not be read."""
        named = [Partition(collection=number) for number in self.open]
        for base, some in self.sets.items():
            beside = (None,) if base in together else some
            named += [Partition(collection=number, base=base) for number in beside]
        addresses = tuple(address.rstrip("/") or "/" for address in self.addresses)
        return Within(partitions=tuple(named), addresses=addresses)

    @property
    def named(self) -> Within:
        """The collections of the scope that are looked up one by one."""
        few = {base: some for base, some in self.sets.items() if base not in self.many}
        return replace(self, sets=few).within(together=())

    @property
    def many(self) -> frozenset[int]:
        """The bases of more sets than are looked up one by one."""
        return frozenset(base for base, some in self.sets.items() if len(some) > TOGETHER)


@dataclass(frozen=True, slots=True)
class Fts5Index:
    """The table ``words``."""

    database: Database

    def look_up(self, scope: Scope) -> NumberedScope:
        if isinstance(scope, NumberedScope):
            return scope
        wanted = scope.collections | {base_of(name) for name in scope.collections}
        condition, names = among(self.database.dialect, sorted(wanted), "text")
        rows = self.database.rows(f"SELECT name, number FROM collections WHERE name {condition}", (names,))
        numbers: dict[str, int] = dict(rows)
        sets: dict[int, list[int]] = {}
        for number, base in bases_of(numbers).items():
            sets.setdefault(base, []).append(number)
        named = [name for name in numbers if name in scope.collections and not is_restricted(name)]
        return NumberedScope(
            collections=scope.collections, addresses=scope.addresses,
            open=tuple(numbers[name] for name in named),
            sets={base: tuple(some) for base, some in sets.items()},
        )  # fmt: skip

    def search(
        self, words: Sequence[str], scope: Scope, *, limit: int, frequencies: Mapping[str, int] | None = None
    ) -> list[tuple[str, float]]:
        numbered = self.look_up(scope)
        parts = numbered.within(self._cheap_together(numbered)).parts()
        if not parts or not words:
            return []
        rare, frequent = by_rarity(words, frequencies or {})
        found: dict[str, float] = {}
        for step in zip(*(part.expressions(rare, frequent) for part in parts), strict=True):
            among = FREQUENT_LIMIT if found or not rare else 2 * RARE_LIMIT
            fair = max(limit, among // len(step))
            for passage, weight in self._rank(list(zip(parts, step, strict=True)), numbered, fair, limit):
                found.setdefault(passage, weight)
            if len(found) >= limit:
                break
        return list(found.items())[:limit]

    def _rank(
        self, step: Sequence[tuple[Within, str]], numbered: NumberedScope, among: int, limit: int
    ) -> list[tuple[str, float]]:
        """The best of what expressions find, one for each part of a scope."""
        hits = []
        for start in range(0, len(step), AT_ONCE):
            queries, values = [], []
            for part, expression in step[start : start + AT_ONCE]:
                queries.append(_FOUND_IN if part.is_mixed else _FOUND)
                values += [TITLE_WEIGHT, expression, *([numbered.numbers] if part.is_mixed else []), among]
            query = f"{' UNION ALL '.join(queries)} ORDER BY weight DESC, passage LIMIT ?"
            hits += self.database.rows(query, (*values, limit))
        best = nlargest(limit, hits, key=lambda hit: (hit[1], -hit[0]))
        return [(str(passage), float(weight)) for passage, weight in best]

    def languages(self, scope: Scope, *, enough: int = 1) -> dict[str, int]:
        numbered = self.look_up(scope)
        named = numbered.named
        rows = self.database.rows(
            f"WITH known (language, expression) AS (VALUES {', '.join(['(?, ?)'] * len(LANGUAGES))}){_SPOKEN}",
            (
                *(text for name in LANGUAGES for text in (name, named.in_language(name) if named.partitions else NOWHERE)),
                enough, json.dumps(sorted(numbered.many)), numbered.numbers, enough,
            ),
        )  # fmt: skip
        return {str(language): min(count, enough) for language, count in rows if count}

    def document_frequencies(self, words: Collection[str], scope: Scope) -> dict[str, int]:
        numbered = self.look_up(scope)
        held = dict.fromkeys(words, 0)
        if not words:
            return held
        within = numbered.within(self._cheap_together(numbered)) if scope.addresses else numbered.named
        rows = []
        if within.partitions:
            query, more = (_COUNTED_IN, (numbered.numbers,)) if within.is_mixed else (_COUNTED, ())
            rows = self.database.rows(
                f"WITH terms (word, expression) AS (VALUES {', '.join(['(?, ?)'] * len(words))}){query}",
                (*(text for word in words for text in (word, within.expression([word]))), *more),
            )
        if numbered.many and not scope.addresses:
            values = (json.dumps([*words]), json.dumps(sorted(numbered.many)), numbered.numbers)
            rows = [*rows, *self.database.rows(_HELD, values)]
        for word, count in rows:
            held[word] += count
        return held

    def words(self, ids: Iterable[str]) -> dict[str, Words]:
        condition, wanted = among(self.database.dialect, ids)
        rows = self.database.rows(f"SELECT rowid, title, body FROM words WHERE rowid {condition}", (wanted,))
        return {str(passage): (bare(title), bare(body)) for passage, title, body in rows}

    def insert(
        self,
        writing: Connection,
        passages: Iterable[tuple[int, Indexed]],
        *,
        collection: int,
        document: int,  # noqa: ARG002 - its address is enough
        address: str,
    ) -> None:
        (name,) = writing.execute("SELECT name FROM collections WHERE number = ?", (collection,)).fetchone()
        bases = writing.execute("SELECT name, number FROM collections WHERE name = ?", (base_of(name),))
        partition = partitions_of({name: collection, **dict(bases.fetchall())})[collection]
        writing.executemany(
            "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
            ((passage, *words_row(indexed, partition, address)) for passage, indexed in passages),
        )

    def delete(self, writing: Connection, document: int, passages: Sequence[int]) -> None:  # noqa: ARG002 - the ids are enough
        writing.executemany("DELETE FROM words WHERE rowid = ?", ((passage,) for passage in passages))

    def erase_deleted(self, writing: Connection) -> None:
        """FTS5 only marks passages as deleted until its segments are merged."""
        writing.execute("INSERT INTO words (words) VALUES ('optimize')")

    def clear(self, writing: Connection) -> None:
        writing.execute("DROP TABLE IF EXISTS words")
        writing.execute(WORDS_TABLE)

    def _cheap_together(self, numbered: NumberedScope) -> frozenset[int]:
        """The bases whose sets cost less to search with those that may not be read."""
        if not numbered.many:
            return frozenset()
        rows = self.database.rows(
            "SELECT b.number, count(*) FROM json_each(?) base CROSS JOIN collections b ON b.number = base.value"
            " CROSS JOIN collections c ON c.name > b.name || ? AND c.name < b.name || ? GROUP BY b.number",
            (json.dumps(sorted(numbered.many)), READERS_MARK, chr(ord(READERS_MARK) + 1)),
        )
        return frozenset(base for base, count in rows if count <= SHARE * len(numbered.sets[base]))
