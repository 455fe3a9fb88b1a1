"""What a retrieval takes in large libraries, and how many of the nearest passages it finds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks import Say
from benchmarks.evaluation_sets import add_paragraphs, open_library, open_model
from benchmarks.synthetic import DrawnVectors, documents, questions
from bots.testing.report import Cell, Section, Table, percentile
from core.conversation import value
from core.library.documents import Scope, embedded_text
from core.library.library import Library
from core.library.retriever import CANDIDATES, Query

BARS = {100_000: 15.0, 1_000_000: 60.0}  # passages, and the milliseconds of half the retrievals
QUICK_BARS = {1_000: 15.0}
RECALL = 0.95  # of the nearest passages, at least
ASKED, QUICK_ASKED = 200, 10
WARM = 20  # retrievals before those that count: files, graphs and stems
BLOCK = 10_000  # passages compared at once

#: Collections, and how many of ten documents each holds.
SHARES: Mapping[str, int] = {"handbook": 5, "projects": 3, "archive": 2}
SCOPES: Mapping[str, Scope] = {
    "the whole library": Scope(collections=frozenset(SHARES)),
    "one collection, 30%": Scope(collections=frozenset({"projects"})),
}


@value
class SearchTimes:
    """Retrievals of one scope."""

    wall: tuple[float, ...]  #: milliseconds of each
    cpu: tuple[float, ...]  #: milliseconds of this process, every thread
    recall: float  #: share of the nearest that the vector index finds; NaN without vectors


def run(say: Say, *, model: str = "none", quick: bool = False) -> Section:
    bars, count = (QUICK_BARS, QUICK_ASKED) if quick else (BARS, ASKED)
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {}
    for size, bar in bars.items():
        with _library(size, model, say) as library:
            for name, scope in SCOPES.items():
                found = _search(library, scope, list(islice(questions(size), WARM + count)))
                middle, p95 = median(found.wall), percentile(found.wall, 0.95)
                rows.append((size, name, middle, p95, median(found.cpu), found.recall, bar))
                figures |= {
                    f"p50 ms, {size} passages, {name}": middle,
                    f"recall, {size} passages, {name}": found.recall,
                }
                say(f"{middle:.1f} ms in {name}, {size:,} passages")
    return Section(
        name="search",
        title="A search in a large library",
        what=(
            f"{count} retrievals one after the other over synthetic passages in {len(SHARES)} collections, after {WARM} "
            "others; each embeds its question. The vectors are drawn in clusters; recall is the share of the "
            f"{CANDIDATES} nearest, found by comparing with all, that the vector index finds too."
        ),
        tables=(
            Table(
                title="Retrieval",
                columns=("passages", "in", "median, ms", "p95, ms", "median CPU, ms", "recall", "bar, ms"),
                rows=tuple(rows),
                note=f"The bar is for the median; recall is to be at least {RECALL}.",
            ),
        ),
        figures=figures,
        note="Most of the time goes to the terms and vectors of the 120 candidates and to the network that embeds the question.",
    )


@contextmanager
def _library(size: int, model: str, say: Say) -> Iterator[Library]:
    """Filled as every document is added."""
    network = open_model(model, say)
    with tempfile.TemporaryDirectory() as scratch:
        library = open_library(Path(scratch), DrawnVectors(network) if network else None)
        try:
            say(f"a library of {size:,} passages")
            for number, (source, title, texts) in enumerate(documents(size)):
                add_paragraphs(library, source, title, texts, collection=_collection(number))
            library.embed_pending(notify=lambda _phase, done, of: _say_tenths(say, done, of))
            yield library
        finally:
            library.close()


def _collection(document: int) -> str:
    by_tenth = [name for name, tenths in SHARES.items() for _ in range(tenths)]
    return by_tenth[document % len(by_tenth)]


def _say_tenths(say: Say, done: int, of: int) -> None:
    """A sentence for each tenth of the vectors of a library that takes long."""
    if of >= 10_000 and 10 * done // of > 10 * (done - 128) // of:
        say(f"{done:,} of {of:,} vectors")


def _search(library: Library, scope: Scope, asked: Sequence[str]) -> SearchTimes:
    wall, cpu = [], []
    for question in asked:
        began, began_cpu = perf_counter(), process_time()
        library.retrieve(Query(text=question, scope=scope))
        wall.append(1000 * (perf_counter() - began))
        cpu.append(1000 * (process_time() - began_cpu))
    return SearchTimes(
        wall=tuple(wall[WARM:]), cpu=tuple(cpu[WARM:]), recall=recall(library, scope, asked[WARM:])
    )


def recall(library: Library, scope: Scope, asked: Sequence[str]) -> float:
    """The share of the nearest vectors that the index finds; NaN without vectors."""
    if library.embedder is None:
        return float("nan")
    queries = library.embedder.embed_documents(asked)
    collections = sorted(scope.collections)
    shares = []
    for query, nearest in zip(queries, _nearest(library, scope, queries), strict=True):
        found = library.vectors.search(query, collections=collections, limit=CANDIDATES)
        shares.append(len(nearest & {passage for passage, _ in found}) / len(nearest))
    return float(np.mean(shares))


def _nearest(library: Library, scope: Scope, queries: NDArray[np.float32]) -> list[set[str]]:
    """The passages whose vectors are nearest to each query, every one compared."""
    best: list[dict[str, float]] = [{} for _ in queries]
    for ids, vectors in _vectors(library, scope):
        cosines = queries @ vectors.T
        leading = np.argsort(-cosines, axis=1)[:, :CANDIDATES]
        for row, columns in enumerate(leading):
            merged = best[row] | {ids[column]: float(cosines[row, column]) for column in columns}
            best[row] = dict(sorted(merged.items(), key=lambda hit: -hit[1])[:CANDIDATES])
    return [set(found) for found in best]


def _vectors(library: Library, scope: Scope) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Ids and vectors of all passages of a scope, made once more: they are the same for the same text."""
    assert library.embedder is not None
    for ids in library.store.ids(scope, limit=library.store.count_passages(scope)).values():
        for start in range(0, len(ids), BLOCK):
            passages = library.store.passages(ids[start : start + BLOCK], scope)
            texts = [embedded_text(passage) for passage in passages.values()]
            yield list(passages), library.embedder.embed_documents(texts)
