"""Finding by words where many passages hold them, and what the index keeps of a passage."""

from __future__ import annotations

import pytest

from core.library.catalogue import Catalogue, NewDocument
from core.library.documents import Piece, Scope
from core.library.lexical import ALONE

MANY = 2 * ALONE  # passages that are said to hold a frequent term
HERE, THERE = Scope(collections=frozenset({"here"})), Scope(collections=frozenset({"there"}))
BOTH = Scope(collections=frozenset({"here", "there"}))


def put(catalogue, collection, address, *texts):
    pieces = [Piece(path=("Pets",), location="", text=text, start=0, end=len(text)) for text in texts]
    catalogue.put(
        NewDocument(
            collection=collection, address=address, root=address, source=address, title="Animals", url=None,
            hash="", size=0, modified=0, pieces=pieces,
        )
    )  # fmt: skip


@pytest.fixture
def catalogue(tmp_path):
    catalogue = Catalogue(tmp_path / "library.sqlite")
    put(
        catalogue, "here", "/a",
        "A cat.", "A dog.", "A cat and a dog.", "A fox.", "A fox meets a cat and a dog.", "A fox and a cat.",
    )  # fmt: skip
    put(catalogue, "there", "/b", "A fox and a dog in another house.")
    put(catalogue, "here", "/e", *["A bird sings."] * 30)
    yield catalogue
    catalogue.close()


def found(catalogue, words, scope=HERE, limit=60, **frequencies):
    hits = catalogue.lexical.search(words, scope, limit=limit, frequencies=frequencies)
    return [number for number, _ in hits]


def test_a_frequent_term_ranks_what_a_rare_one_finds(catalogue):
    assert found(catalogue, ["cat", "dog", "fox"], limit=3, cat=MANY, dog=MANY, fox=3) == ["5", "6", "4"]


def test_what_holds_two_frequent_terms_fills_the_list_before_what_holds_one(catalogue):
    hits = found(catalogue, ["cat", "dog", "fox"], cat=MANY, dog=MANY + 1, fox=3)

    assert hits[:4] == ["5", "6", "4", "3"]
    assert set(hits[4:]) == {"1"}


def test_where_all_terms_are_frequent_two_of_them_find(catalogue):
    assert found(catalogue, ["cat", "dog"], limit=2, cat=MANY, dog=MANY) == ["3", "5"]


def test_one_frequent_term_alone_still_finds(catalogue):
    assert set(found(catalogue, ["cat"], cat=MANY)) == {"1", "3", "5", "6"}


def test_nothing_is_found_twice_and_no_more_than_was_asked_for(catalogue):
    for limit in range(1, 7):
        hits = found(catalogue, ["cat", "dog", "fox"], limit=limit, cat=MANY, dog=MANY, fox=3)
        assert len(hits) == len(set(hits)) == min(limit, 5)


@pytest.mark.parametrize(("scope", "foxes"), [(HERE, 3), (THERE, 1), (BOTH, 4)])
def test_a_term_is_counted_and_found_in_the_collections_asked_for_alone(catalogue, scope, foxes):
    assert catalogue.lexical.document_frequencies(["fox"], scope) == {"fox": foxes}
    assert len(found(catalogue, ["fox"], scope)) == foxes
    assert len(found(catalogue, ["fox", "dog"], scope, fox=MANY, dog=MANY)) >= foxes


def test_a_narrow_scope_holds_for_frequent_terms_too(catalogue):
    put(catalogue, "here", "/c/d", "A cat and a dog elsewhere.")
    narrow = Scope(collections=frozenset({"here"}), addresses=("/c",))

    assert found(catalogue, ["cat", "dog"], narrow, cat=MANY, dog=MANY) == ["38"]


def test_the_terms_of_a_passage_come_back_as_they_were_entered(catalogue):
    words = catalogue.lexical.words(["7", "1", "99"])

    assert words == {
        "1": (["anim", "pet"], ["a", "cat"]),
        "7": (["anim", "pet"], ["a", "fox", "and", "a", "dog", "in", "anoth", "hous"]),
    }
    assert catalogue.lexical.words([]) == {}


def test_the_languages_of_the_passages_are_known_by_collection(catalogue):
    put(catalogue, "there", "/d", "Der Hund und die Katze sind nicht im Haus.")

    assert catalogue.lexical.languages(HERE) == ["en"]
    assert set(catalogue.lexical.languages(BOTH)) == {"de", "en"}
    assert catalogue.lexical.languages(Scope(collections=frozenset())) == []
