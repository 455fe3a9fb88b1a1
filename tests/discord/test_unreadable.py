"""What discord.py or the bot cannot read stops nothing but itself, and the log says so once in a while."""

from __future__ import annotations

import copy

import pytest
from fakes.discord_server import Server
from fakes.served import FERRY, FERRY_ANSWER

LEFT_OUT = "what could not be read was left out"
SECRET = "the harbour master's birthday is in May"
#: What a message has in place of what "Message Object" describes.
ODDITIES = [
    {"author": None},
    {"timestamp": SECRET},
    {"type": {}},
    {"attachments": [None]},
    {"mentions": 5},
    {"components": 7},
    {"content": [SECRET]},
]


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


def lines_about_unreadable(server):
    return [entry for entry in server.faults if entry["message"] == LEFT_OUT]


async def test_a_message_of_the_history_that_cannot_be_read_stops_no_other(server, fake, ann, general):
    await server.open()
    begun = await fake.mention(ann, general, FERRY)
    await server.until_answered(begun)
    await server.stop()

    asked = []
    for oddity in ODDITIES:
        odd = await fake.mention(ann, general, FERRY)
        odd.oddities = oddity
        asked.append(await fake.mention(ann, general, FERRY))
    await server.open()
    answers = [await server.until_answered(each) for each in asked]

    assert all(FERRY_ANSWER in answer.visible for (answer,) in answers)
    assert len(lines_about_unreadable(server)) == 1
    assert {entry["level"] for entry in server.faults} == {"warning"}
    assert "Traceback" not in server.log


async def test_events_that_cannot_be_read_are_one_line_of_the_log_without_what_people_wrote(
    server, fake, ann, general
):
    await server.open()
    begun = await fake.mention(ann, general, FERRY)
    await server.until_answered(begun)
    known = next(each for each in fake.events_of("MESSAGE_CREATE") if each["id"] == str(begun.id))

    for number, oddity in enumerate(ODDITIES * 3):
        event = copy.deepcopy(known) | {"id": str(begun.id + number + 1)} | oddity
        fake.gateway.dispatch("MESSAGE_CREATE", lambda _, event=event: event, "guild_messages")
    asked = await fake.mention(ann, fake.add_channel("other"), FERRY)
    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert len(lines_about_unreadable(server)) == 1
    assert "Traceback" not in server.log
    assert SECRET not in server.log


async def test_a_message_before_the_question_that_cannot_be_read_is_left_out(server, fake, ann, bob, general):
    thread = fake.open_thread(general, "ferries", bob)
    await fake.post(bob, thread, "When does the ferry to Sark leave?")
    for oddity in ({"author": None}, {"content": 7, "author": 5}, {"type": None, "author": []}):
        odd = await fake.post(bob, thread, "something odd")
        odd.oddities = oddity
    await server.open()

    asked = await fake.mention(ann, thread, "can you answer this?")
    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert "Traceback" not in server.log
