"""The measuring of computed figures: what counts as right, and a quick run through the real assistant."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from benchmarks import calculations
from benchmarks.calculations import Case, cases, is_true, mean_of_a_table, other_year, play_all

CASE = Case(kind="", text="", expression="", truth=Fraction(1_300_000), unit="€")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The figure is €1.3 million (12.4 − 11.1 = 1.3). [1]", True),
        ("The figure is €1,300,000.", True),
        ("The figure is €1.3 thousand.", False),
        ("The figure is $1.3 million.", False),
        ("The figure is 1.3 million.", False),
        ("The figure is −€1.3 million.", False),
        ("It is €1.3 million.", False),
    ],
)
def test_a_figure_is_right_in_number_scale_and_unit(sentence, expected):
    assert is_true(CASE, sentence) is expected


def test_the_cases_are_the_same_every_time_and_two_of_five_are_wrong():
    made = cases()

    assert made == cases()
    assert len(made) == 200
    assert sum(not case.is_right for case in made) == 80


async def test_of_the_number_of_another_year_only_a_judge_can_tell():
    """So that the run below can fail."""
    case = other_year(random.Random(1))

    (judged,) = await play_all([case])
    (believed,) = await play_all([case], lenient=True)

    assert judged.figure == ""
    assert believed.figure
    assert not believed.is_true


async def test_a_right_figure_is_shown():
    (shown,) = await play_all([mean_of_a_table(random.Random(1))])

    assert shown.is_true


def test_a_quick_run_shows_what_is_right_and_nothing_else():
    section = calculations.run(lambda _: None, quick=True)

    assert section.figures["right ones shown"] >= 0.95
    assert section.figures["wrong figures shown"] == 0
