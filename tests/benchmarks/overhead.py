"""What a turn costs this process: CPU time with a model that takes none, and where it goes."""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time, thread_time
from typing import Any

from benchmarks import Say
from benchmarks.model_server import Scenario, local_model
from benchmarks.serving import serving
from benchmarks.synthetic import library_of, questions
from bots.testing.report import Cell, Section, Table, percentile
from core.conversation import Conversation, Question, value
from core.turns.assistant import Assistant

SIZES = {1_000: 30.0, 100_000: 60.0}  # passages, and the milliseconds of CPU that a turn may take
QUICK_SIZES = {200: 30.0}
TURNS, QUICK_TURNS = 60, 3
WARM = 5  # turns before those that count: modules, connections and caches
PROFILED = 20  # turns under the profiler, apart from those that count
SHOWN = 12  # entries of the profile


BUILTIN = "~"  # the profiler's name for the file of a function that has none
Function = tuple[str, int, str]  # file, line and name, as the profiler knows it


@value
class CpuTimes:
    """Milliseconds of CPU, one number for each turn."""

    total: tuple[float, ...]  #: of the process, every thread
    loop: tuple[float, ...]  #: of the event loop's thread; the rest is retrieval, checkpoints and the network
    steps: tuple[tuple[str, ...], ...]  #: nodes that each turn took


def run(say: Say, *, model: str = "none", quick: bool = False) -> Section:
    sizes, turns = (QUICK_SIZES, QUICK_TURNS) if quick else (SIZES, TURNS)
    rows: list[tuple[Cell, ...]] = []
    tables: list[Table] = []
    figures: dict[str, float] = {}
    for size, bar in sizes.items():
        spent, calls, profile = asyncio.run(_measure(size, turns, model, say))
        middle = median(spent.total)
        rows.append(
            (size, calls, min(spent.total), middle, percentile(spent.total, 0.95), median(spent.loop), bar)
        )
        tables.append(profile)
        figures |= {
            f"CPU ms of a turn, {size} passages": middle,
            f"least CPU ms of a turn, {size} passages": min(spent.total),
        }
    return Section(
        name="overhead",
        title="What a turn costs this machine",
        what=(
            f"CPU time of this process, every thread, over {turns} questions one after the other: the default policy "
            "through the real client of a local model without latency, checkpoints on the disk, synthetic passages."
        ),
        tables=(
            Table(
                title="CPU of one turn",
                columns=(
                    "passages",
                    "model calls",
                    "least, ms",
                    "median, ms",
                    "p95, ms",
                    "of it the event loop, ms",
                    "bar, ms",
                ),
                rows=tuple(rows),
            ),
            *tables,
        ),
        figures=figures,
        note="Most of it is the model's client: building, sending and reading seven requests.",
    )


async def _measure(size: int, turns: int, model: str, say: Say) -> tuple[CpuTimes, float, Table]:
    with (
        tempfile.TemporaryDirectory() as scratch,
        library_of(size, Path(scratch), model=model, say=say) as library,
    ):
        async with local_model() as gemini, serving(library, Path(scratch), gemini.base_url) as assistant:
            await gemini.begin(Scenario())
            asked = list(islice(questions(size), WARM + turns + PROFILED))
            await _time(assistant, asked[:WARM])
            spent = await _time(assistant, asked[WARM : WARM + turns])
            profile = await _profile(assistant, asked[WARM + turns :])
            calls = len(await gemini.calls()) / len(asked)
    say(f"{median(spent.total):.1f} ms at {size:,} passages")
    return (
        spent,
        calls,
        Table(
            title=f"Where the event loop's time goes, {size:,} passages",
            columns=("package", "ms of a turn", "most of it in"),
            rows=_entries(profile),
            note="Under the profiler, which makes small functions look dearer than they are.",
        ),
    )


# Turns


async def _turn(assistant: Assistant, question: str) -> tuple[str, ...]:
    """The nodes that it took."""
    conversation = Conversation(platform="bench", space="s", channel="c", thread=question)
    asked = Question(id="q", conversation=conversation, author="ada", text=question, asked_at=0.0)
    return (await assistant.run(asked)).steps


async def _time(assistant: Assistant, asked: Sequence[str]) -> CpuTimes:
    total, loop, steps = [], [], []
    for question in asked:
        began, began_here = process_time(), thread_time()
        steps.append(await _turn(assistant, question))
        total.append(1000 * (process_time() - began))
        loop.append(1000 * (thread_time() - began_here))
    return CpuTimes(total=tuple(total), loop=tuple(loop), steps=tuple(steps))


async def _profile(assistant: Assistant, asked: Sequence[str]) -> pstats.Stats:
    """The event loop's thread over these turns; the profiler makes small functions look dearer than they are."""
    profiler = cProfile.Profile(process_time)
    profiler.enable()
    for question in asked:
        await _turn(assistant, question)
    profiler.disable()
    return pstats.Stats(profiler)


def _entries(stats: pstats.Stats) -> tuple[tuple[Cell, ...], ...]:
    """The packages in which most time was spent, and the functions of each that took most of it."""
    packages: dict[str, dict[str, float]] = {}
    for package, function, seconds in _times(stats):
        functions = packages.setdefault(package, {})
        functions[function] = functions.get(function, 0.0) + seconds
    dearest = sorted(packages.items(), key=lambda entry: -sum(entry[1].values()))[:SHOWN]
    return tuple(
        (package, 1000 * sum(functions.values()) / PROFILED, ", ".join(_dearest(functions)))
        for package, functions in dearest
    )


def _times(stats: pstats.Stats) -> Iterator[tuple[str, str, float]]:
    """(package, function, own seconds); a builtin's time is that of the functions that called it."""
    profile: dict[Function, tuple[int, int, float, float, dict[Function, Any]]] = vars(stats)["stats"]
    for (file, _, name), (_, _, own, _, callers) in profile.items():
        if file != BUILTIN or "poll" in name:
            yield _package(file, name), name, own
            continue
        for (caller_file, _, caller), times in callers.items():
            yield _package(caller_file, caller), caller, times[2]


def _dearest(functions: Mapping[str, float]) -> list[str]:
    return sorted(functions, key=lambda name: -functions[name])[:3]


def _package(file: str, name: str) -> str:
    """What a function belongs to: an installed package, a part of ours, or Python itself."""
    parts = Path(file).parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1].removesuffix(".py")
    for own in ("core", "bots"):
        if own in parts:
            return own
    return "waiting for replies" if "poll" in name else "Python"
