"""Labelled drafts of language models through the whole graph: what becomes of good sentences and of planted ones?

    python tests/benchmarks/drafts.py FILE.jsonl… [--which good|bad] [--error E] [--limit N] [--item ID]

Each question is asked of a library of its own through the real client of a local server, in which
:class:`~tests.fakes.drafts.DraftModel` writes the draft and judges by its labels. Prints a row for all items, for
each language and for each style, what a question costs, and what could not be matched; for one item, the draft
and the answer side by side.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[above]) for above in (2, 1)]

from benchmarks.draft_labels import Item, Shown, Which, plain, read_items, shown
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, run_in_order, situation
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Outcome, value
from core.settings import Settings
from tests.fakes.drafts import DraftModel, files_of
from tests.fakes.gemini import Call, FakeGemini

SIDE_BY_SIDE = 6  # questions
WRITER, GRADER = "google_genai:gemini-3.5-flash", "google_genai:gemini-3.5-flash-lite"
GRADER_PRICE = 0.2  # of a token of the grader, where one of the writer costs 1


@value
class Played:
    """What became of one draft."""

    item: Item
    which: Which
    draft: str  #: with the numbers of strips
    outcome: Outcome
    shown: Shown
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


async def play(item: Item, which: Which = "good", error: float = 0.0, policy: str = "footnote") -> Played:
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
    return Played(
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


async def asked_of(question: str, docs: Path, settings: Settings) -> Outcome:
    async with open_footnote(settings, purpose="drafts", reads=reads_everything) as footnote:
        await asyncio.to_thread(footnote.library.ingest, [docs])
        here = situation(fresh_conversation(), sources=(str(docs),))
        return await run_in_order(footnote.assistant, ask(question, here))


async def play_all(items: Iterable[Item], which: Which = "good", error: float = 0.0) -> list[Played]:
    """Several side by side; in the order of the items."""
    free = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(item: Item) -> Played:
        async with free:
            return await play(item, which, error)

    return await asyncio.gather(*map(one, items))


# What is told


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


#: The measures, under the names and by the rules of the set's own player.
MEASURES: dict[str, Callable[[Sequence[Played]], float]] = {
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


def figures(rows: Sequence[Played]) -> dict[str, float]:
    return {name: round(measure(rows), 3) for name, measure in MEASURES.items()}


def tell(rows: Sequence[Played]) -> None:
    print(f"{'':<24}{'items':>6}" + "".join(f"{name:>14}" for name in MEASURES))
    groups = {"all": list(rows)}
    for row in sorted(rows, key=lambda row: row.item.language):
        groups.setdefault(row.item.language, []).append(row)
    for row in sorted(rows, key=lambda row: row.item.style):
        groups.setdefault(row.item.style, []).append(row)
    for name, some in groups.items():
        print(f"{name:<24}{len(some):>6}" + "".join(f"{figure:>14.3f}" for figure in figures(some).values()))
    costs = [row.cost for row in rows if row.cost] or [0.0]
    print(f"cost, in calls with the writer's prompt: {fmean(costs):.2f} on average, {max(costs):.2f} at most")
    for row in rows:
        for what in (*row.unmatched, *row.rejected):
            print(f"not matched, {row.item.id}: {what[:160]!r}")


def tell_item(row: Played) -> None:
    """Draft and answer side by side."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    reason = f" ({row.outcome.reason})" if row.outcome.reason else ""
    table = Table("draft", "answer", title=f"{row.item.id}: {row.item.question}", show_lines=True)
    table.add_row(Text(row.draft), Text(row.text or f"{row.outcome.kind}{reason}"))
    console = Console()
    console.print(table)
    said, good = plain(row.text), row.item.good(row.which)
    for sentence in row.item.sentences:
        if plain(sentence.text) in good and plain(sentence.text) not in said:
            console.print(Text(f"lost: {sentence.text}"))
    for planted in row.item.falsehoods(row.which):
        told = "shown" if plain(planted.text) in said else "gone"
        console.print(Text(f"planted ({planted.fault}), {told}: {planted.text}"))
    console.print(Text(f"{' > '.join(row.outcome.steps)}; {row.calls} calls, cost {row.cost:.2f}{reason}"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--which", default="good", choices=("good", "bad"))
    parser.add_argument(
        "--error", type=float, default=0.0, help="of verdicts on single sentences that are wrong"
    )
    parser.add_argument("--limit", type=int)
    parser.add_argument("--item", help="this one alone, its draft and answer side by side")
    given = parser.parse_args()
    os.environ.setdefault("WEB_SEARCH", "off")
    items = [item for file in given.files for item in read_items(file)]
    if given.item:
        items = [item for item in items if item.id == given.item] or sys.exit(
            f"There is no item {given.item}."
        )
    rows = asyncio.run(play_all(items[: given.limit], given.which, given.error))
    tell(rows)
    if given.item:
        for row in rows:
            tell_item(row)


if __name__ == "__main__":
    main()
