"""Questions while somebody teaches files made to hang or burst whoever reads them, and without, in turn.

    python tests/benchmarks/beside_bombs.py [--rounds 6] [--seconds 15] [--rate 4] [--latency 0.5]

The assistant and the real client of a local model, over 1,000 synthetic passages; two people teach one
such file after the other, as many as there are workers for files. Each round asks at the same steady
rate first without and then with them, or the other way round, so that what else this machine does
falls on both. Prints how long a question took in both, what of it was not the model's, and the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count, cycle
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE.parent / "security")]

from bombs import BOMBS

from benchmarks.model_server import Scenario, local_model
from benchmarks.queued import asked
from benchmarks.served import serving
from benchmarks.synthetic import library_of, questions
from bots.eval.intervals import percentile
from bots.eval.sections import Options
from bots.process import loop_first
from core.library.formats.parser_process import AT_ONCE
from core.library.library import Library
from core.turns.assistant import Assistant

PASSAGES = 1_000
TRIPS = 2  # replies of the model, one after the other, of a question that the documents answer
COLLECTION = "taught"  # which nobody here asks
AMONG = 0.95  # p95
WITHOUT, WITH = "without", "with"


def made(folder: Path) -> Iterator[Path]:
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
async def taught(library: Library, bombs: Iterator[Path]) -> AsyncIterator[list[Path]]:
    """People who teach one bomb after the other; which of them were taken to the end."""
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
    assistant: Assistant, texts: Iterator[str], numbers: Iterator[int], given: argparse.Namespace
) -> list[float]:
    """Seconds that each question took, asked at a steady rate."""
    began, waiting = time.monotonic(), []

    async def one(number: int) -> float:
        started = time.monotonic()
        outcome = await assistant.run(asked(next(texts), number, f"thread {number}"))
        assert outcome.kind == "answered", outcome
        return time.monotonic() - started

    for number in range(int(given.rate * given.seconds)):
        await asyncio.sleep(max(0.0, began + number / given.rate - time.monotonic()))
        waiting.append(asyncio.create_task(one(next(numbers))))
    return await asyncio.gather(*waiting)


async def measure(given: argparse.Namespace, folder: Path) -> tuple[dict[str, list[float]], int]:
    """Seconds of the questions of both kinds, and how many bombs were read beside them."""
    took: dict[str, list[float]] = {WITHOUT: [], WITH: []}
    options = Options(data=Path(), model="none", quick=True, say=lambda _: None)
    bombs, read = made(folder), 0
    texts, numbers = cycle(questions(PASSAGES)), count()
    with library_of(PASSAGES, folder, options) as library:
        async with local_model() as model, serving(library, folder, model.base_url) as assistant:
            await model.begin(Scenario(latency=given.latency))
            with loop_first():
                await ask(assistant, texts, numbers, given)  # warm
                for number in range(given.rounds):
                    for kind in (WITHOUT, WITH) if number % 2 else (WITH, WITHOUT):
                        if kind == WITHOUT:
                            took[kind] += await ask(assistant, texts, numbers, given)
                            continue
                        async with taught(library, bombs) as done:
                            took[kind] += await ask(assistant, texts, numbers, given)
                            read += len(done)
    return took, read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rate", type=float, default=4.0)
    parser.add_argument("--latency", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        took, read = asyncio.run(measure(given, Path(folder)))
    print(f"{len(took[WITHOUT])} questions of each kind, {read} bombs read beside them")
    for kind, seconds in took.items():
        p50, p95 = percentile(seconds, 0.5), percentile(seconds, AMONG)
        own = TRIPS * given.latency
        print(
            f"{kind} bombs: p50 {p50:.3f} s, p95 {p95:.3f} s; beyond the model {p50 - own:.3f} and {p95 - own:.3f} s"
        )
    print(
        f"p95 with, of that without: {percentile(took[WITH], AMONG) / percentile(took[WITHOUT], AMONG):.2f}"
    )


if __name__ == "__main__":
    main()
