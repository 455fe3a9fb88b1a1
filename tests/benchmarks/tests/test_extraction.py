"""The measuring of extraction: what counts as held, and how sentences are compared."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks import evaluation_sets, extraction
from benchmarks.evaluation_sets import LabelledQuestion

TEXT = "The harbour is old. Ferries leave the harbour at seven in the morning. Tickets are sold on board."


@pytest.fixture
def library(tmp_path):
    library = evaluation_sets.open_library(tmp_path, None)
    evaluation_sets.fill(
        library, [("/a", "Harbour", (TEXT,)), ("/b", "Moon", ("The moon is far away from here.",))]
    )
    yield library
    library.close()


def question(text, *answers):
    return LabelledQuestion(id="1", question=text, gold=frozenset({("/a", 0)}), answers=answers)


@pytest.mark.parametrize("is_given", [True, False], ids=["given", "retrieved"])
def test_the_likeliest_sentence_comes_first_and_quotes_stand_at_their_offsets(library, is_given):
    asked = question("When do ferries leave the harbour?", "at seven")

    (quoted,) = asyncio.run(extraction.quote_all(library, [asked], is_given=is_given))

    assert quoted.best[0] == "Ferries leave the harbour at seven in the morning."
    assert quoted.quotes == (quoted.best[0],)
    assert quoted.is_verbatim
    assert quoted.places[:1] == (((20, 70),) if is_given else ())


def test_a_gold_passage_that_is_not_retrieved_is_given_all_the_same(library):
    (quoted,) = asyncio.run(extraction.quote_all(library, [question("zeppelin")], is_given=True))

    assert set(quoted.best) <= {"The harbour is old.", *TEXT.split(". ")} | {TEXT[20:70], TEXT[71:]}
    assert len(quoted.best) == 3


@pytest.mark.parametrize(
    ("texts", "answers", "held"),
    [
        (["It leaves at Seven\n o'clock."], ["at seven o'clock"], True),
        (["It leaves.", "At eight."], ["nine", "eight"], True),
        (["It leaves at", "seven."], ["at seven"], False),
        ([], ["seven"], False),
    ],
)
def test_an_answer_is_held_by_one_text_whole(texts, answers, held):
    assert extraction.holds_answer(texts, answers) is held


@pytest.mark.parametrize(
    ("places", "f1"),
    [
        (((0, 5), (10, 15)), 1.0),
        (((0, 5),), 2 / 3),
        (((0, 5), (5, 8), (20, 25)), 2 * 1 / (3 + 2)),
        (((4, 6),), 2 * 1 / (2 + 2)),
        ((), 0.0),
    ],
)
def test_sentences_agree_where_their_places_meet(places, f1):
    sentences = {"one": (0, 5), "two": (5, 10), "three": (10, 15), "four": (20, 25)}

    assert extraction.sentence_f1(places, sentences, ("one", "three")) == pytest.approx(f1)


def test_a_quick_run_measures_both_sets_and_every_quote_is_verbatim(shared_data):
    section = extraction.run(print, data=shared_data, quick=True)

    assert section.figures["verbatim"] == 1.0
    assert section.figures["squad_words_given_best_3"] >= section.figures["squad_words_given_best_1"] > 0.5
    assert 0 < section.figures["clapnq_words_f1"] < 1
