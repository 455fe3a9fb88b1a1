"""The measuring of searches: its library, its times, and a recall that falls where the index misses passages."""

from __future__ import annotations

import pytest
from benchmarks import search
from benchmarks.synthetic import questions
from fakes.tiny_network import write_tiny_network


@pytest.fixture
def network(tmp_path):
    return str(write_tiny_network(tmp_path / "tiny"))


def test_a_recall_is_the_share_of_the_nearest_that_the_index_finds(network):
    asked = list(questions(400))[:5]
    everything = search.SCOPES["the whole library"]

    with search._library(400, network, print) as library:
        whole = search.recall(library, everything, asked)
        ids = library.store.ids(everything, limit=1_000)
        assert {name: len(held) for name, held in ids.items()} == {
            "handbook": 250,
            "projects": 150,
        }
        library.vectors.remove("handbook", ids["handbook"])
        partial = search.recall(library, everything, asked)

    assert whole == 1.0
    assert 0.1 < partial < 0.8


def test_the_quick_form_measures_every_scope_with_and_without_vectors(network):
    with_vectors = search.run(print, model=network, quick=True)
    by_words = search.run(print, quick=True)

    for section, is_measured in ((with_vectors, True), (by_words, False)):
        (table,) = section.tables
        assert [row[1] for row in table.rows] == list(search.SCOPES)
        for _, _, middle, p95, cpu, recall, _ in table.rows:
            assert 0 < middle <= p95
            assert cpu > 0
            assert (recall == pytest.approx(1.0)) is is_measured
