"""Discord at its worst: events that come twice, limits, lost replies, and places that are gone meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from fakes.discord import Hang, LostResponse, RateLimited, ServerError
from fakes.discord_server import Server
from fakes.served import CUP, FERRY, FERRY_ANSWER, FRANCE
from fakes.web_servers import FakeSearXNG

CREATE, EDIT = "POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}"
OPEN = "POST /channels/{channel_id}/messages/{message_id}/threads"
HISTORY = "GET /channels/{channel_id}/messages"
TROUBLE = {RateLimited(1): 0.1, ServerError(): 0.1, LostResponse(): 0.1}


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


async def answers_of(server, asked):
    return [await server.until_answered(each) for each in asked]


@pytest.mark.parametrize("count", [4, pytest.param(500, marks=pytest.mark.long)])
async def test_what_is_brought_again_in_every_way_is_answered_once(server, fake, ann, general, count):
    """Twice at once, once more later, replayed after a resume, and read in the channel after a restart."""
    await server.open()
    fake.faults.duplicate_chance = 0.5
    asked = [await fake.mention(ann, general, FERRY) for _ in range(count)]
    fake.gateway.drop()
    for each in asked:
        await fake.duplicate(each)
    await answers_of(server, asked)
    # Discord replays so many events; more than that, and a new session looks in the channels.
    await fake.until(lambda: fake.gateway.resumed or len(fake.gateway.identifies) == 2)
    for each in asked:
        await fake.duplicate(each)
    await server.kill()
    before = fake.count(HISTORY)
    await server.open()
    await fake.until(lambda: fake.count(HISTORY) > before)

    last = await fake.mention(ann, general, FERRY)
    answers = await answers_of(server, [*asked, last])

    assert [len(each) for each in answers] == [1] * (count + 1)
    assert all(FERRY_ANSWER in answer.visible for (answer,) in answers)
    assert len(fake.said()) == count + 1


async def test_a_press_that_is_brought_twice_is_one_decision(server, fake, ann, general):
    async with FakeSearXNG([FRANCE]) as engine:
        server.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        await server.open()
        asked = await fake.mention(ann, general, CUP)
        (card,) = await server.until_answered(asked)
        fake.faults.duplicate_chance = 1.0

        press = await fake.press(card, "Search the web", ann)
        await fake.duplicate(press)
        await server.until_answered(asked, 2)

    assert len(fake.replies(asked)) == 2
    assert len(engine.requests) == 1


async def test_what_is_asked_before_the_very_first_session_is_ready_is_answered(server, fake, ann, general):
    """Discord shows the bot online, and breaks the connection before it has told it anything."""
    fake.gateway.breaks_before_ready = 1
    opening = asyncio.create_task(server.open())
    await fake.until(lambda: fake.gateway.identifies)

    asked = await fake.mention(ann, general, FERRY)
    await opening
    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert fake.gateway.resumed == []


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.long)])
async def test_three_in_ten_failing_sends_lose_double_and_hurry_nothing(server, fake, ann, general, count):
    await server.open()
    fake.faults.chances = dict.fromkeys((CREATE, EDIT, OPEN), TROUBLE)
    fake.faults.queue(EDIT, *TROUBLE)  # each at least once

    asked = [await fake.mention(ann, general, FERRY) for _ in range(count)]
    answers = await answers_of(server, asked)

    assert [len(each) for each in answers] == [1] * count
    assert all(FERRY_ANSWER in answer.visible for (answer,) in answers)
    assert [answer.channel.id for (answer,) in answers] == [each.thread.id for each in asked]
    assert {type(fault) for _, fault in fake.faults.injected} == set(map(type, TROUBLE))
    assert fake.faults.early_retries == []


async def test_many_answers_in_one_channel_wait_for_each_other_at_its_limit(server, fake, ann, general):
    fake.deny(general, "create_public_threads")
    fake.faults.chances[CREATE] = {RateLimited(1): 0.3}
    await server.open()

    asked = [await fake.mention(ann, general, FERRY) for _ in range(6)]
    answers = await fake.until(
        lambda: [one for one in fake.said(general) if FERRY_ANSWER in one.visible][5:] and fake.said(general),
    )

    assert sorted(answer.referenced.id for answer in answers) == [each.id for each in asked]
    assert fake.faults.early_retries == []


def final(said):
    return [each for each in said if not each.visible.endswith("…")]


async def vanish_placeholder(fake, asked):
    await fake.erase(fake.replies(asked)[0])


async def vanish_thread(fake, asked):
    fake.delete_channel(asked.thread)


async def archive(fake, asked):
    fake.archive(asked.thread)


#: What happens to the place of an answer while it is thought of -> where the answer then stands.
HAPPENINGS = {
    "placeholder deleted": (vanish_placeholder, lambda asked: asked.thread),
    "thread archived": (archive, lambda asked: asked.thread),
    "thread deleted": (vanish_thread, lambda asked: asked.channel),
}


async def while_it_is_thought_of(fake, user, channel, happen):
    """The first change of the placeholder waits until this has happened."""
    fake.released.clear()
    fake.faults.injected.clear()
    fake.faults.queue(EDIT, Hang())
    asked = await fake.mention(user, channel, FERRY)
    await fake.until(lambda: (EDIT, Hang()) in fake.faults.injected)
    await happen(fake, asked)
    fake.released.set()
    return asked


async def test_an_answer_finds_its_way_when_its_place_changes(server, fake, ann, general):
    await server.open()

    answers = {}
    for happening, (happen, place) in HAPPENINGS.items():
        asked = await while_it_is_thought_of(fake, ann, general, happen)
        there = place(asked)
        (answers[happening],) = await fake.until(lambda there=there: final(fake.said(there)))

    assert [happening for happening, each in answers.items() if FERRY_ANSWER not in each.visible] == []
    assert server.faults == []


async def vanish_channel(fake, asked):
    fake.delete_channel(asked.thread)
    fake.delete_channel(asked.channel)


async def lock(fake, asked):
    fake.delete_channel(asked.thread)
    fake.deny(asked.channel, "send_messages")


async def send_away(fake, asked):
    await fake.leave(asked.channel.guild)


async def hide(fake, asked):
    fake.deny(asked.channel, "view_channel")


LOSSES = {
    "channel deleted": (vanish_channel, "is gone"),
    "thread deleted, channel closed": (lock, "may not write"),
    "channel hidden": (hide, "may not write"),
    "bot sent away": (send_away, "may not write"),
}


async def test_who_asked_is_told_privately_when_there_is_no_place_left(server, fake, ann):
    await server.open()

    words = {}
    for count, (loss, (happen, _)) in enumerate(LOSSES.items()):
        await while_it_is_thought_of(fake, ann, fake.add_channel(f"place-{count}"), happen)
        words[loss] = (await fake.until(lambda count=count: fake.said(fake.dm_of(ann))[count:]))[0].visible
    code = await server.stop()

    assert [loss for loss, (_, says) in LOSSES.items() if says not in words[loss]] == []
    assert {entry["level"] for entry in server.faults} == {"warning"}
    assert code == 0


async def test_a_locked_thread_is_not_written_in_and_its_asker_is_told(server, fake, ann, general):
    await server.open()
    begun = await fake.mention(ann, general, FERRY)
    await server.until_answered(begun)
    fake.faults.queue(CREATE, Hang())
    fake.released.clear()
    asked = await fake.post(ann, begun.thread, FERRY)
    await fake.until(lambda: fake.faults.injected)
    fake.archive(begun.thread, is_locked=True)
    fake.released.set()

    (word,) = await fake.until(lambda: fake.said(fake.dm_of(ann)))

    assert "is locked, and only those with Manage Threads may write in it" in word.visible
    assert len(fake.replies(asked)) == 0


async def test_a_stop_while_it_works_leaves_nothing_undone(server, fake, ann, general):
    await server.open()
    fake.faults.queue(EDIT, Hang(), Hang(), Hang())
    asked = [await fake.mention(ann, general, FERRY) for _ in range(5)]
    await fake.until(lambda: len(fake.faults.injected) == 3)

    code = await server.stop()
    fake.released.set()
    await server.open()
    answers = await answers_of(server, asked)

    assert code == 0
    assert [len(each) for each in answers] == [1] * 5
