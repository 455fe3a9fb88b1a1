"""Questions while somebody teaches files made to hang or burst whoever reads them, and without, in turn.

The assistant and the real client of a local model, over 1,000 synthetic passages; as many people teach
one such file after the other as there are workers for files. Each round asks at the same steady rate
first without and then with them, or the other way round, so that whatever else the machine does falls on
both.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count, cycle
from pathlib import Path

from fakes.bombs import BOMBS

from benchmarks import Say
from benchmarks.model_server import Scenario, local_model
from benchmarks.serving import question, serving
from benchmarks.synthetic import library_of, questions
from bots.process import favor_loop
from bots.testing.report import Section, Table, percentile
from core.library.formats.parser_process import AT_ONCE
from core.library.library import Library
from core.turns.assistant import Assistant

PASSAGES = 1_000
TRIPS = 2  # replies of the model, one after the other, of a question that the documents answer
COLLECTION = "taught"  # which nobody here asks
WITHOUT, WITH = "without", "with"


def make_bombs(folder: Path) -> Iterator[Path]:
    """Every bomb as a file, again and again, each time by a new name: what is known would not be read again."""
    kept = []
    for name, make in BOMBS.values():
        (folder / name).write_bytes(make())
        kept.append(folder / name)
    for number, file in zip(count(), cycle(kept)):
        again = folder / f"{number} {file.name}"
        os.link(file, again)
        yield again


@asynccontextmanager
async def teachers(library: Library, bombs: Iterator[Path]) -> AsyncIterator[list[Path]]:
    """People who teach one bomb after the other; the list of those read to the end."""
    done: list[Path] = []
    stopping = False

    async def teach() -> None:
        while not stopping:
            bomb = next(bombs)
            await asyncio.to_thread(library.ingest, [bomb], collection=COLLECTION)
            done.append(bomb)

    people = [asyncio.create_task(teach()) for _ in range(AT_ONCE)]
    try:
        yield done
    finally:
        stopping = True
        await asyncio.gather(*people)


async def ask(
    assistant: Assistant, texts: Iterator[str], numbers: Iterator[int], rate: float, seconds: float
) -> list[float]:
    """Seconds that each question took, asked at a steady rate."""
    began, waiting = time.monotonic(), []

    async def one(number: int) -> float:
        started = time.monotonic()
        outcome = await assistant.run(question(next(texts), number, f"thread {number}"))
        assert outcome.kind == "answered", outcome
        return time.monotonic() - started

    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        waiting.append(asyncio.create_task(one(next(numbers))))
    return await asyncio.gather(*waiting)


async def measure(
    folder: Path, rounds: int, rate: float, seconds: float, latency: float
) -> tuple[dict[str, list[float]], int]:
    """Seconds of the questions of both kinds, and how many bombs were read beside them."""
    took: dict[str, list[float]] = {WITHOUT: [], WITH: []}
    bombs, read = make_bombs(folder), 0
    texts, numbers = cycle(questions(PASSAGES)), count()
    with library_of(PASSAGES, folder) as library:
        async with local_model() as model, serving(library, folder, model.base_url) as assistant:
            await model.begin(Scenario(latency=latency))
            with favor_loop():
                await ask(assistant, texts, numbers, rate, seconds)  # warm
                for number in range(rounds):
                    for kind in (WITHOUT, WITH) if number % 2 else (WITH, WITHOUT):
                        if kind == WITHOUT:
                            took[kind] += await ask(assistant, texts, numbers, rate, seconds)
                            continue
                        async with teachers(library, bombs) as done:
                            took[kind] += await ask(assistant, texts, numbers, rate, seconds)
                            read += len(done)
    return took, read


def run(
    say: Say, *, rounds: int = 6, seconds: float = 15.0, rate: float = 4.0, latency: float = 0.5
) -> Section:
    say(f"{2 * rounds + 1} times {seconds:g} seconds")
    with tempfile.TemporaryDirectory() as folder:
        took, read = asyncio.run(measure(Path(folder), rounds, rate, seconds, latency))
    rows = []
    for kind, times in took.items():
        p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
        rows.append((kind, len(times), p50, p95, p50 - TRIPS * latency, p95 - TRIPS * latency))
    return Section(
        name="bombs",
        title="Questions beside hostile files",
        what=f"{read} such files were read beside the questions.",
        tables=(
            Table(
                title="Seconds of a question",
                columns=("bombs", "questions", "p50", "p95", "p50 beyond the model", "p95 beyond the model"),
                rows=tuple(rows),
            ),
        ),
        figures={"p95 with, of that without": rows[1][3] / rows[0][3]},
    )
