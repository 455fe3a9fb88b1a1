"""Many questions in one process, one after the other in many threads: memory and disk as they go.

    python tests/benchmarks/soak.py [--questions 100000]

The durable queue, the assistant and the real client of a local model without latency, over 1,000
synthetic passages, as ``footnote bench growth`` has them; finished turns are forgotten as after
their retention. Prints a line ten times on the way, and fails when memory grew by more than 20 MB,
or the disk by more than 10, in the second half: what is filled once is full by then.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[above]) for above in (2, 1)]

from benchmarks.growth import PASSAGES, resident
from benchmarks.model_server import Scenario
from benchmarks.queued import CONVERSATIONS, QUEUE, asked, running, size_of
from benchmarks.synthetic import questions
from bots.process import keep_few_arenas
from core.conversation import value
from core.turns.queue import sweep

SIDE_BY_SIDE = 32
THREADS = 500
LOOKS = 10
MEMORY_BOUND, DISK_BOUND = 20e6, 10e6  # bytes that the second half may add


@value
class Look:
    """Bytes, after so many questions."""

    questions: int
    memory: int  #: resident
    conversations: int  #: on the disk
    queue: int  #: on the disk

    @classmethod
    def at(cls, questions: int, folder: Path) -> Look:
        conversations, queue = (size_of(folder / name) for name in (CONVERSATIONS, QUEUE))
        return cls(questions=questions, memory=resident(), conversations=conversations, queue=queue)

    def __str__(self) -> str:
        return (
            f"{self.questions:>7} questions: {self.memory / 1e6:.0f} MB of memory, conversations"
            f" {self.conversations / 1e6:.2f} MB, queue {self.queue / 1e6:.2f} MB on the disk"
        )


async def soak(count: int) -> tuple[Counter[str], list[Look]]:
    """How the questions ended, and what was seen on the way."""
    keep_few_arenas()
    ended: Counter[str] = Counter()
    looks: list[Look] = []
    async with running(PASSAGES) as queue:
        await queue.model.begin(Scenario())
        texts = cycle(questions(PASSAGES))
        for first in range(0, count, SIDE_BY_SIDE):
            batch = [
                asked(text, first + number, str((first + number) % THREADS))
                for number, text in enumerate(islice(texts, SIDE_BY_SIDE))
            ]
            await queue.end(batch)
            ended.update(queue.nobody.outcomes[each.id].kind for each in batch)
            queue.nobody.outcomes.clear()
            queue.nobody.begun.clear()
            if first // SIDE_BY_SIDE % max(1, count // SIDE_BY_SIDE // LOOKS) == 0:
                await sweep(timedelta(0))
                looks.append(Look.at(first + SIDE_BY_SIDE, queue.folder))
                print(looks[-1], flush=True)
    return ended, looks


def faults(looks: list[Look]) -> list[str]:
    """What grew in the second half by more than it may."""
    middle, end = looks[len(looks) // 2], looks[-1]
    memory = end.memory - middle.memory
    disk = end.conversations + end.queue - middle.conversations - middle.queue
    print(f"second half: {memory / 1e6:+.1f} MB of memory, {disk / 1e6:+.2f} MB on the disk")
    grown = (("memory", memory, MEMORY_BOUND), ("the disk", disk, DISK_BOUND))
    return [f"{what} grew by {by / 1e6:.1f} MB" for what, by, bound in grown if by > bound]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=100_000)
    ended, looks = asyncio.run(soak(parser.parse_args().questions))
    print(dict(ended))
    if grown := faults(looks):
        sys.exit("; ".join(grown))


if __name__ == "__main__":
    main()
