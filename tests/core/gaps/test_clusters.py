"""Groups of texts that are alike: how they are merged, where the merging ends, and that nothing in it is by chance."""

from __future__ import annotations

import numpy as np
import pytest

from core.gaps.clusters import (
    BY_MEANING,
    BY_WORDS,
    FEW,
    FOUND_SHARE,
    alike,
    average_linkage,
    by_meaning,
    by_words,
    clusters,
    groups_at,
    silhouette,
    with_documents,
)


def around(centres, each, *, spread, seed=1):
    """Rows of length one, so many around each of these centres."""
    dice = np.random.default_rng(seed)
    rows = np.repeat(dice.standard_normal((centres, 40)), each, axis=0)
    rows = (rows + spread * dice.standard_normal(rows.shape)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def naive_groups(likeness, cut):
    """Average linkage as it is defined: the two groups that are most alike on average become one."""
    groups = [[at] for at in range(len(likeness))]
    while len(groups) > 1:
        pairs = [
            (likeness[np.ix_(one, other)].mean(), i, j)
            for i, one in enumerate(groups)
            for j, other in enumerate(groups)
            if i < j
        ]
        best, i, j = max(pairs)
        if best < cut:
            break
        groups[i] += groups.pop(j)
    return {frozenset(group) for group in groups}


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cut", [-0.2, 0.1, 0.3, 0.6])
def test_chains_of_neighbours_find_what_the_definition_does(seed, cut):
    likeness = alike(around(5, 6, spread=0.9, seed=seed))

    found = groups_at(average_linkage(likeness), len(likeness), cut)

    assert as_sets(found) == naive_groups(likeness, cut)


@pytest.mark.parametrize(("centres", "each"), [(4, 40), (30, 8)])
def test_few_broad_subjects_are_found_as_well_as_many_narrow_ones(centres, each):
    rows = around(centres, each, spread=0.5)

    found = clusters(alike(rows), BY_MEANING)

    assert found.tolist() == np.repeat(np.arange(centres), each).tolist()


def test_few_texts_are_cut_at_the_usual_place():
    rows = around(3, 4, spread=0.3)

    found = clusters(alike(rows), BY_MEANING)

    assert len(rows) < FEW
    assert found.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_the_order_of_the_texts_changes_no_group():
    rows = around(12, 10, spread=0.6)
    shuffled = np.random.default_rng(7).permutation(len(rows))

    there, here = clusters(alike(rows), BY_MEANING), clusters(alike(rows[shuffled]), BY_MEANING)

    assert as_sets(there) == {frozenset(shuffled[list(group)].tolist()) for group in as_sets(here)}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_texts_need_no_merging(count):
    found = clusters(alike(np.eye(max(count, 1), dtype=np.float32)[:count]), BY_MEANING)

    assert found.tolist() == list(range(count))


def test_the_silhouette_counts_no_small_groups():
    likeness = alike(around(2, 3, spread=0.1))
    pairs = np.array([0, 0, 0, 1, 1, 1])

    assert silhouette(likeness, pairs, counted=3) > 0.5
    assert silhouette(likeness, pairs, counted=4) == 0.0


def test_words_group_questions_whose_rare_words_are_the_same():
    texts = [
        "How do I renew my parking permit?", "Where can parking permits be renewed?", "What does a parking permit cost?",
        "Which printer is on the second floor?", "The printers on the second floor are jammed", "Who refills the printer?",
    ]  # fmt: skip

    found = clusters(alike(by_words(texts, ["en"] * len(texts))), BY_WORDS)

    assert found.tolist() == [0, 0, 0, 1, 1, 1]


def test_questions_that_share_no_word_stay_apart():
    texts = ["How long is the notice period?", "Wer bestellt neue Laptops?", "Où est la cantine ?"]

    found = clusters(alike(by_words(texts, ["en", "de", "fr"])), BY_WORDS)

    assert found.tolist() == [0, 1, 2]


def test_vectors_are_made_once_for_a_text_and_kept_for_these_texts_only():
    class CountingEmbedder:
        def __init__(self):
            self.asked = []

        def embed_documents(self, texts):
            self.asked += texts
            return around(len(texts), 1, spread=0)

    embedder, known = CountingEmbedder(), {}

    by_meaning(["one", "two", "one"], embedder, known)
    rows = by_meaning(["two", "three"], embedder, known)

    assert embedder.asked == ["one", "two", "three"]
    assert sorted(known) == ["three", "two"]
    assert np.array_equal(rows[0], known["two"])


def test_questions_that_find_the_same_documents_are_more_alike_as_far_as_the_library_is_sure_of_them():
    apart = np.eye(3, dtype=np.float32)
    near = [{"fees.md": 1.0}, {"fees.md": 0.9, "pier.md": 0.1}, {"crane.md": 1.0}]

    sure, unsure, unknown = (
        alike(with_documents(apart, found, [certain] * 3))
        for found, certain in ((near, 1.0), (near, 0.3), ([{}, {}, {}], 1.0))
    )

    assert sure[0, 1] == pytest.approx(FOUND_SHARE, abs=0.02)
    assert 0 < unsure[0, 1] < 0.1 * sure[0, 1]
    assert sure[0, 2] == unknown[0, 1] == 0
