"""The lexical index in PostgreSQL: a row for each term of each passage, with its share of BM25.

``weight`` is all of that but the rarity of the term, which depends on the scope of the question. ``terms``
counts how many passages of a collection hold each term, so that asking for the rarities reads one row each.
Below the name of no term it counts all passages of a collection, and those of each language.

Against a search by ``tsvector`` and its ranks, which found the same five passages in 72% of the questions,
this finds the same as SQLite's FTS5: ``python -m benchmarks stores``.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from core.library.documents import Scope
from core.library.lexical import FREQUENT_LIMIT, Indexed, Words, by_rarity, term_scores
from core.library.readers import scope_condition
from core.storage.database import Connection, Database, among
from core.text.language import LANGUAGES
from core.text.terms import term_weights

FIRST = 200  # passages that the rare terms rank; the frequent terms of these are looked up then
NAME_LIMIT = 200  # characters
LOOKED_UP = 8  # collections whose terms are looked up one by one
EVERY = " "  # begins the names of counts that are not of a term; no term has a space

_COUNT = """
INSERT INTO terms (collection, term, held) SELECT ?, term, held FROM unnest(?::text[], ?::bigint[]) AS new (term, held)
ON CONFLICT (collection, term) DO UPDATE SET held = terms.held + excluded.held RETURNING term, id
"""
_INSERT = """
INSERT INTO postings (document, term, passage, weight)
SELECT ?, term, passage, weight FROM unnest(?::int4[], ?::bigint[], ?::float4[]) AS new (term, passage, weight)
"""

#: The postings of some terms: reading each of them from the index is faster than any join that the
#: planner prefers where a term is frequent.
_OF_TERMS = """
FROM unnest(?::int4[], ?::float8[], ?::int8[]) AS asked (id, rarity, collection) CROSS JOIN LATERAL (
    SELECT document, passage, weight FROM postings WHERE term = asked.id{within} OFFSET 0
) AS one
"""
_OF_ANY = f"""
SELECT asked.collection, one.document, one.passage, sum(asked.rarity * one.weight) AS score {_OF_TERMS}
GROUP BY asked.collection, one.document, one.passage ORDER BY score DESC, one.passage LIMIT ?
"""
_OF_ONE = f"""
SELECT * FROM (
    SELECT asked.collection, one.document, one.passage, asked.rarity * one.weight AS score {_OF_TERMS} LIMIT ?
) AS few
ORDER BY score DESC, passage LIMIT ?
"""
_OF_BOTH = f"""
SELECT * FROM (
    SELECT asked.collection, one.document, one.passage,
        asked.rarity * one.weight + second.rarity * other.weight AS score {_OF_TERMS}
    JOIN unnest(?::int4[], ?::float8[], ?::int8[]) AS second (id, rarity, collection)
    ON second.collection = asked.collection
    JOIN postings AS other ON other.term = second.id AND other.document = one.document AND other.passage = one.passage
    LIMIT ?
) AS few ORDER BY score DESC, passage LIMIT ?
"""
_RANKED = """
WITH found AS ({found}), others AS (
    SELECT found.passage, sum(asked.rarity * more.weight) AS score FROM found
    JOIN unnest(?::int4[], ?::float8[], ?::int8[]) AS asked (id, rarity, collection)
    ON asked.collection = found.collection
    CROSS JOIN LATERAL (
        SELECT weight FROM postings WHERE term = asked.id AND document = found.document AND passage = found.passage
        OFFSET 0
    ) AS more GROUP BY found.passage
)
SELECT passage, found.score + coalesce(others.score, 0) AS score FROM found LEFT JOIN others USING (passage)
ORDER BY score DESC, passage LIMIT ?
"""

_SPOKEN = """
SELECT language, count(*) FROM collections c JOIN documents d ON d.collection = c.number
JOIN passage_terms ON passage_terms.document = d.id
"""


@dataclass(frozen=True, slots=True)
class PostingsIndex:
    """The tables ``terms``, ``postings`` and ``passage_terms``."""

    database: Database

    def look_up(self, scope: Scope) -> Scope:
        return scope

    def search(
        self, words: Sequence[str], scope: Scope, *, limit: int, frequencies: Mapping[str, int] | None = None
    ) -> list[tuple[str, float]]:
        known, within = self._postings(words, scope), self._within(scope)
        held = {word: count for word, (count, _) in known.items()}
        rarity = term_weights(words, held, held.get(EVERY, 0))
        rare, frequent = by_rarity([word for word in words if word in known], frequencies or held)

        def term_rows(some: Sequence[str]) -> Asked:
            rows = [(number, rarity[word], where) for word in some for number, where in known[word][1]]
            return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]

        found: dict[str, float] = {}
        for used, query, values in _stages(rare, frequent, term_rows, within, max(limit, FIRST)):
            others = [word for word in (*rare, *frequent) if word not in used]
            ranked = _RANKED.format(found=query)
            for passage, score in self.database.rows(ranked, (*values, *term_rows(others), limit)):
                found.setdefault(str(passage), float(score))
            if len(found) >= limit:
                break
        return list(found.items())[:limit]

    def languages(self, scope: Scope, *, enough: int = 1) -> dict[str, int]:
        if scope.addresses:
            condition, values = scope_condition(self.database.dialect, scope)
            held = dict(self.database.rows(f"{_SPOKEN} WHERE {condition} GROUP BY language", values))
        else:
            known = self._count([EVERY + name for name in LANGUAGES], scope)
            held = {name.removeprefix(EVERY): count for name, count in known.items()}
        return {name: min(int(held[name]), enough) for name in LANGUAGES if held.get(name)}

    def document_frequencies(self, words: Collection[str], scope: Scope) -> dict[str, int]:
        if not scope.addresses:
            held = self._count(words, scope)
            return {word: held.get(word, 0) for word in words}
        known, within = self._postings(words, scope), self._within(scope)
        pairs = [(word, number) for word in words if word in known for number, _ in known[word][1]]
        rows = self.database.rows(
            "SELECT word, count(passage) FROM unnest(?::text[], ?::int4[]) AS asked (word, id) CROSS JOIN LATERAL"
            f" (SELECT passage FROM postings WHERE term = asked.id{within[0]} OFFSET 0) AS one GROUP BY word",
            ([word for word, _ in pairs], [number for _, number in pairs], *within[1]),
        )
        return {**dict.fromkeys(words, 0), **{str(word): int(count) for word, count in rows}}

    def words(self, ids: Iterable[str]) -> dict[str, Words]:
        condition, wanted = among(self.database.dialect, ids)
        query = f"SELECT passage, title, body FROM passage_terms WHERE passage {condition}"
        rows = self.database.rows(query, (wanted,))
        return {str(passage): (title.split(), body.split()) for passage, title, body in rows}

    def insert(
        self,
        writing: Connection,
        passages: Iterable[tuple[int, Indexed]],
        *,
        collection: int,
        document: int,
        address: str,  # noqa: ARG002 - the id of the document is enough
    ) -> None:
        rows = [(passage, *indexed) for passage, indexed in passages]
        scores = {passage: term_scores((title.split(), body.split())) for passage, _, title, body in rows}
        counts = _to_arrays(scores.values(), [language for _, language, _, _ in rows])
        ids = dict(writing.execute(_COUNT, (collection, *counts)).fetchall())
        entries = sorted(
            (ids[_name(term)], passage, score)
            for passage, each in scores.items()
            for term, score in each.items()
        )
        writing.execute(_INSERT, (document, *([entry[n] for entry in entries] for n in range(3))))
        writing.executemany(
            "INSERT INTO passage_terms (document, collection, passage, language, title, body) VALUES (?, ?, ?, ?, ?, ?)",
            ((document, collection, *row) for row in rows),
        )

    def delete(self, writing: Connection, document: int, passages: Sequence[int]) -> None:  # noqa: ARG002 - all of the document
        rows = writing.execute(
            "DELETE FROM passage_terms WHERE document = ? RETURNING collection, language, title, body",
            (document,),
        ).fetchall()
        if not rows:
            return
        every = [{*title.split(), *body.split()} for _, _, title, body in rows]
        counted = writing.execute(
            "UPDATE terms SET held = terms.held - old.held FROM unnest(?::text[], ?::bigint[]) AS old (term, held)"
            " WHERE terms.collection = ? AND terms.term = old.term RETURNING terms.id",
            (*_to_arrays(every, [language for _, language, _, _ in rows]), rows[0][0]),
        ).fetchall()
        numbers = [number for (number,) in counted]
        query = "DELETE FROM postings WHERE document = ? AND term = ANY(CAST(? AS int4[]))"
        writing.execute(query, (document, numbers))
        writing.execute("DELETE FROM terms WHERE id = ANY(CAST(? AS int4[])) AND held <= 0", (numbers,))

    def erase_deleted(self, writing: Connection) -> None:
        """Do nothing: the rows themselves are deleted."""

    def clear(self, writing: Connection) -> None:
        writing.execute("TRUNCATE terms, postings, passage_terms")

    def _within(self, scope: Scope) -> "Within":
        """The condition on postings, and its values."""
        if not scope.addresses:
            return "", ()
        condition, values = scope_condition(self.database.dialect, scope)
        rows = self.database.rows(
            f"SELECT d.id FROM collections c JOIN documents d ON d.collection = c.number WHERE {condition}",
            values,
        )
        return " AND document = ANY(CAST(? AS int4[]))", ([document for (document,) in rows],)

    def _count(self, words: Iterable[str], scope: Scope) -> dict[str, int]:
        """The number of passages with each of these terms."""
        names = {_name(word): word for word in words}
        rows = self.database.rows(
            f"SELECT term, sum(held) {_of_scope(scope)} GROUP BY term", (sorted(scope.collections), [*names])
        )
        return {names[str(name)]: count for name, count in rows}

    def _postings(self, words: Iterable[str], scope: Scope) -> dict[str, tuple[int, list[tuple[int, int]]]]:
        """The terms that the index has, with how many passages hold them, and (id, collection) of each."""
        names = {EVERY: EVERY} | {_name(word): word for word in words}
        rows = self.database.rows(
            f"SELECT term, array_agg(id), array_agg(collection), sum(held) {_of_scope(scope)} GROUP BY term",
            (sorted(scope.collections), [*names]),
        )
        return {
            names[str(name)]: (held, list(zip(ids, numbers, strict=True)))
            for name, ids, numbers, held in rows
        }


def _of_scope(scope: Scope) -> str:
    """The terms of some collections, by SQL with two values: their names and those of the terms.

    Of many collections each term is looked up once, and what others have of it is left out; of a few, each of theirs.
    """
    number = "collection + 0" if len(scope.collections) > LOOKED_UP else "collection"
    return f"FROM terms JOIN collections ON number = {number} WHERE name = ANY(?) AND term = ANY(?)"


Asked = tuple[list[int], list[float], list[int]]  # ids of terms, how rare they are, and their collections
Within = tuple[str, tuple[object, ...]]  # SQL that limits postings to a scope, and its values
Stage = tuple[Sequence[str], str, tuple[object, ...]]  # the words that it ranks by, its query and its values


def _stages(
    rare: Sequence[str],
    frequent: Sequence[str],
    asked: Callable[[Sequence[str]], Asked],
    within: Within,
    first: int,
) -> Iterator[Stage]:
    """Passages with any of the rare words, with two of the frequent ones, and with one of them."""
    if rare:
        yield rare, _OF_ANY.format(within=within[0]), (*asked(rare), *within[1], first)
    one, both = frequent[:1], frequent[:2]
    values = (*asked(one), *within[1])
    if len(both) == 2:
        few = (*asked(both[1:]), FREQUENT_LIMIT, first)
        yield both, _OF_BOTH.format(within=within[0]), (*values, *few)
    if one:
        yield one, _OF_ONE.format(within=within[0]), (*values, FREQUENT_LIMIT, first)


def _to_arrays(passages: Iterable[Iterable[str]], languages: Sequence[str]) -> tuple[list[str], list[int]]:
    """The names of terms and of the other counts, in order, and how many of some passages hold each."""
    held = Counter(_name(term) for terms in passages for term in terms)
    held[EVERY] = len(languages)
    held.update(EVERY + language for language in languages)
    terms = sorted(held)
    return terms, [held[term] for term in terms]


def _name(term: str) -> str:
    """A term as the table has it: PostgreSQL indexes no text of more than 2,704 bytes."""
    if len(term) <= NAME_LIMIT:
        return term
    return term[:NAME_LIMIT] + blake2b(term.encode(), digest_size=16).hexdigest()
