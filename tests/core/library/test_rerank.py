"""The order of candidates by where and how closely they hold the question."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.library.rerank import STEM, WINDOW, Scored, rerank

ASKED = {"ferri": 3.0, "winter": 3.0, "leav": 2.0}


def candidate(body, *, title="", document="a", lexical=0.5, dense=None):
    return Scored(document=document, words=(title.split(), body.split()), lexical=lexical, dense=dense)


def order(**candidates):
    scores = rerank(candidates, ASKED)
    return sorted(candidates, key=lambda name: -scores[name])


def test_the_best_candidate_scores_one_and_none_below_nothing():
    scores = rerank({"1": candidate("ferri"), "2": candidate("boat", lexical=0.0, dense=-1.0)}, ASKED)

    assert scores == {"1": 1.0, "2": 0.0}
    assert rerank({}, ASKED) == {}
    assert rerank({"1": candidate("", lexical=0.0)}, {}) == {"1": 0.0}


def test_most_of_the_question_goes_before_one_word_of_it_said_often():
    assert order(often=candidate("ferri ferri ferri boat"), most=candidate("ferri winter boat boat")) == [
        "most",
        "often",
    ]


def test_words_close_together_go_before_words_far_apart():
    far = " ".join(["ferri", *["boat"] * WINDOW, "winter"])
    near = " ".join(["ferri", "winter", *["boat"] * WINDOW])

    assert order(far=candidate(far), near=candidate(near)) == ["near", "far"]


def test_headings_that_say_what_is_asked_go_before_headings_that_say_much_else():
    wordy = candidate("boat", title="ferri winter harbour ticket price island", document="a")
    terse = candidate("boat", title="ferri winter", document="b")

    assert order(wordy=wordy, terse=terse) == ["terse", "wordy"]


def test_a_page_whose_other_passages_are_about_the_question_goes_first():
    alone = candidate("ferri boat", document="a")
    among = candidate("ferri boat", document="b")
    neighbour = candidate("winter leav", document="b", lexical=0.0)

    assert order(alone=alone, among=among, neighbour=neighbour)[0] == "among"


def test_a_word_of_the_same_beginning_counts_in_part():
    kin = candidate("ferriage boat")
    none = candidate("boat boat")

    assert len("ferri") >= STEM
    assert order(none=none, kin=kin) == ["kin", "none"]
    assert order(kin=kin, same=candidate("ferri boat")) == ["same", "kin"]


def test_words_of_how_one_asks_count_for_less():
    scores = rerank({"how": candidate("want"), "what": candidate("anchor")}, {"want": 3.0, "anchor": 3.0})

    assert scores["what"] > scores["how"]


def test_what_is_nearer_in_meaning_goes_first_where_the_words_are_alike():
    near, far = candidate("ferri", dense=1.0), candidate("ferri", dense=0.6)

    assert order(far=far, near=near) == ["near", "far"]


scored = st.builds(
    Scored,
    document=st.sampled_from("ab"),
    words=st.tuples(*[st.lists(st.sampled_from((*ASKED, "boat", "")), max_size=20)] * 2),
    lexical=st.floats(0, 1),
    dense=st.none() | st.floats(-1, 1),
)


@given(candidates=st.dictionaries(st.sampled_from("12345"), scored))
def test_every_score_is_between_nothing_and_one_and_no_candidate_is_lost(candidates):
    scores = rerank(candidates, ASKED)

    assert scores.keys() == candidates.keys()
    assert all(0 <= score <= 1 for score in scores.values())


def test_an_answer_to_the_same_question_goes_before_a_document_that_says_as_much_and_one_to_another_does_not():
    document = candidate("ferri sark leav", document="d")
    same = replace(document, document="a", answered=frozenset({"ferri", "sark", "leav"}))
    close = replace(document, document="b", answered=frozenset({"boat", "depart"}), closeness=0.9)
    swapped = replace(document, document="c", answered=frozenset({"ferri", "sark", "herm"}), closeness=0.9)
    question = {"ferri": 1.0, "sark": 1.0, "leav": 1.0}

    scores = rerank({"document": document, "same": same, "close": close, "swapped": swapped}, question)

    assert scores["same"] > scores["close"] > scores["document"] == scores["swapped"]
