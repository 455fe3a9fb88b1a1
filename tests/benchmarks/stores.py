"""The two stores side by side: what they find of the evaluation sets, and how long a retrieval takes.

The embedded store is SQLite with FTS5 and Chroma; the other one is a PostgreSQL with pgvector that this
starts by itself, on the same disk and the same cores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fakes.postgres import PostgresServer
from numpy.typing import NDArray

from benchmarks import DATA, Say
from benchmarks.estimates import Estimate
from benchmarks.evaluation_sets import LabelledQuestion, open_model, spot
from benchmarks.retrieval import SETS, SIDES, first_hits, opened, rank, share, sides
from benchmarks.store_times import STORES, Times, measure, ratios, table
from bots.testing.report import Cell, Section, Table
from core.conversation import value
from core.library.documents import Retrieved
from core.library.embedding.embedder import Embedder
from core.library.library import Library

SIZES, QUICK_SIZES = (10_000, 100_000), (500,)  # passages
ASKED, QUICK_ASKED = 200, 10
FIRST = 5  # passages that are compared
TIE = 0.005  # of a score, the best of which is 1: half precision moves one by as much
SAME = 0.95  # bar: of the questions with the same first passages

WHAT = (
    "Both stores hold the same passages and are asked the same questions, one after the other. Two results are the "
    f"same when their first {FIRST} passages are, in any order of equal scores."
)
LIMITS = (
    "The server runs beside the one who asks, with 64 MB of shared buffers: a network adds its round trip to each of "
    "up to 15 statements. The vectors of the large libraries are drawn in clusters, of 384 dimensions without a model."
)


@dataclass(frozen=True, slots=True)
class CachingEmbedder:
    """Embeds each text once for both stores."""

    network: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.network.name

    cosine_range = None

    @property
    def dimension(self) -> int:
        return self.network.dimension

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        if new:
            self.known.update(zip(new, self.network.embed_documents(new), strict=True))
        return np.stack([self.known[text] for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.network.embed_query(text)


@value
class Comparison:
    """One set, one side."""

    questions: int
    same: int  #: questions whose first passages are the same
    first: Mapping[str, Estimate]  #: by store: answered by the first passage
    among: Mapping[str, Estimate]  #: and among the first five


def run(
    say: Say,
    *,
    data: Path = DATA,
    model: str = "none",
    sets: str = ",".join(SETS),
    sizes: str = ",".join(map(str, SIZES)),
    quick: bool = False,
) -> Section:
    network = open_model(model, say)
    embedder = CachingEmbedder(network) if network else None
    with PostgresServer.started() as server:
        found = {
            name: _compare(server, name, embedder, data, say, quick=quick) for name in sets.split(",") if name
        }
        large = QUICK_SIZES if quick else tuple(int(size) for size in sizes.split(",") if size)
        asked = QUICK_ASKED if quick else ASKED
        times = {size: measure(server, size, asked, network, say) for size in large}
    return section(found, times)


def _compare(
    server: PostgresServer, name: str, embedder: Embedder | None, data: Path, say: Say, *, quick: bool
) -> dict[str, Comparison]:
    """By side."""
    with tempfile.TemporaryDirectory() as folder, server.database() as url, ExitStack() as stack:
        libraries, asked = {}, ()
        for store, address in zip(STORES, ("", url), strict=True):
            say(f"{SETS[name]}: {store}")
            place = Path(folder, store)
            libraries[store], asked = stack.enter_context(
                opened(name, place, embedder, data, quick=quick, url=address)
            )
        by_side = {store: sides(library) for store, library in libraries.items()}
        return {
            side: _compared({store: by_side[store][side] for store in STORES}, asked)
            for side in by_side[STORES[0]]
        }


def _compared(libraries: Mapping[str, Library], asked: Sequence[LabelledQuestion]) -> Comparison:
    same = 0
    placed: dict[str, list[int]] = {store: [] for store in libraries}
    for question in asked:
        hits = {store: first_hits(library, question) for store, library in libraries.items()}
        same += is_same(*hits.values())
        for store, some in hits.items():
            placed[store].append(rank(some, question))
    return Comparison(
        questions=len(asked),
        same=same,
        first={store: share(found, 1) for store, found in placed.items()},
        among={store: share(found, FIRST) for store, found in placed.items()},
    )


def is_same(one: Sequence[Retrieved], other: Sequence[Retrieved]) -> bool:
    """Whether the first passages are the same, ties aside: what only one has must score as the other's last."""
    if len(one[:FIRST]) != len(other[:FIRST]):
        return False
    return _covers(one, other) and _covers(other, one)


def _covers(one: Sequence[Retrieved], other: Sequence[Retrieved]) -> bool:
    theirs = {spot(hit.passage) for hit in other[:FIRST]}
    missed = [hit for hit in one[:FIRST] if spot(hit.passage) not in theirs]
    return all(abs(hit.score - other[:FIRST][-1].score) <= TIE for hit in missed)


def section(
    found: Mapping[str, Mapping[str, Comparison]], times: Mapping[int, Mapping[str, Times]]
) -> Section:
    compared = [(name, side, each) for name, by_side in found.items() for side, each in by_side.items()]
    shares = {f"{name}_{side}": each.same / max(each.questions, 1) for name, side, each in compared}
    return Section(
        name="stores",
        title="Two stores",
        what=WHAT,
        tables=(_quality(compared), table(times)),
        figures={
            **{f"same_{name}": round(figure, 4) for name, figure in shares.items()},
            **{f"ratio_{size}_{kind}": round(ratio, 2) for (size, kind), ratio in ratios(times).items()},
        },
        note=LIMITS,
    )


def _quality(compared: Sequence[tuple[str, str, Comparison]]) -> Table:
    columns = ("set", "by", "questions", f"same first {FIRST}", *(f"{s}: first" for s in STORES), *(f"{s}: among {FIRST}" for s in STORES))  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (
            SETS[name], SIDES[side], each.questions, str(Estimate.share(each.same, each.questions)),
            *(str(each.first[store]) for store in STORES), *(str(each.among[store]) for store in STORES),
        )
        for name, side, each in compared
    ]  # fmt: skip
    return Table(
        title="What is found", columns=columns, rows=tuple(rows), note=f"At least {SAME} are to be the same."
    )
