"""Threads that were there before the bot, that cannot be opened, and that cannot be read."""

from __future__ import annotations

import pytest
from fakes.discord import FakeDiscord
from fakes.discord_server import Server
from fakes.served import FERRY, FERRY_ANSWER, PONTOON, PONTOON_ANSWER

SARK = "Does anybody know when the ferry to Sark leaves?"
ASKED = "can you answer this?"


async def test_in_a_forum_it_answers_in_the_post_that_calls_it(server, fake, ann, bob):
    forum = fake.add_channel("questions", kind="forum")
    await server.open()

    first = await fake.post_in_forum(ann, forum, "Ferry", f"{fake.bot.mention} {FERRY}")
    (answer,) = await server.until_answered(first)
    uncalled = await fake.post_in_forum(ann, forum, "Ferry again", SARK)
    called = await fake.mention(bob, uncalled.channel, ASKED)
    (second,) = await server.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert answer.channel is first.channel
    assert FERRY_ANSWER in second.visible
    assert second.channel is uncalled.channel
    assert len(fake.threads(forum)) == 2
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_a_mention_in_a_reply_is_about_what_it_replies_to(server, fake, ann, bob, general):
    await server.open()
    remark = await fake.post(ann, general, SARK)
    await fake.post(ann, general, "And where is lunch?")

    called = await fake.reply(bob, remark, f"{fake.bot.mention} {ASKED}")
    (answer,) = await server.until_answered(called)

    assert FERRY_ANSWER in answer.visible
    assert answer.channel is called.thread
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_the_bots_own_role_calls_it_too(server, fake, ann, general):
    role = fake.guild.bot_role
    role.is_mentionable = True
    await server.open()

    asked = await fake.post(ann, general, f"{role.mention} {FERRY}")
    (answer,) = await server.until_answered(asked)

    assert FERRY_ANSWER in answer.visible
    assert asked.thread.name == FERRY
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


async def test_where_no_thread_can_be_opened_a_reply_goes_on_with_or_without_a_ping(
    server, fake, ann, bob, general
):
    fake.deny(general, "create_public_threads")
    await server.open()

    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)
    pinged = await fake.reply(ann, answer, "And does it take cars?")
    (second,) = await server.until_answered(pinged)
    quiet = await fake.reply(bob, second, "And bicycles?", ping=False)
    (third,) = await server.until_answered(quiet)
    other = await fake.mention(ann, general, PONTOON)
    (apart,) = await server.until_answered(other)

    assert FERRY_ANSWER in answer.visible
    assert "no cars" in second.visible
    assert "bicycles" in third.visible
    assert [one.referenced for one in (answer, second, third)] == [asked] * 3
    assert apart.referenced is other
    assert fake.threads(general) == []
    assert (fake.violations, server.faults) == ([], [])
    assert {refusal.split()[0] for refusal in fake.rejected} == {"POST"}


async def test_a_reply_to_what_was_no_answer_begins_a_conversation(server, fake, ann, general):
    await server.open()
    asked = await fake.mention(ann, general, "help")
    (told,) = await server.until_answered(asked)

    question = await fake.reply(ann, told, FERRY, ping=False)
    (answer,) = await server.until_answered(question)

    assert FERRY_ANSWER in answer.visible
    assert answer.channel is question.thread
    assert (fake.violations, fake.rejected, server.faults) == ([], [], [])


@pytest.fixture
async def deaf(template, tmp_path):
    """A bot that may read only what mentions it."""
    async with (
        FakeDiscord(grants=frozenset()) as fake,
        Server.copied(template, tmp_path, fake) as server,
    ):
        yield server


async def test_without_the_right_to_read_it_is_mentioned_and_says_so_once(deaf):
    fake = deaf.discord
    ann, general = fake.add_user("ann"), fake.add_channel("general")
    await deaf.open()

    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await deaf.until_answered(asked)
    unread = await fake.post(ann, asked.thread, PONTOON)
    (told,) = await deaf.until_answered(unread)
    again = await fake.post(ann, asked.thread, PONTOON)
    called = await fake.mention(ann, asked.thread, PONTOON)
    (second,) = await deaf.until_answered(called)
    elsewhere = await fake.post(ann, general, PONTOON)
    alone = await fake.dm(ann, FERRY)
    (private,) = await deaf.until_answered(alone)

    assert FERRY_ANSWER in answer.visible
    assert "I can only read messages that mention me" in told.visible
    assert PONTOON_ANSWER in second.visible
    assert FERRY_ANSWER in private.visible
    assert [one for one in fake.replies(again) if one is not second] == []
    assert fake.replies(elsewhere) == []
    assert (fake.violations, fake.rejected) == ([], [])
    assert ["Message Content" in fault["message"] for fault in deaf.faults] == [True]


async def test_without_the_right_to_read_whoever_speaks_to_it_unread_is_told(deaf):
    fake = deaf.discord
    ann, general = fake.add_user("ann"), fake.add_channel("general")
    fake.guild.bot_role.is_mentionable = True
    await deaf.open()
    asked = await fake.mention(ann, general, "help")
    (told,) = await deaf.until_answered(asked)

    by_role = await fake.post(ann, general, f"{fake.guild.bot_role.mention} {FERRY}")
    (first,) = await deaf.until_answered(by_role)
    quiet = await fake.reply(ann, told, FERRY, ping=False)
    (second,) = await deaf.until_answered(quiet)
    pinged = await fake.reply(ann, told, FERRY)
    (answer,) = await deaf.until_answered(pinged)

    assert "I can only read messages that mention me" in first.visible
    assert "I can only read messages that mention me" in second.visible
    assert FERRY_ANSWER in answer.visible
    assert (fake.violations, fake.rejected) == ([], [])
