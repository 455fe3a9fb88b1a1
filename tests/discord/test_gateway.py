"""The connection to Discord comes and goes; what was said meanwhile is answered once."""

from __future__ import annotations

import pytest
from fakes.discord import Hang, LostResponse, ServerError
from fakes.discord_server import Server
from fakes.served import FERRY, FERRY_ANSWER

CREATE, HISTORY = "POST /channels/{channel_id}/messages", "GET /channels/{channel_id}/messages"
HALF_AN_HOUR = 1_800.0  # seconds
AN_HOUR_WITHOUT_TRAFFIC = 3_600.0  # seconds, after which Discord archives some threads


@pytest.fixture
async def server(template, tmp_path, fake):
    fake.hasten()
    async with Server.copied(template, tmp_path, fake) as server:
        yield server


@pytest.fixture
def ask(fake, ann, general):
    """Says what the handbook answers, in a channel."""
    return lambda: fake.mention(ann, general, FERRY)


async def assert_answered_once(server, fake, asked):
    answers = [await server.until_answered(each) for each in asked]
    assert [len(each) for each in answers] == [1] * len(asked)
    assert all(FERRY_ANSWER in answer.visible for (answer,) in answers)
    assert len(fake.said()) == len(asked)


async def test_half_an_hour_without_the_gateway_loses_no_mention(server, fake, ask):
    await server.open()
    first = await ask()
    await server.until_answered(first)

    async with fake.outage():
        await fake.until(lambda: not fake.gateway.live)
        asked = [await ask() for _ in range(12)]
        await fake.advance(HALF_AN_HOUR)
    await assert_answered_once(server, fake, [first, *asked])

    assert len(fake.gateway.identifies) == 2
    assert fake.gateway.resumed == []


@pytest.mark.long
async def test_an_outage_of_everything_is_sat_out(server, fake, ask):
    await server.open()
    first = await ask()
    await server.until_answered(first)

    async with fake.outage(rest=True):
        await fake.until(lambda: not fake.gateway.live)
        asked = [await ask() for _ in range(5)]
        await fake.advance(HALF_AN_HOUR)
    await assert_answered_once(server, fake, [first, *asked])


#: How Discord ends a connection, and whether the session goes on behind it.
ENDINGS = {
    "a socket breaks": (lambda gateway: gateway.drop(), True),
    "a deploy": (lambda gateway: gateway.reconnect(), True),
    "a session is to be resumed": (lambda gateway: gateway.invalidate(resumable=True), True),
    "a session is invalid": (lambda gateway: gateway.invalidate(), False),
    "a session is lost": (lambda gateway: (gateway.forget(), gateway.drop()), False),
}


async def test_whatever_ends_a_connection_nothing_is_lost(server, fake, ask):
    await server.open()
    asked = [await ask()]
    await server.until_answered(asked[0])

    for ending, (end, goes_on) in ENDINGS.items():
        begun, resumed = len(fake.gateway.identifies), len(fake.gateway.resumed)
        end(fake.gateway)
        asked += [await ask() for _ in range(3)]
        await assert_answered_once(server, fake, asked)

        assert len(fake.gateway.identifies) == begun + (not goes_on), ending
        assert (len(fake.gateway.resumed) > resumed) is goes_on, ending


@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.long)])
async def test_sessions_lost_again_and_again_lose_no_message(server, fake, ask, times):
    """The second is lost before the first was looked through."""
    await server.open()
    asked = [await ask()]
    await server.until_answered(asked[0])
    fake.faults.queue(HISTORY, Hang(), Hang())

    for _ in range(times):
        known = len(fake.gateway.identifies)
        fake.gateway.forget()
        fake.gateway.drop()
        asked += [await ask() for _ in range(2)]
        await fake.until(lambda known=known: len(fake.gateway.identifies) > known)
        asked.append(await ask())
    fake.released.set()

    await assert_answered_once(server, fake, asked)


async def test_a_kill_while_it_looks_for_what_was_missed_skips_nothing(server, fake, ann, ask):
    """A message that comes meanwhile is stored, and must not hide the older ones from the next start."""
    other, third = fake.add_channel("other"), fake.add_channel("third")
    await server.open()
    asked = [await ask()]
    await server.until_answered(asked[0])
    await server.kill()
    asked += [await fake.mention(ann, other, FERRY) for _ in range(3)]
    fake.faults.queue(HISTORY, Hang())
    await server.open()
    await fake.until(lambda: fake.faults.injected)
    asked.append(await fake.mention(ann, third, FERRY))
    await server.until_answered(asked[-1])

    await server.kill()
    await server.open()

    await assert_answered_once(server, fake, asked)


async def test_a_look_for_what_was_missed_that_fails_is_taken_again(server, fake, ask):
    await server.open()
    asked = [await ask()]
    await server.until_answered(asked[0])
    await server.stop()
    asked += [await ask() for _ in range(3)]
    fake.faults.queue(HISTORY, LostResponse(), ServerError(503))

    await server.open()

    await assert_answered_once(server, fake, asked)


async def test_every_kind_of_place_is_looked_through(server, fake, ann, general):
    """Threads that were archived meanwhile, posts of a forum, direct messages; not what is closed to the bot."""
    forum, hidden = fake.add_channel("forum", kind="forum"), fake.add_channel("hidden")
    fake.deny(hidden, "view_channel")
    await server.open()
    begun = await fake.mention(ann, general, FERRY)
    talk = await fake.dm(ann, FERRY)
    for each in (begun, talk):
        await server.until_answered(each)
    await server.kill()

    await fake.advance(AN_HOUR_WITHOUT_TRAFFIC)
    in_thread = await fake.post(ann, begun.thread, FERRY)
    fake.archive(begun.thread)
    strange = fake.open_thread(general, "strange", ann)
    in_strange = await fake.mention(ann, strange, FERRY)
    fake.archive(strange)
    in_forum = await fake.post_in_forum(ann, forum, "A question", f"{fake.bot.mention} {FERRY}")
    fake.archive(in_forum.channel)
    direct = await fake.dm(ann, FERRY)
    closed = await fake.mention(ann, hidden, FERRY)
    await server.open()

    for each in (in_thread, in_strange, in_forum, direct):
        (answer,) = await server.until_answered(each)
        assert FERRY_ANSWER in answer.visible
    assert len(fake.replies(closed)) == 0
    assert len(fake.said()) == 6
    assert server.faults == []


async def test_a_server_that_comes_back_later_is_looked_through(server, fake, ask):
    """One server alone is out for a while, as Discord says of some each day."""
    await server.open()
    first = await ask()
    await server.until_answered(first)
    guild = str(fake.guild.id)

    fake.gateway.dispatch("GUILD_DELETE", lambda _: {"id": guild, "unavailable": True}, "guilds")
    fake.guild.has_bot = False
    asked = [await ask() for _ in range(3)]
    await fake.invite(fake.guild)

    await assert_answered_once(server, fake, [first, *asked])


async def test_a_gateway_that_is_not_there_at_first_is_waited_for(server, fake, ask):
    async with fake.outage():
        await server.open(is_connected=False)
        await fake.until(lambda: "gateway of Discord cannot be reached" in server.log)
    await server.until_connected()

    asked = await ask()
    await assert_answered_once(server, fake, [asked])

    assert {entry["level"] for entry in server.faults} == {"warning"}


async def test_an_event_that_cannot_be_read_is_passed_over(server, fake, ask):
    await server.open()

    for unreadable in ({"content": "\ud800"}, {"id": "no number"}, {}):
        fake.gateway.dispatch("MESSAGE_CREATE", lambda _, each=unreadable: each, "guild_messages")
    asked = await ask()

    await assert_answered_once(server, fake, [asked])
    assert fake.gateway.opened == 1


async def test_an_intent_that_is_taken_away_is_done_without(server, fake, ann, general, ask):
    await server.open()
    begun = await ask()
    await server.until_answered(begun)

    fake.grants = frozenset()
    fake.gateway.forget()
    fake.gateway.drop()
    await fake.until(lambda: len(fake.gateway.identifies) == 3)
    unread = await fake.post(ann, begun.thread, FERRY)
    (word,) = await server.until_answered(unread)
    asked = await fake.mention(ann, general, FERRY)
    (answer,) = await server.until_answered(asked)

    assert fake.gateway.close_codes == [4014]
    assert "Message Content intent was revoked" in server.log
    assert "Mention me" in word.visible
    assert FERRY_ANSWER in answer.visible


async def lose_the_token(server, fake):
    """The exit code."""
    fake.token = "another"
    fake.gateway.drop()
    return await server.process.wait()


async def test_a_token_that_is_replaced_while_it_runs_ends_it_with_a_sentence(server, fake, ask):
    await server.open()
    first = await ask()
    await server.until_answered(first)

    code = await lose_the_token(server, fake)
    asked = await ask()
    await server.open()
    await assert_answered_once(server, fake, [first, asked])

    assert code == 2
    assert "\nDiscord no longer accepts DISCORD_TOKEN" in server.log
    assert "Traceback" not in server.log


@pytest.mark.long
async def test_what_is_said_while_the_token_is_replaced_is_said_by_the_next_start(server, fake, ask):
    await server.open()
    fake.faults.queue(CREATE, ServerError(503))
    asked = await ask()
    await fake.until(lambda: fake.faults.injected)

    await lose_the_token(server, fake)
    await server.open()

    await assert_answered_once(server, fake, [asked])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"DISCORD_TOKEN": "wrong"}, "Discord refused DISCORD_TOKEN"),
        ({"DISCORD_API_URL": "http://127.0.0.1:9/api/v10"}, "Discord cannot be reached"),
    ],
)
async def test_a_start_that_cannot_succeed_ends_with_a_sentence(server, settings, says):
    server.settings |= settings

    await server.open(is_connected=False)
    code = await server.process.wait()

    assert code == 2
    assert says in server.log
    assert "Traceback" not in server.log


async def test_a_stop_while_the_gateway_is_out_is_obeyed(server, fake):
    await server.open()

    async with fake.outage():
        await fake.until(lambda: "gateway of Discord cannot be reached" in server.log)
        code = await server.stop()

    assert code == 0


@pytest.mark.long
async def test_a_gateway_that_no_longer_answers_is_left_for_another(server, fake, ask):
    """discord.py gives it a minute."""
    fake.gateway.heartbeat_interval = 5.0
    await server.open()
    first = await ask()
    await server.until_answered(first)
    fake.gateway.acknowledges_heartbeats = False

    await fake.until(lambda: fake.gateway.opened == 2)
    fake.gateway.acknowledges_heartbeats = True

    await assert_answered_once(server, fake, [first, await ask()])
