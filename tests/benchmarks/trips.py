"""Round trips and wall time: our graph beside the five published ones, on one local model."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from fakes.gemini import round_trips
from fakes.scripted import ScriptedWeb, web_hit
from langgraph.errors import GraphRecursionError
from langgraph.graph.state import CompiledStateGraph

from benchmarks import Say
from benchmarks.evaluation_sets import EVERYTHING, fill, open_library
from benchmarks.model_server import DOES_NOT_KNOW, LocalModel, Scenario, local_model
from benchmarks.published import MODULES, RECURSION_LIMIT, build
from benchmarks.published.client import ClientScript, ClientWorld, Wordings
from benchmarks.serving import CHAT_MODEL, access_to, serving
from benchmarks.variants import DOCUMENTS, VARIANTS, Variant
from bots.testing.report import Section, Table, percentile
from core.conversation import Conversation, Decision, Question, Turn, value
from core.library.documents import Retrieval
from core.library.library import Library
from core.library.retriever import Query
from core.reasoning.providers import connect
from core.turns.assistant import Assistant

CompiledGraph = CompiledStateGraph[Any, Any, Any, Any]

OURS = "footnote"
FULL_STOP = "it stopped at its recursion limit"
LATENCY = 0.4  # seconds of one reply
SPREAD = 0.35  # of the logarithm of a reply's time: 5% of the replies take 1.8 times the median or longer
RUNS, UNEVEN_RUNS = 12, 6  # of each graph on each path; one where it found no end
QUICK_LATENCY, QUICK_RUNS = 0.01, 1
PASSAGES = 8  # retrieved for a wording; who wants fewer takes the best


@value
class TimedRun:
    """One question from beginning to end."""

    seconds: float
    calls: int
    trips: int
    ending: str


# One question


def web_of(variant: Variant) -> ScriptedWeb:
    """A web that needs no time and finds the same for every query."""
    hits = (
        web_hit(text, id=f"{number}", score=1 / number, title="example.org", location="example.org")
        for number, text in enumerate(variant.web, start=1)
    )
    return ScriptedWeb(hits=tuple(hits))


async def run_ours(assistant: Assistant, variant: Variant, number: int) -> str:
    """How the question ends when each proposal is decided at once."""
    conversation = Conversation(platform="bench", space="s", channel=variant.name, thread=str(number))
    turn: Turn = Question(
        id="q", conversation=conversation, author="ada", text=variant.question, asked_at=0.0
    )
    outcome = await assistant.run(turn)
    for click in count(1):
        if outcome.kind != "approval_needed" or outcome.proposal is None:
            break
        outcome = await assistant.run(
            Decision(
                id=f"d{click}",
                conversation=conversation,
                author="ada",
                proposal_id=outcome.proposal.id,
                verdict="approve" if click <= variant.allowed else "deny",
                decided_at=0.0,
            )
        )
    return "answered" if outcome.kind == "answered" else "no answer"


async def run_published(graph: CompiledGraph, script: ClientScript) -> str:
    try:
        state = await graph.ainvoke({}, {"recursion_limit": RECURSION_LIMIT}, context=script)
    except GraphRecursionError:
        return FULL_STOP
    return "answered" if state.get("draft") not in (None, DOES_NOT_KNOW) else "no answer"


# Many questions

AskGraph = Callable[[Variant, int], Awaitable[str]]  # one question; the number is new each time
Runs = Mapping[tuple[str, str], Sequence[TimedRun]]  # by variant and graph


@contextmanager
def _library(folder: Path) -> Iterator[Library]:
    library = open_library(folder, None)
    try:
        yield fill(library, ((f"/handbook/{title}", title, texts) for title, texts in DOCUMENTS.items()))
    finally:
        library.close()


def _published(library: Library, base_url: str) -> dict[str, AskGraph]:
    """The five graphs, each asked of the same library and the same model as ours."""
    model = connect("CHAT_MODEL", CHAT_MODEL, access_to(base_url))

    def retrieve(wording: str) -> Retrieval:
        return library.retrieve(Query(text=wording, scope=EVERYTHING, limit=PASSAGES))

    def asking(graph: CompiledGraph) -> AskGraph:
        async def ask(variant: Variant, _number: int) -> str:
            question = Wordings(text=variant.question, wordings=(variant.question, variant.reworded))
            world = ClientWorld(retrieve=retrieve, web=variant.web)
            return await run_published(graph, ClientScript(question=question, world=world, model=model))

        return ask

    return {name: asking(build(name)) for name in MODULES}


async def run_all(*, latency: float, spread: float, runs: int, say: Say) -> Runs:
    """Every graph on every variant, one after the other in turn, so that all meet the same machine."""
    found: dict[tuple[str, str], list[TimedRun]] = {}
    with tempfile.TemporaryDirectory() as scratch, _library(Path(scratch, "library")) as library:
        by_name = {variant.name: variant for variant in VARIANTS}

        def web(turn: Turn) -> ScriptedWeb:
            return web_of(by_name[turn.conversation.channel])

        async with local_model() as model, serving(library, Path(scratch), model.base_url, web=web) as ours:

            async def ask_ours(variant: Variant, number: int) -> str:
                return await run_ours(ours, variant, number)

            graphs: dict[str, AskGraph] = {OURS: ask_ours, **_published(library, model.base_url)}
            await _warm(graphs, model)
            for number in range(runs):
                say(f"run {number + 1} of {runs}")
                for variant in VARIANTS:
                    scenario = variant.scenario(latency=latency, spread=spread, seed=number)
                    for name, ask in graphs.items():
                        of = found.setdefault((variant.name, name), [])
                        if not of or of[-1].ending != FULL_STOP:
                            of.append(await _timed(ask, variant, number, model, scenario))
    return found


async def _warm(graphs: Mapping[str, AskGraph], model: LocalModel) -> None:
    """What is loaded and opened once is not part of any question."""
    for ask in graphs.values():
        await _timed(ask, VARIANTS[0], -1, model, VARIANTS[0].scenario(latency=0, spread=0, seed=0))


async def _timed(
    ask: AskGraph, variant: Variant, number: int, model: LocalModel, scenario: Scenario
) -> TimedRun:
    await model.begin(scenario)
    began = perf_counter()
    ending = await ask(variant, number)
    seconds = perf_counter() - began
    calls = await model.calls()
    return TimedRun(seconds=seconds, calls=len(calls), trips=round_trips(calls), ending=ending)


def run(say: Say, *, quick: bool = False) -> Section:
    latency = QUICK_LATENCY if quick else LATENCY
    runs, uneven_runs = (QUICK_RUNS, QUICK_RUNS) if quick else (RUNS, UNEVEN_RUNS)
    even = asyncio.run(run_all(latency=latency, spread=0.0, runs=runs, say=say))
    uneven = asyncio.run(run_all(latency=latency, spread=SPREAD, runs=uneven_runs, say=say))
    figures = {**_figures(even, "even"), **_figures(uneven, "uneven")}
    return Section(
        name="trips",
        title="Round trips to the model",
        what=(
            "The default policy and the five published graphs on the same questions, through the same Google client, "
            f"at one local server that takes {latency * 1000:.0f} ms for each reply; runs of all graphs alternate, "
            "calls and round trips are counted at the server."
        ),
        tables=(
            *(_table(variant, even, "every reply takes the same time") for variant in VARIANTS),
            *(_table(variant, uneven, "replies take uneven time") for variant in VARIANTS),
        ),
        figures=figures,
        note=(
            "Every decision comes at once, and web search takes no time. The published graphs run without a "
            "checkpoint, ours stores one after each node. Where replies take uneven time, calls side by side take as "
            "long as the slowest of them."
        ),
    )


def ratio(runs: Runs, variant: str, name: str) -> float:
    """How many times as long as ours it takes, by the medians."""
    theirs, ours = (median(run.seconds for run in runs[variant, graph]) for graph in (name, OURS))
    return theirs / ours


def _table(variant: Variant, runs: Runs, how: str) -> Table:
    rows = tuple(
        (
            name, len(of), _range(run.calls for run in of), _range(run.trips for run in of),
            1000 * median(run.seconds for run in of), 1000 * percentile([run.seconds for run in of], 0.95),
            ratio(runs, variant.name, name), ", ".join(sorted({run.ending for run in of})),
        )
        for name in (OURS, *MODULES)
        for of in [runs[variant.name, name]]
    )  # fmt: skip
    columns = ("graph", "runs", "calls", "round trips", "median, ms", "p95, ms", "times ours", "ending")
    return Table(title=f"{variant.title.capitalize()}: {how}", columns=columns, rows=rows)


def _range(counts: Iterable[int]) -> str:
    """ "5", or "5 to 8" where runs differ."""
    found = sorted(set(counts))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _figures(runs: Runs, how: str) -> dict[str, float]:
    ratios = {
        (variant.name, name): ratio(runs, variant.name, name) for variant in VARIANTS for name in MODULES
    }
    named = {f"{variant} {name} times ours, {how}": times for (variant, name), times in ratios.items()}
    ours = {
        f"{variant.name} {OURS} trips, {how}": median(run.trips for run in runs[variant.name, OURS])
        for variant in VARIANTS
    }
    return {**named, **ours, f"least times ours on any path, {how}": min(ratios.values())}
