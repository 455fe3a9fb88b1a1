"""PostgreSQL goes away while a question is under way, and is back after three leases: it is answered."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import pytest
from fakes.cluster import Cluster
from fakes.crowd import WORLD_CUP, Crowd
from fakes.patience import PATIENCE
from fakes.served import FERRY_ANSWER, FRANCE, SHORT_LEASES
from fakes.thoughts import WatchedModel
from fakes.web_servers import FakeSearXNG

AWAY = 3 * SHORT_LEASES["core.turns.leases:LEASE"]  # seconds


@dataclass
class HeldModel(WatchedModel):
    """Replies to one step only when it is told to."""

    holds: str = ""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def _think(self, step, call):
        if step == self.holds:
            self.held.set()
            await self.released.wait()
        return await super()._think(step, call)


@pytest.fixture
async def model():
    async with HeldModel(taking=0.1) as model:
        yield model


@pytest.fixture
async def world(slack, discord, model):
    """What processes talk to, besides their database."""
    discord.hasten()
    async with FakeSearXNG([FRANCE]) as engine:
        yield slack, discord, model, engine


@pytest.fixture
async def cluster(tmp_path, postgres, postgres_url, world):
    *others, engine = world
    cluster = Cluster(tmp_path, postgres, postgres_url, *others, random.Random(1), size=1)
    cluster.settings = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
    cluster.constants = SHORT_LEASES
    async with cluster.serving():
        yield cluster


@pytest.fixture
def crowd(slack, discord):
    return Crowd(slack, discord, random.Random(1))


async def lose_database(cluster, model, *, seconds=AWAY):
    """Once the model is asked; it replies when nobody reaches the database any more."""
    await asyncio.wait_for(model.held.wait(), PATIENCE)
    await asyncio.to_thread(cluster.server.stop)
    model.released.set()
    await asyncio.sleep(seconds)
    await asyncio.to_thread(cluster.server.start)


@pytest.mark.parametrize(
    "step",
    ["grade", *(pytest.param(each, marks=pytest.mark.long) for each in ("plan", "write"))],
)
async def test_a_question_under_way_is_answered_when_the_database_is_back(cluster, crowd, model, step):
    model.holds = step
    await crowd.ask()

    await lose_database(cluster, model)
    await crowd.until_answered(PATIENCE)

    shown = [[each.visible for each in crowd.endings(asked)] for asked in crowd.asked]
    assert [[FERRY_ANSWER in each for each in endings] for endings in shown] == [[True], [True]], shown


async def test_an_allowed_search_under_way_is_answered_when_the_database_is_back(cluster, crowd, model):
    model.holds = "write"
    await crowd.ask(WORLD_CUP)

    async with crowd.allowing():
        await lose_database(cluster, model)
        await crowd.until_answered(PATIENCE)

    assert [len(crowd.found(asked)) for asked in crowd.asked] == [1, 1]
