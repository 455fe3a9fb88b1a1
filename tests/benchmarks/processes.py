"""Turns a second of one, two and three processes on one PostgreSQL, and the CPU that they take.

All questions are asked at once in channels of their own, of a model that takes no time. Slack is the local
one of the tests, in this process; the model, PostgreSQL and each bot are processes of their own, on the
processors of one machine: where these are busy with one bot already, another one adds nothing.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

from fakes.postgres import PostgresServer
from fakes.served import HANDBOOK, environment
from fakes.slack import FakeSlack

from benchmarks import Say
from benchmarks.load import CHANNELS, FERRY, PATIENCE, Answers, Office, settings_of, used_by
from benchmarks.model_server import Scenario, local_model
from bots.eval.report import Section, Table
from core.conversation import value


@value
class Burst:
    """What came of many questions at once."""

    processes: int
    answered: int
    rate: float  #: turns a second
    cpu: float  #: milliseconds a question, of all bots together


async def burst(processes: int, questions: int, url: str, scratch: Path) -> Burst:
    async with local_model() as model, FakeSlack() as slack, AsyncExitStack() as ending:
        await model.begin(Scenario(relevant="Sark"))
        ann = slack.add_user("ann")
        channels = [slack.add_channel(f"c{number}", ann) for number in range(CHANNELS)]
        settings = settings_of(model.base_url) | {"DATABASE_URL": url}
        offices = [
            Office(folder=_folder(scratch, number), slack=slack, settings=settings)
            for number in range(processes)
        ]
        for office in offices:
            await office.open(is_cold=True, is_connected=False)
            ending.push_async_callback(office.__aexit__)
        await slack.until_connected(2 * processes, within=PATIENCE)
        warm = Answers(slack, [await slack.mention(ann, each, FERRY) for each in channels[: 4 * processes]])
        await warm.until_all_there()
        before = [await used_by(office) for office in offices]
        answers, places = Answers(slack), cycle(channels)
        for _ in range(questions):
            answers.asked.append(await slack.mention(ann, next(places), FERRY))
        await answers.until_all_there()
        took = time.monotonic() - before[-1].at
        after = [await used_by(office) for office in offices]
        cpu = sum(end.since(begin).cpu for begin, end in zip(before, after, strict=True))
        for office in offices:
            await office.stop()
    answered = len(answers.at)
    return Burst(processes=processes, answered=answered, rate=answered / took, cpu=cpu / questions)


def _folder(scratch: Path, number: int) -> Path:
    folder = scratch / str(number)
    folder.mkdir()
    (folder / "handbook.md").write_text(HANDBOOK)
    return folder


def _ingest(folder: Path, url: str) -> None:
    command = [sys.executable, "-m", "bots", "ingest", "handbook.md"]
    subprocess.run(
        command, cwd=folder, env=environment(folder) | {"DATABASE_URL": url}, check=True, capture_output=True
    )


def run(say: Say, *, questions: int = 300, processes: str = "1,2,3") -> Section:
    """``processes``: how many of them, with commas between the runs."""
    found: list[Burst] = []
    with PostgresServer.started() as server:
        for count in map(int, processes.split(",")):
            with server.database() as url, tempfile.TemporaryDirectory() as scratch:
                _ingest(_folder(Path(scratch), 99), url)
                found.append(asyncio.run(burst(count, questions, url, Path(scratch))))
            say(f"{count}: {found[-1].rate:.1f} turns a second")
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
