"""When a question asks for what a person has answered, by its words and by meaning."""

from __future__ import annotations

import numpy as np
import pytest

from core.library.documents import Passage
from core.library.sameness import QuestionVectors, answers_another, are_distinct, are_same, sameness

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


def test_one_word_in_the_place_of_another_is_enough_however_few_they_share():
    assert sameness({"densiti", "ethanol"}, {"densiti", "mercuri"}, agreement=0.5, closeness=0.8) == 0.0
    assert sameness({"densiti", "ethanol"}, {"boil", "mercuri"}, agreement=0.0, closeness=0.8) == 0.8


def test_a_word_and_its_short_form_are_one_word():
    asked = {"load", "model", "app", "start"}

    assert sameness({"load", "model", "applic", "start"}, asked, agreement=0.75, closeness=0.0) == 0.75


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How many days of leave do I have in 2025?", "How many days of leave do I have in 2026?"),
        ("Which two forms do I need?", "Which three forms do I need?"),
        ("Who orders paper for Lyon?", "Who orders paper for Brest?"),
        ("Which gloves may be worn?", "Which gloves may not be worn?"),
        ("What is the largest berth?", "What is the smallest berth?"),
        ("Welche Geräte sind versichert?", "Welche Geräte sind nicht versichert?"),
        ("Quels appareils sont couverts ?", "Quels appareils ne sont pas couverts ?"),
        ("¿Qué equipos están cubiertos?", "¿Qué equipos no están cubiertos?"),
        ("Quais aparelhos têm seguro?", "Quais aparelhos não têm seguro?"),
        ("この装置は使えますか。", "この装置は使えないのですか。"),
    ],
)
def test_a_name_a_number_and_the_opposite_tell_questions_apart_both_ways(one, other):
    assert are_distinct(one, other)
    assert are_distinct(other, one)
    assert not are_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Where does broken glass go?", "Where do I put broken glass?"),
        (
            "How do I load the model once when the app starts?",
            "How is the model loaded once at application start?",
        ),
        ("Wie verlängere ich meinen Parkausweis?", "Meinen Parkausweis verlängern, wie geht das?"),
        ("Why does the door not open?", "The door does not open, why?"),
    ],
)
def test_other_words_about_how_one_asks_tell_nothing_apart(one, other):
    assert not are_distinct(one, other)
    assert are_same(one, other)


def answered(question, text):
    return Passage(
        id="1", collection="c", source="answer:1", title="Petra", path=(question,), location="", text=text, start=0,
        end=len(text),
    )  # fmt: skip


@pytest.mark.parametrize(
    "asked",
    [
        "What is the boiling point of mercury?",
        "boiling point mercury",
        "What is the boiling point of ethanol at 2 bar?",
    ],
)
def test_a_persons_answer_to_almost_the_question_answers_another(asked):
    ethanol = answered("What is the boiling point of ethanol?", "78.4 degrees at normal pressure.")

    assert answers_another(asked, ethanol, is_substitution=False)


@pytest.mark.parametrize(
    "asked",
    [
        "What is the boiling point of ethanol?",
        "What is the boiling point of pure ethanol?",
        "What are the boiling points of ethanol and methanol?",
        "Who may use the oil bath?",
    ],
)
def test_it_answers_what_it_says_and_is_no_answer_to_another_where_little_is_shared(asked):
    ethanol = answered("What is the boiling point of ethanol?", "78.4 degrees; that of methanol is 64.7.")

    assert not answers_another(asked, ethanol, is_substitution=False)


def test_a_follow_up_that_names_another_subject_asks_for_another_answer():
    ethanol = answered("What is the boiling point of ethanol?", "78.4 degrees; use the oil bath.")

    assert answers_another("and of mercury?", ethanol, is_substitution=True)
    assert not answers_another("and the bath?", ethanol, is_substitution=True)


def test_a_document_is_never_the_answer_to_another_question():
    passage = Passage(
        id="1", collection="c", source="lab.md", title="Lab", path=("What is the boiling point of ethanol?",),
        location="", text="78.4 degrees.", start=0, end=13,
    )  # fmt: skip

    assert not answers_another("What is the boiling point of mercury?", passage, is_substitution=False)


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
