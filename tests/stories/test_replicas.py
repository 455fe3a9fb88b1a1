"""Three processes serve Slack and Discord from one PostgreSQL, and people notice nothing of what befalls them."""

from __future__ import annotations

import random

import pytest
from benchmarks.replicas import Sizes, fates_of
from fakes.cluster import Cluster, befall
from fakes.crowd import Crowd, Tally
from fakes.patience import PATIENCE
from fakes.served import FRANCE, SHORT_LEASES
from fakes.thoughts import WatchedModel
from fakes.web_servers import FakeSearXNG

ASLEEP = 3.5  # seconds of a pause; a lease lasts two
SOON = (0.0, 5.0, 15.0)  # seconds until Slack delivers again; really nearly at once, a minute, five


@pytest.fixture
async def cluster(tmp_path, postgres, postgres_url, slack, discord):
    slack.retries_by_itself, slack.retry_delays = True, SOON
    discord.hasten()
    async with WatchedModel() as model, FakeSearXNG([FRANCE]) as engine:
        cluster = Cluster(tmp_path, postgres, postgres_url, slack, discord, model, random.Random(1))
        cluster.settings = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        cluster.constants, cluster.asleep = SHORT_LEASES, ASLEEP
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
    await discord.until(lambda: not discord.gateway.live)
    await crowd.ask()
    await discord.until(lambda: discord.gateway.live)
    await crowd.ask()
    await crowd.until_answered(PATIENCE)

    tally = Tally.of(crowd, postgres_url)
    assert (tally.lost, tally.doubled) == ([], [])


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(questions=24, kills=2, pauses=1, deploys=1, restarts=1, outages=0),
        pytest.param(
            Sizes(questions=1_000, kills=200, pauses=20, deploys=10, restarts=2, outages=1),
            marks=pytest.mark.long,
        ),
    ],
    ids=["a few", "many"],
)
async def test_kills_pauses_deploys_and_a_restart_of_the_database_lose_and_double_nothing(
    cluster, crowd, postgres_url, sizes
):
    await befall(cluster, crowd, fates_of(cluster, sizes), questions=sizes.questions, say=print)

    tally = Tally.of(crowd, postgres_url)
    assert len(crowd.asked) == sizes.questions
    assert (tally.lost, tally.doubled) == ([], [])
    assert (tally.searches_without, tally.searches_told_twice) == ([], [])
    assert cluster.model.side_by_side(crowd.conversation_of) == []
    assert tally.swapped_against_promise == []
    assert tally.answered > 0.9 * len(crowd.asked)
