"""When a question asks for what a person has answered, by its words and by meaning."""

from __future__ import annotations

import numpy as np
import pytest

from core.library.sameness import QuestionVectors, sameness

SHED = {"key", "boat", "shed"}


def test_words_that_agree_or_vectors_that_are_close_make_the_same_question():
    other = {"open", "boathouse", "who"}

    assert sameness(SHED, SHED, agreement=1.0, closeness=0.0) == 1.0
    assert sameness(SHED, other, agreement=0.1, closeness=0.8) == 0.8
    assert sameness(SHED, other, agreement=0.1, closeness=0.5) == 0.0


def test_a_word_in_the_place_of_another_makes_it_another_question_however_close_their_vectors_are():
    asked = {"wifi", "password", "office", "brest"}

    assert sameness({"wifi", "password", "office", "lyon"}, asked, agreement=0.75, closeness=0.95) == 0.0
    assert sameness({"wifi", "password", "office"}, asked, agreement=0.85, closeness=0.95) == 0.95


def test_what_people_did_not_answer_is_the_same_as_nothing():
    assert sameness(frozenset(), SHED, agreement=0.0, closeness=0.99) == 0.0


class Directions:
    """Vectors that lean all one way, as those of some models do, and otherwise follow the first letter."""

    def __init__(self, leaning, name="directions"):
        self.leaning, self.name, self.asked = leaning, name, []

    def embed_query(self, text):
        self.asked.append(text)
        vector = np.zeros(28, dtype=np.float32)
        vector[ord(text[0].lower()) - ord("a")] = (1 - self.leaning) ** 0.5
        vector[27] = self.leaning**0.5
        return vector


@pytest.mark.parametrize("leaning", [0.0, 0.6, 0.9])
def test_closeness_does_not_depend_on_how_alike_a_model_finds_everything(leaning):
    model, vectors = Directions(leaning), QuestionVectors()

    same, other = vectors.closeness(model, model.embed_query("key"), ["keys", "pier"])

    assert same == pytest.approx(1.0, abs=1e-4)
    assert other <= 0.01


def test_the_vector_of_a_question_is_made_once_for_each_model():
    vectors, one, other = QuestionVectors(), Directions(0.5), Directions(0.5, name="another")
    asked = one.embed_query("key")
    vectors.closeness(one, asked, ["pier"])
    one.asked.clear()

    vectors.closeness(one, asked, ["pier", "shed"])
    vectors.closeness(other, asked, ["pier"])

    assert one.asked == ["shed"]
    assert "pier" in other.asked
