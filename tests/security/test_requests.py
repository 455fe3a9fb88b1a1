"""Requests that nobody signed, and payloads that no platform would send: nothing begins, nothing falls over."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import time
from collections import Counter
from random import Random

import aiohttp
import pytest
from fakes.discord import FakeDiscord
from fakes.discord_server import Server
from fakes.mutations import mutated
from fakes.office import FERRY, FERRY_ANSWER, Office
from fakes.ports import free_port
from fakes.slack import FakeSlack
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bots.chat.platform import Unreadable
from bots.slack.serve import BODY_LIMIT, listening
from bots.slack.settings import EVENTS_PATH

SECRET = "a secret of Slack's"
EVENT = json.dumps(
    {"type": "event_callback", "team_id": "T1", "event": {"type": "app_mention", "text": "hi"}}
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def signature(body: bytes, at: str, secret: str = SECRET) -> str:
    made = hmac.new(secret.encode(), b"v0:" + at.encode(errors="replace") + b":" + body, hashlib.sha256)
    return f"v0={made.hexdigest()}"


def forged(random: Random) -> tuple[str, str, bytes, dict[str, str]]:
    """(method, path, body, headers) of a request that Slack did not sign."""
    now = str(int(time.time()))
    body = random.choice(
        (EVENT, "payload=%7B%7D", "", "{", "[]", "\ud83d".encode("utf-8", "surrogatepass").decode("latin-1"))
    ).encode()
    at = random.choice(
        (
            now,
            str(int(now) - 301),
            str(int(now) + 301),
            "0",
            "-1",
            "1e9",
            "٣",
            "9" * 400,
            "",
            " ",
            "NaN",
            now + " ",
        )
    )
    signed = random.choice(
        (
            "", "v0=", "v0=" + "0" * 64, signature(body, at, "another secret"), signature(body + b" ", at),
            signature(body, at)[:-1], signature(body, at).upper(), "v1=" + signature(body, at)[3:], "é" * 64,
            signature(body, str(int(now) - 400)),
        )
    )  # fmt: skip
    headers = {
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": signed,
        "Content-Type": random.choice(
            ("application/json", "text/html", "application/x-www-form-urlencoded", "x")
        ),
    }
    for name in list(headers):
        if random.random() < 0.15:
            del headers[name]
    if random.random() < 0.02:
        body = b"x" * (BODY_LIMIT + 1)
    if random.random() < 0.1:
        body = bytes(random.randrange(256) for _ in range(40))
    method = random.choice(("POST",) * 12 + ("GET", "PUT", "DELETE", "OPTIONS", "HEAD"))
    path = (
        EVENTS_PATH
        if random.random() < 0.9
        else random.choice(("/", EVENTS_PATH + "/", "/slack/install", "/slack/%2e%2e/events"))
    )
    return (
        method,
        path,
        body,
        {name: value.encode("utf-8", "surrogateescape").decode("latin-1") for name, value in headers.items()},
    )


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
async def test_no_forged_request_begins_anything_or_breaks_the_server(count):
    handled: list[object] = []

    async def note(req, next):
        handled.append(req)
        return BoltResponse(status=200, body="")

    app = AsyncApp(
        client=AsyncWebClient("xoxb-none"), before_authorize=note, request_verification_enabled=False
    )
    statuses: Counter[int] = Counter()
    random = Random(6)
    port = free_port()
    async with listening(app, None, SECRET, port, Unreadable()), aiohttp.ClientSession() as session:
        for _ in range(count):
            method, path, body, headers = forged(random)
            async with session.request(
                method,
                f"http://127.0.0.1:{port}{path}",
                data=io.BytesIO(body),
                headers=headers,
                skip_auto_headers=["Content-Type"],
            ) as answered:
                statuses[answered.status] += 1
        now = str(int(time.time()))
        signed = {"X-Slack-Request-Timestamp": now, "X-Slack-Signature": signature(EVENT.encode(), now)}
        begun = len(handled)
        async with session.post(
            f"http://127.0.0.1:{port}{EVENTS_PATH}",
            data=EVENT,
            headers={**signed, "Content-Type": "application/json"},
        ) as answered:
            assert answered.status == 200

    print(dict(statuses))
    assert begun == 0
    assert all(400 <= status < 500 for status in statuses)
    assert sum(statuses.values()) == count
    assert len(handled) == 1


MALFORMED = [300, pytest.param(10_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("count", MALFORMED)
async def test_no_malformed_payload_of_a_socket_breaks_the_bot(count, template, tmp_path):
    random = Random(7)
    async with FakeSlack() as slack:
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)
        office = Office.copied(template, tmp_path, slack)
        await office.open()
        try:
            asked = await slack.mention(ann, general, FERRY)
            await office.until_answered(asked)
            known = [(one.type, one.payload) for one in slack.deliveries.all]
            for number in range(count):
                kind, payload = random.choice(known)
                envelope = mutated(
                    {"type": kind, "payload": payload, "accepts_response_payload": False}, random
                )
                if isinstance(envelope, dict):
                    envelope["envelope_id"] = f"malformed-{number}"
                await slack.sockets.send(envelope)
            after = await slack.mention(ann, general, FERRY)
            (answer,) = await office.until_answered(after)
            code = await office.stop()
        finally:
            if office.process.returncode is None:
                await office.kill()

    assert FERRY_ANSWER in answer.visible
    assert "Traceback" not in office.log
    assert code == 0


@pytest.mark.parametrize("count", MALFORMED)
async def test_no_malformed_payload_of_a_gateway_breaks_the_bot(count, template, tmp_path):
    random = Random(8)
    async with FakeDiscord() as discord:
        ann = discord.add_user("ann")
        general = discord.add_channel("general")
        server = Server.copied(template, tmp_path, discord)
        await server.open()
        try:
            asked = await discord.mention(ann, general, FERRY)
            await server.until_answered(asked)
            known = [event for event in discord.gateway.sent if event[0] not in ("READY", "RESUMED")]
            for _ in range(count):
                name, data = random.choice(known)
                strange = mutated(data, random)
                discord.gateway.dispatch(name, lambda _, strange=strange: strange)
            after = await discord.mention(ann, discord.add_channel("other"), FERRY)
            (answer,) = await server.until_answered(after)
            code = await server.stop()
        finally:
            if server.process.returncode is None:
                await server.kill()

    assert FERRY_ANSWER in answer.visible
    assert "Traceback" not in server.log
    assert code == 0
