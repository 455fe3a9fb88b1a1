"""The local Slack when things go wrong, and when it speaks HTTP."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web
from fakes.slack import Faults, Hang, LostRequest, LostResponse, RateLimited, ServerError, Slow
from fakes.slack.bolt import listener_of, refusal
from fakes.slack.samples import button, buttons
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler


async def test_the_sdks_handler_honours_retry_after(slack, client, general):
    client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    slack.faults.queue("chat.postMessage", RateLimited(retry_after=1))

    await client.chat_postMessage(channel=general, text="patient")

    assert len(slack.calls_of("chat.postMessage")) == 2
    assert slack.early_retries == []
    assert [one.visible for one in slack.posts()] == ["patient"]


async def test_a_retry_before_its_time_is_noted(slack, client, general):
    slack.faults.queue("chat.postMessage", RateLimited(retry_after=30))

    refused = await refusal(client.chat_postMessage(channel=general, text="eager"))
    await client.chat_postMessage(channel=general, text="another")
    await client.chat_postMessage(channel=general, text="eager")

    assert (refused.status_code, refused["error"]) == (429, "ratelimited")
    assert [call.args["text"] for call in slack.early_retries] == ["eager"]
    assert [call.args["text"] for call in slack.early_calls] == ["another", "eager"]


async def test_a_lost_response_leaves_the_message_and_the_sdk_posts_it_again(slack, client, general):
    slack.faults.queue("chat.postMessage", LostResponse())

    await client.chat_postMessage(channel=general, text="once?")

    assert [one.visible for one in slack.posts()] == ["once?", "once?"]


async def test_a_lost_request_leaves_nothing(slack, client, general):
    client.retry_handlers.clear()
    slack.faults.queue("chat.postMessage", LostRequest())

    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=general, text="never")

    assert slack.posts() == []
    assert not slack.rejected


async def test_a_server_error_is_a_page_not_json(slack, client, general):
    slack.faults.queue("chat.postMessage", ServerError(503))

    refused = await refusal(client.chat_postMessage(channel=general, text="x"))

    assert refused.status_code == 503
    assert slack.posts() == []


async def test_a_reply_hangs_until_it_is_released(slack, client, general):
    slack.faults.queue("chat.postMessage", Hang(), Hang(after_effect=True), Slow(60))

    calls = [asyncio.create_task(client.chat_postMessage(channel=general, text=str(n))) for n in range(3)]
    await slack.until(lambda: len(slack.calls) == 3)
    before = [one.visible for one in slack.posts()]
    slack.released.set()
    await asyncio.gather(*calls)

    assert len(before) == 2
    assert len(slack.posts()) == 3


async def test_chance_is_the_same_chance_every_time(slack, client, general):
    chances = {"*": {LostRequest(): 0.2, ServerError(): 0.2}}
    first, second = (
        [faults.next("chat.update") for _ in range(100)]
        for faults in (Faults(seed=7, chances=chances), Faults(seed=7, chances=chances))
    )

    assert first == second
    assert 20 < sum(fault is not None for fault in first) < 60


@pytest.fixture
async def over_http(slack, app):
    """The app behind a URL of its own, as Slack knows it."""

    async def serve(request):
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    routes = web.Application()
    routes.router.add_post("/slack/events", serve)
    runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.request_url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    yield app
    await runner.cleanup()


async def test_events_and_presses_are_posted_and_signed(slack, over_http, client, ann, general):
    heard, pressed = listener_of(over_http, "message"), []

    @over_http.action("go")
    async def go(ack, body):
        await ack()
        pressed.append(body["user"]["id"])

    said = await slack.say(ann, general, "hello")
    await client.chat_postMessage(channel=general, text="?", blocks=[buttons(button("go"))])
    await slack.press(slack.posts()[0], "go", ann)
    await slack.until(lambda: heard and pressed)
    await slack.until_acked(said)

    assert heard[0]["event"]["text"] == "hello"
    assert pressed == [ann]


async def test_a_reply_that_is_no_200_is_delivered_again_and_says_why(slack, over_http, ann, general):
    failures, headers = iter([True]), []

    @over_http.middleware
    async def store(req, next):
        headers.append([req.headers.get(f"x-slack-retry-{name}") for name in ("num", "reason")])
        if any(failures):
            raise OSError("the disk is full")
        await next()

    listener_of(over_http, "message")
    said = await slack.say(ann, general, "hello")
    await slack.until(lambda: slack.deliveries_of(said)[0].attempts[0].status)
    await slack.advance(0.1)
    await slack.until_acked(said)

    assert headers == [[None, None], [["1"], ["http_error"]]]


async def test_an_app_that_cannot_be_reached_is_tried_again(slack, ann, general):
    slack.request_url = "http://127.0.0.1:9/slack/events"

    said = await slack.say(ann, general, "hello")
    (delivery,) = slack.deliveries_of(said)
    await slack.until(lambda: delivery.reason == "connection_failed")

    assert delivery in await slack.advance(0.1)
