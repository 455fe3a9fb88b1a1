"""The measuring of confidence: areas and shares that can be counted by hand."""

from __future__ import annotations

import math

import pytest
from benchmarks import confidence, evaluation_sets
from benchmarks.evaluation_sets import EvaluationSet, LabelledQuestion


@pytest.mark.parametrize(
    ("yes", "no", "area"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1, 0.2], [0.9, 0.8], 0.0),
        ([0.9, 0.3], [0.5], 0.5),
        ([0.5, 0.5], [0.5], 0.5),
        ([0.9, 0.5, 0.1], [0.5, 0.0], (2 + 1.5 + 1) / 6),
    ],
)
def test_the_area_counts_the_pairs_in_the_right_order(yes, no, area):
    assert confidence.auc(yes, no) == pytest.approx(area)


def test_nothing_to_tell_apart_is_no_number():
    assert math.isnan(confidence.auc([], [0.5]))
    assert math.isnan(confidence.false_at([0.5], []))


def test_the_interval_holds_the_area_and_narrows_with_more_questions():
    yes, no = [0.2, 0.6, 0.7, 0.9], [0.1, 0.3, 0.5, 0.65]

    low, high = confidence.interval(confidence.auc, yes, no)
    narrower_low, narrower_high = confidence.interval(confidence.auc, yes * 25, no * 25)

    assert 0 <= low < narrower_low < confidence.auc(yes, no) < narrower_high < high <= 1


def test_false_answers_are_counted_where_nine_of_ten_are_answered():
    yes = [number / 10 for number in range(1, 11)]

    assert confidence.false_at(yes, [0.19, 0.2, 0.21, 0.9]) == 0.75
    assert confidence.false_at(yes, [0.1, 0.1]) == 0.0


def test_each_question_is_asked_where_its_article_is_and_where_it_is_left_out():
    documents = tuple((f"/squad/{name}/0", name, ("text",)) for name in "abcd")
    question = LabelledQuestion(id="1", question="?", gold=frozenset({("/squad/b/0", 0)}), group="/squad/b")

    without, inside = confidence.halves(EvaluationSet(documents=documents, questions=(question,)))

    assert (without[0].gold, without[1].addresses) == (frozenset(), ("/squad/a", "/squad/c"))
    assert (inside[0].gold, inside[1].addresses) == (question.gold, ("/squad/b", "/squad/d"))


def test_the_unanswerable_are_judged_apart(tmp_path):
    library = evaluation_sets.open_library(tmp_path, None)
    evaluation_sets.fill(
        library, [("/a", "", ("Cats purr at night.",)), ("/b", "", ("Dogs bark at the moon.",))]
    )
    known = LabelledQuestion(id="1", question="When do cats purr?", gold=frozenset({("/a", 0)}))
    unknown = LabelledQuestion(id="2", question="Who invented zeppelins and balloons?")

    (yes,), (no,) = confidence.confidences(
        library, [(known, evaluation_sets.EVERYTHING), (unknown, evaluation_sets.EVERYTHING)]
    )
    library.close()

    assert yes > no


def test_a_quick_run_measures_every_set(shared_data):
    section = confidence.run(print, data=shared_data, quick=True)

    assert [row[0] for row in section.tables[0].rows] == list(confidence.SETS.values())
    assert section.figures["left_out_words_auc"] > 0.8
