"""Three processes serve Slack and Discord from one PostgreSQL, and people notice nothing of what befalls them."""

from __future__ import annotations

import random

import pytest
from fakes.cluster import PATIENCE, Cluster, befall
from fakes.crowd import Crowd, Tally
from fakes.discord import FakeDiscord
from fakes.slack import FakeSlack
from fakes.thoughts import WatchedModel

SOON = (0.0, 5.0, 15.0)  # seconds until Slack delivers again; really nearly at once, a minute, five
FAILOVER = 15.0  # seconds in which another process is connected to Discord


@pytest.fixture
async def slack():
    async with FakeSlack(retries_by_itself=True, retry_delays=SOON) as server:
        server.faults.told = (5_000, 1.0)
        yield server


@pytest.fixture
async def discord():
    async with FakeDiscord() as server:
        server.reads_document, server.faults.told = False, (5_000, 1.0)
        yield server


@pytest.fixture
async def cluster(tmp_path, postgres, postgres_url, slack, discord):
    async with WatchedModel() as model:
        cluster = Cluster(tmp_path, postgres, postgres_url, slack, discord, model, random.Random(1))
        async with cluster.serving():
            yield cluster


@pytest.fixture
def crowd(slack, discord):
    return Crowd(slack, discord, random.Random(1))


async def test_the_gateway_passes_to_another_process_and_nothing_said_meanwhile_is_missed(
    cluster, crowd, discord, postgres_url
):
    await crowd.ask()
    await crowd.until_answered(PATIENCE)

    await cluster.leader().kill()
    await discord.until(lambda: not discord.gateway.live, within=PATIENCE)
    await crowd.ask()
    await discord.until(lambda: discord.gateway.live, within=PATIENCE)
    await crowd.ask()
    await crowd.until_answered(PATIENCE)

    tally = Tally.of(crowd, postgres_url)
    assert (tally.lost, tally.doubled) == ([], [])


async def test_kills_pauses_deploys_and_a_restart_of_the_database_lose_and_double_nothing(
    cluster, crowd, postgres_url
):
    async def restart_database():
        await cluster.lose_database(1.0)

    fates = {cluster.kill: 2, cluster.pause: 1, cluster.deploy: 1, restart_database: 1}

    await befall(cluster, crowd, fates, questions=24, say=print)

    tally = Tally.of(crowd, postgres_url)
    assert len(crowd.asked) == 24
    assert (tally.lost, tally.doubled) == ([], [])
    assert cluster.model.side_by_side(crowd.conversation_of) == []
    assert tally.swapped_against_promise == []
    assert tally.answered > 0.9 * len(crowd.asked)
