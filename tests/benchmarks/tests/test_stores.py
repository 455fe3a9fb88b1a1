"""The measuring of both stores at size."""

from __future__ import annotations

import pytest
from benchmarks.store_times import STORES, VECTORS, WORDS, measure, ratios, table


@pytest.fixture(scope="module")
def times(postgres):
    return {150: measure(postgres, 150, 3, None, print)}


def test_each_store_is_asked_every_question_by_words_and_with_vectors(times):
    for store in STORES:
        assert {kind: len(wall) for kind, wall in times[150][store].wall.items()} == {WORDS: 3, VECTORS: 3}
        assert times[150][store].recall > 0.95


def test_a_row_for_each_store_and_kind_has_the_ratio_of_the_medians(times):
    rows = table(times).rows

    assert [row[1:3] for row in rows] == [(kind, store) for kind in (WORDS, VECTORS) for store in STORES]
    assert [row[5] for row in rows] == [1.0, ratios(times)[150, WORDS], 1.0, ratios(times)[150, VECTORS]]
    assert all(0 < row[3] <= row[4] for row in rows)
