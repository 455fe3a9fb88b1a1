"""The language of a text."""

from __future__ import annotations

import pytest

from core.text.language import language_of, stop_words, sure_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("how do i send an email after the response is already returned", "en"),
        ("wie pinne ich fastapi so dass nur patch-updates von 0.112 reinkommen", "de"),
        ("bytes oder UploadFile für große videos?", "de"),
        ("un jwt c'est chiffré ?", "fr"),
        ("qué valores cuentan como true en un query param bool", "es"),
        ("posso usar --reload em produção?", "pt"),
        ("dove trovo la password del wifi?", "it"),
        ("hoe kan ik het thema wijzigen?", "nl"),
        ("Как изменить тему?", "ru"),
        ("if __name__ == '__main__' って何のためにあるの", "ja"),
        ("fastapi默认带哪几个文档界面", "zh"),
        ("테마를 어떻게 바꾸나요?", "ko"),
    ],
)
def test_a_short_technical_question_has_the_language_of_its_function_words(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "?!", "CORSMiddleware", "uvicorn main:app --port 8080", "Response"])
def test_a_text_that_does_not_say_is_taken_for_english(text):
    assert language_of(text) == "en"


def test_code_and_addresses_have_no_vote():
    text = "Der Befehl ist `the one that you are to use for this`, siehe https://example.org/what/is/this/for/you."

    assert language_of(text) == "de"


def test_a_name_in_another_script_does_not_decide():
    assert language_of("What does the name 東京 of the city of Tokyo mean to the people there?") == "en"


def test_one_accent_is_enough_where_no_word_tells():
    assert language_of("Großgeräte") == "de"


def test_stop_words_come_by_language_and_are_none_where_no_list_is_known():
    assert {"der", "für", "nicht"} <= stop_words("de")
    assert stop_words("xx") == frozenset()


def test_names_in_a_table_are_no_words_of_a_language():
    row = "Asset: NB-001; Type: Laptop; Location: Berlin; Price EUR: 1420; Owner: Ada Brandt\n"
    other = "Asset: NB-002; Type: Laptop; Location: Munich; Price EUR: 1680; Owner: Jonas Wirth\n"

    assert language_of(row + other * 3) == "en"
    assert sure_language(row + other * 3) == ""
