"""Labelled drafts of language models through the whole graph: what becomes of good sentences and of planted ones?

Each question is asked of a library of its own through the real client of a local server, whose model
writes the draft (--which good or bad) and judges by its labels; --error is the share of its verdicts on
single sentences that are wrong; --policy another one than ours. --limit asks only so many questions; --item asks one, and shows its draft
beside the answer.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from fakes.drafts import DraftModel, files_of
from fakes.gemini import Call, FakeGemini

from benchmarks import DATA, Say
from benchmarks.draft_labels import Item, ShownSentences, Which, plain, read_items, shown
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, run_in_order, situation
from bots.testing.report import Cell, Section, Table
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Outcome, ignore_progress, value
from core.errors import FootnoteError
from core.settings import Settings
from core.turns.messenger import Report

SIDE_BY_SIDE = 6  # questions
WRITER, GRADER = "google_genai:gemini-3.5-flash", "google_genai:gemini-3.5-flash-lite"
GRADER_PRICE = 0.2  # of a token of the grader, where one of the writer costs 1


@value
class DraftRun:
    """What became of one draft."""

    item: Item
    which: Which
    draft: str  #: with the numbers of strips
    outcome: Outcome
    shown: ShownSentences
    calls: int
    trips: int  #: calls one after another, those side by side counted once
    cost: float  #: of all calls, in those of a single one with the writer's first prompt and reply; 0: never wrote
    unmatched: tuple[str, ...]  #: judged sentences that are none of the draft's
    rejected: tuple[str, ...]  #: requests that the server refused

    @property
    def text(self) -> str:
        answer = self.outcome.answer
        return answer.text if answer and self.outcome.kind == "answered" else ""

    @property
    def is_whole(self) -> bool:
        return self.shown.kept == self.shown.good

    @property
    def is_drafted_once(self) -> bool:
        return self.outcome.steps.count("verify") <= 1


@dataclass(slots=True)
class Meter:
    """Counts tokens of about four characters, as they pass between the client and the model."""

    model: DraftModel
    drafts: list[str] = field(default_factory=list)
    single: float = 0.0  #: tokens of the first call that wrote
    total: float = 0.0  #: in tokens of the writer

    def reply(self, step: str, call: Call) -> dict[str, Any] | str:
        said = self.model.reply(step, call)
        tokens = (
            len(json.dumps(call.body, ensure_ascii=False)) + len(str(said))
        ) / 4  # the schema is sent too
        self.total += tokens * (GRADER_PRICE if GRADER.endswith(f":{call.model}") else 1.0)
        if isinstance(said, str):
            self.drafts.append(said)
            self.single = self.single or tokens
        return said


async def play(item: Item, which: Which = "good", error: float = 0.0, policy: str = "footnote") -> DraftRun:
    """One question, asked of documents and a data folder of its own."""
    model = DraftModel(item=item, which=which, error=error)
    meter = Meter(model)
    with documents_of(item) as docs:
        async with FakeGemini(reply=meter.reply) as gemini:
            settings = Settings(
                data_dir=docs.parent / "data", google_api_key=gemini.api_key, google_gemini_base_url=gemini.base_url,
                chat_model=WRITER, grader_model=GRADER, embedding_model="none", policy=policy, web_search="off",
            )  # fmt: skip
            outcome = await asked_of(item.question, docs, settings)
    answer = outcome.answer.text if outcome.answer and outcome.kind == "answered" else ""
    return DraftRun(
        item=item,
        which=which,
        draft=meter.drafts[0] if meter.drafts else "",
        outcome=outcome,
        shown=shown(item, which, answer),
        calls=len(gemini.calls),
        trips=outcome.usage.round_trips,
        cost=meter.total / meter.single if meter.single else 0.0,
        unmatched=tuple(model.unmatched),
        rejected=tuple(gemini.rejected),
    )


@contextmanager
def documents_of(item: Item) -> Iterator[Path]:
    """A folder with the item's passages, in one of its own."""
    with tempfile.TemporaryDirectory(prefix="drafts-") as home:
        docs = Path(home).resolve() / "docs"
        docs.mkdir()
        for name, text in files_of(item).items():
            (docs / name).write_text(text, encoding="utf-8")
        yield docs


async def asked_of(
    question: str, docs: Path, settings: Settings, report: Report = ignore_progress
) -> Outcome:
    async with open_footnote(settings, purpose="drafts", reads=reads_everything) as footnote:
        await asyncio.to_thread(footnote.library.ingest, [docs])
        here = situation(fresh_conversation(), sources=(str(docs),))
        return await run_in_order(footnote.assistant, ask(question, here), report)


async def play_all(
    items: Iterable[Item], which: Which = "good", error: float = 0.0, policy: str = "footnote"
) -> list[DraftRun]:
    """Several side by side; in the order of the items."""
    free = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(item: Item) -> DraftRun:
        async with free:
            return await play(item, which, error, policy)

    return await asyncio.gather(*map(one, items))


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


#: The measures, under the names and by the rules of the set's own player.
MEASURES: dict[str, Callable[[Sequence[DraftRun]], float]] = {
    "answered": lambda rows: share(
        sum(r.outcome.kind == "answered" and r.shown.kept > 0 for r in rows), len(rows)
    ),
    "kept": lambda rows: share(sum(r.shown.kept for r in rows), sum(r.shown.good for r in rows)),
    "whole": lambda rows: share(sum(r.is_whole for r in rows), len(rows)),
    "drafted once": lambda rows: share(sum(r.is_drafted_once for r in rows), len(rows)),
    "false shown": lambda rows: share(sum(r.shown.false for r in rows), sum(r.shown.planted for r in rows)),
    "calls": lambda rows: share(sum(r.calls for r in rows), len(rows)),
    "trips": lambda rows: share(sum(r.trips for r in rows), len(rows)),
}


def figures(rows: Sequence[DraftRun]) -> dict[str, float]:
    return {name: round(measure(rows), 3) for name, measure in MEASURES.items()}


def run(
    say: Say,
    *,
    data: Path = DATA,
    which: str = "good",
    error: float = 0.0,
    policy: str = "footnote",
    limit: int = 1_000,
    item: str = "",
) -> Section:
    items = read_items(data / "drafts/drafts.jsonl")
    chosen = [each for each in items if item in ("", each.id)][:limit]
    if not chosen or which not in ("good", "bad"):
        raise FootnoteError(f"There are no {which} drafts of {item or 'any item'}.")
    say(f"{len(chosen)} drafts")
    rows = asyncio.run(play_all(chosen, "bad" if which == "bad" else "good", error, policy))
    costs = [row.cost for row in rows if row.cost] or [0.0]
    faults = [(row.item.id, text) for row in rows for text in (*row.unmatched, *row.rejected)]
    return Section(
        name="drafts",
        title="Drafts of language models",
        what=(
            f"The {which} drafts, with judges of whose verdicts on single sentences {error:g} are wrong: the share "
            "answered, of good sentences kept, of drafts kept whole or drafted once, and of planted sentences shown."
        ),
        tables=(
            Table(title="What is shown", columns=("drafts", "number", *MEASURES), rows=tuple(_groups(rows))),
            Table(
                title="Cost of a question, in calls with the writer's prompt",
                columns=("on average", "at most"),
                rows=((fmean(costs), max(costs)),),
            ),
            *((Table(title="Not matched, or refused", columns=("item", "text"), rows=tuple(faults)),) if faults else ()),
            *((side_by_side(rows[0]),) if item else ()),
        ),
        figures=figures(rows),
    )  # fmt: skip


def _groups(rows: Sequence[DraftRun]) -> Iterator[tuple[Cell, ...]]:
    """A row for all drafts, for each language and for each style."""
    groups = {"all": list(rows)}
    for row in sorted(rows, key=lambda row: row.item.language):
        groups.setdefault(row.item.language, []).append(row)
    for row in sorted(rows, key=lambda row: row.item.style):
        groups.setdefault(row.item.style, []).append(row)
    for name, some in groups.items():
        yield name, len(some), *figures(some).values()


def side_by_side(row: DraftRun) -> Table:
    """The draft, the answer, what was lost of the one and what was planted in it."""
    said, good = plain(row.text), row.item.good(row.which)
    reason = f" ({row.outcome.reason})" if row.outcome.reason else ""
    lost = (s.text for s in row.item.sentences if plain(s.text) in good and plain(s.text) not in said)
    planted = (
        (f"planted ({each.fault}), {'shown' if plain(each.text) in said else 'gone'}", each.text)
        for each in row.item.falsehoods(row.which)
    )
    return Table(
        title=f"{row.item.id}: {row.item.question}",
        columns=("", "text"),
        rows=(
            ("draft", row.draft),
            ("answer", row.text or f"{row.outcome.kind}{reason}"),
            *(("lost", text) for text in lost),
            *planted,
            ("steps", " > ".join(row.outcome.steps)),
        ),
    )
