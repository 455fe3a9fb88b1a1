"""Groups of texts that mean much the same, from the likeness of each two by meaning or words.

Agglomerative clustering with average linkage: the two groups whose members are most alike on average become
one, again and again. How far that goes is chosen by the mean silhouette (Rousseeuw 1987), in which only groups
of a few members count: pairs of near-identical questions would otherwise win over subjects. So a few broad
subjects are found as well as many narrow ones. `python -m benchmarks gaps` measures it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from core.conversation import value
from core.library.embedding.embedder import Embedder
from core.text.terms import query_terms

FEW = 100  # texts; with fewer there is too little to choose a cut by
COUNTED = 3  # members that a group needs to count when a cut is chosen

Merge = tuple[int, int, float]  # two groups, each named by one of its members, and their mean likeness


@value
class Cuts:
    """Thresholds: how alike two groups must be to become one."""

    usual: float  #: among few texts
    choice: tuple[float, ...]  #: one of these among more


#: Of cosines between the vectors of a network.
BY_MEANING = Cuts(usual=0.46, choice=tuple(round(0.10 + 0.04 * step, 2) for step in range(14)))
#: Of cosines between weighted words, which are far smaller, with those of documents.
BY_WORDS = Cuts(
    usual=0.14,
    choice=(0.006, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.24, 0.28, 0.32),
)  # fmt: skip


def clusters(likeness: NDArray[np.float32], cuts: Cuts) -> NDArray[np.int64]:
    """The group of each text, numbered by first members. ``likeness``: symmetric, 1 on its diagonal."""
    merges = average_linkage(likeness)
    if len(likeness) < FEW:
        return groups_at(merges, len(likeness), cuts.usual)
    found = [groups_at(merges, len(likeness), cut) for cut in cuts.choice]
    worth = [silhouette(likeness, each, counted=COUNTED) for each in found]
    return found[int(np.argmax(worth))]


def average_linkage(likeness: NDArray[np.float32]) -> list[Merge]:
    """The merges to one group, by chains of nearest neighbours (Murtagh 1983); 5,000 texts take 100 MB."""
    mean = np.array(likeness, dtype=np.float32)
    np.fill_diagonal(mean, -np.inf)
    size = np.ones(len(mean), dtype=np.float32)
    alive = np.ones(len(mean), dtype=bool)
    merges: list[Merge] = []
    chain: list[int] = []
    while len(merges) < len(mean) - 1:
        if not chain:
            chain.append(int(np.argmax(alive)))
        one, other = _mutual_neighbours(mean, chain)
        merges.append((one, other, float(mean[one, other])))
        row = (size[one] * mean[one] + size[other] * mean[other]) / (size[one] + size[other])
        row[other] = -np.inf
        mean[other], mean[:, other] = row, row
        mean[one], mean[:, one] = -np.inf, -np.inf
        size[other] += size[one]
        alive[one] = False
    return merges


def _mutual_neighbours(mean: NDArray[np.float32], chain: list[int]) -> tuple[int, int]:
    """Follow nearest neighbours from the end of the chain until two are each other's; take them off it."""
    while True:
        last = chain[-1]
        nearest = int(np.argmax(mean[last]))
        if len(chain) > 1 and mean[last, chain[-2]] >= mean[last, nearest]:
            chain.pop()
            return last, chain.pop()
        chain.append(nearest)


def groups_at(merges: list[Merge], count: int, cut: float) -> NDArray[np.int64]:
    """The groups after all merges of groups that are at least so alike."""
    parent = list(range(count))

    def root(member: int) -> int:
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    for one, other, alike in merges:
        if alike >= cut:
            parent[root(one)] = root(other)
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(root(member), len(numbers)) for member in range(count)])


def silhouette(likeness: NDArray[np.float32], groups: NDArray[np.int64], *, counted: int) -> float:
    """The silhouette of a clustering, -1 to 1; of ``counted`` at least. It says how much closer texts are to
    their own group than to the next."""
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        return 0.0
    order = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    to_groups = np.add.reduceat(likeness[:, order], starts, axis=1)
    everyone = np.arange(len(groups))
    own_size = sizes[groups]
    own = (to_groups[everyone, groups] - 1) / np.maximum(own_size - 1, 1)
    to_groups /= sizes
    to_groups[everyone, groups] = -np.inf
    next_best = to_groups.max(axis=1)
    farther = np.maximum(1 - np.minimum(own, next_best), 1e-9)
    return float(np.where(own_size >= counted, (own - next_best) / farther, 0.0).mean())


#: Of two questions' likeness, the part of the documents that both found, where the library is sure of what it found.
#: Where it is not, the documents say nothing about a question: those that are nearest to it are near by chance.
FOUND_SHARE = 0.3


def by_words(texts: Sequence[str], languages: Sequence[str]) -> NDArray[np.float32]:
    """A unit row for each text: TF-IDF of its terms, a column for each that two texts share."""
    held = [query_terms(text, language) for text, language in zip(texts, languages, strict=True)]
    return _weigh([dict.fromkeys(terms, 1.0) for terms in held])


def with_documents(
    rows: NDArray[np.float32], near: Sequence[Mapping[str, float]], confidence: Sequence[float]
) -> NDArray[np.float32]:
    """The rows with a second part: the documents that each question found, weighted by how few questions find
    them. ``near``: how well each fits, ``confidence``: how sure the library is of that, both 0 to 1."""
    share = FOUND_SHARE * np.square(np.array(confidence, dtype=np.float32))[:, None]
    return np.concatenate([np.sqrt(1 - share) * rows, np.sqrt(share) * _weigh(near)], axis=1)


def _weigh(held: Sequence[Mapping[str, float]]) -> NDArray[np.float32]:
    """A row of length one for each text. It has a column for what two of them hold; the rest counts in the
    length alone."""
    counts = Counter(each for some in held for each in some)
    columns = {each: at for at, each in enumerate(each for each, count in counts.items() if count > 1)}
    rows = np.zeros((len(held), max(len(columns), 1)), dtype=np.float32)
    for row, some in zip(rows, held, strict=True):
        weights = {each: much * log(1 + len(held) / counts[each]) for each, much in some.items()}
        length = sum(weight**2 for weight in weights.values()) ** 0.5 or 1.0
        for each, weight in weights.items():
            if each in columns:
                row[columns[each]] = weight / length
    return rows


def by_meaning(
    texts: Sequence[str], embedder: Embedder, known: dict[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """A unit vector for each text; ``known``, from before, ends with these. ModelTrouble, SettingsError."""
    distinct = list(dict.fromkeys(texts))
    new = [text for text in distinct if text not in known]
    if new:
        known.update(zip(new, embedder.embed_documents(new), strict=True))
    vectors = {text: known[text] for text in distinct}
    known.clear()
    known.update(vectors)
    return np.stack([vectors[text] for text in texts])


def alike(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each two rows of length one; 1 on the diagonal."""
    matrix: NDArray[np.float32] = rows @ rows.T
    np.fill_diagonal(matrix, 1.0)
    return matrix
