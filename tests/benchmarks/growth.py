"""What stays on the disk of each question, what turns in flight take of memory, and what a start costs."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks import Say, startup
from benchmarks.model_server import Scenario
from benchmarks.serving import CONVERSATIONS, QUEUE, RunningQueue, question, running, size_of
from benchmarks.startup import apart
from benchmarks.synthetic import questions
from bots.testing.report import Section, Table
from core.conversation import value

PER_QUESTION, LONG_THREAD, IN_FLIGHT, START = 25.0, 3.0, 300.0, 3.0  # bars: KB, MB, MB, seconds of CPU
PASSAGES = 1_000  # that the questions are asked over
TURNS_EACH = 3  # of the short threads
WARM = 40  # turns before memory is looked at first
QUARTERS = 4  # looks at a thread that grows
HANGS = 3_600.0  # seconds that a reply takes while memory is looked at


WHAT = (
    "The durable queue, the assistant and the real client of a local model, as they serve a platform; "
    "files after every page has left the write-ahead log."
)
LIMITS = (
    "On the disk, the newest checkpoint of each thread, then the queue's rows: each turn is kept with its outcome "
    "against redeliveries. In memory, one workflow and its tasks for each turn. At the start, imports."
)


@value
class Extent:
    """How much is measured."""

    passages: int  #: that the questions are asked over
    indexed: int  #: passages that a start finds
    threads: int  #: short ones
    long: int  #: turns of the long thread
    flying: int  #: turns in flight


QUICK = Extent(passages=100, indexed=200, threads=2, long=4, flying=20)
FULL = Extent(passages=PASSAGES, indexed=100_000, threads=100, long=500, flying=1_000)


@value
class Sizes:
    """Bytes on the disk."""

    memory: int  #: of the conversations
    queue: int  #: of the turns that are remembered against redeliveries


@value
class Measurements:
    """Everything that was looked at; bytes and seconds."""

    extent: Extent
    short: Sizes  #: after many short threads
    long: tuple[Sizes, ...]  #: after each quarter of one long thread
    idle: int  #: of main memory
    flying: int  #: the same with the turns in flight
    ready: float  #: of CPU until a question could be taken
    first: float  #: of CPU, of the first retrieval after that

    @property
    def questions(self) -> int:
        return self.extent.threads * TURNS_EACH


def run(say: Say, *, model: str = "none", quick: bool = False) -> Section:
    extent = QUICK if quick else FULL
    short = apart(many_threads, extent.passages, extent.threads, TURNS_EACH)[-1]
    say(f"{short.memory + short.queue:,} bytes after the short threads")
    long = apart(one_thread, extent.passages, extent.long)
    say(f"{long[-1].memory:,} bytes of a thread of {extent.long} turns")
    idle, flying = apart(in_flight, extent.passages, extent.flying)
    ready, first = startup.measure(extent.indexed, model)
    return section(
        Measurements(
            extent=extent, short=short, long=tuple(long), idle=idle, flying=flying, ready=ready, first=first
        )
    )


def section(found: Measurements) -> Section:
    memory, queue = (size / 1_000 / found.questions for size in (found.short.memory, found.short.queue))
    thread, held = found.long[-1].memory / 1e6, (found.flying - found.idle) / 1e6
    extent = found.extent
    rows = (
        (f"KB on the disk a question, {found.questions} questions in {extent.threads} threads", memory + queue, PER_QUESTION),
        ("of it the conversation's memory", memory, "–"),
        ("of it the queue, for 14 days", queue, "–"),
        (f"MB of the memory of one thread of {extent.long} turns", thread, LONG_THREAD),
        (f"MB of main memory that {extent.flying} turns in flight take over idle", held, IN_FLIGHT),
        (f"seconds of CPU until ready, {extent.indexed:,} passages indexed", found.ready, START),
        ("seconds of CPU of the first retrieval after that", found.first, "–"),
    )  # fmt: skip
    return Section(
        name="growth",
        title="What grows with use",
        what=WHAT,
        tables=(
            Table(title="Growth", columns=("what", "measured", "bar"), rows=rows),
            Table(
                title="A thread that goes on",
                columns=("turns", "the conversation's memory, KB", "the queue, KB"),
                rows=tuple(
                    (extent.long * quarter // QUARTERS, sizes.memory / 1_000, sizes.queue / 1_000)
                    for quarter, sizes in enumerate(found.long, start=1)
                ),
            ),
        ),
        figures={
            "KB a question": memory + queue,
            "MB of a long thread": thread,
            "MB of turns in flight": held,
            "CPU s to ready": found.ready,
        },
        note=LIMITS,
    )


# On the disk

Grow = Callable[[RunningQueue, Iterator[str], Callable[[], Sizes]], Awaitable[list[Sizes]]]


def many_threads(passages: int, threads: int, each: int) -> list[Sizes]:
    """After every round of one turn in each thread."""

    async def grow(queue: RunningQueue, texts: Iterator[str], look: Callable[[], Sizes]) -> list[Sizes]:
        grown = []
        for number in range(each):
            batch = [
                question(text, number, f"{thread}") for thread, text in enumerate(islice(texts, threads))
            ]
            await queue.answer(batch)
            grown.append(look())
        return grown

    return asyncio.run(_grown(passages, grow))


def one_thread(passages: int, long: int) -> list[Sizes]:
    """After each quarter of a thread's turns."""

    async def grow(queue: RunningQueue, texts: Iterator[str], look: Callable[[], Sizes]) -> list[Sizes]:
        grown = []
        for number, text in enumerate(islice(texts, long), start=1):
            await queue.answer([question(text, number, "long")])
            if number % (long // QUARTERS) == 0:
                grown.append(look())
        return grown

    return asyncio.run(_grown(passages, grow))


async def _grown(passages: int, grow: Grow) -> list[Sizes]:
    async with running(passages) as queue:
        await queue.model.begin(Scenario())
        files = [queue.folder / name for name in (CONVERSATIONS, QUEUE)]
        empty = [size_of(file) for file in files]

        def look() -> Sizes:
            memory, rows = (size_of(file) - before for file, before in zip(files, empty, strict=True))
            return Sizes(memory=memory, queue=rows)

        return await grow(queue, questions(passages), look)


# In main memory


def in_flight(passages: int, flying: int) -> tuple[int, int]:
    """Bytes of this process idle, after some turns that warmed it, and with so many turns begun and none ended."""
    return asyncio.run(_in_flight(passages, flying))


async def _in_flight(passages: int, flying: int) -> tuple[int, int]:
    async with running(passages) as queue:
        texts = cycle(questions(passages))
        await queue.model.begin(Scenario())
        await queue.answer(
            [question(text, 0, f"warm {number}") for number, text in enumerate(islice(texts, WARM))]
        )
        idle = resident()
        await queue.model.begin(Scenario(latency=HANGS))
        await queue.begin([question(next(texts), 0, f"{number}") for number in range(flying)])
        return idle, resident()


def resident() -> int:
    """Bytes of main memory that this process holds now; Linux tells it in pages."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
