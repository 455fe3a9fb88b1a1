"""When the first checked sentence of an answer is shown, and what that costs.

The labelled drafts are asked twice of a local server: by somebody who watches, who sees the answer's sentences as they
pass the check, and by nobody. The model writes --speed tokens a second, and takes --judging seconds for anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

from fakes.drafts import JUDGED, DraftModel, blocks_of
from fakes.gemini import Call, FakeGemini

from benchmarks import DATA, Say
from benchmarks.draft_labels import Item, Which, plain, read_items, shown
from benchmarks.drafts import GRADER, WRITER, asked_of, documents_of, share
from bots.testing.report import Section, Table
from core.conversation import Outcome, Progress, ignore_progress, value
from core.grounding.citations import merge_footnotes
from core.grounding.claims import claims_of
from core.settings import Settings


@value
class Asked:
    """One question, watched or not."""

    outcome: Outcome
    whole: float  #: seconds
    first: float | None  #: seconds until the first checked sentence was shown before the end; None: none was
    tokens: int
    calls: int
    unchecked: int  #: words shown before a judge had found their sentence supported
    planted: int  #: planted falsehoods in what was shown before the end
    is_continued: bool  #: whether the end begins with all that was shown before


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Sees what is shown of an answer before its end."""

    model: DraftModel
    began: float = field(default_factory=perf_counter)
    first: float | None = None
    shown: list[str] = field(default_factory=list)
    supported: str = ""  #: the sentences that a judge found supported by now, as letters and digits
    unchecked: int = 0

    def reply(self, step: str, call: Call) -> object:
        said = self.model.reply(step, call)
        if step in ("grounding", "confirm") and isinstance(said, dict):
            against = said["unsupported" if step == "grounding" else "unstated"]
            judged = sorted(blocks_of(call.prompt, JUDGED), key=lambda one: one.number)
            self.supported += "".join(plain(one.text) for one in judged if one.number not in against)
        return said

    def report(self, progress: Progress) -> None:
        if progress.answer is None:
            return
        text = progress.answer.text
        self.first = self.first or perf_counter() - self.began
        self.shown.append(text)
        for claim in claims_of(text):
            if plain(claim.text) not in self.supported:
                self.unchecked += len(claim.text.split())


async def asked(item: Item, which: Which, *, is_watched: bool, speed: float, judging: float) -> Asked:
    model = DraftModel(item=item, which=which)
    watcher = Watcher(model=model)
    with documents_of(item) as docs:
        async with FakeGemini(reply=watcher.reply, latency=judging, tokens_per_second=speed) as gemini:
            settings = Settings(
                data_dir=docs.parent / "data", google_api_key=gemini.api_key, google_gemini_base_url=gemini.base_url,
                chat_model=WRITER, grader_model=GRADER, embedding_model="none", web_search="off",
            )  # fmt: skip
            outcome = await asked_of(
                item.question, docs, settings, watcher.report if is_watched else ignore_progress
            )
    answer = merge_footnotes(outcome.answer).text if outcome.answer else ""
    whole = outcome.timing_ms["total"] / 1000
    began = gemini.calls[0].started if gemini.calls else 0.0
    return Asked(
        outcome=outcome,
        whole=whole,
        first=None if watcher.first is None else watcher.began + watcher.first - began,
        tokens=outcome.usage.input_tokens + outcome.usage.output_tokens,
        calls=outcome.usage.calls,
        unchecked=watcher.unchecked,
        planted=sum(shown(item, which, text).false for text in watcher.shown[-1:]),
        is_continued=all(answer.startswith(text) for text in watcher.shown),
    )


def run(
    say: Say, *, data: Path = DATA, which: str = "good", speed: float = 60.0, judging: float = 0.7, limit: int = 1_000,
    side_by_side: int = 6,
) -> Section:  # fmt: skip
    items = read_items(data / "drafts/drafts.jsonl")[:limit]
    kind: Which = "bad" if which == "bad" else "good"
    say(f"{len(items)} drafts, twice")

    async def play() -> list[tuple[Asked, Asked]]:
        free = asyncio.Semaphore(side_by_side)

        async def one(item: Item) -> tuple[Asked, Asked]:
            async with free:
                return (
                    await asked(item, kind, is_watched=True, speed=speed, judging=judging),
                    await asked(item, kind, is_watched=False, speed=speed, judging=judging),
                )

        return await asyncio.gather(*map(one, items))

    rows = asyncio.run(play())
    return Section(
        name="first_sentence",
        title="The first checked sentence",
        what=f"The {kind} drafts, at {speed:g} tokens a second, {judging:g} s a verdict.",
        tables=(
            Table(
                title="Shown before the end", columns=("measure", "value"), rows=tuple(figures(rows).items())
            ),
            Table(
                title="Shown, and not continued by the end",
                columns=("item", "outcome", "steps"),
                rows=tuple(
                    (item.id, watched.outcome.kind, " > ".join(watched.outcome.steps))
                    for item, (watched, _) in zip(items, rows, strict=True)
                    if not watched.is_continued
                ),
            ),
        ),
        figures=figures(rows),
    )


def figures(rows: Sequence[tuple[Asked, Asked]]) -> dict[str, float]:
    answered = [row for row in rows if all(each.outcome.kind == "answered" for each in row)]

    def ratio(of: Callable[[Asked], float]) -> float:
        return share(sum(of(watched) for watched, _ in answered), sum(of(other) for _, other in answered))

    parts = [(watched.first or watched.whole) / watched.whole for watched, _ in answered]
    of_kinds = {
        "where it is early": [part for part, (one, _) in zip(parts, answered, strict=True) if one.first],
        "where the draft is written ahead of the grades": [
            part
            for part, (one, _) in zip(parts, answered, strict=True)
            if "generate" not in one.outcome.steps
        ],
    }
    return {
        "answered": len(answered) / len(rows),
        "with an early sentence": fmean(watched.first is not None for watched, _ in answered),
        "first sentence, share of the whole time, median": median(parts),
        **{f"the same {name}": median(some or [1.0]) for name, some in of_kinds.items()},
        "seconds, watched": median([watched.whole for watched, _ in answered]),
        "time, beside unwatched": ratio(lambda one: one.whole),
        "tokens, beside unwatched": ratio(lambda one: one.tokens),
        "calls, beside unwatched": ratio(lambda one: one.calls),
        "unchecked words": sum(watched.unchecked for watched, _ in rows),
        "planted sentences": sum(watched.planted for watched, _ in rows),
        "not continued": sum(not watched.is_continued for watched, _ in rows),
    }
