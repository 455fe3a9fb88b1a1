"""The local Discord's Gateway, driven by the real discord.py: sessions, replays, outages."""

from __future__ import annotations

import json
import zlib

import aiohttp
import discord
import pytest
from fakes.discord.client import client, connected


@pytest.fixture
def heard(bot):
    heard = []

    @bot.event
    async def on_message(message):
        heard.append(message.content)

    return heard


async def test_what_happened_after_a_session_was_lost_is_found_in_history_only(
    fake, bot, heard, ann, general
):
    before = await fake.post(ann, general, "before")
    await fake.until(lambda: heard)
    fake.gateway.forget()
    fake.gateway.drop()
    await fake.post(ann, general, "missed")
    await fake.until(lambda: len(fake.gateway.identifies) == 2)
    context = bot.get_channel(general.id)

    missed = [one.content async for one in context.history(after=discord.Object(before.id))]

    assert heard == ["before"]
    assert missed == ["missed"]


async def test_an_event_can_come_twice(fake, bot, heard, ann, general):
    said = await fake.post(ann, general, "one")
    sessions = await fake.duplicate(said)
    fake.faults.duplicate_chance = 1.0
    await fake.post(ann, general, "two")
    await fake.until(lambda: len(heard) == 4)

    assert sessions == 1
    assert heard == ["one", "one", "two", "two"]


async def test_heartbeats_are_counted_and_acknowledged(fake, general):
    fake.gateway.heartbeat_interval = 0.05
    bot = client()

    async with connected(fake, bot):
        await fake.until(lambda: fake.gateway.heartbeats >= 3)
        latency = bot.latency

    assert latency < float("inf")
    assert fake.gateway.opened == 1


async def test_events_of_a_channel_that_it_cannot_see_do_not_reach_the_bot(fake, bot, heard, ann, general):
    hidden = fake.add_channel("hidden", only_for=[ann])
    await fake.post(ann, hidden, "secret")
    fake.deny(general, "view_channel")
    await fake.post(ann, general, "secret too")
    fake.allow(general, "view_channel")
    await fake.post(ann, general, "open")
    await fake.until(lambda: heard)

    assert heard == ["open"]


@pytest.mark.parametrize(("code", "sessions"), [(1000, 0), (4000, 1)])
async def test_a_session_ends_when_its_client_says_so_by_the_code_of_its_close(fake, code, sessions):
    hello = {"op": 2, "d": {"token": fake.token, "intents": 0, "properties": {}}}
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{fake.gateway_url}?v=10&encoding=json") as socket:
            await socket.send_json(hello)
            await fake.until_connected()
            await socket.close(code=code)
        await fake.until(lambda: not fake.gateway.connections)

    assert len(fake.gateway.sessions) == sessions


async def test_a_client_may_ask_for_zlib_or_for_nothing(fake):
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(
            f"{fake.gateway_url}?v=10&encoding=json&compress=zlib-stream"
        ) as socket:
            packed = await socket.receive_bytes()
        async with session.ws_connect(f"{fake.gateway_url}?v=10&encoding=json") as socket:
            plain = await socket.receive_json()
        async with session.get(f"{fake.gateway_url}?encoding=etf") as refused:
            status = refused.status

    assert json.loads(zlib.decompressobj().decompress(packed)) == plain
    assert plain["op"] == 10
    assert status == 400


async def test_frames_that_make_no_sense_end_the_socket(fake):
    async with aiohttp.ClientSession() as session:
        for frame in ("not json", '{"op": 99}'):
            async with session.ws_connect(f"{fake.gateway_url}?v=10&encoding=json") as socket:
                await socket.receive()
                await socket.send_str(frame)
                await socket.receive()

    assert fake.gateway.close_codes == [4002, 4001]


async def test_a_client_with_the_members_intent_is_told_of_everybody(fake, ann, general):
    fake.grants |= {"guild_members"}
    intents = discord.Intents.default()
    intents.members = intents.message_content = True
    async with connected(fake, client(intents=intents)) as bot:
        bob = fake.add_user("bob")
        await fake.until(lambda: bot.get_guild(fake.guild.id).get_member(bob.id))

        names = [one.name for one in bot.get_guild(fake.guild.id).members]
        fetched = [one.name async for one in bot.get_guild(fake.guild.id).fetch_members()]

    assert sorted(names) == sorted(fetched) == ["ann", "bob", "footnote"]
    assert fake.violations == []


async def test_a_session_without_a_socket_is_forgotten_in_time(fake, bot, ann, general):
    async with fake.outage():
        await fake.until(lambda: not fake.gateway.live)
        await fake.advance(3600)
        await fake.post(ann, general, "too late")
    await fake.until(lambda: len(fake.gateway.identifies) == 2)

    assert fake.gateway.resumed == []
