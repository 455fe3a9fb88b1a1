"""Several processes of the real command on one PostgreSQL, and what befalls them.

Each process has a folder of its own that is empty at its start, as on a host whose disks vanish. The platforms
and the model are local servers that outlive them all.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from fakes.crowd import Crowd
from fakes.discord import FakeDiscord
from fakes.postgres import PostgresServer
from fakes.served import Served, index_handbook
from fakes.slack import FakeSlack
from fakes.thoughts import WatchedModel

PROCESSES = 3
ENDING = (
    420.0  # seconds until what is not answered is lost: Slack delivers for the last time after six minutes
)
LEADS = "gateway of Discord"
ASLEEP = 8.0  # seconds of a pause; a lease lasts five
SOON = 3.0  # seconds until a process is killed, at most
SAID_EVERY = 10  # fates
READY = "Serving Slack and Discord"


@dataclass(repr=False)
class Replica(Served):
    """One process; what people see is asked of the platforms."""

    name: str = ""
    slack: FakeSlack = field(default_factory=FakeSlack)
    discord: FakeDiscord = field(default_factory=FakeDiscord)

    @property
    def platforms(self) -> Mapping[str, str]:
        return {**self.slack.environment, **self.discord.environment}

    async def until_connected(self) -> None:
        """Until it serves."""
        await self.slack.until(lambda: READY in self.log or self._has_ended())
        assert not self._has_ended(), self.log

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    def led_at(self) -> str:
        """When it took the gateway for the last time, by its own account; empty if it never did."""
        entries = [json.loads(line) for line in self.log.splitlines() if f'"{LEADS}"' in line]
        return max((entry["time"] for entry in entries), default="")


@dataclass
class Fates:
    """What befell the processes so far."""

    kills: int = 0
    cut_off: list[tuple[int, float]] = field(default_factory=list)  #: questions, and when: monotonic seconds
    kills_while_thinking: int = 0
    pauses: int = 0
    deploys: int = 0
    outages: int = 0
    #: Seconds from the end or the sleep of the process that was connected to Discord until another one is.
    failovers: list[float] = field(default_factory=list)

    @property
    def longest_failover(self) -> float:
        return max(self.failovers, default=0.0)


@dataclass(repr=False)
class Cluster:
    """The processes that live."""

    folder: Path
    server: PostgresServer
    url: str
    slack: FakeSlack
    discord: FakeDiscord
    model: WatchedModel
    chance: random.Random
    size: int = PROCESSES
    asleep: float = ASLEEP  #: seconds
    settings: Mapping[str, str] = field(
        default_factory=dict
    )  #: of each process, besides where all of that is
    constants: Mapping[str, float] = field(default_factory=dict)  #: of each process, as Served has them
    fates: Fates = field(default_factory=Fates)
    replicas: list[Replica] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        await asyncio.to_thread(index_handbook, self.folder, self.url)
        try:
            await self.add()  # the first, which leads
            await self.discord.until(lambda: self.discord.gateway.live)
            async with asyncio.TaskGroup() as starting:
                for _ in range(self.size - 1):
                    starting.create_task(self.add())
            yield
        finally:
            for each in self.replicas:
                assert each.process is not None
                each.process.send_signal(signal.SIGCONT)
                await each.__aexit__()

    async def add(self) -> Replica:
        name = f"process-{next(self._numbers)}"
        folder = self.folder / name
        folder.mkdir()
        settings = {
            "DATABASE_URL": self.url, "GOOGLE_API_KEY": self.model.api_key, "LOG_LEVEL": "info",
            "GOOGLE_GEMINI_BASE_URL": f"{self.model.base_url}/{name}", **self.settings,
        }  # fmt: skip
        replica = Replica(name=name, folder=folder, settings=settings, slack=self.slack, discord=self.discord)
        replica.constants |= self.constants
        self.replicas.append(replica)
        await replica.open()
        return replica

    def leader(self) -> Replica:
        """Whose connection to Discord is the newest."""
        return max(self.replicas, key=Replica.led_at)

    async def kill(self) -> None:
        """Without a word; the host then starts another process."""
        await asyncio.sleep(self.chance.uniform(0.0, SOON))  # into what is asked meanwhile
        dead = self.chance.choice(self.replicas)
        thinks_about = self.model.asked_by(dead.name)
        self.fates.kills += 1
        self.fates.kills_while_thinking += bool(thinks_about)
        async with self._gateway_passes_on(dead):
            await dead.kill()
            self.fates.cut_off += [(each, time.monotonic()) for each in thinks_about]
            self.replicas.remove(dead)
            await self.add()

    async def pause(self) -> None:
        """Past its lease; then it wakes."""
        sleeper = self.chance.choice(self.replicas)
        assert sleeper.process is not None
        self.fates.pauses += 1
        with self.model.excused(sleeper.name):
            async with self._gateway_passes_on(sleeper):
                sleeper.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(self.asleep)
            sleeper.process.send_signal(signal.SIGCONT)

    async def deploy(self) -> None:
        """One after the other, as a host does it: the new one serves before the old one is stopped."""
        self.fates.deploys += 1
        for old in tuple(self.replicas):
            await self.add()
            async with self._gateway_passes_on(old):
                assert await old.stop() == 0, old.log
                self.replicas.remove(old)

    async def lose_database(self, seconds: float) -> None:
        """Nobody reaches it for so long."""
        self.fates.outages += 1
        await asyncio.to_thread(self.server.stop)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.server.start)

    @asynccontextmanager
    async def _gateway_passes_on(self, last: Replica) -> AsyncIterator[None]:
        """From the beginning of the block; returns when another process is connected, if ``last`` was."""
        led, gateway, clock = last is self.leader(), self.discord.gateway, self.discord.state.clock
        known, began = len(gateway.begun_at), clock.now()
        yield
        if led:
            await self.discord.until(lambda: len(gateway.begun_at) > known)
            self.fates.failovers.append(gateway.begun_at[known] - began)


Befall = Callable[[], Coroutine[Any, Any, None]]


async def befall(
    cluster: Cluster,
    crowd: Crowd,
    fates: Mapping[Befall, int],
    *,
    questions: int,
    say: Callable[[str], None],
    within: float = math.inf,
) -> None:
    """So many of each fate, in any order, and questions all the while; returns when all have ended.

    After ``within`` seconds nothing more befalls anybody.
    """
    await crowd.begin()
    until = time.monotonic() + within
    order = [fate for fate, times in fates.items() for _ in range(times)]
    cluster.chance.shuffle(order)
    for number, fate in enumerate(order, start=1):
        if time.monotonic() > until:
            say(f"the time was over after {number - 1} of {len(order)} fates")
            break
        share = (questions * number // len(order) - len(crowd.asked)) // 2  # each is asked on both platforms
        async with crowd.allowing(), asyncio.TaskGroup() as together:
            together.create_task(crowd.ask_now_and_then(share))
            together.create_task(fate())
        if number % SAID_EVERY == 0:
            say(f"{number} of {len(order)} fates, {len(crowd.asked)} questions")
    async with crowd.allowing():
        await crowd.until_answered(ENDING)
