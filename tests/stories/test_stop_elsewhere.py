"""`stop` is written where the platform brings it to one process, while another one thinks."""

from __future__ import annotations

import random

import pytest
from fakes.cluster import Cluster
from fakes.served import FERRY
from fakes.thoughts import WatchedModel, numbered

NEVER = 3600.0  # seconds that the model takes
TRIES = 30  # questions until the other process has taken one; it takes every second, by chance
STOPPED = "Stopped"


@pytest.fixture
async def cluster(tmp_path, postgres, postgres_url, slack, discord):
    discord.hasten()
    async with WatchedModel(taking=NEVER) as model:
        cluster = Cluster(tmp_path, postgres, postgres_url, slack, discord, model, random.Random(1), size=2)
        async with cluster.serving():
            yield cluster


async def asked_of(cluster, other, ask):
    """A question about which the other process thinks."""
    for number in range(TRIES):
        said = await ask(numbered(FERRY, number))
        await cluster.slack.until(lambda number=number: who_thinks(cluster, number))
        if who_thinks(cluster, number) == other.name:
            return said
    raise AssertionError("the other process takes no questions")


def who_thinks(cluster, number):
    return next((each.process for each in cluster.model.thoughts if each.question == number), "")


async def test_in_slack_it_reaches_the_process_that_thinks(cluster, slack):
    reader, thinker = cluster.replicas
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    of_reader, of_thinker = slack.sockets.live[:2], slack.sockets.live[2:]
    said = await asked_of(cluster, thinker, lambda text: slack.mention(ann, general, text))
    for connection in of_thinker:
        connection.is_leaving = True  # from now on Slack brings everything to the other process

    await slack.mention(ann, general, "stop", said.ts)
    (final,) = await slack.until(lambda: slack.finals(general, said.ts))

    assert [slack.sockets.live, len(of_thinker)] == [of_reader, 2]
    assert STOPPED in final.visible
    assert reader.process.returncode is None


async def test_in_discord_it_reaches_the_process_that_thinks(cluster, discord):
    leader, thinker = cluster.replicas
    ann, general = discord.add_user("ann"), discord.add_channel("general")
    said = await asked_of(cluster, thinker, lambda text: discord.mention(ann, general, text))
    thread = await discord.until(lambda: discord.thread_of(said))

    await discord.mention(ann, thread, "stop")
    await discord.until(lambda: STOPPED in discord.replies(said)[-1].visible)

    assert cluster.leader() is leader
