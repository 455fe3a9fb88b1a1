"""A disk that takes nothing while the bots serve: whoever speaks is told, and nothing that was said is lost."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing

import pytest
from fakes.discord import FakeDiscord
from fakes.discord_server import Server
from fakes.gemini import FakeGemini, Hang
from fakes.office import Office
from fakes.served import FERRY, PONTOON, PONTOON_ANSWER
from fakes.slack import FakeSlack

TOLD = "I cannot write down what you said: the disk gave an error. I keep trying, and go on once I can."
LOG_HAS_NO_ROOM = 120  # Python's exit code where what it wrote cannot be flushed
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python would leave the half of it that the disk took
#: Seconds before a delay is explained that the disk causes, and that a stop waits for such a disk; 1.5 and 5 in the product.
WAITS = {"bots.chat.inbox:SILENCE": 0.3, "core.turns.queue:CLOSE_FULL_DISK": 1.0}


def fill_disk(served):
    """No file of the process grows any more; SQLite calls what it then gets an error of the disk."""
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))


def make_room(served):
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, unlimited)


@pytest.fixture
async def office(template, tmp_path, slack):
    async with Office.copied(template, tmp_path, slack) as office:
        office.settings = dict(NO_BYTECODE)
        office.constants |= WAITS
        yield office


@pytest.fixture
async def server(template, tmp_path, discord):
    async with Server.copied(template, tmp_path, discord) as server:
        server.settings = dict(NO_BYTECODE)
        server.constants |= WAITS
        yield server


@pytest.fixture
async def model(office):
    async with FakeGemini() as gemini:
        office.settings |= {"GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        yield gemini


@pytest.fixture
def in_slack(slack):
    """A person, and the channel they are in."""
    ann = slack.add_user("ann")
    return ann, slack.add_channel("general", ann)


@pytest.fixture
def in_discord(discord):
    return discord.add_user("ann"), discord.add_channel("general")


async def test_in_slack_a_question_on_a_full_disk_is_told_of_once_and_answered_when_there_is_room(
    office, slack: FakeSlack, in_slack
):
    ann, general = in_slack
    await office.open()
    await office.until_answered(await slack.mention(ann, general, FERRY))
    fill_disk(office)
    asked = await slack.mention(ann, general, PONTOON)
    await slack.until(lambda: slack.ephemerals(ann))
    await slack.deliveries.redeliver()
    make_room(office)
    (answer,) = await office.until_answered(asked)
    await slack.until(lambda: not slack.deliveries.unacknowledged)
    assert await office.stop() == 0

    assert [one.visible for one in slack.ephemerals(ann)] == [TOLD]
    assert PONTOON_ANSWER in answer.visible
    assert len(slack.replies(general, asked.ts)) == 1


async def test_in_discord_a_question_on_a_full_disk_is_told_of_and_answered_when_there_is_room(
    server, discord: FakeDiscord, in_discord
):
    ann, general = in_discord
    await server.open()
    first = await discord.mention(ann, general, FERRY)
    await server.until_answered(first)
    fill_disk(server)
    asked = await discord.post(ann, first.thread, PONTOON)
    (told,) = await server.until_answered(asked)
    make_room(server)
    _, answer = await server.until_answered(asked, 2)
    assert await server.stop() == 0

    assert told.visible == TOLD
    assert PONTOON_ANSWER in answer.visible


@pytest.mark.long
async def test_in_discord_a_word_on_a_full_disk_is_told_of_and_then_does_what_it_does(
    server, discord: FakeDiscord, in_discord
):
    ann, general = in_discord
    await server.open()
    first = await discord.mention(ann, general, FERRY)
    await server.until_answered(first)
    fill_disk(server)
    approve = await discord.mention(ann, first.thread, "approve")
    await server.until_answered(approve)
    make_room(server)
    told, done = await server.until_answered(approve, 2)
    assert await server.stop() == 0

    assert told.visible == TOLD
    assert done.visible == "There is no web search to decide in this thread."


@pytest.mark.long
async def test_a_queue_that_another_program_holds_is_told_of_too(office, slack: FakeSlack, in_slack):
    ann, general = in_slack
    await office.open()
    await office.until_answered(await slack.mention(ann, general, FERRY))
    with closing(sqlite3.connect(office.folder / ".footnote" / "turns.sqlite")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        asked = await slack.mention(ann, general, PONTOON)
        await slack.until(lambda: slack.ephemerals(ann))
    (answer,) = await office.until_answered(asked)
    assert await office.stop() == 0

    (told,) = slack.ephemerals(ann)
    assert "another program holds it" in told.visible
    assert PONTOON_ANSWER in answer.visible


async def test_a_turn_that_the_full_disk_meets_ends_in_words_at_once_and_the_next_is_answered(
    office, slack: FakeSlack, in_slack, model
):
    ann, general = in_slack
    await office.open()
    model.queue("plan", Hang())
    asked = await slack.mention(ann, general, FERRY)
    await model.until_step("plan")
    fill_disk(office)
    model.released.set()
    (failed,) = await office.until_answered(asked)
    make_room(office)
    follow_up = await slack.say(ann, general, PONTOON, asked.ts)
    _, answer = await office.until_answered(follow_up, 2)
    assert await office.stop() == 0

    assert "I cannot write down this conversation: the disk gave an error." in failed.visible
    assert PONTOON_ANSWER in answer.visible


@pytest.mark.long
async def test_a_turn_can_be_stopped_on_a_full_disk(office, slack: FakeSlack, in_slack, model):
    ann, general = in_slack
    await office.open()
    model.queue("plan", Hang())
    asked = await slack.mention(ann, general, FERRY)
    await model.until_step("plan")
    fill_disk(office)
    stop = await slack.mention(ann, general, "stop", asked.ts)
    await slack.until_acked(stop)
    make_room(office)
    (stopped,) = await office.until_answered(asked)
    assert await office.stop() == 0

    assert "Stopped." in stopped.visible


@pytest.mark.long
async def test_what_could_not_be_stored_before_the_end_is_brought_again_to_the_next_start(
    office, slack: FakeSlack, in_slack
):
    ann, general = in_slack
    await office.open()
    first = await slack.mention(ann, general, FERRY)
    await office.until_answered(first)
    fill_disk(office)
    asked = await slack.mention(ann, general, PONTOON)  # waits for the rooms
    follow_up = await slack.say(ann, general, PONTOON, first.ts)  # waits for the queue
    await slack.until(lambda: len(slack.ephemerals(ann)) == 2)
    assert await office.stop() in (0, LOG_HAS_NO_ROOM)
    await office.open()
    await slack.deliveries.redeliver()
    (answer,) = await office.until_answered(asked)
    _, second = await office.until_answered(follow_up, 2)

    assert PONTOON_ANSWER in answer.visible
    assert PONTOON_ANSWER in second.visible


@pytest.mark.long
async def test_a_file_that_the_disk_does_not_take_is_told_and_the_older_one_stays(
    office, slack: FakeSlack, in_slack
):
    ann, general = in_slack
    await office.open()
    learn = await slack.mention(ann, general, "learn", files=[("bees.md", b"# Bees\n\nNine hives.\n")])
    await office.until_answered(learn)
    resource.prlimit(office.process.pid, resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
    large = b"# Bees\n\n" + 300_000 * b"Ten hives.\n"
    again = await slack.mention(ann, general, "learn", files=[("bees.md", large)])
    (told,) = await office.until_answered(again)
    assert await office.stop() == 0

    assert told.visible == "bees.md cannot be kept: file too large."
    (kept,) = (office.folder / ".footnote" / "learned").rglob("*.*")
    assert kept.read_bytes() == b"# Bees\n\nNine hives.\n"


async def test_a_stop_on_a_full_disk_is_obeyed_though_the_end_of_a_turn_is_not_recorded(
    office, slack: FakeSlack, in_slack
):
    ann, general = in_slack
    office.constants["core.turns.turns:open_turns.drain"] = 1.0  # seconds: the disk stays full
    await office.open()
    await office.until_answered(await slack.mention(ann, general, FERRY))
    asked = await slack.mention(ann, general, PONTOON)
    await slack.until(lambda: slack.finals(general, asked.ts))
    fill_disk(office)  # before the answer that just came is recorded
    await slack.mention(ann, general, FERRY)
    await slack.until(lambda: slack.ephemerals(ann))
    assert await office.stop() in (0, LOG_HAS_NO_ROOM)


@pytest.mark.long
async def test_a_file_that_could_not_be_learned_is_not_kept(office, slack: FakeSlack, in_slack):
    ann, general = in_slack
    await office.open()
    await office.until_answered(await slack.mention(ann, general, FERRY))
    with closing(sqlite3.connect(office.folder / ".footnote" / "library.sqlite")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        learn = await slack.mention(ann, general, "learn", files=[("bees.md", b"# Bees\n\nNine hives.\n")])
        (told,) = await office.until_answered(learn)
    assert await office.stop() == 0

    assert "is being written by another program" in told.visible
    assert not list((office.folder / ".footnote" / "learned").rglob("bees.md"))


@pytest.mark.long
async def test_a_word_that_cannot_be_written_down_is_told_why(office, slack: FakeSlack, in_slack):
    ann, general = in_slack
    await office.open()
    await office.until_answered(await slack.mention(ann, general, FERRY))
    with closing(sqlite3.connect(office.folder / ".footnote" / "rooms.sqlite")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        held = await slack.mention(ann, general, "follow mention")
        (told,) = await office.until_answered(held)
    again = await slack.mention(ann, general, "follow mention")
    (done,) = await office.until_answered(again)
    assert await office.stop() == 0

    assert told.visible == (
        "I cannot write this down: another program holds it; close that one. Please say it again."
    )
    assert done.visible == "In this channel I answer only when I am mentioned, and say nothing unasked."
