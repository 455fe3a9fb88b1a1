"""A large source read beside questions: how soon it answers, what questions wait for, and what memory it takes.

The source is generated at the port of sources: every document is there at once, so that nothing but Footnote's own
work is measured. A folder of the same collection is looked at before questions, as while `footnote run` serves.
"""

from __future__ import annotations

import asyncio
import random
import resource
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from time import process_time

from benchmarks import Say
from benchmarks.growth import resident
from benchmarks.serving import question
from benchmarks.startup import apart
from benchmarks.synthetic import SENTENCES, passage, subject
from bots.process import favor_loop
from bots.refresh import IndexRefresher
from bots.testing.report import Section, Table, percentile
from core.bootstrap import Footnote, open_footnote, reads_everything
from core.conversation import Outcome, value
from core.settings import Settings
from core.sources.source import SourceBatch, SourceContext, SourceItem, SourceKind

ADDRESS = "generated://shelf"
SECTIONS = 3  # passages of a document
BATCH = 200  # items
FILES = 200  # documents of the folder beside it, about which is asked
WINDOW = 20  # questions with the sync at work, then as many while it is held
RATE = 5.0  # questions a second
POOL = range(158_000, 159_000)  # numbers of passages; subjects repeat from 160,000 on
SETTLING = 0.2  # seconds that what was begun gets to end when the sync is held
WARM = 40  # questions before anything is measured
SAMPLED_EVERY = 0.1  # seconds between two looks at the memory
FIRST_ANSWER, SLOWER, MEMORY = (
    60.0,
    1.2,
    300.0,
)  # bars: seconds; p95 during a sync of that while it is held; MB

WHAT = "The real library, sync, assistant and look at the disk of one process, by words alone and without a model."
LIMITS = (
    "Nothing is fetched over a network. The sync is held and let go in turn, so that both p95 are of the same sizes of "
    "the library; seconds count only while it was at work. Memory is the most that was seen during the sync, with that "
    "of the worker that reads texts; CPU is that of this process alone."
)


@value
class Window:
    """Questions that were asked in a row, or in several."""

    took: tuple[float, ...] = ()  #: seconds of each
    seconds: float = 0.0  #: from the first to the last
    cpu: float = 0.0  #: seconds of this process

    def __add__(self, other: Window) -> Window:
        return Window(
            took=(*self.took, *other.took), seconds=self.seconds + other.seconds, cpu=self.cpu + other.cpu
        )


@value
class Found:
    """What was measured of one sync."""

    documents: int
    first_answer: float  #: seconds of the sync until its first document was cited
    first_documents: int  #: documents that were read by then
    busy: Window  #: questions while the sync was at work
    held: Window  #: the same while it was held
    idle: int  #: bytes of main memory before it
    peak: int
    resync: float  #: seconds of a sync that finds everything unchanged

    @property
    def seconds(self) -> float:
        """Of the sync at work."""
        return self.first_answer + self.busy.seconds

    @property
    def cpu(self) -> float:
        """Seconds that the sync took of the processor after its first answer, less what its questions took."""
        each = self.held.cpu / max(1, len(self.held.took))
        return self.busy.cpu - each * len(self.busy.took)


@dataclass(kw_only=True)
class GeneratedSource:
    """Documents that are made when they are fetched, and wait while the source is held."""

    documents: int
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    fetched: int = 0

    async def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        for first in range(int(cursor or 0), self.documents, BATCH):
            last = min(first + BATCH, self.documents)
            items = [item_of(number) for number in range(first, last)]
            yield SourceBatch(items=items, total=self.documents, cursor=str(last))
        yield SourceBatch()

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        pass

    async def fetch(self, item: SourceItem) -> bytes:
        await self.gate.wait()
        self.fetched += 1
        return text_of(FILES + int(item.version)).encode()

    @property
    def kind(self) -> SourceKind:
        @asynccontextmanager
        async def opened(_address: str, _context: SourceContext) -> AsyncIterator[GeneratedSource]:
            yield self

        return SourceKind(prefixes=("generated://",), canonical=str, label=str, open=opened)


def item_of(number: int) -> SourceItem:
    name = f"part-{number // BATCH}/{number:05}.md"
    return SourceItem(id=name, version=str(number), name=name, source=f"shelf/{name}")


def text_of(number: int) -> str:
    """A document of Markdown; the fact of each of its passages is no other's."""
    first = number * SECTIONS
    sections = [f"## Section {each}\n\n{text_around(each)}" for each in range(first, first + SECTIONS)]
    return "\n\n".join([f"# Document {number}", *sections])


def text_around(number: int) -> str:
    """The fact of a passage among sentences from a pool: making them anew would take this process as long as a sync."""
    dice, (trait, name, thing) = random.Random(number), subject(number)
    sentences = dice.sample(sentence_pool(), SENTENCES)
    sentences.insert(
        dice.randrange(SENTENCES), f"The {trait} of the {name} {thing} is {dice.randrange(10, 9999)}"
    )
    return ". ".join(sentences) + "."


@cache
def sentence_pool() -> list[str]:
    """Of passages that no document has."""
    return [sentence for number in POOL for sentence in passage(number).removesuffix(".").split(". ")]


def asked(number: int) -> str:
    trait, name, thing = subject(number * SECTIONS)
    return f"What is the {trait} of the {name} {thing}?"


def run(say: Say, *, documents: int = 50_000, quick: bool = False) -> Section:
    found = apart(measure, 400 if quick else documents)
    say(f"{found.documents:,} documents in {found.seconds:,.0f} s of the sync")
    return section(found)


def section(found: Found) -> Section:
    slower = {
        share: percentile(found.busy.took, share) / percentile(found.held.took, share)
        for share in (0.5, 0.95)
    }
    read_after = found.documents - found.first_documents
    memory = (found.peak - found.idle) / 1e6
    rows = (
        ("seconds of the sync until it was cited first", found.first_answer, FIRST_ANSWER),
        ("documents that were read by then", found.first_documents, "–"),
        ("p95 of questions during the sync, times that while it is held", slower[0.95], SLOWER),
        (f"the same of p50; {len(found.busy.took)} and {len(found.held.took)} questions", slower[0.5], "–"),
        ("ms of p95 while it is held", 1_000 * percentile(found.held.took, 0.95), "–"),
        ("MB of main memory above idle, at most", memory, MEMORY),
        ("documents a second of the sync", found.documents / found.seconds, "–"),
        ("seconds of CPU for 1,000 documents", 1_000 * found.cpu / max(1, read_after), "–"),
        ("seconds of a sync that finds nothing new", found.resync, "–"),
    )  # fmt: skip
    return Section(
        name="sources",
        title=f"A source of {found.documents:,} documents",
        what=WHAT,
        tables=(Table(title="Beside questions", columns=("what", "measured", "bar"), rows=rows),),
        figures={
            "seconds to the first answer": found.first_answer,
            "p95 during, times that held": slower[0.95],
            "MB above idle": memory,
            "documents a second": found.documents / found.seconds,
        },
        note=LIMITS,
    )


def measure(documents: int) -> Found:
    with tempfile.TemporaryDirectory() as scratch, favor_loop():
        return asyncio.run(_measure(documents, Path(scratch)))


async def _measure(documents: int, scratch: Path) -> Found:
    settings = Settings(data_dir=scratch / "data", web_search="off", embedding_model="none")
    refresher = IndexRefresher(settings=settings)
    opening = open_footnote(settings, purpose="bench", reads=reads_everything, refresh=refresher.refresh)
    async with opening as footnote:
        _write_folder(scratch / "handbook")
        await asyncio.to_thread(footnote.library.ingest, [scratch / "handbook"])
        leading = asyncio.create_task(refresher.lead(footnote.library, footnote.replicas))
        try:
            return await _synced(footnote, GeneratedSource(documents=documents))
        finally:
            leading.cancel()
            await asyncio.wait([leading])


def _write_folder(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:03}.md").write_text(text_of(number), encoding="utf-8")


async def _synced(footnote: Footnote, source: GeneratedSource) -> Found:
    asking, syncs = Asking(footnote=footnote), footnote.sources
    await asking.window(WARM)
    syncs.kinds = {"generated": source.kind}
    idle = resident_in_all()
    with sampled_peak() as peak:
        began = time.perf_counter()
        source.gate.set()
        syncing = asyncio.create_task(syncs.ingest(ADDRESS, collection="default"))
        while not await asking.is_cited(FILES):
            if syncing.done():
                raise AssertionError(f"nothing of the source is found: {syncing.result()}")
        first = (time.perf_counter() - began, source.fetched)
        busy, held = Window(), Window()
        while not syncing.done():
            source.gate.set()
            busy += await asking.window(WINDOW, until=syncing)
            source.gate.clear()
            await asyncio.sleep(SETTLING)
            held += await asking.window(WINDOW)
        report = syncing.result()
    if report.failed or report.added != source.documents:
        raise AssertionError(f"the sync is not whole: {report}")
    began = time.perf_counter()
    await syncs.ingest(ADDRESS, collection="default")
    return Found(
        documents=source.documents, first_answer=first[0], first_documents=first[1], busy=busy, held=held,
        idle=idle, peak=max(peak), resync=time.perf_counter() - began,
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Asking:
    """Asks at a steady rate, one question after the other, each in a thread of its own."""

    footnote: Footnote
    numbers: Iterator[int] = field(default_factory=count)

    async def window(self, questions: int, *, until: asyncio.Task[object] | None = None) -> Window:
        """About the folder's documents; fewer questions if the task ends before."""
        began, cpu, took = time.perf_counter(), process_time(), list[float]()
        for number in range(questions):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            if until is not None and until.done():
                break
            asked_at = time.perf_counter()
            await self._ask(next(self.numbers) % FILES)
            took.append(time.perf_counter() - asked_at)
        return Window(took=took, seconds=time.perf_counter() - began, cpu=process_time() - cpu)

    async def is_cited(self, document: int) -> bool:
        """Whether a document is cited for what it alone says."""
        outcome = await self._ask(document)
        citations = outcome.answer.citations if outcome.answer else ()
        return any(each.source == item_of(document - FILES).source for each in citations)

    async def _ask(self, document: int) -> Outcome:
        number = next(self.numbers)
        return await self.footnote.assistant.run(question(asked(document), number, f"{number}"))


def resident_in_all() -> int:
    """Bytes of main memory that this process and those it started hold now; what they share counts for each."""
    started = [
        int(number)
        for thread in Path("/proc/self/task").iterdir()
        for number in _read_or_empty(thread / "children").split()
    ]
    pages = (_read_or_empty(Path(f"/proc/{number}/statm")).split()[1:2] for number in started)
    return resident() + sum(int(held) for each in pages for held in each) * resource.getpagesize()


def _read_or_empty(file: Path) -> str:
    """Empty for a process or a thread that has ended meanwhile."""
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""


@contextmanager
def sampled_peak() -> Iterator[list[int]]:
    """Bytes of main memory, looked at until the end of the context."""
    seen, ended = [resident_in_all()], threading.Event()

    def look() -> None:
        while not ended.wait(SAMPLED_EVERY):
            seen.append(max(seen.pop(), resident_in_all()))

    looking = threading.Thread(target=look, name="memory", daemon=True)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()
