"""Turns a second of one, two and three processes on one PostgreSQL, and the CPU that they take.

All questions are asked at once in channels of their own, of a model that takes no time. Slack is the local
one of the tests, in this process; the model, PostgreSQL and each bot are processes of their own, on the
processors of one machine: where these are busy with one bot already, another one adds nothing.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

from fakes.postgres import PostgresServer
from fakes.served import index_handbook
from fakes.slack import FakeSlack

from benchmarks import Say
from benchmarks.load import CHANNELS, FERRY, PATIENCE, WARM, Answers, Office, settings_of, used_by
from benchmarks.model_server import Scenario, local_model
from bots.testing.report import Section, Table
from core.conversation import value

T = TypeVar("T")


@value
class Burst:
    """What came of many questions at once."""

    processes: int
    answered: int
    rate: float  #: turns a second
    cpu: float  #: milliseconds a question, of all bots together


@value
class Company:
    """Processes of the real command on one PostgreSQL, and the people whom they serve in Slack."""

    offices: tuple[Office, ...]
    slack: FakeSlack
    ann: str
    channels: tuple[str, ...]


@asynccontextmanager
async def serving_together(
    processes: int, url: str, scratch: Path, *, latency: float = 0.0
) -> AsyncIterator[Company]:
    """So many that have answered some questions each; the model takes ``latency`` seconds a reply."""
    await asyncio.to_thread(index_handbook, scratch, url)
    async with local_model() as model, FakeSlack() as slack, AsyncExitStack() as ending:
        await model.begin(Scenario(latency=latency, relevant="Sark"))
        ann = slack.add_user("ann")
        channels = tuple(slack.add_channel(f"c{number}", ann) for number in range(CHANNELS))
        settings, offices = settings_of(model.base_url) | {"DATABASE_URL": url}, []
        for number in range(processes):
            (folder := scratch / str(number)).mkdir()
            offices.append(Office(folder=folder, slack=slack, settings=settings))
            ending.push_async_callback(offices[-1].__aexit__)
            await offices[-1].open(is_cold=True, is_connected=False)
            await slack.until_connected(2 * len(offices), within=PATIENCE)
        asked = [await slack.mention(ann, each, FERRY) for each in channels[: WARM * processes]]
        await Answers(slack, asked).until_all_there()
        yield Company(offices=tuple(offices), slack=slack, ann=ann, channels=channels)
        for office in offices:
            await office.stop()


def by_count(
    processes: str, measure: Callable[[int, PostgresServer, str, Path], Coroutine[Any, Any, T]]
) -> dict[int, T]:
    """What was measured for each of these counts, with commas between, on an empty database of its own."""
    found: dict[int, T] = {}
    with PostgresServer.started() as server:
        for count in map(int, processes.split(",")):
            with server.database() as url, tempfile.TemporaryDirectory() as scratch:
                found[count] = asyncio.run(measure(count, server, url, Path(scratch)))
    return found


async def burst(processes: int, questions: int, url: str, scratch: Path) -> Burst:
    async with serving_together(processes, url, scratch) as company:
        slack, offices = company.slack, company.offices
        before = [await used_by(office) for office in offices]
        answers, places = Answers(slack), cycle(company.channels)
        for _ in range(questions):
            answers.asked.append(await slack.mention(company.ann, next(places), FERRY))
        await answers.until_all_there()
        took = time.monotonic() - before[-1].at
        after = [await used_by(office) for office in offices]
    cpu = sum(end.since(begin).cpu for begin, end in zip(before, after, strict=True))
    answered = len(answers.at)
    return Burst(processes=processes, answered=answered, rate=answered / took, cpu=cpu / questions)


def run(say: Say, *, questions: int = 300, processes: str = "1,2,3") -> Section:
    """``processes``: how many of them, with commas between the runs."""

    async def measure(count: int, _server: PostgresServer, url: str, scratch: Path) -> Burst:
        found = await burst(count, questions, url, scratch)
        say(f"{count}: {found.rate:.1f} turns a second")
        return found

    found = tuple(by_count(processes, measure).values())
    first = found[0].rate
    return Section(
        name="processes",
        title="Several processes on one PostgreSQL",
        what=f"{questions} questions at once, on {os.cpu_count()} processors.",
        tables=(
            Table(
                title="Turns",
                columns=("processes", "answered", "turns a second", "over the first", "CPU ms of the bots a question"),
                rows=tuple((each.processes, each.answered, each.rate, each.rate / first, each.cpu) for each in found),
            ),
        ),
        figures={f"turns a second, {each.processes} processes": each.rate for each in found},
    )  # fmt: skip
