"""What a fallible judge does to our graph and to the five published ones, in a world whose truth is known."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.draft_labels import shown
from benchmarks.fallible import Script, Written
from benchmarks.truth import Known, open_world
from bots.eval.intervals import mean, mean_of, told
from bots.eval.sections import Cell, Options, Plot, Section, Table
from core.conversation import value

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from benchmarks.scripted_turns import Footnote
    from benchmarks.truth import World
    from core.conversation import Outcome

NAME = "judges"
TITLE = "The graph under a fallible judge"

OURS = "footnote"
ERRORS = (0.05, 0.1, 0.2, 0.3)  # probability that a verdict is wrong
SEEDS = 3  # lots drawn anew for every question
COUNT = 400  # questions at most; the labelled drafts here are enough for 172 that keep the mix
QUICK_COUNT, QUICK_ERRORS = 20, (0.2,)


@value
class Ended:
    """How one run on one question ended."""

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


Runs = Mapping[tuple[str, float], Mapping[Known, Sequence[Ended]]]  # by policy and error, one for each seed
Measure = Callable[[Ended], float]

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


def measure(options: Options) -> Section:
    return asyncio.run(_measure(options))


async def _measure(options: Options) -> Section:
    errors = QUICK_ERRORS if options.quick else ERRORS
    with (
        tempfile.TemporaryDirectory() as folder,
        open_world(options.data, Path(folder), count=QUICK_COUNT if options.quick else COUNT) as world,
    ):
        runs = await run_all(world, errors=errors, seeds=1 if options.quick else SEEDS, say=options.say)
    return section(runs)


async def run_all(world: World, *, errors: Sequence[float], seeds: int, say: Callable[[str], None]) -> Runs:
    """Every graph on every question, with the same lots for all of them."""
    from benchmarks import published
    from benchmarks.scripted_turns import Footnote
    from core.graph.policy import PRESETS

    footnote = Footnote.build(PRESETS[OURS])
    graphs = {name: published.build(name) for name in published.MODULES}
    runs: dict[tuple[str, float], dict[Known, list[Ended]]] = {}
    for error in errors:
        for name in (OURS, *graphs):
            say(f"{name}, verdicts wrong with probability {error:g}")
            ended: dict[Known, list[Ended]] = {known: [] for known in world.questions}
            for known, seed in ((known, seed) for known in world.questions for seed in range(seeds)):
                script = Script(world=world, known=known, error=error, seed=seed)
                run = run_ours(footnote, script) if name == OURS else run_published(graphs[name], script)
                ended[known].append(await run)
            runs[name, error] = ended
    return runs


async def run_ours(footnote: Footnote, script: Script) -> Ended:
    outcome, usage = await footnote.run(script)
    text = outcome.answer.text if outcome.answer and outcome.kind == "answered" else ""
    is_quoted = bool(text) and is_right(script.known, outcome)
    right, wrong = judged(script, text) or (is_quoted, bool(text) and not is_quoted)
    return Ended(
        right=int(right),
        wrong=int(wrong),
        needless=_needless(script),
        calls=usage.calls,
        trips=usage.round_trips,
    )


def judged(script: Script, text: str) -> tuple[bool, bool] | None:
    """Whether what is shown of a language model's draft is right, and whether it is wrong; None: it is no such draft."""
    if script.known.item is None:
        return None
    seen = shown(script.known.item, script.written.which, text)
    return bool(text) and seen.is_right, seen.false > 0


def is_right(known: Known, outcome: Outcome) -> bool:
    """Whether a footnote quotes a sentence that answers the question."""
    quotes = [citation.quote for citation in outcome.answer.citations] if outcome.answer else []
    said = [known.gold[start:end] for start, end in known.sentences]
    return any(sentence in quote or quote in sentence for quote in quotes for sentence in said)


async def run_published(graph: CompiledStateGraph[Any, Any, Any, Any], script: Script) -> Ended:
    from langgraph.errors import GraphRecursionError

    from benchmarks.published import RECURSION_LIMIT

    try:
        state = await graph.ainvoke({}, {"recursion_limit": RECURSION_LIMIT}, context=script)
    except GraphRecursionError:  # its only bound: nothing is answered
        state = {}
    draft = state.get("draft") or Written(what="nothing", key="")
    item = script.known.item
    text = item.draft(draft.which) if item and draft.what != "nothing" else ""
    right, wrong = judged(script, text) or (draft.what == "right", draft.what in ("invented", "beside"))
    usage = script.calls.usage
    return Ended(
        right=int(right),
        wrong=int(wrong),
        needless=_needless(script),
        calls=usage.calls,
        trips=usage.round_trips,
    )


def _needless(script: Script) -> int:
    return int(script.searches > 0 and script.known.kind == "held")


# What is told of the runs


def section(runs: Runs) -> Section:
    errors = tuple(dict.fromkeys(error for _, error in runs))
    policies = tuple(dict.fromkeys(name for name, _ in runs))
    return Section(
        name=NAME,
        title=TITLE,
        what=WHAT,
        tables=(*(_table(runs, policies, error) for error in errors), _leads(runs, policies, errors)),
        plots=tuple(
            _plot(runs, policies, errors, name) for name in ("right - wrong", "wrong", "round trips")
        ),
        figures=dict(_figures(runs)),
        limits=LIMITS,
    )


def per_question(ended: Mapping[Known, Sequence[Ended]], measure: Measure, kind: str = "") -> list[float]:
    """The mean over the lots of each question, of one kind or of all."""
    return [fmean(map(measure, each)) for known, each in ended.items() if kind in ("", known.kind)]


def _table(runs: Runs, policies: Sequence[str], error: float) -> Table:
    questions = len(runs[policies[0], error])
    rows = (
        (name, *(told(mean_of(per_question(runs[name, error], measure))) for measure in MEASURES.values()))
        for name in policies
    )
    return Table(
        title=f"Verdicts wrong with probability {error:g} ({questions} questions)",
        columns=("graph", *MEASURES),
        rows=tuple(rows),
        note=NOTE,
    )


def _leads(runs: Runs, policies: Sequence[str], errors: Sequence[float]) -> Table:
    """Ours against the best of the others in each demand, on all questions and on each kind."""
    rows = tuple(
        (f"{error:g}", KINDS[kind], *_lead(runs, policies, error, kind))
        for error in errors
        for kind in KINDS
        if any(kind in ("", known.kind) for known in runs[policies[0], error])
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


def _lead(runs: Runs, policies: Sequence[str], error: float, kind: str) -> Iterator[Cell]:
    for name, sign in DEMANDS.items():
        ours, *others = (per_question(runs[policy, error], MEASURES[name], kind) for policy in policies)
        best = max(others, key=lambda values: sign * sum(values))
        yield told(mean_of([sign * (our - other) for our, other in zip(ours, best, strict=True)]))


def _plot(runs: Runs, policies: Sequence[str], errors: Sequence[float], name: str) -> Plot:
    return Plot(
        title=name.capitalize(),
        kind="lines",
        x=tuple(f"{error:g}" for error in errors),
        series={
            policy: tuple(mean(per_question(runs[policy, error], MEASURES[name])) for error in errors)
            for policy in policies
        },
        x_title="probability that a verdict is wrong",
    )


def _figures(runs: Runs) -> Iterator[tuple[str, float]]:
    for (policy, error), ended in runs.items():
        for name, measure in MEASURES.items():
            yield f"{policy} at {error:g}: {name}", round(mean(per_question(ended, measure)), 4)
