"""What a search by words costs somebody who may read many sets of readers of a source, over one collection.

The same passages are in one collection and in many sets beside one; one set in four more is closed. Each question
goes to all of these in turn, so that whatever else the machine does falls on all. Of PostgreSQL, its own processor
time counts too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time

from fakes.postgres import PostgresServer

from benchmarks import Say
from benchmarks.evaluation_sets import add_paragraphs, open_library
from benchmarks.shared_store import cpu_of_server
from benchmarks.store_times import STORES
from benchmarks.synthetic import passage, questions
from bots.testing.report import Cell, Section, Table
from core.conversation import value
from core.library.documents import Scope
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.readers import collection_for
from core.library.retriever import Query
from core.storage.database import Row

BAR = 1.5  # of the processor time in one collection
BLOCK = 10  # questions one after the other
WARM = BLOCK  # questions before those that count
PER_DOCUMENT = 10  # passages
CLOSED = 4  # one set in so many is not readable


@value
class SetTimes:
    """Searches of one scope."""

    cpu: float  #: milliseconds of each search, of this process and of the server
    statements: float  #: of each
    same: int  #: questions with the same first passages as in one collection


@dataclass(slots=True)
class CountedRows:
    """The queries of a database, counted."""

    rows: Callable[..., list[Row]]
    count: int = 0

    def __call__(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        self.count += 1
        return self.rows(query, values)


def run(
    say: Say, *, counts: str = "100,300", size: int = 3_000, asked: int = 100, quick: bool = False
) -> Section:
    if quick:
        counts, size, asked = "12", 300, 10
    sets = tuple(map(int, counts.split(",")))
    with PostgresServer.started() as server, server.database() as url:
        found = {
            store: _measure(sets, (size, asked), address, server_cpu, say)
            for store, address, server_cpu in zip(
                STORES, ("", url), (lambda: 0.0, lambda: cpu_of_server(server)), strict=True
            )
        }
    return section(found, size, asked)


def _measure(
    sets: tuple[int, ...], sizes: tuple[int, int], url: str, server_cpu: Callable[[], float], say: Say
) -> dict[int, SetTimes]:
    """By the number of sets; 0: one collection. ``sizes``: passages, and questions."""
    size, count = sizes
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_library(Path(folder), None, url=url)) as library,
    ):
        scopes = {}
        for number in (0, *sets):
            say(
                f"{size:,} passages in {number or 'one collection, no'} sets: {'PostgreSQL' if url else 'SQLite'}"
            )
            scopes[number] = _fill(library, number, size)
        library.store.erase_deleted()
        return _ask(library, scopes, list(islice(questions(size), WARM + count)), server_cpu)


def _fill(library: Library, sets: int, size: int) -> Scope:
    """What may be read of it."""
    base = f"{DEFAULT_COLLECTION}{sets}"
    readable = [collection_for(base, {f"p{number}@a.example"}) for number in range(sets)] or [base]
    closed = [collection_for(base, {f"p{number}@b.example"}) for number in range(sets // CLOSED)]
    with library.store.transaction():
        for number, first in enumerate(range(0, size, PER_DOCUMENT)):
            texts = [passage(each) for each in range(first, first + PER_DOCUMENT)]
            name = readable[number * 7919 % len(readable)]
            add_paragraphs(library, f"/{base}/{first}", f"Part {number}", texts, collection=name)
            if closed and number % CLOSED == 0:
                hidden = closed[number % len(closed)]
                add_paragraphs(library, f"/{base}/closed/{first}", f"Part {number}", texts, collection=hidden)
    return Scope(collections=frozenset({base, *readable}))


def _ask(
    library: Library, scopes: dict[int, Scope], texts: list[str], server_cpu: Callable[[], float]
) -> dict[int, SetTimes]:
    rows = CountedRows(rows=library.store.database.rows)
    for holder, name in ((library.store.database, "rows"), (library.store, "_rows")):
        setattr(holder, name, rows)
    cpu, statements = dict.fromkeys(scopes, 0.0), dict.fromkeys(scopes, 0)
    first: dict[int, list[list[str]]] = {number: [] for number in scopes}
    for start in range(0, len(texts), BLOCK):
        for number, scope in scopes.items():
            began, before = 1000 * process_time() + server_cpu(), rows.count
            for text in texts[start : start + BLOCK]:
                found = library.retrieve(Query(text=text, scope=scope))
                first[number].append([hit.passage.text for hit in found.passages])
            if start >= WARM:
                cpu[number] += 1000 * process_time() + server_cpu() - began
                statements[number] += rows.count - before
    asked = len(texts) - WARM
    return {
        number: SetTimes(
            cpu=cpu[number] / asked,
            statements=statements[number] / asked,
            same=sum(map(list.__eq__, first[number], first[0])),
        )
        for number in scopes
    }


def section(found: Mapping[str, Mapping[int, SetTimes]], size: int, asked: int) -> Section:
    ratios = {
        (store, number): each.cpu / times[0].cpu
        for store, times in found.items()
        for number, each in times.items()
    }
    rows: list[tuple[Cell, ...]] = [
        (store, number or "one collection", each.cpu, ratios[store, number], each.statements, f"{each.same} of {asked + WARM}")
        for store, times in found.items()
        for number, each in times.items()
    ]  # fmt: skip
    return Section(
        name="reader_sets",
        title="Sets of readers",
        what=f"{asked} searches by words over {size:,} passages, after {WARM} others.",
        tables=(
            Table(
                title="A search",
                columns=("store", "sets", "CPU, ms", "ratio", "statements", "the same passages"),
                rows=tuple(rows),
                note=f"The ratio to one collection of the same passages is to be at most {BAR}.",
            ),
        ),
        figures={
            **{
                f"ratio_{store}_{number}": round(ratio, 2)
                for (store, number), ratio in ratios.items()
                if number
            },
            **{
                f"statements_{store}_{number}": each.statements
                for store, times in found.items()
                for number, each in times.items()
            },
        },
    )
