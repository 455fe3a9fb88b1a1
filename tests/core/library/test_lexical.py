"""Finding by words where many passages hold them, and what the index keeps of a passage."""

from __future__ import annotations

import pytest

from core.library.documents import Piece, Scope
from core.library.entries import NewDocument
from core.library.lexical import RARE_LIMIT
from core.library.store import DocumentStore
from core.library.tables import SCHEMA

MANY = 2 * RARE_LIMIT  # passages that are said to hold a frequent term
HERE, THERE = Scope(collections=frozenset({"here"})), Scope(collections=frozenset({"there"}))
BOTH = Scope(collections=frozenset({"here", "there"}))


def put(store, collection, address, *texts):
    pieces = [Piece(path=("Pets",), location="", text=text, start=0, end=len(text)) for text in texts]
    store.put(
        NewDocument(
            collection=collection, address=address, root=address, source=address, title="Animals", url=None,
            hash="", size=0, modified=0, pieces=pieces,
        )
    )  # fmt: skip


@pytest.fixture
def store(storage):
    store = DocumentStore(storage.database("library", SCHEMA))
    put(
        store, "here", "/a",
        "A cat.", "A dog.", "A cat and a dog.", "A fox.", "A fox meets a cat and a dog.", "A fox and a cat.",
    )  # fmt: skip
    put(store, "there", "/b", "A fox and a dog in another house.")
    put(store, "here", "/e", *["A bird sings."] * 30)
    yield store
    store.close()


def found(store, words, scope=HERE, limit=60, **frequencies):
    hits = store.lexical.search(words, scope, limit=limit, frequencies=frequencies)
    return [number for number, _ in hits]


def test_a_frequent_term_ranks_what_a_rare_one_finds(store):
    assert found(store, ["cat", "dog", "fox"], limit=3, cat=MANY, dog=MANY, fox=3) == ["5", "6", "4"]


def test_what_holds_two_frequent_terms_fills_the_list_before_what_holds_one(store):
    hits = found(store, ["cat", "dog", "fox"], cat=MANY, dog=MANY + 1, fox=3)

    assert hits[:4] == ["5", "6", "4", "3"]
    assert set(hits[4:]) == {"1"}


def test_where_all_terms_are_frequent_two_of_them_find(store):
    assert found(store, ["cat", "dog"], limit=2, cat=MANY, dog=MANY) == ["3", "5"]


def test_one_frequent_term_alone_still_finds(store):
    assert set(found(store, ["cat"], cat=MANY)) == {"1", "3", "5", "6"}


def test_nothing_is_found_twice_and_no_more_than_was_asked_for(store):
    for limit in range(1, 7):
        hits = found(store, ["cat", "dog", "fox"], limit=limit, cat=MANY, dog=MANY, fox=3)
        assert len(hits) == len(set(hits)) == min(limit, 5)


@pytest.mark.parametrize(("scope", "foxes"), [(HERE, 3), (THERE, 1), (BOTH, 4)])
def test_a_term_is_counted_and_found_in_the_collections_asked_for_alone(store, scope, foxes):
    assert store.lexical.document_frequencies(["fox"], scope) == {"fox": foxes}
    assert len(found(store, ["fox"], scope)) == foxes
    assert len(found(store, ["fox", "dog"], scope, fox=MANY, dog=MANY)) >= foxes


def test_a_narrow_scope_holds_for_frequent_terms_too(store):
    put(store, "here", "/c/d", "A cat and a dog elsewhere.")
    narrow = Scope(collections=frozenset({"here"}), addresses=("/c",))

    assert found(store, ["cat", "dog"], narrow, cat=MANY, dog=MANY) == ["38"]


def test_the_terms_of_a_passage_come_back_as_they_were_entered(store):
    words = store.lexical.words(["7", "1", "99"])

    assert words == {
        "1": (["anim", "pet"], ["a", "cat"]),
        "7": (["anim", "pet"], ["a", "fox", "and", "a", "dog", "in", "anoth", "hous"]),
    }
    assert store.lexical.words([]) == {}


def test_the_passages_of_each_language_are_counted_within_a_scope(store):
    put(store, "there", "/d", *["Der Hund und die Katze sind nicht im Haus."] * 3)
    below = Scope(collections=BOTH.collections, addresses=("/d",))

    assert store.lexical.languages(HERE, enough=99) == {"en": 36}
    assert store.lexical.languages(BOTH, enough=99) == {"en": 37, "de": 3}
    assert store.lexical.languages(BOTH, enough=2) == {"en": 2, "de": 2}
    assert store.lexical.languages(below, enough=99) == {"de": 3}
    assert store.lexical.languages(Scope(collections=HERE.collections, addresses=("/d",))) == {}
    assert store.lexical.languages(Scope(collections=frozenset())) == {}
