"""The measuring of sets of readers: the same passages are found in all of them as in one collection."""

from __future__ import annotations

from benchmarks import reader_sets


def test_sets_find_what_one_collection_finds_in_a_few_statements_more():
    times = reader_sets._measure((12,), (300, 10), "", lambda: 0.0, print)

    assert {number: each.same for number, each in times.items()} == {0: 20, 12: 20}
    assert times[12].statements <= times[0].statements + 3
