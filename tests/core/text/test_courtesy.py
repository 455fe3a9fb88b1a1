"""Politeness around a question, which does not go into a proposed search."""

from __future__ import annotations

import pytest

from core.text.intent import names_something, without_courtesy


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Thanks, and when does the ferry leave", "when does the ferry leave"),
        ("when does the ferry leave please", "when does the ferry leave"),
        ("When does the ferry leave, thanks in advance!", "When does the ferry leave"),
        ("good morning footnote, when does the ferry leave?", "when does the ferry leave?"),
        ("Danke, und wann fährt die Fähre bitte?", "wann fährt die Fähre"),
        ("merci, et quand part le ferry s’il vous plaît ?", "quand part le ferry"),
        ("Gracias, y cuándo sale el ferry, por favor?", "cuándo sale el ferry"),
        ("Obrigado, e quando sai a balsa?", "quando sai a balsa?"),
        ("こんにちは、フェリーはいつ出ますか？お願いします", "フェリーはいつ出ますか"),
        ("Thanks, please", ""),
    ],
)
def test_courtesy_is_left_out(said, asked):
    assert without_courtesy(said) == asked


@pytest.mark.parametrize(
    "said", ["And how tall is it?", "Hello world in Rust", "Cool storage rules", "how do I say thank you"]
)
def test_words_that_are_asked_about_stay(said):
    assert without_courtesy(said) == said


@pytest.mark.parametrize(
    "said",
    ["What about it?", "Und was ist das?", "Et qu'est-ce que c'est ?", "¿Y qué es eso?", "E o que é isso?", "それはどうですか?", ""],
)  # fmt: skip
def test_stop_words_name_nothing(said):
    assert not names_something(said)


@pytest.mark.parametrize("said", ["When does the ferry leave", "Wie viele Tage im Jahr?", "フェリーはいつ?", "年休は何日?"])  # fmt: skip
def test_any_other_word_does(said):
    assert names_something(said)
