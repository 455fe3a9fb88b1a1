"""The lexical index: BM25 over the terms of :mod:`core.text.terms`, by SQLite's FTS5.

Beside its words every passage holds the places it lies in: its collection, and within that
its document and each folder above. A search asks for its scope as it asks for words, so a
passage outside is never a candidate, and a narrow scope costs less than a wide one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sqlite3 import Connection

from core.library.addresses import ancestors
from core.library.database import WORDS_TABLE, Database
from core.library.documents import Scope
from core.text.terms import terms

TITLE_WEIGHT = 2.0  # BM25 weight of the title path over the body


def words_of(title: str, path: Sequence[str], text: str) -> tuple[str, str]:
    """The terms of a passage's title path and of its text, spaces between them."""
    return " ".join(terms(" ".join(dict.fromkeys((title, *path))))), " ".join(terms(text))


def places_of(collection: int, address: str) -> str:
    """The terms of the places that a document lies in, spaces between them."""
    return " ".join(_place(collection, place) for place in (None, *ancestors(address)))


def enter(writing: Connection, passages: Iterable[tuple[int, str, tuple[str, str]]]) -> None:
    """Take passages in: id, :func:`places_of`, :func:`words_of`."""
    writing.executemany(
        "INSERT INTO words (rowid, scope, title, body) VALUES (?, ?, ?, ?)",
        ((passage, places, title, body) for passage, places, (title, body) in passages),
    )


def strike(writing: Connection, passages: Iterable[int]) -> None:
    writing.executemany("DELETE FROM words WHERE rowid = ?", ((passage,) for passage in passages))


def empty(writing: Connection) -> None:
    """Take everything out, be the index damaged or not."""
    writing.execute("DROP TABLE IF EXISTS words")
    writing.execute(WORDS_TABLE)


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Finds passages by their words."""

    database: Database

    def search(self, words: Sequence[str], scope: Scope, *, limit: int) -> list[tuple[str, float]]:
        """(passage id, BM25) of the best passages with any of the terms, best first."""
        places = self._places_of(scope)
        if not places or not words:
            return []
        rows = self.database.rows(
            "SELECT rowid, -bm25(words, 0.0, ?, 1.0) AS weight FROM words WHERE words MATCH ?"
            " ORDER BY weight DESC, rowid LIMIT ?",
            (TITLE_WEIGHT, _expression(places, words), limit),
        )
        return [(str(passage), float(weight)) for passage, weight in rows]

    def document_frequencies(self, words: Sequence[str], scope: Scope) -> dict[str, int]:
        """In how many passages of the scope each term occurs."""
        places = self._places_of(scope)
        if not places or not words:
            return dict.fromkeys(words, 0)
        rows = self.database.rows(
            f"WITH asked (word, expression) AS (VALUES {', '.join(['(?, ?)'] * len(words))})"
            " SELECT word, (SELECT count(*) FROM words WHERE words MATCH expression) FROM asked",
            [value for word in words for value in (word, _expression(places, [word]))],
        )
        return {str(word): int(count) for word, count in rows}

    def _places_of(self, scope: Scope) -> list[str]:
        names = tuple(scope.collections)
        numbers = self.database.rows(
            f"SELECT number FROM collections WHERE name IN ({', '.join('?' * len(names))})", names
        )
        within: list[str | None] = [address.rstrip("/") or "/" for address in scope.addresses]
        within = within or [None]
        return [_place(int(number), address) for (number,) in numbers for address in within]


def _expression(places: Sequence[str], words: Sequence[str]) -> str:
    """FTS5: in any of the places, and with any of the words."""
    any_word = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
    return f"{{scope}} : ({' OR '.join(places)}) AND {{title body}} : ({any_word})"


def _place(collection: int, address: str | None) -> str:
    """The term of a collection, or of an address in it; SQL checks again what is found by it."""
    digest = blake2b(address.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() if address else ""
    return f"c{collection}x{digest}"
