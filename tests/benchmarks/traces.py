"""What the log of questions takes: CPU and bytes to write one, and CPU to read the figures of many."""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time

from benchmarks import Say
from bots.testing.report import Section, Table
from core.conversation import Answer, Citation, Conversation, ModelTokens, Outcome, Question, Usage
from core.storage.storage import Storage
from core.traces import figures
from core.traces.log import DAY, QuestionLog, open_question_log
from core.traces.search import QuestionFilter, search
from core.traces.trace import (
    Step,
    Trace,
    TracedDraft,
    TracedPassage,
    TracedSentence,
    TracedStrip,
)  # fmt: skip

QUESTIONS, QUICK_QUESTIONS = 100_000, 1_000
WRITTEN = 500  # of them, one at a time: whose CPU counts
CHANNELS, PEOPLE, DAYS = 40, 200, 365
WRITE_BAR, BYTES_BAR, READ_BAR = 3.0, 6_000, 100.0  # ms of CPU, bytes, ms of CPU
NOON = 1_790_000_000.0
KINDS = ("answered", "answered", "answered", "no_answer", "approval_needed", "failed")
WORDS = [
    "harbour",
    "mooring",
    "ferry",
    "ticket",
    "pier",
    "tide",
    "storm",
    "berth",
    "invoice",
    "member",
    "boat",
    "crane",
    "winter",
    "key",
    "gate",
]


def run(say: Say, *, quick: bool = False) -> Section:
    return asyncio.run(_measure(QUICK_QUESTIONS if quick else QUESTIONS, say))


async def _measure(count: int, say: Say) -> Section:
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_question_log(Storage(data_dir=Path(scratch)), days=10_000) as log,
    ):
        say(f"{count:,} questions are written.")
        log.now = lambda: NOON
        spent = 0.0
        with log.database.database.transaction():  # only to have them there sooner
            for number in range(count - WRITTEN):
                await log.record(*_turn(number, count))
        for number in range(count - WRITTEN, count):
            told = _turn(number, count)
            began = process_time()
            await log.record(*told)
            spent += process_time() - began
        stored = _size_of(Path(scratch) / "questions.sqlite")
        reads = await _reads(log)
    write_ms, stored_each = 1000 * spent / WRITTEN, stored / count
    rows = (
        ("write one, ms of CPU", write_ms, WRITE_BAR),
        ("stored for one, bytes", stored_each, BYTES_BAR),
        *((f"{name}, ms of CPU", taken, READ_BAR) for name, taken in reads.items()),
    )
    return Section(
        name="traces", title="The log of questions",
        what=f"{count:,} made-up questions with traces of ten passages and six sentences, over {DAYS} days, in SQLite.",
        tables=(Table(title="Taken", columns=("what", "taken", "at most"), rows=rows),),
        figures={name: taken for name, taken, _ in rows},
    )  # fmt: skip


def _size_of(file: Path) -> int:
    """Bytes, with what is not yet moved into it."""
    return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))


async def _reads(log: QuestionLog) -> dict[str, float]:
    """Milliseconds of CPU of each query, over all days."""
    database, since = log.database.database, "2000-01-01"
    taken = {}
    for name, query in (
        ("by day", figures.by_day), ("by channel", figures.by_channel),
        ("by ending", figures.by_outcome), ("by model", figures.by_model),
    ):  # fmt: skip
        began = process_time()
        query(database, since)
        taken[f"figures {name}"] = 1000 * (process_time() - began)
    began = process_time()
    await search(log, QuestionFilter(), limit=50)
    taken["the newest 50"] = 1000 * (process_time() - began)
    return taken


def _turn(number: int, count: int) -> tuple[Question, Outcome, Trace]:
    chance = random.Random(number)
    place = Conversation(platform="slack", space="T1", channel=f"C{number % CHANNELS}", thread=f"{number}.1")
    text = " ".join(chance.choices(WORDS, k=12)) + "?"
    at = NOON - DAY * DAYS * (1 - number / count)
    turn = Question(
        id=f"{place.id}/{number}", conversation=place, author=f"U{number % PEOPLE}", text=text, asked_at=at
    )
    said = tuple(" ".join(chance.choices(WORDS, k=20)) + "." for _ in range(6))
    cited = tuple(
        Citation(number=each, title="Handbook", location="Fees > Mooring", source=f"docs/{chance.choice(WORDS)}.md",
                 quote=said[0], start=100 * each, end=100 * each + 90, collection="default")
        for each in (1, 2, 3)
    )  # fmt: skip
    models = tuple(
        ModelTokens(name=name, input_tokens=2_000, output_tokens=300) for name in ("writer", "judge")
    )
    usage = Usage(name="writer", calls=6, round_trips=3, input_tokens=4_000, output_tokens=600, models=models)
    answer = Answer(text=" ".join(said), citations=cited, grounding="documents", composed=True)
    kind = chance.choice(KINDS)
    outcome = Outcome(
        kind=kind, turn_id=turn.id, answer=answer if kind == "answered" else None, usage=usage,
        timing_ms={"total": chance.uniform(100, 20_000), "retrieve": 12.0}, confidence=0.7,
    )  # fmt: skip
    return turn, outcome, _trace(text, said, chance)


def _trace(text: str, said: tuple[str, ...], chance: random.Random) -> Trace:
    passage = TracedPassage(
        id="", collection="default", source="", title="Handbook", location="Fees > Mooring", start=0, end=900
    )
    passages = tuple(
        replace(passage, id=str(chance.randrange(10**6)), source=f"docs/{chance.choice(WORDS)}-{each}.md",
                start=chance.randrange(10**5), score=chance.random(), lexical=chance.random(), dense=chance.random())
        for each in range(10)
    )  # fmt: skip
    strips = tuple(
        TracedStrip(number=each + 1, passage=one.id, start=one.start, end=one.end)
        for each, one in enumerate(passages)
    )
    sentences = tuple(TracedSentence(text=each, cites=(1, 2), votes=3) for each in said)
    steps = tuple(
        Step(node=node, began_ms=100.0 * each, ms=99.5, calls=2, input_tokens=1_000, output_tokens=100,
             odds={"confidence": 1.25, "relevance": 0.5})
        for each, node in enumerate(("enter", "open", "generate", "verify"))
    )  # fmt: skip
    return Trace(
        policy="footnote", question=text, standalone=text, route="documents", queries=(text,), steps=steps,
        passages=passages, drafts=(TracedDraft(sentences=sentences, strips=strips, useful=(True, True)),),
    )  # fmt: skip
