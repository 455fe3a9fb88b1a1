"""Three processes on one PostgreSQL are killed, paused, replaced and cut off from it: no turn is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.fork_server import PIPE, start_python
from fakes.mortal import endings
from fakes.patience import PATIENCE
from fakes.replica import CONVERSATIONS

TESTS = Path(__file__).resolve().parents[2]
REPLICA = TESTS / "fakes" / "replica.py"
PROCESSES = 3
PAUSE = 3.0  # seconds; a lease lasts two


@dataclass
class Fleet:
    """The processes, and what happens to them."""

    folder: Path
    server: Any
    url: str
    chance: random.Random
    processes: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    async def start(self) -> Any:
        with (self.folder / "log").open("ab") as log:
            process = await start_python(
                *(str(REPLICA), str(self.folder), self.url),
                cwd=self.folder, stdout=PIPE, stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS)))},
            )  # fmt: skip
        assert await asyncio.wait_for(process.stdout.readline(), PATIENCE), (self.folder / "log").read_text()
        return process

    async def start_all(self) -> None:
        self.processes = list(await asyncio.gather(*(self.start() for _ in range(PROCESSES))))

    async def ask(self, count: int, *, every: float) -> None:
        """Questions come in all the while."""
        for _ in range(count):
            self.lines.append(f"q{len(self.lines)} {time.time():.3f}")
            whole = self.folder / "inbox.new"
            whole.write_text("\n".join(self.lines))
            whole.replace(self.folder / "inbox")
            await asyncio.sleep(self.chance.uniform(0, 2 * every))

    async def kill(self) -> None:
        slot = self.chance.randrange(PROCESSES)
        self.processes[slot].kill()
        await self.processes[slot].wait()
        self.processes[slot] = await self.start()

    async def pause(self) -> None:
        """Past its lease; then it wakes."""
        process = self.chance.choice(self.processes)
        mark = self.folder / "paused" / str(process.pid)
        mark.touch()
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(PAUSE)
        process.send_signal(signal.SIGCONT)

    async def deploy(self) -> None:
        """One after the other, as a host does it."""
        for slot, old in enumerate(self.processes):
            self.processes[slot] = await self.start()
            old.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(old.wait(), PATIENCE) == 0

    async def restart_database(self) -> None:
        self.server.stop()
        await asyncio.sleep(1.0)
        await asyncio.to_thread(self.server.start)

    async def until_ended(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(set(self.ended)) < len(self.lines):  # noqa: ASYNC110 - what ends is in a file
                await asyncio.sleep(0.1)

    async def end(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                await process.wait()

    def listed(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    @property
    def ended(self) -> list[str]:
        return self.listed("ended")


@pytest.fixture
async def fleet(tmp_path, postgres, postgres_url):
    for name in ("sink", "paused"):
        (tmp_path / name).mkdir()
    for name in ("inbox", "acknowledged"):
        (tmp_path / name).touch()
    fleet = Fleet(tmp_path, postgres, postgres_url, random.Random(1))
    try:
        await fleet.start_all()
        yield fleet
    finally:
        await fleet.end()


async def befall(fleet: Fleet, fates: Mapping[Callable[[Fleet], Any], int], questions: int) -> None:
    """So many of each, in any order, while questions come in."""
    order = [fate for fate, count in fates.items() for _ in range(count)]
    fleet.chance.shuffle(order)
    span = 2.0 * len(order)  # seconds; what happens takes longer than this under load
    asking = asyncio.create_task(fleet.ask(questions, every=span / questions))
    for fate in order:
        await fate(fleet)
        await asyncio.sleep(fleet.chance.uniform(0.0, 0.5))
    await asking
    await fleet.until_ended()


def out_of_order(fleet: Fleet) -> list[tuple[str, str]]:
    """Pairs of one conversation: the first was said and acknowledged earlier, and ended later."""
    said = {line.split()[0]: number for number, line in enumerate(fleet.lines)}
    stored = {turn: number for number, turn in reversed(list(enumerate(fleet.listed("acknowledged"))))}
    ended = {turn: number for number, turn in reversed(list(enumerate(fleet.ended)))}
    return [
        (one, other)
        for one in said
        for other in said
        if said[one] < said[other]
        and (said[other] - said[one]) % CONVERSATIONS == 0
        and stored[one] < stored[other]
        and ended[one] > ended[other]
    ]


def doubled(fleet: Fleet) -> dict[str, int]:
    counts = Counter({line.split()[0]: len(endings(fleet.folder, line.split()[0])) for line in fleet.lines})
    return {turn: count for turn, count in counts.items() if count != 1}


def answered(fleet: Fleet) -> float:
    """Their share; a turn whose process died three times under it ends in an apology."""
    found = [json.loads(each) for line in fleet.lines for each in endings(fleet.folder, line.split()[0])]
    return sum(each["kind"] == "answered" for each in found) / len(found)


@pytest.mark.parametrize(
    ("questions", "fates"),
    [
        (24, {Fleet.kill: 2, Fleet.pause: 1, Fleet.deploy: 1, Fleet.restart_database: 1}),
        pytest.param(
            1_000,
            {Fleet.kill: 200, Fleet.pause: 20, Fleet.deploy: 10, Fleet.restart_database: 3},
            marks=pytest.mark.long,
        ),
    ],
    ids=["a few", "many"],
)
async def test_whatever_befalls_three_processes_no_turn_is_lost_doubled_or_thought_beside_another(
    fleet, questions, fates
):
    await befall(fleet, fates, questions)

    assert doubled(fleet) == {}
    assert fleet.listed("overlaps") == []
    assert out_of_order(fleet) == []
    assert answered(fleet) > 0.9
