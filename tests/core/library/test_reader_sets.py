"""Searching many sets of readers beside one collection: as if they were one, and nothing of the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from core.library.documents import Piece, Scope
from core.library.entries import NewDocument
from core.library.readers import collection_for
from core.library.store import DocumentStore
from core.library.tables import SCHEMA

SETS = [collection_for("default", {f"p{number}@harbour.example"}) for number in range(100)]
FILLED = 24  # of them have documents
COUNTS = (3, 10, 22)  # sets that may be read: few, a small share, a large one


def put(store, collection, address, *texts):
    pieces = [Piece(path=("Pets",), location="", text=text, start=0, end=len(text)) for text in texts]
    store.put(
        NewDocument(
            collection=collection, address=address, root=address, source=address, title="Animals", url=None,
            hash="", size=0, modified=0, pieces=pieces,
        )
    )  # fmt: skip


def texts(number):
    fox = ["A fox meets a cat."] if number % 2 else []
    return [f"Boat{number} has a cat and a dog.", *fox]


@pytest.fixture
def store(storage):
    store = DocumentStore(storage.database("library", SCHEMA))
    with store.transaction() as writing:
        for number, name in enumerate(SETS[:FILLED]):
            put(store, name, f"/wiki/{number}", *texts(number))
            put(store, "one", f"/one/{number}", *texts(number))
        put(store, "default", "/open", "A cat in the open.")
        put(store, "one", "/one/open", "A cat in the open.")
        put(store, SETS[22], "/zu", "Der Hund und die Katze sind nicht im Haus.")
        put(store, SETS[23], "/closed", *["The fox, the cat and the dog have a secret."] * 9)
        put(
            store, collection_for("elsewhere", {"p0@harbour.example"}), "/elsewhere", "A cat of another base."
        )
        writing.executemany("INSERT INTO collections (name) VALUES (?)", [(name,) for name in SETS[FILLED:]])
    yield store
    store.close()


def scopes(count):
    """Some sets and their base, and the same documents in one collection."""
    sets = Scope(collections=frozenset({"default", *SETS[:count]}))
    one = [f"/one/{number}" for number in range(count)]
    return sets, Scope(collections=frozenset({"one"}), addresses=("/one/open", *one))


def sources(store, words, scope, **frequencies):
    hits = store.lexical.search(words, scope, limit=200, frequencies=frequencies)
    found = store.passages([number for number, _ in hits], Scope(collections=store.collections()))
    return sorted((hit.source.rpartition("/")[2], hit.text) for hit in found.values())


@pytest.mark.parametrize("count", COUNTS)
def test_sets_are_searched_as_if_they_were_one_collection(store, count):
    sets, one = scopes(count)
    words = ["cat", "dog", "fox", "boat1", "secret", "hund"]

    assert store.lexical.document_frequencies(words, sets) == store.lexical.document_frequencies(words, one)
    for asked in (["fox"], ["boat1", "secret"], ["cat", "dog", "fox"]):
        for often in (0, 100_000):
            frequencies = dict.fromkeys(asked, often)
            assert sources(store, asked, sets, **frequencies) == sources(store, asked, one, **frequencies)
    assert len(sources(store, ["fox"], sets)) == count // 2


def test_a_narrow_scope_holds_in_sets_too(store):
    for count in COUNTS:
        sets = Scope(collections=scopes(count)[0].collections, addresses=("/wiki/1", "/closed"))

        assert sources(store, ["fox"], sets) == [("1", "A fox meets a cat.")]
        assert store.lexical.document_frequencies(["cat", "secret"], sets) == {"cat": 2, "secret": 0}


def test_the_languages_of_sets_are_those_that_may_be_read(store):
    for count in COUNTS:
        sets, _ = scopes(count)
        with_german = Scope(collections=sets.collections | {SETS[22]})

        assert store.lexical.languages(sets, enough=3) == {"en": 3}
        assert store.lexical.languages(with_german, enough=3) == {"en": 3, "de": 1}


def test_what_is_removed_is_not_counted(store):
    sets, _ = scopes(22)
    before = store.lexical.document_frequencies(["fox", "dog"], sets)
    store.remove(SETS[1], "/wiki/1")
    store.reindex()

    assert before == {"fox": 11, "dog": 22}
    assert store.lexical.document_frequencies(["fox", "dog"], sets) == {"fox": 10, "dog": 21}
    assert len(sources(store, ["fox"], sets)) == 10


def test_the_terms_come_back_as_they_were_entered(store):
    (number,) = (int(number) for number, _ in store.lexical.search(["boat1"], scopes(22)[0], limit=9))

    assert store.lexical.words([str(number)]) == {
        str(number): (["anim", "pet"], ["boat1", "boat", "has", "a", "cat", "and", "a", "dog"])
    }


@dataclass
class CountingRows:
    """The rows of a database, and how often they were asked for."""

    database: object
    count: int = field(default=0)

    def __getattr__(self, name):
        return getattr(self.database, name)

    def rows(self, query, values=()):
        self.count += 1
        return self.database.rows(query, values)


def test_the_number_of_statements_does_not_grow_with_the_sets(store):
    rows = CountingRows(store.database)
    lexical, counts = type(store.lexical)(rows), []
    for count in (10, 14, 22, 60):
        scope, before = scopes(count)[0], rows.count
        lexical.languages(scope)
        frequencies = lexical.document_frequencies(["fox", "cat"], scope)
        lexical.search(["fox", "cat"], scope, limit=60, frequencies=frequencies)
        counts.append(rows.count - before)

    assert set(counts) == {counts[0]}
