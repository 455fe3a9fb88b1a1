"""What a fallible judge does to our graph and to the five published ones, in a world whose truth is known."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from langgraph.errors import GraphRecursionError
from langgraph.graph.state import CompiledStateGraph

from benchmarks import DATA, Say, published
from benchmarks.draft_labels import shown
from benchmarks.estimates import Estimate, mean
from benchmarks.fallible import Script, ScriptedDraft
from benchmarks.our_graph import OurGraph
from benchmarks.published import RECURSION_LIMIT
from benchmarks.world import World, WorldQuestion, open_world
from bots.testing.report import Cell, Section, Table
from core.conversation import Outcome, value
from core.graph.policy import PRESETS

OURS = "footnote"
ERRORS = (0.05, 0.1, 0.2, 0.3)  # probability that a verdict is wrong
SEEDS = 3  # lots drawn anew for every question
COUNT = 400  # questions at most; the labelled drafts here are enough for 172 that keep the mix
QUICK_COUNT, QUICK_ERRORS = 20, (0.2,)


@value
class Result:
    """Of one run on one question."""

    right: int = 0
    wrong: int = 0
    needless: int = 0  #: 1: the web was proposed though the documents hold the answer
    calls: int
    trips: int  #: model calls one after another, those side by side counted once

    @property
    def abstained(self) -> int:
        return 1 - self.right - self.wrong

    @property
    def balance(self) -> int:
        return self.right - self.wrong


Results = Mapping[
    tuple[str, float], Mapping[WorldQuestion, Sequence[Result]]
]  # by policy and error, one for each seed
Measure = Callable[[Result], float]

MEASURES: Mapping[str, Measure] = {
    "right": lambda ended: ended.right,
    "wrong": lambda ended: ended.wrong,
    "abstained": lambda ended: ended.abstained,
    "right - wrong": lambda ended: ended.balance,
    "needless proposals": lambda ended: ended.needless,
    "calls": lambda ended: ended.calls,
    "round trips": lambda ended: ended.trips,
}

WHAT = (
    "Six graphs answer the same questions with scripted models whose every verdict (route, relevance, sufficiency, "
    "grounding, usefulness) is wrong with the given probability; repeated verdicts on one input share half of their "
    "error, every web proposal is approved, and retrieval is the library's own. What the documents answer is written "
    "in drafts of language models whose sentences are labelled; what they do not is of SQuAD 2 and CLAPNQ."
)
NOTE = (
    "Mean over questions and lots, with the 95% bootstrap interval over questions. A draft is right when nine of ten "
    "of its good sentences are shown and nothing that was planted in it, wrong when something planted is; the published "
    "graphs show it whole or not at all, and their judge of support errs on the whole. Needless: the web was proposed "
    "though the documents hold the answer. A published graph that runs into its recursion limit of 25 has abstained."
)
LIMITS = (
    "The judges are scripted: their errors are symmetric and independent of how hard a question or sentence is. Where "
    "the passage that a draft rests on most is in front of the writer, one draft in five holds falsehoods; without it, "
    "half of the time it writes those, or elsewhere something invented or beside the question that local checks of "
    "names and numbers do not catch. Rewrites are shorter, not wiser, wordings."
)


def run(say: Say, *, data: Path = DATA, quick: bool = False) -> Section:
    errors, seeds, count = (QUICK_ERRORS, 1, QUICK_COUNT) if quick else (ERRORS, SEEDS, COUNT)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_world(data, Path(folder), count=count) as world,
    ):
        return section(asyncio.run(run_all(world, errors=errors, seeds=seeds, say=say)))


async def run_all(world: World, *, errors: Sequence[float], seeds: int, say: Say) -> Results:
    """Every graph on every question, with the same lots for all of them."""
    footnote = OurGraph.build(PRESETS[OURS])
    graphs = {name: published.build(name) for name in published.MODULES}
    runs: dict[tuple[str, float], dict[WorldQuestion, list[Result]]] = {}
    for error in errors:
        for name in (OURS, *graphs):
            say(f"{name}, verdicts wrong with probability {error:g}")
            ended: dict[WorldQuestion, list[Result]] = {question: [] for question in world.questions}
            for question, seed in ((question, seed) for question in world.questions for seed in range(seeds)):
                script = Script(world=world, question=question, error=error, seed=seed)
                one = run_ours(footnote, script) if name == OURS else run_published(graphs[name], script)
                ended[question].append(await one)
            runs[name, error] = ended
    return runs


async def run_ours(footnote: OurGraph, script: Script) -> Result:
    outcome, usage = await footnote.run(script)
    text = outcome.answer.text if outcome.answer and outcome.kind == "answered" else ""
    is_quoted = bool(text) and is_right(script.question, outcome)
    right, wrong = judged(script, text) or (is_quoted, bool(text) and not is_quoted)
    return Result(
        right=int(right),
        wrong=int(wrong),
        needless=_needless(script),
        calls=usage.calls,
        trips=usage.round_trips,
    )


def judged(script: Script, text: str) -> tuple[bool, bool] | None:
    """Whether what is shown of a language model's draft is right, and whether it is wrong; None: it is no such draft."""
    if script.question.item is None:
        return None
    seen = shown(script.question.item, script.written.which, text)
    return bool(text) and seen.is_right, seen.false > 0


def is_right(question: WorldQuestion, outcome: Outcome) -> bool:
    """Whether a footnote quotes a sentence that answers the question."""
    quotes = [citation.quote for citation in outcome.answer.citations] if outcome.answer else []
    said = [question.gold[start:end] for start, end in question.sentences]
    return any(sentence in quote or quote in sentence for quote in quotes for sentence in said)


async def run_published(graph: CompiledStateGraph[Any, Any, Any, Any], script: Script) -> Result:
    try:
        state = await graph.ainvoke({}, {"recursion_limit": RECURSION_LIMIT}, context=script)
    except GraphRecursionError:  # its only bound: nothing is answered
        state = {}
    draft = state.get("draft") or ScriptedDraft(what="nothing", key="")
    item = script.question.item
    text = item.draft(draft.which) if item and draft.what != "nothing" else ""
    right, wrong = judged(script, text) or (draft.what == "right", draft.what in ("invented", "beside"))
    usage = script.calls.usage
    return Result(
        right=int(right),
        wrong=int(wrong),
        needless=_needless(script),
        calls=usage.calls,
        trips=usage.round_trips,
    )


def _needless(script: Script) -> int:
    return int(script.searches > 0 and script.question.kind == "held")


def section(runs: Results) -> Section:
    errors = tuple(dict.fromkeys(error for _, error in runs))
    policies = tuple(dict.fromkeys(name for name, _ in runs))
    return Section(
        name="judges",
        title="The graph under a fallible judge",
        what=WHAT,
        tables=(*(_table(runs, policies, error) for error in errors), _leads(runs, policies, errors)),
        figures=dict(_figures(runs)),
        note=LIMITS,
    )


def per_question(
    ended: Mapping[WorldQuestion, Sequence[Result]], measure: Measure, kind: str = ""
) -> list[float]:
    """The mean over the lots of each question, of one kind or of all."""
    return [fmean(map(measure, each)) for question, each in ended.items() if kind in ("", question.kind)]


def _table(runs: Results, policies: Sequence[str], error: float) -> Table:
    questions = len(runs[policies[0], error])
    rows = (
        (
            name,
            *(str(Estimate.mean(per_question(runs[name, error], measure))) for measure in MEASURES.values()),
        )
        for name in policies
    )
    return Table(
        title=f"Verdicts wrong with probability {error:g} ({questions} questions)",
        columns=("graph", *MEASURES),
        rows=tuple(rows),
        note=NOTE,
    )


def _leads(runs: Results, policies: Sequence[str], errors: Sequence[float]) -> Table:
    """Ours against the best of the others in each demand, on all questions and on each kind."""
    rows = tuple(
        (f"{error:g}", KINDS[kind], *_lead(runs, policies, error, kind))
        for error in errors
        for kind in KINDS
        if any(kind in ("", question.kind) for question in runs[policies[0], error])
    )
    columns = ("error", "questions", *(f"{name}: lead over the best other" for name in DEMANDS))
    return Table(
        title="Our lead in each demand",
        columns=columns,
        rows=rows,
        note="Paired by question, 95% bootstrap interval. Above 0: better than every published graph.",
    )


KINDS: Mapping[str, str] = {
    "": "all",
    "held": "answered by the documents",
    "away": "answered elsewhere",
    "near": "answered nowhere",
}

#: What the default must be best in, and the sign that makes more of it better.
DEMANDS: Mapping[str, int] = {"right - wrong": 1, "wrong": -1, "round trips": -1}


def _lead(runs: Results, policies: Sequence[str], error: float, kind: str) -> Iterator[Cell]:
    for name, sign in DEMANDS.items():
        ours, *others = (per_question(runs[policy, error], MEASURES[name], kind) for policy in policies)
        best = max(others, key=lambda values: sign * sum(values))
        yield str(Estimate.mean([sign * (our - other) for our, other in zip(ours, best, strict=True)]))


def _figures(runs: Results) -> Iterator[tuple[str, float]]:
    for (policy, error), ended in runs.items():
        for name, measure in MEASURES.items():
            yield f"{policy} at {error:g}: {name}", round(mean(per_question(ended, measure)), 4)
