"""An answer whose quote no longer stands: its message says so, and whoever asked is told once, whatever happens."""

from __future__ import annotations

import asyncio
import random

import pytest
from fakes.cluster import Cluster
from fakes.discord import ServerError as DiscordError
from fakes.fork_server import run_python
from fakes.served import FERRY, HANDBOOK, PATIENCE, PONTOON, SHORT_LEASES, environment, ingest, make_data_dir
from fakes.slack import ServerError as SlackError
from fakes.stages import in_discord, in_slack
from fakes.thoughts import WatchedModel

NEW = "A night at the visitors' pontoon costs 21 euros for a boat of ten metres."
PRICE = HANDBOOK.replace("18 euros", "21 euros")
REWORDED = HANDBOOK.replace(
    "A night at the visitors' pontoon costs 18 euros for a boat of ten metres.",
    "For a boat of ten metres, a night at the\nvisitors' pontoon costs **18** euros.",
)
FERRY_NOW = HANDBOOK.replace("half past nine", "eleven")
NOT_RETRIED = 503  # by discord.py itself
GONE, NOW, TOLD = "This may no longer hold", "It says now", "my answer above may no longer hold"


@pytest.fixture
def folder(tmp_path):
    """A handbook of its own: that of the template is another document of the same name."""
    return make_data_dir(tmp_path)


@pytest.fixture(params=[in_slack, in_discord], ids=["slack", "discord"])
async def stage(request, folder):
    async with request.param(folder, {"QUIET_HOURS": "off"}) as stage:
        stage.folder = folder
        yield stage


async def sync(stage, text):
    """By another process, as an operator does it."""
    (stage.folder / "handbook.md").write_text(text)
    await asyncio.to_thread(ingest, stage.folder, "handbook.md")


async def until(is_met):
    async with asyncio.timeout(PATIENCE):
        while not is_met():  # noqa: ASYNC110 - the state of a platform is what is waited for
            await asyncio.sleep(0.05)


def command(folder, *arguments):
    run_python(*("-m", "bots", *arguments), cwd=folder, env=environment(folder)).check_returncode()


def times(stage, words):
    return stage.in_sight().count(words)


def shown_there(stage):
    """What the bot shows in the thread of the last question, whenever it is looked at."""
    if hasattr(stage, "slack"):
        channel, thread = stage.channel, stage.thread
        return lambda: "\n".join(each.visible for each in stage.slack.replies(channel, thread))
    begun = stage.begun
    return lambda: "\n".join(each.visible for each in stage.discord.replies(begun))


async def asked(stage, question):
    """In a thread of its own; the message with the answer."""
    await stage.begin_anew(question)
    return stage.card


async def test_its_message_says_what_is_there_now_and_who_asked_is_told_once(stage):
    card = await asked(stage, PONTOON)
    await sync(stage, PRICE)
    await until(lambda: times(stage, TOLD))

    assert GONE in card.visible
    assert NOW in card.visible
    assert NEW in card.visible
    assert "18 euros" in card.visible
    assert "again" in stage.buttons(card)
    assert (times(stage, GONE), times(stage, TOLD)) == (1, 1)

    stage.seen += 1
    answer = await stage.press("again")

    assert "21 euros" in answer
    assert GONE not in answer


async def test_nothing_is_said_of_what_was_reworded_or_deleted_by_a_person(stage):
    ferry = await asked(stage, FERRY)  # looked at last, and marked
    seen = shown_there(stage)
    reworded = await asked(stage, PONTOON)
    deleted = await asked(stage, FERRY)
    platform = stage.slack if hasattr(stage, "slack") else stage.discord
    platform.remove(deleted)
    await sync(stage, REWORDED.replace("half past nine", "eleven"))
    await until(lambda: GONE in ferry.visible and TOLD in seen())

    assert GONE not in reworded.visible
    assert not times(stage, GONE) + times(stage, TOLD)


async def test_a_channel_that_wants_no_word_gets_the_line_alone(stage):
    await stage.command("follow mention")
    card, before = await asked(stage, PONTOON), times(stage, TOLD)
    await sync(stage, PRICE)
    await until(lambda: GONE in card.visible)
    answer = await stage.ask_by_mention(PONTOON)  # a word would have come before its answer

    assert "21 euros" in answer
    assert times(stage, TOLD) == before == 0


async def test_a_forgotten_document_is_none_that_changed(stage):
    forgotten = await asked(stage, PONTOON)
    await asyncio.to_thread(command, stage.folder, "forget", "handbook.md")
    (stage.folder / "ferries.md").write_text(HANDBOOK)
    await asyncio.to_thread(ingest, stage.folder, "ferries.md")
    marked = await asked(stage, FERRY)
    (stage.folder / "ferries.md").write_text(FERRY_NOW)
    await asyncio.to_thread(ingest, stage.folder, "ferries.md")
    await until(lambda: GONE in marked.visible and times(stage, TOLD))

    assert GONE not in forgotten.visible


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.long)], ids=["a few", "many"])
async def test_a_process_that_is_killed_meanwhile_says_it_once(stage, kills):
    chance, stage.served.is_troubled = random.Random(1), True
    stage.served.constants["bots.chat.rechecks:MOST"] = kills  # marks within an hour
    for number in range(kills):
        await sync(stage, HANDBOOK)
        card = await asked(stage, PONTOON)
        await sync(stage, PRICE)
        await asyncio.sleep(chance.uniform(0.0, 1.5))  # so that it is killed at any step of the two looks
        await stage.kill_and_open()
        await until(lambda: times(stage, TOLD) and GONE in card.visible)  # noqa: B023 - awaited here
        await stage.kill_and_open() if number % 3 == 2 else None
        await asked(stage, FERRY)

        assert card.visible.count(GONE) == 1


async def test_a_platform_that_takes_nothing_is_told_later(stage):
    stage.served.is_troubled = True
    card = await asked(stage, PONTOON)
    is_slack = hasattr(stage, "slack")
    platform = stage.slack if is_slack else stage.discord
    method = "chat.update" if is_slack else "PATCH /channels/{channel_id}/messages/{message_id}"
    platform.faults.queue(method, *([SlackError()] * 3 if is_slack else [DiscordError(NOT_RETRIED)] * 3))
    await sync(stage, PRICE)
    await until(lambda: GONE in card.visible and times(stage, TOLD))

    assert platform.faults.injected
    assert (times(stage, GONE), times(stage, TOLD)) == (1, 1)


async def test_of_several_processes_one_says_it_once_though_whoever_watches_is_killed(
    tmp_path, postgres, postgres_url, slack, discord
):
    discord.hasten()
    async with WatchedModel(taking=0.1) as model:
        cluster = Cluster(tmp_path, postgres, postgres_url, slack, discord, model, random.Random(1), size=2)
        cluster.settings, cluster.constants = {"QUIET_HOURS": "off"}, SHORT_LEASES
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)

        async def ask(question):
            said = await slack.mention(ann, general, question)
            await slack.until(lambda: slack.finals(general, said.ts))
            return lambda: "\n".join(each.visible for each in slack.replies(general, said.ts))

        async def change(text):
            (tmp_path / "handbook.md").write_text(text)
            await asyncio.to_thread(ingest, tmp_path, "handbook.md", DATABASE_URL=postgres_url)

        async with cluster.serving():
            first = await ask(FERRY)
            await change(FERRY_NOW)
            await cluster.replicas[0].kill()
            await until(lambda: GONE in first() and TOLD in first())
            then = await ask(FERRY)
            await change(HANDBOOK)
            await until(lambda: GONE in then() and TOLD in then())

            assert [(seen().count(GONE), seen().count(TOLD)) for seen in (first, then)] == [(1, 1), (1, 1)]
