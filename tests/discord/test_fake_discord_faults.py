"""What can go wrong at the local Discord, and how the real discord.py meets it."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest
from fakes.discord import Hang, LostRequest, LostResponse, RateLimited, Refusal, ServerError, Slow

SEND = "POST /channels/{channel_id}/messages"
EDIT = "PATCH /channels/{channel_id}/messages/{message_id}"


@pytest.fixture
def context(bot, general):
    return bot.get_channel(general.id)


async def test_a_rate_limit_is_waited_out(fake, context, general):
    fake.faults.queue(SEND, RateLimited(0.2), RateLimited(0.1))

    await context.send("x")

    assert len(fake.said(general)) == 1
    assert [one.status for one in fake.requests if one.route == SEND] == [429, 429, 200]
    assert [fault for _, fault in fake.faults.injected] == [RateLimited(0.2), RateLimited(0.1)]
    assert fake.faults.early_retries == fake.violations == []


async def test_a_global_limit_holds_every_route(fake, context, general):
    posted = await context.send("x")
    fake.faults.queue(SEND, RateLimited(0.3, is_global=True))
    sending = asyncio.create_task(context.send("y"))
    await fake.until(lambda: fake.faults.injected)

    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {fake.token}"}) as session:
        url = f"{fake.api_url}/channels/{general.id}/messages/{posted.id}"
        async with session.get(url) as reply:
            answer = await reply.json()
    await sending

    assert reply.status == 429
    assert answer["global"] is True
    assert reply.headers["X-RateLimit-Scope"] == "global"
    assert float(reply.headers["Retry-After"]) >= answer["retry_after"]
    assert len(fake.faults.early_retries) == 1


async def test_a_rate_that_is_enforced_is_told_beforehand(fake, context, general):
    fake.faults.buckets[SEND] = (2, 0.3)

    for number in range(5):
        await context.send(str(number))

    assert len(fake.said(general)) == 5
    assert [one.status for one in fake.requests if one.route == SEND] == [200] * 5


async def test_server_errors_are_retried_by_the_library_or_raised(fake, context, general):
    fake.faults.queue(SEND, ServerError(503))

    with pytest.raises(discord.DiscordServerError):
        await context.send("x")
    await context.send("y")

    assert [one.visible for one in fake.said(general)] == ["y"]


async def test_a_lost_response_comes_after_the_effect_and_a_nonce_makes_up_for_it(fake, context, general):
    fake.faults.queue(SEND, LostRequest(), LostResponse())

    for _ in range(2):
        with pytest.raises((aiohttp.ClientError, OSError)):
            await context.send("x", nonce="turn-1")
    between = len(fake.said(general))
    await context.send("x", nonce="turn-1")

    assert between == 1
    assert len(fake.said(general)) == 1
    assert len(fake.deduplicated) == 1


@pytest.mark.parametrize("after_effect", [True, False])
async def test_a_request_can_hang_before_or_after_its_effect(fake, context, general, after_effect):
    fake.faults.queue(SEND, Hang(after_effect=after_effect))
    sending = asyncio.create_task(context.send("x"))
    await fake.until(lambda: fake.count(SEND))
    during = len(fake.said(general))

    fake.released.set()
    await sending

    assert (during, len(fake.said(general))) == (int(after_effect), 1)


async def test_a_refusal_and_a_slow_answer_are_for_one_route(fake, context, general):
    fake.faults.queue(EDIT, Refusal(404, 10008, "Unknown Message"), Slow(0.01))
    posted = await context.send("x")

    with pytest.raises(discord.NotFound) as gone:
        await posted.edit(content="y")
    await posted.edit(content="z")

    assert gone.value.code == 10008
    assert fake.said(general)[0].visible == "z"


async def test_chance_is_the_same_for_the_same_seed(fake):
    def drawn():
        faults = type(fake.faults)(seed=7, chances={"*": {ServerError(): 0.3, LostResponse(): 0.3}})
        return [faults.next(SEND, str(number), "") for number in range(30)]

    assert drawn() == drawn()
    assert {type(one) for one in drawn()} == {ServerError, LostResponse, type(None)}


async def test_an_outage_of_everything_ends(fake, bot, context, general):
    async with fake.outage(rest=True):
        with pytest.raises((aiohttp.ClientError, OSError)):
            await context.send("x")
    await fake.until_connected()
    await context.send("y")

    assert [one.visible for one in fake.said(general)] == ["y"]
