from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.library import confidence
from core.library.confidence import (
    BACKGROUND,
    LOOKED_AT,
    SATURATION,
    Observation,
    confidence_of,
    coverage_of,
    features_of,
    names_of,
)
from core.library.documents import Passage, Retrieved
from core.text.terms import query_terms


def hit(text, *, lexical=10.0, dense=None, title="", path=()):
    return Retrieved(
        passage=Passage(
            id="1",
            collection="default",
            source="docs/a.md",
            title=title,
            path=path,
            location="",
            text=text,
            start=0,
            end=len(text),
        ),
        score=1.0,
        lexical=lexical,
        dense=dense,
    )


def observation(question, *hits, frequencies=None, **scores):
    words = query_terms(question)
    return Observation(
        question=question,
        passages=hits,
        weights=dict.fromkeys(words, 2.0),
        frequencies=frequencies if frequencies is not None else dict.fromkeys(words, 1),
        lexical=scores.get("lexical", [each.lexical for each in hits]),
        dense=scores.get("dense", [each.dense for each in hits if each.dense is not None]),
    )


FERRY = "The ferry leaves the harbour at seven. Tickets are sold on board."
QUESTION = "When does the ferry leave the harbour?"


def test_nothing_found_is_no_confidence():
    assert confidence_of(observation(QUESTION)) == 0.0


def test_a_passage_that_says_it_gives_more_confidence_than_one_that_does_not():
    says, does_not = hit(FERRY, lexical=12.0), hit("The bakery sells bread.", lexical=0.5)

    assert confidence_of(observation(QUESTION, says)) > 0.5 > confidence_of(observation(QUESTION, does_not))


def test_so_it_is_with_vectors():
    says = hit(FERRY, lexical=12.0, dense=0.8)
    does_not = hit("The bakery sells bread.", lexical=0.5, dense=0.1)

    assert confidence_of(observation(QUESTION, says)) > 0.5 > confidence_of(observation(QUESTION, does_not))


def test_a_network_that_a_fit_has_seen_has_coefficients_of_its_own(monkeypatch):
    hits = hit(FERRY, lexical=12.0, dense=0.8), hit("The bakery sells bread.", lexical=0.5, dense=0.1)
    usual = confidence_of(observation(QUESTION, *hits))
    known = {**confidence.load_coefficients(), "sure": {"bias": 5.0}, "unsure": {"bias": -5.0}}
    monkeypatch.setattr(confidence, "load_coefficients", lambda: known)

    def with_network(name):
        return confidence_of(replace(observation(QUESTION, *hits), network=name))

    assert with_network("sure") > 0.99
    assert with_network("unsure") < 0.01
    assert with_network("a network of no fit") == usual


def test_coverage_is_the_best_share_of_the_question_in_one_passage_sentence_or_heading():
    found = features_of(
        observation(
            "ferry harbour tickets captain",
            hit("The ferry is at the harbour. Tickets are dear."),
            hit("The captain.", title="Ferry"),
        )
    )

    assert found.passage_coverage == pytest.approx(3 / 4)
    assert found.sentence_coverage == pytest.approx(2 / 4)
    assert found.heading_coverage == pytest.approx(1 / 4)
    assert found.union_coverage == pytest.approx(1.0)
    assert found.term_coverage == pytest.approx(3 / 4)


def test_two_neighbouring_sentences_cover_more_than_one():
    text = "The ferry is old. Tickets are dear. The captain sleeps."

    found = features_of(observation("ferry tickets captain", hit(text)))

    assert found.window_coverage == pytest.approx(2 / 3)
    assert found.sentence_coverage == pytest.approx(1 / 3)
    assert features_of(observation("ferry", hit("The ferry."))).window_coverage == pytest.approx(1.0)


def test_the_last_terms_may_count_otherwise_than_the_first():
    half, whole = (features_of(observation("ferry harbour", hit(text))) for text in ("The ferry.", FERRY))

    assert (half.term_coverage, half.term_coverage_squared) == (0.5, 0.25)
    assert whole.term_coverage_squared == 1.0


@pytest.mark.parametrize(
    ("question", "feature", "value"),
    [
        ("When does the ferry not leave the harbour?", "opposed", 1.0),
        ("When does the ferry leave the harbour?", "opposed", 0.0),
        ("Which ferry leaves the harbour in 1910?", "missing_number", 1.0),
        ("Which ferry leaves the harbour?", "missing_number", 0.0),
        ("How many ferries leave harbours?", "missing_amount", 0.0),
        ("How many tickets are sold on board?", "missing_amount", 1.0),
        ("Which tickets are sold on board?", "missing_amount", 0.0),
    ],
)
def test_the_sentence_that_holds_most_of_the_question_must_not_contradict_it(question, feature, value):
    assert getattr(features_of(observation(question, hit(FERRY))), feature) == value


def test_only_the_best_passages_are_looked_at():
    hits = [hit("Nothing.")] * LOOKED_AT

    assert features_of(observation("ferry", *hits, hit("The ferry."))).union_coverage == 0.0


def test_terms_that_no_passage_holds_are_unknown_and_names_among_them_count_apart():
    asked = "What does the ferry to Elba cost?"
    words = query_terms(asked)

    found = features_of(
        observation(asked, hit("The ferry costs nine."), frequencies=dict.fromkeys(words, 3) | {"elba": 0})
    )

    assert found.unknown_terms == found.unknown_names == pytest.approx(1 / len(words))
    assert found.missing_names == pytest.approx(1 / len(words))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does Elba cost?", {"elba"}),
        ("Elba is what?", set()),
        ("How is add_task used?", {"addtask", "add", "task"}),
        ("What is core/errors?", {"core", "error"}),
        ("Does getUser block?", {"getus", "user"}),
        ("Wie setze ich mein Kennwort mit getUser zurück?", {"getus", "user"}),
        ("what is it", set()),
        ("", set()),
    ],
)
def test_names_are_capitals_within_a_sentence_and_identifiers(question, names):
    assert names_of(question) == names


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("How many ferries are there?", "There are ferries.", 1.0),
        ("How many ferries are there?", "There are 12 ferries.", 0.0),
        ("How many ferries are there?", "There are twelve hundred ferries.", 0.0),
        ("When is the last ferry?", "It leaves late.", 1.0),
        ("Which ferries are there?", "The red ones.", 0.0),
    ],
)
def test_a_number_that_is_asked_for_and_nowhere_said_is_missed(question, text, lacks):
    assert features_of(observation(question, hit(text))).missing_quantity == lacks


def test_scores_stand_above_what_unrelated_passages_score():
    scores = [20.0, *[4.0] * 40]
    cosines = [0.9, 0.7, *[0.3] * 40]

    found = features_of(observation("ferry", hit("The ferry.", dense=0.9), lexical=scores, dense=cosines))

    assert found.bm25_gap == pytest.approx(16.0 / SATURATION)
    assert found.bm25_top == pytest.approx(20.0 / SATURATION)
    assert (found.cosine, found.cosine_second) == (0.9, 0.7)
    assert found.cosine_gap == pytest.approx(0.6)


def test_in_a_small_library_the_last_score_is_the_background():
    assert len([5.0, 3.0, 1.0]) < BACKGROUND.start

    assert (
        features_of(observation("ferry", hit("The ferry."), lexical=[5.0, 3.0, 1.0])).bm25_gap
        == 4.0 / SATURATION
    )


def test_words_and_meaning_agree_when_they_prefer_the_same_passage():
    best, other = hit("a", lexical=9, dense=0.9), hit("b", lexical=1, dense=0.2)

    assert features_of(observation("ferry", best, other)).agreement == 1.0
    assert features_of(observation("ferry", replace(best, dense=0.1), other)).agreement == 0.0
    assert features_of(observation("ferry", replace(best, dense=None), other)).agreement == 0.0


def test_a_question_without_a_term_is_no_fault():
    assert 0.0 <= confidence_of(observation("???", hit(FERRY, dense=0.5))) <= 1.0


@settings(deadline=None)
@given(
    question=st.text(max_size=60),
    texts=st.lists(st.text(max_size=60), max_size=8),
    lexical=st.lists(st.floats(0, 1e6), max_size=40),
    dense=st.lists(st.floats(-1, 1), max_size=40),
)
def test_confidence_is_a_probability_whatever_was_found(question, texts, lexical, dense):
    hits = [hit(text, dense=dense[0] if dense else None) for text in texts]
    found = observation(
        question, *hits, lexical=sorted(lexical, reverse=True), dense=sorted(dense, reverse=True)
    )

    shares = asdict(features_of(found))
    assert 0.0 <= confidence_of(found) <= 1.0
    assert all(
        0.0 <= value <= 1.0 + 1e-9 for name, value in shares.items() if "coverage" in name or "names" in name
    )


def test_coverage_of_a_question_is_that_of_its_best_passage():
    hits = [hit("The ferry."), hit("The ferry leaves the harbour."), hit("Bread.")]

    assert coverage_of("ferry leave harbour", hits) == pytest.approx(1.0)
    assert 0.0 < coverage_of("ferry leave harbour", hits[:1] + hits[2:]) < 1.0
    assert coverage_of("zeppelin", hits) == coverage_of("ferry", []) == coverage_of("", hits) == 0.0
