"""How well questions are grouped into the subjects that they are about, as gaps are."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import DATA, EVALUATION, Say, evaluation_sets, rewordings
from benchmarks.evaluation_sets import add_paragraphs, lines, open_library, open_model
from bots.testing.report import Cell, Section, Table
from core.conversation import value
from core.gaps.clusters import (
    BY_MEANING,
    BY_WORDS,
    Cuts,
    alike,
    by_meaning,
    by_words,
    clusters,
    with_documents,
)
from core.gaps.questions import NEAR
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.retriever import Query
from core.text.language import language_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUICK = 150  # questions of each set in a quick run
OF_EACH = 15  # questions of an article in the mixed set
ROUNDS, STARTS = 30, 5  # of k-means
FILES = "fastapi_docs"
LOOKED_AT = 14  # passages, so that some are left without those that answer

SETS: Mapping[str, str] = {
    "canard": "CANARD, stand-alone questions by the subject of their conversation",
    "squad": "SQuAD 2, by article",
    "mixed": "CANARD, FastAPI and 15 questions of each article of SQuAD 2",
    "fastapi": "FastAPI, by the first file that answers",
}
#: The index that each side must reach where subjects are what the labels say, on the half that nothing was tuned on.
BARS: Mapping[str, float] = {"words": 0.4, "vectors": 0.6}
BARRED = ("canard", "mixed")

WHAT = (
    "The questions of each set are grouped without their labels, as the gaps of a team are; the adjusted Rand index "
    "says how well the groups agree with the labels: 1 is the same groups, 0 what chance gives."
)
NOTE = (
    "Of each set, every second label was for tuning the two numbers of core/gaps/clusters.py, and the others are "
    "shown; the index of the tuned half is in the figures. k-means is told the true number of groups and has the "
    "best of five starts. “each alone” puts every question into a group of its own."
)
LIMITS = (
    "What answers a question is left out of what it finds, but the library was sure with it there, which a true gap "
    "lacks; and an article of SQuAD 2 is a document here, so that its label is nearly told. "
    "The method itself was chosen with the whole sets in view. An article of SQuAD 2 is as broad as a handbook, and "
    "its questions often share no word: words alone find its sections instead. Two questions about FastAPI that the "
    "same file answers need not be about the same thing, and 116 files answer 236 questions."
)

Labelled = Sequence[tuple[str, str]]  # question and label


@value
class Grouped:
    """The index of one side of one half of a set."""

    alone: float  #: by the questions alone
    ours: float  #: by what they find too
    k_means: float  #: of the questions alone


@value
class Finding:
    """What a question finds in a team's documents, but for what answers it."""

    near: Mapping[str, float]  #: how well each document fits
    confidence: float


def run(
    say: Say, *, data: Path = DATA, model: str = "none", sets: str = ",".join(SETS), quick: bool = False
) -> Section:
    embedder = open_model(model, say)
    sides = ("words", "vectors") if embedder else ("words",)
    names = sets.split(",")
    found_by = {} if quick else findings(data, names, say)
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {}
    for name in names:
        title = SETS[name]
        tuned, shown = halves(READERS[name](data))
        say(f"{title}: {len(tuned)} and {len(shown)} questions")
        found = {}
        for side in sides:
            network = embedder if side == "vectors" else None
            found[side] = measure(shown[:QUICK] if quick else shown, network, found_by)
            figures |= _figures(f"{name}_{side}", found[side])
            if not quick:
                looked_at = measure(tuned, network, found_by, with_k_means=False)
                figures |= _figures(f"{name}_{side}_tuned", looked_at)
        labels = len({label for _, label in shown})
        cells = (
            cell
            for side in sides
            for cell in (found[side].alone, _cell(name, side, found[side]), found[side].k_means)
        )
        rows.append((title, len(shown), labels, 0.0, *cells))
    columns = ("set", "questions", "labels", "each alone")
    columns += tuple(
        column
        for side in sides
        for column in (f"{side}", f"{side} and documents", f"k-means, {side}")
    )  # fmt: skip
    return Section(
        name="gaps",
        title="Gaps grouped",
        what=WHAT,
        tables=(Table(title="Adjusted Rand index", columns=columns, rows=tuple(rows), note=NOTE),),
        figures=figures,
        note=LIMITS,
    )


def _figures(name: str, found: Grouped) -> dict[str, float]:
    """Without k-means where it was left out."""
    known = {name: found.ours, f"{name}_alone": found.alone, f"{name}_k_means": found.k_means}
    return {key: round(index, 4) for key, index in known.items() if not math.isnan(index)}


def _cell(name: str, side: str, found: Grouped) -> Cell:
    if name not in BARRED:
        return found.ours
    bar = BARS[side]
    return f"{found.ours:.3f}, bar {bar:.1f} {'reached' if found.ours >= bar else 'missed'}"


def measure(
    asked: Labelled,
    embedder: Embedder | None,
    found_by: Mapping[str, Finding],
    *,
    with_k_means: bool = True,
) -> Grouped:
    """By the vectors of a network, or by words alone. ``found_by``: by question; empty: the questions alone."""
    texts, labels = [text for text, _ in asked], [label for _, label in asked]
    rows, cuts = rows_of(texts, embedder)
    index = adjusted_rand(k_means(rows, len(set(labels))), labels) if with_k_means else float("nan")
    alone = ours = adjusted_rand(clusters(alike(rows), cuts), labels)
    if found_by:
        found = [found_by[text] for text in texts]
        both = with_documents(rows, [each.near for each in found], [each.confidence for each in found])
        ours = adjusted_rand(clusters(alike(both), cuts), labels)
    return Grouped(alone=alone, ours=ours, k_means=index)


def findings(data: Path, names: Iterable[str], say: Say) -> dict[str, Finding]:
    """What the questions of these sets find by words. Each article of SQuAD 2 is a document, as are the files of FastAPI."""
    gold = {each.question.strip(): each.gold for each in evaluation_sets.squad(data).questions}
    files = {each.text: each.sources for each in rewordings.documented(data).values()}
    texts = dict.fromkeys(text for name in names for text, _ in READERS[name](data))
    with tempfile.TemporaryDirectory() as folder, closing(open_library(Path(folder), None)) as library:
        for source, title, paragraphs in evaluation_sets.squad(data).documents:
            add_paragraphs(library, source, title, paragraphs)
        library.ingest([data / FILES])
        say(f"{len(texts):,} questions look for their closest documents")
        return {
            text: _finding(
                library, text, {place for place, _ in gold.get(text.strip(), ())}, files.get(text, ())
            )
            for text in texts
        }


def _finding(library: Library, text: str, paragraphs: Collection[str], files: Iterable[str]) -> Finding:
    """Without the paragraphs and files that answer: a gap has none."""
    answering = {*paragraphs, *(f"{FILES}/{file}" for file in files)}
    found = library.retrieve(Query(text=text, scope=evaluation_sets.EVERYTHING, limit=LOOKED_AT))
    hits = [hit for hit in found.passages if hit.passage.source not in answering][:NEAR]
    near: dict[str, float] = {}
    for hit in hits:  # a paragraph of SQuAD 2 lies in the folder of its article, which is the document
        source = hit.passage.source
        document = evaluation_sets.folder(source) if source.startswith("/squad/") else source
        near.setdefault(document, hit.score)
    return Finding(near=near, confidence=found.confidence)


def rows_of(texts: Sequence[str], embedder: Embedder | None) -> tuple[NDArray[np.float32], Cuts]:
    if embedder is not None:
        return by_meaning(texts, embedder, {}), BY_MEANING
    return by_words(texts, [language_of(text) for text in texts]), BY_WORDS


def adjusted_rand(found: Sequence[object] | NDArray[np.int64], labels: Sequence[object]) -> float:
    """Agreement of two groupings (Hubert and Arabie 1985): 1 for the same, 0 on average for chance."""
    _, one = np.unique(np.asarray(found), return_inverse=True)
    _, other = np.unique(np.asarray(labels), return_inverse=True)
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    both, ones, others = (_pairs(each) for each in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = ones * others / _pairs(np.array([len(one)]))
    most = (ones + others) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def _pairs(counts: NDArray[np.float64]) -> float:
    return float((counts * (counts - 1) / 2).sum())


def k_means(rows: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Spherical k-means, which begins with k-means++; the best of several starts."""
    tries = (_k_means_from(rows, count, np.random.default_rng(seed)) for seed in range(STARTS))
    return max(tries, key=lambda found: found[0])[1]


def _k_means_from(
    rows: NDArray[np.float32], count: int, dice: np.random.Generator
) -> tuple[float, NDArray[np.int64]]:
    """How alike the rows are to their centres, and the number of each one's."""
    chosen = [int(dice.integers(len(rows)))]
    while len(chosen) < count:
        far = np.clip(1 - (rows @ rows[chosen].T).max(axis=1), 1e-9, None)
        chosen.append(int(dice.choice(len(rows), p=far / far.sum())))
    centres = rows[chosen]
    nearest = np.zeros(len(rows), dtype=np.int64)
    for _ in range(ROUNDS):
        nearest = np.argmax(rows @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, rows)
        centres = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return float((rows @ centres.T).max(axis=1).sum()), nearest


# Sets


def halves(asked: Labelled) -> tuple[Labelled, Labelled]:
    """Every second label for tuning, the others to be judged by."""
    order = {label: place for place, label in enumerate(sorted({label for _, label in asked}))}
    first, second = ([pair for pair in asked if order[pair[1]] % 2 == half] for half in (0, 1))
    return first, second


def canard(data: Path) -> Labelled:
    """A conversation begins with the name of its subject."""
    return [(asked["Rewrite"], asked["History"][0]) for asked in lines(data / "canard/dev.jsonl")]


def squad(data: Path) -> Labelled:
    return [(asked["question"], asked["article"]) for asked in lines(data / "squad2/questions.jsonl")]


def fastapi(_data: Path) -> Labelled:
    """The questions of this repository that the FastAPI documentation answers."""
    files = (
        EVALUATION / f"fastapi_{name}.jsonl" for name in ("everyday", "heldout", "questions", "training")
    )
    asked = (
        json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines() if line
    )
    return [(each["question"], each["sources"][0]) for each in asked if each["answerable"]]


def mixed(data: Path) -> Labelled:
    """Narrow subjects and broad ones."""
    by_article: dict[str, list[tuple[str, str]]] = {}
    for pair in squad(data):
        by_article.setdefault(pair[1], []).append(pair)
    spread = [
        pair for pairs in by_article.values() for pair in pairs[:: max(1, len(pairs) // OF_EACH)][:OF_EACH]
    ]
    return [*canard(data), *spread, *fastapi(data)]


READERS: Mapping[str, Callable[[Path], Labelled]] = {
    "canard": canard,
    "squad": squad,
    "mixed": mixed,
    "fastapi": fastapi,
}
