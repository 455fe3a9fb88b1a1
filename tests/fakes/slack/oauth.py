"""OAuth: how a workspace installs the app, "Installing with OAuth", and takes it away again."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from fakes.slack.deliveries import Delivery
from fakes.slack.events import Envelope
from fakes.slack.state import Installation
from fakes.slack.web_api import Call, Method, Refused

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

CODE_LIFETIME = 600.0  # seconds, "oauth.v2.access"
_LINK = re.compile(r'href="([^"]*/oauth/v2/authorize[^"]*)"')


@dataclass
class Grant:
    """What somebody allowed the app in a workspace."""

    team: str
    user: str
    scopes: frozenset[str]
    at: float  #: the clock's seconds
    is_used: bool = False


async def access(slack: FakeSlack, call: Call, _installation: Installation) -> dict[str, Any]:
    """A code is exchanged once for a token of its own."""
    if call.get("client_id") != slack.client_id:
        raise Refused("invalid_client_id")
    if call.get("client_secret") != slack.client_secret:
        raise Refused("bad_client_secret")
    grant = slack.codes.get(call["code"])
    if grant is None or slack.state.clock.now() > grant.at + CODE_LIFETIME:
        raise Refused("invalid_code")
    if grant.is_used:
        raise Refused("code_already_used")
    grant.is_used = True
    token = f"xoxb-{slack.state.id('granted')}"
    installation = slack.grant(grant.team, token)
    return {
        "app_id": slack.app.id, "access_token": token, "token_type": "bot",
        "scope": ",".join(sorted(grant.scopes)), "bot_user_id": installation.bot.id,
        "team": {"id": grant.team, "name": slack.state.teams[grant.team]}, "enterprise": None,
        "is_enterprise_install": False, "authed_user": {"id": grant.user},
    }  # fmt: skip


class Browser:
    """A person's browser: it keeps the cookies of the app's pages."""

    def __init__(self, slack: FakeSlack, app_url: str) -> None:
        self.slack = slack
        self.app_url = app_url
        self.cookies: dict[str, str] = {}

    async def get(self, path: str, **query: str) -> tuple[int, str]:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        async with (
            aiohttp.ClientSession(trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as client,
            client.get(f"{self.app_url}{path}", params=query, headers=headers) as reply,
        ):
            for header in reply.headers.getall("Set-Cookie", []):
                assert "secure" in header.lower()
                self.cookies |= {name: each.value for name, each in SimpleCookie(header).items()}
            return reply.status, await reply.text()

    async def allow(self, team: str, user: str) -> dict[str, str]:
        """Opens the app's install page and allows at Slack what it asks for; with what Slack sends them back."""
        _, page = await self.get("/slack/install")
        found = _LINK.search(page)
        assert found, page
        asked = {
            name: values[0] for name, values in parse_qs(urlsplit(html.unescape(found[1])).query).items()
        }
        assert asked["client_id"] == self.slack.client_id
        assert not asked.get("user_scope")
        code = self.slack.state.id("code")
        at, scopes = self.slack.state.clock.now(), frozenset(asked["scope"].split(","))
        self.slack.codes[code] = Grant(team=team, user=user, scopes=scopes, at=at)
        return {"code": code, "state": asked["state"]}

    async def install(self, team: str, user: str) -> tuple[int, str]:
        """The status and the page in the end."""
        return await self.get("/slack/oauth_redirect", **await self.allow(team, user))


async def uninstall(slack: FakeSlack, team: str) -> None:
    """Takes the app away: its token works no more, and it is told so by two events."""
    installation = slack.state.installation(team)
    slack.refused_tokens[installation.token] = "account_inactive"
    await announce_uninstall(slack, installation)


async def announce_uninstall(slack: FakeSlack, installation: Installation) -> None:
    """The two events; they may come late. No authorization is left that they could name."""
    envelope = Envelope(app=slack.app, state=slack.state, installation=installation)
    tokens = {"oauth": [], "bot": [installation.bot.id]}
    for event in ({"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": tokens}):
        payload = envelope.event(str(event["type"]), event)
        if payload is not None:
            await slack.deliveries.offer(Delivery("events_api", payload | {"authorizations": []}))


METHODS = {"oauth.v2.access": Method(access, needs_token=False)}
