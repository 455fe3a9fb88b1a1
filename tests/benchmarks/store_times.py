"""What a retrieval takes in both stores at size. They are asked in turn, so that whatever else the machine does
falls on both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter

from fakes.postgres import PostgresServer

from benchmarks import Say
from benchmarks.evaluation_sets import EVERYTHING, fill, open_library
from benchmarks.search import recall
from benchmarks.synthetic import DrawnVectors, documents, questions
from bots.testing.report import Cell, Table, percentile
from core.conversation import value
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.retriever import Query

WARM = 20  # retrievals of each kind before those that count
RATIO = 2.0  # bar: of the medians, PostgreSQL's over the embedded store's
STORES = ("embedded", "PostgreSQL")
WORDS, VECTORS = "words", "words and vectors"
RECALLED = 50  # questions whose nearest vectors are also found by comparing all of them


@value
class Times:
    """One store of one size."""

    wall: Mapping[str, tuple[float, ...]]  #: milliseconds of each retrieval, by what it goes by
    recall: float  #: share of the nearest vectors that the index finds
    filled: float  #: seconds


def measure(
    server: PostgresServer, size: int, asked: int, network: Embedder | None, say: Say
) -> dict[str, Times]:
    """By store."""
    drawn = DrawnVectors(network)
    texts = list(islice(questions(size), WARM + asked))
    with server.database() as url, ExitStack() as opened:
        libraries, filled = {}, {}
        for store, address in zip(STORES, ("", url), strict=True):
            say(f"{size:,} passages: {store}")
            began = perf_counter()
            libraries[store] = opened.enter_context(_filled(size, drawn, address))
            filled[store] = perf_counter() - began
        say(f"{size:,} passages: {len(texts)} questions")
        wall = _ask_in_turn(libraries, texts)
        return {
            store: Times(
                wall={kind: tuple(times[WARM:]) for kind, times in wall[store].items()},
                recall=recall(library, EVERYTHING, texts[-RECALLED:]),
                filled=filled[store],
            )
            for store, library in libraries.items()
        }


def _ask_in_turn(libraries: Mapping[str, Library], texts: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by store and by what a retrieval goes by; the first to be asked is the other one each time."""
    wall: dict[str, dict[str, list[float]]] = {store: {WORDS: [], VECTORS: []} for store in libraries}
    embedders = {store: library.embedder for store, library in libraries.items()}
    for number, text in enumerate(texts):
        for kind in (WORDS, VECTORS):
            for store in sorted(libraries, reverse=bool(number % 2)):
                library = libraries[store]
                library.embedder = embedders[store] if kind == VECTORS else None
                began = perf_counter()
                library.retrieve(Query(text=text, scope=EVERYTHING))
                wall[store][kind].append(1000 * (perf_counter() - began))
    return wall


@contextmanager
def _filled(size: int, embedder: Embedder, url: str) -> Iterator[Library]:
    with tempfile.TemporaryDirectory() as folder:
        library = open_library(Path(folder), embedder, url=url)
        try:
            fill(library, documents(size))
            library.store.erase_deleted()  # as the server does by itself after a while
            yield library
        finally:
            library.close()


def ratios(times: Mapping[int, Mapping[str, Times]]) -> dict[tuple[int, str], float]:
    """PostgreSQL's median over the embedded store's, by size and by what a retrieval goes by."""
    embedded, server = STORES
    return {
        (size, kind): median(by_store[server].wall[kind]) / median(by_store[embedded].wall[kind])
        for size, by_store in times.items()
        for kind in (WORDS, VECTORS)
    }


def table(times: Mapping[int, Mapping[str, Times]]) -> Table:
    over = ratios(times)
    rows: list[tuple[Cell, ...]] = [
        (
            size, kind, store, median(each.wall[kind]), percentile(each.wall[kind], 0.95),
            over[size, kind] if store == STORES[1] else 1.0, each.recall if kind == VECTORS else "", each.filled,
        )
        for size, by_store in times.items()
        for kind in (WORDS, VECTORS)
        for store, each in by_store.items()
    ]  # fmt: skip
    return Table(
        title="A retrieval",
        columns=(
            "passages",
            "by",
            "store",
            "median, ms",
            "p95, ms",
            "ratio of medians",
            "recall",
            "filled in, s",
        ),
        rows=tuple(rows),
        note=f"The ratio is to be at most {RATIO}. Each question goes to both stores, one right after the other.",
    )
