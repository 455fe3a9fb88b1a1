"""Three processes serve Slack and Discord from one PostgreSQL, and people notice nothing of what befalls them."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from fakes.discord import FakeDiscord
from fakes.served import FERRY, HANDBOOK, PATIENCE, Served, environment
from fakes.slack import FakeSlack

PROCESSES = 3
ENDING = 90.0  # seconds until all questions of a story are answered, on a busy machine
LEADS = "gateway of Discord"


@dataclass
class Replica(Served):
    """One of the processes; what people see is asked of the platforms."""

    slack: FakeSlack = field(default_factory=FakeSlack)
    discord: FakeDiscord = field(default_factory=FakeDiscord)

    @property
    def platforms(self) -> Mapping[str, str]:
        return {**self.slack.environment, **self.discord.environment}

    async def until_connected(self) -> None:
        """Until it serves."""
        count = self.log.count("Serving Slack and Discord")
        await self.slack.until(
            lambda: self.log.count("Serving Slack and Discord") > count or self._has_ended(), within=PATIENCE
        )
        assert not self._has_ended(), self.log

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    def leads(self) -> bool:
        """Whether this run of the process is the last that took the gateway, by its own account."""
        entries = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return any(entry.get("role") == LEADS for entry in entries)

    async def restart(self) -> None:
        (self.folder / "log").unlink()
        await self.open()


@pytest.fixture
async def slack():
    async with FakeSlack() as server:
        server.faults.told = (5_000, 1.0)
        yield server


@pytest.fixture
async def discord():
    async with FakeDiscord() as server:
        server.reads_document, server.faults.told = False, (5_000, 1.0)
        yield server


@pytest.fixture
async def replicas(tmp_path, postgres_url, slack, discord):
    settings = {"DATABASE_URL": postgres_url}
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    command = [sys.executable, "-m", "bots", "ingest", "handbook.md"]
    await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, env=environment(tmp_path) | settings, check=True
    )
    started = []
    for number in range(PROCESSES):
        folder = tmp_path / f"process {number}"
        folder.mkdir()
        (folder / "log").touch()
        started.append(Replica(folder=folder, settings=settings, slack=slack, discord=discord))
    try:
        await asyncio.gather(*(each.open() for each in started))
        await discord.until(lambda: discord.gateway.live, within=PATIENCE)
        yield started
    finally:
        for each in started:
            await each.__aexit__()


@dataclass
class People:
    """Ann, who asks in both."""

    slack: FakeSlack
    discord: FakeDiscord
    asked: list = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slack_user, self.discord_user = self.slack.add_user("ann"), self.discord.add_user("ann")
        self.slack_channel = self.slack.add_channel("general", self.slack_user)
        self.discord_channel = self.discord.add_channel("general")

    async def ask(self) -> None:
        self.asked.append(("slack", await self.slack.mention(self.slack_user, self.slack_channel, FERRY)))
        self.asked.append(
            ("discord", await self.discord.mention(self.discord_user, self.discord_channel, FERRY))
        )

    def endings(self) -> list[int]:
        return [len(self._replies(platform, asked)) for platform, asked in self.asked]

    def _replies(self, platform, asked):
        return (
            self.slack.replies(asked.channel, asked.ts)
            if platform == "slack"
            else self.discord.replies(asked)
        )

    def has_all(self) -> bool:
        return all(
            replies and not replies[0].visible.rstrip().endswith("…")
            for replies in (self._replies(platform, asked) for platform, asked in self.asked)
        )

    async def until_answered(self) -> None:
        await self.slack.until(self.has_all, within=ENDING)


@pytest.fixture
def people(slack, discord):
    return People(slack, discord)


def leader(replicas) -> Replica:
    return next(each for each in replicas if each.leads())


async def test_the_gateway_passes_to_another_process_and_nothing_said_meanwhile_is_missed(
    people, replicas, discord
):
    await people.ask()
    await people.until_answered()
    first = leader(replicas)

    await first.kill()
    await discord.until(lambda: not discord.gateway.live, within=PATIENCE)
    await people.ask()
    await discord.until(lambda: discord.gateway.live, within=PATIENCE)
    await people.ask()
    await people.slack.redeliver()
    await people.until_answered()

    assert people.endings() == [1] * len(people.asked)


async def befall(replicas, people, *, kills: int, deploys: int, rounds: int) -> None:
    chance = random.Random(1)
    fates = ["kill"] * kills + ["deploy"] * deploys
    chance.shuffle(fates)
    for fate in fates:
        for _ in range(rounds):
            await people.ask()
        if fate == "kill":
            dead = chance.choice(replicas)
            await dead.kill()
            await people.ask()
            await dead.restart()
            await people.slack.redeliver()
        else:
            for each in replicas:
                assert await each.stop() == 0
                await each.restart()
            await people.slack.redeliver()


@pytest.mark.parametrize(
    ("kills", "deploys", "rounds"),
    [(3, 1, 1), pytest.param(200, 10, 2, marks=pytest.mark.long)],
    ids=["a few", "many"],
)
async def test_kills_and_deploys_lose_and_double_nothing(people, replicas, kills, deploys, rounds):
    await befall(replicas, people, kills=kills, deploys=deploys, rounds=rounds)

    await people.until_answered()

    assert people.endings() == [1] * len(people.asked)
