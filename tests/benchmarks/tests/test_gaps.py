"""The measuring of gaps: an index that can be counted by hand, and halves that share no label."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import gaps


@pytest.mark.parametrize(
    ("found", "labels", "index"),
    [
        ([0, 0, 1, 1], ["a", "a", "b", "b"], 1.0),
        ([1, 1, 0, 0], ["a", "a", "b", "b"], 1.0),
        ([0, 1, 2, 3], ["a", "a", "b", "b"], 0.0),
        ([0, 0, 0, 0], ["a", "a", "b", "b"], 0.0),
        ([0, 0, 1, 2], ["a", "a", "b", "b"], (1 - 2 / 6) / (1.5 - 2 / 6)),
        ([0, 1, 0, 1], ["a", "a", "b", "b"], (0 - 4 / 6) / (2 - 4 / 6)),
    ],
)
def test_the_index_counts_pairs_less_those_of_chance(found, labels, index):
    assert gaps.adjusted_rand(found, labels) == pytest.approx(index)


def test_k_means_finds_what_lies_apart():
    rows = np.repeat(np.eye(4, dtype=np.float32), 5, axis=0)

    assert gaps.adjusted_rand(gaps.k_means(rows, 4), np.repeat(range(4), 5)) == 1.0


def test_what_is_judged_by_has_no_label_that_was_tuned_on():
    tuned, shown = gaps.halves([(f"question {n}", f"label {n % 5}") for n in range(20)])

    assert len(tuned) + len(shown) == 20
    assert not {label for _, label in tuned} & {label for _, label in shown}


def test_a_quick_run_measures_every_set(shared_data):
    section = gaps.run(print, data=shared_data, quick=True)

    assert [row[0] for row in section.tables[0].rows] == list(gaps.SETS.values())
    assert section.figures["canard_words"] > gaps.BARS["words"]
