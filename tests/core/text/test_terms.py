"""Words as the lexical index sees them."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.text.language import LANGUAGES
from core.text.terms import (
    LONGEST_WORD,
    LOOKED_UP,
    _known_stems,
    known_terms,
    query_terms,
    term_weights,
    terms,
    weights_among,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n… — !?", []),
        ("___", []),
        ("Caching caches cached", ["cach", "cach", "cach"]),
        ("don't user's", ["don", "t", "user", "s"]),
        ("PRs URLs", ["prs", "pr", "url"]),
        ("request_body", ["requestbodi", "request", "bodi"]),
        ("RequestBody", ["requestbodi", "request", "bodi"]),
        ("HTTPException", ["httpexcept", "http", "except"]),
        ("OAuth2PasswordBearer", ["oauth2passwordbear", "auth", "password", "bearer"]),
        ("python3.11", ["python3", "python", "11"]),
        ("x_1", ["x1"]),
    ],
)
def test_identifiers_give_themselves_and_their_parts(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("request_body", "RequestBody"),
        ("café au lait", "CAFE AU LAIT"),
        ("naïve Ångström", "naive Angstrom"),
        ("Straße", "STRASSE"),
        ("Tromsø Łódź", "tromso lodz"),
        ("straße_name", "StrasseName"),
        ("ﬁle", "file"),
        ("ＦａｓｔＡＰＩ", "FastAPI"),
        ("docu\u00admentation", "documentation"),
        ("zero\u200bwidth", "zerowidth"),
        ("x² and ½", "x2 and 1⁄2"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_spellings_of_one_word_are_one_term(one, other):
    assert terms(one) == terms(other)


@pytest.mark.parametrize("text", ["résumé Müller Ångström", "ガギグ ぱぴぷ", "한국어", "Đà Nẵng"])
def test_composed_and_decomposed_characters_are_the_same(text):
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("日", ["日"]),
        ("한국어를", ["한국", "국어", "어를"]),
        ("FastAPIの使い方", ["fastapi", "fast", "api", "の使", "使い", "い方"]),
        ("caches用", ["cach", "用"]),
        ("がか", ["がか"]),
    ],
)
def test_scripts_without_spaces_become_character_pairs(text, expected):
    assert terms(text) == expected


def test_a_question_is_cut_to_its_telling_words_each_once():
    assert query_terms("How do I cache the responses of a response cache?") == ["cach", "respons"]


def test_a_question_of_glue_alone_keeps_it():
    assert query_terms("What is it?") == ["what", "is", "it"]


def test_a_name_that_shares_its_stem_with_glue_is_kept():
    assert query_terms("Does John Doe live here?") == ["john", "doe", "live"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "Anwendung Anwendungen"),
        ("de", "prüfen Pruefen PRÜFEN prüfe"),
        ("fr", "déclarer déclaré déclarées déclaration"),
        ("es", "configuración configuraciones configuracion configurar"),
        ("pt", "configuração configurações configurar"),
        ("it", "pagamento pagamenti"),
        ("ru", "документ документы документов"),
        ("de", "dependency dependencies"),
        ("fr", "FastAPI fastapi"),
    ],
)
def test_forms_of_a_word_are_one_term_in_its_language(language, words):
    assert len({terms(word, language)[0] for word in words.split()}) == 1


def test_accents_and_identifiers_come_out_alike_in_every_language():
    assert terms("HTTPException", "de") == terms("HTTPException")
    assert terms("Größe", "de") == terms("GROESSE", "de") == ["gross"]


@pytest.mark.parametrize(
    ("question", "language", "expected"),
    [
        ("Wie kann ich das Passwort ändern?", "de", ["passwort", "and"]),
        ("Est-ce que l'app se connecte ?", "fr", ["app", "connect"]),
        ("como hago obligatorio un query param", "es", ["obligatori", "queri", "param"]),
    ],
)
def test_a_question_is_cut_to_the_telling_words_of_its_language(question, language, expected):
    assert query_terms(question, language) == expected


def test_a_word_of_a_question_is_looked_for_as_the_documents_have_it():
    question = "Wie starte ich die Worker?"

    assert known_terms(question, ["en"], lambda _: {}) == ["start", "work"]
    assert known_terms(question, ["en"], lambda _: {"worker": 3}) == ["start", "worker"]
    assert known_terms(question, ["de", "en"], lambda _: {"worker": 3, "work": 2}) == ["start", "work"]


def test_english_over_english_asks_for_no_frequencies():
    question = "How do I cache the responses of a response cache?"

    assert known_terms(question, ["en"], lambda _: pytest.fail("asked")) == query_terms(question)


def test_of_a_long_question_only_the_first_words_are_looked_up():
    counted = []

    found = known_terms(
        "Wie sind die " + " ".join(f"server{number}er" for number in range(5 * LOOKED_UP)),
        ["en"],
        lambda words: counted.append(len(words)) or {},
    )

    assert counted[0] <= 2 * LOOKED_UP < len(found)


def test_texts_of_two_languages_are_weighed_by_the_terms_of_each():
    weights, found = weights_among(
        "Wie viele Urlaubstage?",
        ["Es gibt dreißig Urlaubstage für alle.", "There are thirty days off for all of us."],
    )

    assert [weights.keys() <= held for held in found] == [True, False]


@thorough
@given(st.text(max_size=80), st.sampled_from(["de", "fr", "ar", "hi", "ja"]))
def test_terms_of_a_question_in_a_language_are_terms_of_the_same_text(text, language):
    assert set(query_terms(text, language)) <= set(terms(text, language))


@thorough
@given(st.text(max_size=80))
def test_terms_of_a_question_are_terms_of_the_same_text(text):
    assert set(query_terms(text)) <= set(terms(text))
    assert len(query_terms(text)) == len(set(query_terms(text)))


@thorough
@given(st.lists(st.text(max_size=20), max_size=5))
def test_words_give_the_same_terms_alone_and_in_a_text(words):
    together = terms(" ".join(words))

    assert together == [term for word in words for term in terms(word)]


@thorough
@given(st.text(max_size=80))
def test_no_term_is_empty_or_holds_a_space(text):
    assert all(term and not any(sign.isspace() for sign in term) for term in terms(text))


def test_what_is_longer_than_any_word_is_kept_as_it_is():
    assert terms("Y" * (LONGEST_WORD + 1)) == ["y" * (LONGEST_WORD + 1)]


def test_the_rarer_a_term_the_more_it_weighs():
    weights = term_weights(["all", "half", "one", "none"], {"all": 10, "half": 5, "one": 1}, 10)

    assert 0 < weights["all"] < weights["half"] < weights["one"] < weights["none"]


@thorough
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_weight_is_never_negative(frequency, more):
    weights = term_weights(["term"], {"term": frequency}, frequency + more)

    assert weights["term"] > 0


def test_texts_cut_side_by_side_come_out_as_alone():
    """The stemmer keeps the word it works on; eight questions at once must not read each other's."""
    endings = ("ing", "ational", "fulness", "iveness", "ly", "edness", "ization")
    letters = str.maketrans("0123456789", "bcdfglmnrt")
    texts = [
        " ".join(f"{number:05}".translate(letters) + ending for ending in endings) for number in range(1_000)
    ]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(terms, texts))
    finally:
        sys.setswitchinterval(switch)
    stemmer = snowballstemmer.stemmer("english")

    assert together == [[stemmer.stemWord(word) for word in text.split()] for text in texts]


@pytest.mark.parametrize("language", [*LANGUAGES, "ja"])
def test_a_number_is_a_term_as_it_is_and_fills_no_cache(language):
    before = _known_stems.cache_info().currsize

    found = terms("0 007 4711 20261123", language)

    assert found == ["0", "007", "4711", "20261123"]
    assert [_known_stems.__wrapped__(each, language) for each in found] == [(each,) for each in found]
    assert _known_stems.cache_info().currsize == before


def test_a_contraction_without_its_apostrophe_is_no_rare_word():
    assert query_terms("im sure it isnt there, why doesnt it sync") == query_terms("sure there, why sync")
