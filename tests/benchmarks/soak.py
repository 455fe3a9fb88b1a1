"""Many questions in one process, one after the other in many threads: memory and disk as they go.

The durable queue, the assistant and the real client of a local model without latency, over 1,000
synthetic passages; finished turns are forgotten as after their retention. It looks ten times on the way,
and fails when memory grew by more than 20 MB, or the disk by more than 10, in the second half: what is
filled once is full by then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path

from benchmarks import Say, synthetic
from benchmarks.growth import PASSAGES, resident
from benchmarks.model_server import Scenario
from benchmarks.serving import CONVERSATIONS, QUEUE, question, running, size_of
from bots.process import limit_arenas
from bots.testing.report import Section, Table
from core.conversation import value
from core.turns.queue import sweep

SIDE_BY_SIDE = 32
THREADS = 500
SNAPSHOTS = 10
MEMORY_BOUND, DISK_BOUND = 20e6, 10e6  # bytes that the second half may add


@value
class Snapshot:
    """Bytes, after so many questions."""

    questions: int
    memory: int  #: resident
    conversations: int  #: on the disk
    queue: int  #: on the disk

    @classmethod
    def at(cls, questions: int, folder: Path) -> Snapshot:
        conversations, queue = (size_of(folder / name) for name in (CONVERSATIONS, QUEUE))
        return cls(questions=questions, memory=resident(), conversations=conversations, queue=queue)


async def soak(count: int, say: Say) -> tuple[Counter[str], list[Snapshot]]:
    """How the questions ended, and what was seen on the way."""
    limit_arenas()
    ended: Counter[str] = Counter()
    snapshots: list[Snapshot] = []
    async with running(PASSAGES) as queue:
        await queue.model.begin(Scenario())
        texts = cycle(synthetic.questions(PASSAGES))
        for first in range(0, count, SIDE_BY_SIDE):
            batch = [
                question(text, first + number, str((first + number) % THREADS))
                for number, text in enumerate(islice(texts, SIDE_BY_SIDE))
            ]
            await queue.answer(batch)
            ended.update(queue.messenger.outcomes[each.id].kind for each in batch)
            queue.messenger.outcomes.clear()
            queue.messenger.begun.clear()
            if first // SIDE_BY_SIDE % max(1, count // SIDE_BY_SIDE // SNAPSHOTS) == 0:
                await sweep(timedelta(0))
                snapshots.append(Snapshot.at(first + SIDE_BY_SIDE, queue.folder))
                say(f"{snapshots[-1].questions:,} questions")
    return ended, snapshots


def run(say: Say, *, questions: int = 100_000) -> Section:
    ended, snapshots = asyncio.run(soak(questions, say))
    middle, end = snapshots[len(snapshots) // 2], snapshots[-1]
    memory = end.memory - middle.memory
    disk = end.conversations + end.queue - middle.conversations - middle.queue
    return Section(
        name="soak",
        title="Many questions in one process",
        what=f"The questions ended: {', '.join(f'{kind} {count:,}' for kind, count in ended.items())}.",
        tables=(
            Table(
                title="On the way",
                columns=("questions", "memory, MB", "conversations, MB", "queue, MB"),
                rows=tuple(
                    (
                        snapshot.questions,
                        snapshot.memory / 1e6,
                        snapshot.conversations / 1e6,
                        snapshot.queue / 1e6,
                    )
                    for snapshot in snapshots
                ),
            ),
            Table(
                title="Grown in the second half, MB",
                columns=("memory", "bound", "disk", "bound of it"),
                rows=((memory / 1e6, MEMORY_BOUND / 1e6, disk / 1e6, DISK_BOUND / 1e6),),
            ),
        ),
        figures={"failed": float(memory > MEMORY_BOUND or disk > DISK_BOUND)},
    )
