"""What the model reads and writes for one question, step by step, over a team's whole documentation.

The questions of the drafts over FastAPI's English documentation are asked of all its files, through the real client
of a local server. Its model finds those passages helpful that hold what the draft cites, and in them the sentences
that the draft is nearest to; it writes the draft and judges by its labels. Questions of the everyday set that nothing
answers are asked too. Tokens are estimated: four characters each, of the system text, the prompt and the schema.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from fakes.drafts import QUOTED, DraftModel, PromptBlock, blocks_of
from fakes.gemini import Call, FakeGemini

from benchmarks import DATA, EVALUATION, Say
from benchmarks.draft_labels import Item, ShownSentences, grams, read_items, shown
from benchmarks.drafts import GRADER, WRITER, share
from benchmarks.evaluation_sets import lines
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, run_in_order, situation
from bots.testing.report import Cell, Section, Table
from core.bootstrap import open_footnote, reads_everything
from core.conversation import value
from core.reasoning.instructions import NO_ANSWER
from core.settings import Settings

STEPS = ("plan", "grade", "write", "grounding", "confirm", "usefulness")
HELD = 0.5  # share of the shorter of two texts that the other holds, from which they are about the same
NEAR = 0.5  # share of a sentence that the draft holds, from which it is evidence
LEAST = 2  # sentences of a passage that are evidence in any case: in another language none is near
PER_TOKEN = 4  # characters
QUICK = 4  # questions of each kind

_SENTENCE = re.compile(r"(?m)^\((\d+)\) (.*)$")  # of a passage, as a grader sees it
_EVERYDAY = EVALUATION / "fastapi_everyday.jsonl"


@value
class TurnTokens:
    """What one question took."""

    item: Item
    is_answered: bool
    shown: ShownSentences
    calls: int
    trips: int
    read: Mapping[str, float]  #: by step
    written: float

    @property
    def total(self) -> float:
        return sum(self.read.values()) + self.written


@dataclass(slots=True)
class CorpusModel:
    """Says about whole documents what the labels of a draft say, and counts what it reads and writes."""

    item: Item
    read: dict[str, float] = field(default_factory=lambda: defaultdict(float))  #: tokens by step
    written: float = 0.0

    def reply(self, step: str, call: Call) -> dict[str, Any] | str:
        said = self._said(step, call)
        schema = json.dumps(call.schema, ensure_ascii=False) if call.schema else ""
        self.read[step] += (len(call.system) + len(call.prompt) + len(schema)) / PER_TOKEN
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        self.written += len(text) / PER_TOKEN
        return said

    def _said(self, step: str, call: Call) -> dict[str, Any] | str:
        quoted = blocks_of(call.prompt, QUOTED)
        if step == "grade":
            return self._grades(quoted)
        if step == "write":
            strips = {block.name: block.text for block in quoted if self._holds(block)}
            return self.item.written_from(strips, "good") if strips else NO_ANSWER
        said = DraftModel(item=self.item).reply(step, call)
        return {**said, "queries": self._queries()} if step == "plan" and isinstance(said, dict) else said

    def _queries(self) -> list[str]:
        """Titles and headings of what the draft cites, as a plan in the words of the documents would have them."""
        return list(dict.fromkeys(" ".join((each.title, *each.path[-1:])) for each in self.item.cited()))[:3]

    def _grades(self, passages: Iterable[PromptBlock]) -> dict[str, Any]:
        verdicts: list[dict[str, Any]] = []
        for block in passages:
            evidence = self._evidence(block) if self._holds(block) else []
            relevance = "correct" if evidence else "incorrect"
            verdicts.append({"passage": block.number, "relevance": relevance, "evidence": evidence})
        is_enough = any(verdict["evidence"] for verdict in verdicts)
        return {
            "passages": verdicts,
            "sufficient": is_enough,
            "missing": "" if is_enough else self.item.question,
        }

    def _holds(self, block: PromptBlock) -> bool:
        """Whether it is a part of what the draft cites, which may be cut otherwise here."""
        said = grams(block.text)
        cited = (grams(each.text) for each in self.item.cited())
        return any(share(len(said & each), min(len(said), len(each))) >= HELD for each in cited)

    def _evidence(self, passage: PromptBlock) -> list[int]:
        draft = grams(self.item.draft("good"))
        near = {
            int(n): share(len(grams(text) & draft), len(grams(text)))
            for n, text in _SENTENCE.findall(passage.text)
        }
        best = sorted(near, key=lambda number: -near[number])[:LEAST]
        return sorted({*best, *(number for number, held in near.items() if held >= NEAR)})


def answered(data: Path) -> list[Item]:
    """The drafts over FastAPI's English documentation."""
    own = {
        line["id"]
        for line in lines(data / "drafts/drafts.jsonl")
        if all(
            (data / "fastapi_docs" / each["source"].removeprefix("en/docs/")).exists()
            for each in line["passages"]
        )
        and line["document_language"] == "en"
    }
    return [item for item in read_items(data / "drafts/drafts.jsonl") if item.id in own]


def unanswered() -> list[Item]:
    """Everyday questions that nothing in it answers: drafts without a sentence."""
    return [
        Item(
            id=line["id"], language="en", document_language="en", style="", question=line["question"], passages=(), sentences=(),
            drafts=(NO_ANSWER, NO_ANSWER), planted=(),
        )
        for line in lines(EVALUATION / "fastapi_everyday.jsonl")
        if not line["answerable"]
    ]  # fmt: skip


async def ask_all(items: Sequence[Item], docs: Path, vectors: str, say: Say) -> list[TurnTokens]:
    """One after another, each in a conversation of its own."""
    model = CorpusModel(items[0])

    async def play(item: Item) -> TurnTokens:
        nonlocal model
        model, before = CorpusModel(item), len(gemini.calls)
        outcome = await run_in_order(footnote.assistant, ask(item.question, situation(fresh_conversation())))
        is_answered = outcome.answer is not None and outcome.kind == "answered"
        return TurnTokens(
            item=item,
            is_answered=is_answered,
            shown=shown(item, "good", outcome.answer.text if outcome.answer and is_answered else ""),
            calls=len(gemini.calls) - before,
            trips=outcome.usage.round_trips,
            read=dict(model.read),
            written=model.written,
        )

    def reply(step: str, call: Call) -> dict[str, Any] | str:
        return model.reply(step, call)

    with tempfile.TemporaryDirectory(prefix="tokens-") as home:
        async with FakeGemini(reply=reply) as gemini:
            settings = Settings(
                data_dir=Path(home), google_api_key=gemini.api_key, google_gemini_base_url=gemini.base_url,
                chat_model=WRITER, grader_model=GRADER, embedding_model=vectors, web_search="off",
            )  # fmt: skip
            async with open_footnote(settings, purpose="tokens", reads=reads_everything) as footnote:
                say("indexing")
                await asyncio.to_thread(footnote.library.ingest, [docs])
                await asyncio.to_thread(footnote.library.embed_pending)
                say(f"{len(items)} questions")
                return [await play(item) for item in items]


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    some = QUICK if quick else None
    items = [*answered(data)[:some], *unanswered()[:some]]
    rows = asyncio.run(ask_all(items, data / "fastapi_docs", model, say))
    held = [row for row in rows if row.item.passages]
    groups = {"answered by the documents": held, "by nothing": [row for row in rows if not row.item.passages]}
    return Section(
        name="tokens",
        title="Tokens of a question",
        what="Estimated tokens of the models for one question over FastAPI's documentation, every check on.",
        tables=(
            Table(
                title="Medians", columns=("questions", "number", *MEASURES),
                rows=tuple((name, len(some), *figures(some).values()) for name, some in groups.items()),
            ),
            Table(
                title="By step, of questions answered by the documents", columns=("step", "mean", "share"),
                rows=tuple(_by_step(held)),
            ),
        ),
        figures={
            f"{name}: {measure}": figure for name, some in groups.items() for measure, figure in figures(some).items()
        },
        note="Four characters count as a token.",
    )  # fmt: skip


MEASURES: Mapping[str, Callable[[Sequence[TurnTokens]], float]] = {
    "tokens": lambda rows: median(row.total for row in rows),
    "read": lambda rows: median(sum(row.read.values()) for row in rows),
    "most": lambda rows: max(row.total for row in rows),
    "calls": lambda rows: fmean(row.calls for row in rows),
    "trips": lambda rows: fmean(row.trips for row in rows),
    "answered": lambda rows: share(sum(row.is_answered for row in rows), len(rows)),
    "kept": lambda rows: share(sum(row.shown.kept for row in rows), sum(row.shown.good for row in rows)),
}


def figures(rows: Sequence[TurnTokens]) -> dict[str, float]:
    return {name: round(measure(rows), 3) for name, measure in MEASURES.items()}


def _by_step(rows: Sequence[TurnTokens]) -> list[tuple[Cell, ...]]:
    means: dict[str, float] = {step: fmean(row.read.get(step, 0.0) for row in rows) for step in STEPS}
    means["replies"] = fmean(row.written for row in rows)
    whole = sum(means.values())
    return [(step, round(tokens), share(tokens, whole)) for step, tokens in means.items()]
