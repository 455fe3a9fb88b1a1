"""Who asks over HTTP: tokens, Slack's signature, an issuer's tokens; and everything that is refused."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import replace

import httpx2
import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric import rsa
from fakes.assistants import SIGNING_SECRET, TEAM, in_one_task, open_mcp_desk, over_http
from fakes.ports import free_port
from fakes.served import FERRY, HANDBOOK
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from bots.chat.access import AccessChange, change_access
from bots.mcp import http as http_module
from bots.mcp.callers import PeopleByEmail
from bots.mcp.identity import KEYS_KEPT, KEYS_PAUSE, Issuer, UnknownCaller
from bots.page.settings import PageSettings

ANN = "U0ANN12345"
SECRET = "# Payroll\n\n## Pay\n\nThe harbour master earns ninety thousand euros a year.\n"
ASK = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {
        "name": "ask", "arguments": {"question": FERRY}, "_meta": {"slack": {"team_id": TEAM, "user_id": ANN}},
    },
}  # fmt: skip
HEADERS = {
    "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}  # fmt: skip


class SlackPeople(PeopleByEmail):
    """A Slack in which a conversation is between two if its id begins so, and that knows nobody's address."""

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def email_of(self, _space, _user):
        return ""


@pytest.fixture
async def desk(tmp_path):
    async with in_one_task(open_mcp_desk(tmp_path, people={"slack": SlackPeople()})) as desk:
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK)
        desk.ingest(tmp_path / "docs", "payroll.md", SECRET, collection="payroll")
        yield desk


def signature(body: bytes, *, secret=SIGNING_SECRET, at=None) -> dict[str, str]:
    """As in "Verifying requests from Slack"."""
    at = int(time.time() if at is None else at)
    digest = hmac.new(secret.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(at), "X-Slack-Signature": f"v0={digest}"}


class Slackbot(httpx2.Auth):
    """Signs what the client sends, as Slack does for an app."""

    requires_request_body = True

    def auth_flow(self, request):
        request.headers.update(signature(request.content))
        yield request


async def post(url, body, headers):
    async with httpx2.AsyncClient(trust_env=False) as http:
        return await http.post(url, content=body, headers={**HEADERS, **headers})


async def test_slacks_own_client_asks_as_the_person_that_slack_names(desk):
    database = desk.channels.database.database
    change_access(database, "payroll", AccessChange(opens=(("person", ANN),)), known=["default", "payroll"])

    async def pay(user):
        async with (
            httpx2.AsyncClient(auth=Slackbot(), trust_env=False) as http,
            Client(streamable_http_client(desk.url, http_client=http), mode="legacy") as client,
        ):
            asked = {"question": "What does the harbour master earn?"}
            meta = {"slack": {"team_id": TEAM, "user_id": user}}
            return await client.call_tool("ask", asked, meta=meta)

    ann, bob = await pay(ANN), await pay("U0BOB12345")

    assert "ninety thousand" in ann.structured_content["text"]
    assert "ninety thousand" not in json.dumps(bob.structured_content)


BODY = json.dumps(ASK).encode()
OTHER = json.dumps({**ASK, "id": 2}).encode()
STRANGER = json.dumps(
    {**ASK, "params": {**ASK["params"], "_meta": {"slack": {"team_id": "T0OTHER", "user_id": ANN}}}}
).encode()
NOBODY = json.dumps({**ASK, "params": {**ASK["params"], "_meta": {}}}).encode()
BATCH = json.dumps([{**ASK, "params": {"name": "ask", "arguments": {"question": FERRY}}}]).encode()
ODD = json.dumps(
    {**ASK, "params": {**ASK["params"], "_meta": {"slack": {"team_id": TEAM, "user_id": "../x"}}}}
).encode()


@pytest.mark.parametrize(
    ("body", "signed", "more", "says"),
    [
        (BODY, None, {}, "Say who asks"),
        (BODY, None, {"Authorization": "Basic YTpi"}, "Say who asks"),
        (BODY, None, {"Authorization": "Bearer fnt_guessed"}, "unknown, revoked or expired"),
        (BODY, None, {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}, "unknown, revoked or expired"),
        (BODY, OTHER, {}, "not signed by Slack"),
        (BODY, BODY, {"X-Slack-Request-Timestamp": "x"}, "not signed by Slack"),
        (BODY, BODY, {"Authorization": "Bearer fnt_guessed"}, "Say who asks"),
        (STRANGER, STRANGER, {}, "workspace that is not served"),
        (NOBODY, NOBODY, {}, "did not say who asks"),
        (ODD, ODD, {}, "did not say who asks"),
        (b"{", b"{", {}, "cannot be read"),
        (b"[]", b"[]", {}, "did not say who asks"),
        (BATCH, BATCH, {}, "did not say who asks"),
    ],
)  # fmt: skip
async def test_whoever_is_not_known_gets_nothing(desk, body, signed, more, says):
    reply = await post(desk.url, body, {**(signature(signed) if signed else {}), **more})

    assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert says in reply.json()["error"]["message"]


async def test_what_another_secret_signed_is_refused(desk):
    assert (await post(desk.url, BODY, signature(BODY, secret="another"))).status_code == 401


@pytest.mark.parametrize("seconds", [-330, 330])
async def test_a_signed_request_of_another_time_is_refused(desk, seconds):
    reply = await post(desk.url, BODY, signature(BODY, at=time.time() + seconds))

    assert reply.status_code == 401


async def test_a_signed_question_that_comes_twice_is_answered_once(desk):
    signed = signature(BODY)

    first, again = await post(desk.url, BODY, signed), await post(desk.url, BODY, signed)

    assert (first.status_code, again.status_code) == (200, 401)
    assert again.json()["error"]["message"] == "This came before."
    assert "half past nine" in first.text


async def test_the_list_of_tools_may_come_twice_within_a_second(desk):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"slack": {"team_id": TEAM, "user_id": ANN}}}}).encode()  # fmt: skip
    signed = signature(body)

    assert [(await post(desk.url, body, signed)).status_code for _ in range(2)] == [200, 200]


async def test_a_token_ends_when_it_is_revoked_and_when_its_time_is_over(desk):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()

    async def status(token):
        return (await post(desk.url, body, {"Authorization": f"Bearer {token}"})).status_code

    token, short = await desk.token("ann@example.org"), ""
    before = replace(desk.tokens, now=lambda: time.time() - 100)
    short = await before.make("short", (await desk.tokens.caller_of(token)), "ann@example.org", life=90)
    served = await status(token)
    await desk.tokens.revoke("of ann@example.org")

    assert (served, await status(token), await status(short)) == (200, 401, 401)
    assert await desk.tokens.listed() == ()


async def test_a_token_stands_in_no_store(desk, tmp_path):
    token = await desk.token("ann@example.org")
    async with over_http(desk.url, token) as assistant:
        await assistant.ask(FERRY)

    files = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert files
    assert not [content for content in files if token.removeprefix("fnt_").encode() in content]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_a_foreign_page_reaches_nothing_even_with_a_token(desk, headers, status):
    token = {"Authorization": f"Bearer {await desk.token('ann@example.org')}"}

    reply = await post(desk.url, BODY, {**token, **headers})

    assert reply.status_code == status
    assert "half past nine" not in reply.text


async def test_a_request_that_says_twice_who_asks_is_refused(desk):
    tokens = [await desk.token("ann@example.org"), await desk.token("default", "bot")]
    twice = [*HEADERS.items(), *(("Authorization", f"Bearer {each}") for each in tokens)]

    async with httpx2.AsyncClient(trust_env=False) as http:
        reply = await http.post(desk.url, content=BODY, headers=twice)

    assert reply.status_code == 400


async def test_a_body_that_is_too_long_and_a_method_that_is_none_are_refused(desk):
    token = {"Authorization": f"Bearer {await desk.token('ann@example.org')}"}
    long = json.dumps({**ASK, "params": {**ASK["params"], "arguments": {"question": "x" * 300_000}}}).encode()

    too_long = await post(desk.url, long, token)
    async with httpx2.AsyncClient(trust_env=False) as http:
        others = [await http.request(method, desk.url, headers=token) for method in ("GET", "DELETE", "PUT")]

    assert [each.status_code for each in (too_long, *others)] == [413, 405, 405, 405]
    assert {each.headers["Allow"] for each in others} == {"POST"}
    assert [each.json()["error"]["message"] for each in (too_long, others[0])] == [
        "A request may have 256 KB.", "Requests of MCP are posted here.",
    ]  # fmt: skip


async def test_where_others_reach_it_it_is_only_served_behind_tls(tmp_path):
    page = PageSettings(host="0.0.0.0", port=free_port(), url="https://footnote.example")
    async with open_mcp_desk(tmp_path, http=page) as desk:
        token = {"Authorization": f"Bearer {await desk.token('ann@example.org')}", "Host": "footnote.example"}
        url = f"http://127.0.0.1:{page.port}/mcp"
        plain = await post(url, BODY, token)
        behind = await post(url, BODY, {**token, "X-Forwarded-Proto": "https"})

    assert (plain.status_code, behind.status_code) == (403, 200)
    assert desk.url == "https://footnote.example/mcp"


class IssuerHere(tuple):  # noqa: SLOT001 - it has a server beside
    """Its address and its key."""

    def __new__(cls, address, key, server, published):
        here = super().__new__(cls, (address, key))
        here.server, here.published = server, published
        return here


def _public(key, kid):
    """As a set of keys has it."""
    return {
        **json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": kid, "alg": "RS256", "use": "sig",
    }  # fmt: skip


def _publish(issuer, key, kid):
    issuer.published[:] = [_public(key, kid)]


@pytest.fixture
async def issuer():
    """An issuer of tokens with one key, as OpenID providers are."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    published = [_public(key, "k1")]
    app = web.Application()
    server = TestServer(app)

    async def configuration(_request):
        return web.json_response(
            {"issuer": str(server.make_url("")).rstrip("/"), "jwks_uri": str(server.make_url("/keys"))}
        )

    async def keys(_request):
        return web.json_response({"keys": published})

    app.router.add_get("/.well-known/openid-configuration", configuration)
    app.router.add_get("/keys", keys)
    async with server:
        yield IssuerHere(str(server.make_url("")).rstrip("/"), key, server, published)


def issued(address, key, audience, kid="k1", **changes):
    now = int(time.time())
    claims = {
        "iss": address,
        "aud": audience,
        "exp": now + 600,
        "iat": now,
        "sub": "1",
        "email": "Ann@Example.org",
        "email_verified": True,
    }
    claims = {name: content for name, content in {**claims, **changes}.items() if content is not None}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": kid})


async def test_an_issuers_token_stands_for_whoever_it_names_and_for_nobody_elsewhere(tmp_path, issuer):
    address, key = issuer
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    port = free_port()
    page = PageSettings(port=port, url=f"http://127.0.0.1:{port}")
    async with open_mcp_desk(tmp_path, issuer=address, http=page) as desk:
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK)
        async with over_http(desk.url, issued(address, key, desk.url)) as assistant:
            answer = await assistant.ask(FERRY)
        wrong = [
            issued(address, key, "https://elsewhere.example/mcp"),
            issued(address, key, None),
            issued("https://elsewhere.example", key, desk.url),
            issued(address, other, desk.url),
            issued(address, key, desk.url, exp=int(time.time()) - 120),
            issued(address, key, desk.url, exp=None),
            issued(address, key, desk.url, email=None),
            issued(address, key, desk.url, email="everybody"),
            *(issued(address, key, desk.url, email_verified=each) for each in (False, "false", 0, None)),
            jwt.encode({"iss": address, "aud": desk.url, "email": "a@b.c"}, "secret" * 8, algorithm="HS256", headers={"kid": "k1"}),
        ]  # fmt: skip
        refused = [await post(desk.url, BODY, {"Authorization": f"Bearer {each}"}) for each in wrong]
        async with httpx2.AsyncClient(trust_env=False) as http:
            described = (await http.get(f"{page.url}/.well-known/oauth-protected-resource/mcp")).json()

    assert "half past nine" in answer["text"]
    assert [each.status_code for each in refused] == [401] * len(wrong)
    assert (described["resource"], described["authorization_servers"]) == (desk.url, [address])
    assert described["resource"].removesuffix("/mcp") in refused[0].headers["WWW-Authenticate"]


async def test_keys_that_an_issuer_changes_are_found_and_old_ones_end(issuer):
    address, key = issuer
    now = [1_000.0]
    trusted = Issuer(address=address, audience="https://here.example/mcp", clock=lambda: now[0])
    fresh = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    old, new = (
        issued(address, signing, trusted.audience, kid=kid) for signing, kid in ((key, "k1"), (fresh, "k2"))
    )
    before = await trusted.caller_of(old)
    _publish(issuer, fresh, "k2")

    with pytest.raises(UnknownCaller, match="a key that its issuer does not have"):
        await trusted.caller_of(new)  # keys were read a moment ago
    now[0] += KEYS_PAUSE + 1
    after = await trusted.caller_of(new)
    with pytest.raises(UnknownCaller, match="a key that its issuer does not have"):
        await trusted.caller_of(old)

    assert before == after


async def test_while_an_issuer_is_away_its_known_keys_count(issuer):
    address, key = issuer
    now = [1_000.0]
    trusted = Issuer(address=address, audience="https://here.example/mcp", clock=lambda: now[0])
    token = issued(address, key, trusted.audience)
    caller = await trusted.caller_of(token)
    await issuer.server.close()

    now[0] += KEYS_KEPT + 1

    assert await trusted.caller_of(token) == caller
    now[0] += KEYS_KEPT + 1
    with pytest.raises(UnknownCaller, match="cannot be reached"):
        await trusted.caller_of(issued(address, key, trusted.audience, kid="k9"))


async def test_a_caller_has_so_many_calls_at_once_and_others_theirs(desk, monkeypatch):
    monkeypatch.setattr(http_module, "CALLS", 0)
    token = {"Authorization": f"Bearer {await desk.token('ann@example.org')}"}

    refused = await post(desk.url, BODY, token)
    monkeypatch.setattr(http_module, "CALLS", 1)
    answered = [await post(desk.url, BODY, token) for _ in range(2)]

    assert (refused.status_code, [each.status_code for each in answered]) == (429, [200, 200])
    assert "calls of one caller" in refused.json()["error"]["message"]


async def test_an_issuer_that_is_away_refuses_with_a_sentence(tmp_path):
    port = free_port()
    page = PageSettings(port=port, url=f"http://127.0.0.1:{port}")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    async with open_mcp_desk(tmp_path, issuer="http://127.0.0.1:9", http=page) as desk:
        token = issued("http://127.0.0.1:9", key, desk.url)
        reply = await post(desk.url, BODY, {"Authorization": f"Bearer {token}"})

    assert (reply.status_code, "cannot be reached now" in reply.text) == (401, True)
