"""The terms of SQLite's lexical index: what it has of a passage, and the expressions that find it.

Every term begins with a prefix for its collection, so that a search reads and counts nothing of other
collections. Where only some people may read a collection, the prefix is that of its base, and the collection's own
number ends the term: a few such collections are searched by name, and hundreds of them as all terms that begin
alike, without those that may not be read. The column ``scope`` has a passage's language and places: its document
and each folder above. A search within a narrower scope matches their terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

from core.conversation import value
from core.library.lexical import Indexed
from core.library.readers import bases_of
from core.library.roots import ancestors

TOGETHER = 8  # places of one expression
SET = "¦"  # between a term and its collection's number; no letter or digit, but FTS5 does not split at it
AFTER = chr(ord(SET) + 1)  # ends the range of all terms that begin with a term and SET

Kind = Literal["word", "language", "place"]

#: The first letter of a term whose collection only some people may read. Words have one of their own, so that
#: a count of them counts nothing else.
_LETTERS: dict[Kind, str] = {"word": "r", "language": "l", "place": "p"}


@value
class Place:
    """Where the passages of a collection are in the index."""

    collection: int | None  #: its number; None: all collections beside the base
    base: int | None = None  #: beside which it is, if only some people may read it

    def before(self, kind: Kind = "word") -> str:
        return f"c{self.collection}x" if self.base is None else f"{_LETTERS[kind]}{self.base}x"

    @property
    def after(self) -> str:
        return "" if self.base is None else f"{SET}{self.collection}"

    def phrase(self, term: str, kind: Kind = "word") -> str:
        """An FTS5 phrase: this term here."""
        if self.collection is None:
            return f'"{self.before(kind)}{term}{SET}" *'
        return f'"{self.before(kind)}{term}{self.after}"'


@value
class Within:
    """A scope as places of the index."""

    places: tuple[Place, ...]
    addresses: tuple[str, ...] = ()  #: empty: the whole of the places

    @property
    def is_mixed(self) -> bool:
        """True if it reaches passages that are not in the scope."""
        return any(place.collection is None for place in self.places)

    def parts(self) -> list[Within]:
        """The same, in parts of a few places: FTS5 looks at each term of an expression for each row that it ranks."""
        mixed = [place for place in self.places if place.collection is None]
        named = [place for place in self.places if place.collection is not None]
        return [
            Within(places=tuple(some[start : start + TOGETHER]), addresses=self.addresses)
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
        terms = [_place_term(address) for address in self.addresses]
        return f"{{scope}} : ({self._any(terms, 'place')}) AND " if terms else ""

    def _and_any(self, words: Sequence[str]) -> str:
        return f" AND {{title body}} : ({self._any(words)})"

    def _any(self, terms: Iterable[str], kind: Kind = "word") -> str:
        quoted = (term.replace('"', '""') for term in terms)
        return " OR ".join(place.phrase(term, kind) for term in quoted for place in self.places)


def places_of(numbers: Mapping[str, int]) -> dict[int, Place]:
    """Places by the numbers of collections, of which each base is named too."""
    bases = bases_of(numbers)
    return {number: Place(collection=number, base=bases.get(number)) for number in numbers.values()}


def words_row(indexed: Indexed, place: Place, address: str) -> tuple[str, str, str]:
    """Scope, title and body of a passage, as the table has them."""
    language, title, body = indexed
    above = (f"{place.before('place')}{_place_term(each)}{place.after}" for each in ancestors(address))
    return (
        " ".join((*above, f"{place.before('language')}{language}{place.after}")),
        _marked(place, title),
        _marked(place, body),
    )


def indexed_from(scope: str, title: str, body: str) -> Indexed:
    """The text that :func:`words_row` was made from, but for the places."""
    (language,) = bare(scope.rsplit(" ", 1)[-1])
    return language, " ".join(bare(title)), " ".join(bare(body))


def bare(words: str) -> list[str]:
    """The terms of a column without what says where they are."""
    if not words:
        return []
    before, end = words[: words.find("x") + 1], words.rfind(SET)
    after = words[end:] if end >= 0 else ""
    return words[len(before) : len(words) - len(after)].split(f"{after} {before}")


def _marked(place: Place, words: str) -> str:
    """Each of the words as a term of this place."""
    before, after = place.before(), place.after
    return before + words.replace(" ", f"{after} {before}") + after if words else ""


def _place_term(address: str) -> str:
    """A short hash of an address, so SQL checks the address again. Longer than a language."""
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
