"""A process sleeps past its lease between its look for a message and its post: people see the answer once.

The platform holds a request back while the process that sent it is stopped. Another process takes the turn over,
does not find what is on its way, and shows the answer itself.
"""

from __future__ import annotations

import random
import signal

import pytest
from fakes.cluster import Cluster
from fakes.crowd import WINNER, WORLD_CUP
from fakes.discord import Hang as DiscordHang
from fakes.served import FRANCE, SHORT_LEASES
from fakes.slack import Hang as SlackHang
from fakes.slack import Refusal
from fakes.thoughts import WatchedModel, numbered
from fakes.web_servers import FakeSearXNG

POST = "POST /channels/{channel_id}/messages"
LATER = 3_600.0  # seconds, by which Discord has long forgotten a nonce
SLEPT = "slept past its lease"


@pytest.fixture
async def world(slack, discord):
    """What processes talk to, besides their database."""
    discord.hasten()
    async with WatchedModel(taking=0.1) as model, FakeSearXNG([FRANCE]) as engine:
        yield slack, discord, model, engine


@pytest.fixture
async def cluster(tmp_path, postgres, postgres_url, world):
    *others, engine = world
    cluster = Cluster(tmp_path, postgres, postgres_url, *others, random.Random(1), size=1)
    cluster.settings = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
    cluster.constants = SHORT_LEASES
    async with cluster.serving():
        yield cluster


async def fall_asleep(cluster):
    """The only process; another one begins."""
    (sleeper,) = cluster.replicas
    sleeper.process.send_signal(signal.SIGSTOP)
    await cluster.add()
    return sleeper


async def until_woken(cluster, sleeper):
    """It knows by then that it slept."""
    sleeper.process.send_signal(signal.SIGCONT)
    await cluster.slack.until(lambda: SLEPT in sleeper.log)


@pytest.fixture
async def allowed_in_slack(cluster, slack):
    """A search, in an app without plans, where an answer is posted and replaces nothing."""
    slack.faults.chances["chat.startStream"] = {Refusal("unknown_method"): 1.0}
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    asked = await slack.mention(ann, general, numbered(WORLD_CUP, 0))
    (card,) = await slack.until(lambda: slack.finals(general, asked.ts))
    slack.faults.queue("chat.postMessage", SlackHang())
    await slack.press(card, "approve", ann)
    await until_held_back(slack, "chat.postMessage")

    def found():
        return [each for each in slack.replies(general, asked.ts) if WINNER in each.visible]

    return found


async def until_held_back(slack, method):
    def is_held_back():
        return any(name == method and isinstance(fault, SlackHang) for name, fault in slack.faults.injected)

    await slack.until(is_held_back)


async def test_what_arrives_in_slack_from_a_process_that_slept_is_taken_away(
    cluster, slack, allowed_in_slack
):
    found = allowed_in_slack
    sleeper = await fall_asleep(cluster)
    (shown,) = await slack.until(found)
    slack.released.set()
    await slack.until(lambda: len(found()) == 2)

    await until_woken(cluster, sleeper)
    await slack.until(lambda: len(found()) == 1)

    assert found() == [shown]


async def test_a_process_that_slept_after_its_look_posts_nothing_in_slack(cluster, slack, allowed_in_slack):
    found = allowed_in_slack
    slack.faults.queue("conversations.replies", SlackHang(after_effect=True))
    await cluster.replicas.pop().kill()  # the next one looks before it posts
    await cluster.add()
    await until_held_back(slack, "conversations.replies")
    sleeper = await fall_asleep(cluster)
    (shown,) = await slack.until(found)
    posts = len(slack.calls_of("chat.postMessage"))
    slack.released.set()

    await until_woken(cluster, sleeper)

    assert len(slack.calls_of("chat.postMessage")) == posts
    assert found() == [shown]


async def test_what_arrives_in_discord_from_a_process_that_slept_is_taken_away(cluster, discord):
    """Though Discord has forgotten the nonce, by which it knows the same message for some minutes."""
    ann, general = discord.add_user("ann"), discord.add_channel("general")
    asked = await discord.mention(ann, general, numbered(WORLD_CUP, 0))
    card = await discord.until(lambda: finals(discord, asked))
    discord.faults.queue(POST, DiscordHang())
    await discord.press(card[0], "Search the web", ann, wait=False)
    await discord.until(lambda: discord.faults.injected)
    sleeper = await fall_asleep(cluster)
    _, shown = await discord.until(
        lambda: len(finals(discord, asked)) == 2 and finals(discord, asked),
    )
    await discord.advance(LATER)
    discord.released.set()
    await discord.until(lambda: len(discord.replies(asked)) == 3)

    await until_woken(cluster, sleeper)
    await discord.until(lambda: len(discord.replies(asked)) == 2)

    assert WINNER in shown.visible
    assert discord.replies(asked) == [card[0], shown]


def finals(discord, asked):
    return [each for each in discord.replies(asked) if not each.visible.rstrip().endswith("…")]
