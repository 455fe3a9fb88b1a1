"""What SLACK_APP_TOKEN tells: whether a socket opens, and who else has one. Over HTTP: the signing secret."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bots.chat.proxies import is_reached_directly
from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.doctor.folder import owner_of
from bots.doctor.installation import Installation
from bots.slack.checkup.asking import PATIENCE, Refused, Silent, ask
from bots.slack.checkup.sources import NETWORK, SOCKET_MODE, SOURCES
from bots.slack.http import PATH
from bots.slack.settings import SlackSettings

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

SOCKET, HTTP = "Slack socket", "Slack HTTP"

LEAVING = 1.0  # seconds for a socket to close; Slack leaves the connection below it open

_SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")  # as Slack makes them

#: What the error codes of "apps.connections.open" mean, and what a socket is closed for; others are shown as they are.
_OF_APP_TOKEN: Mapping[str, tuple[str, str]] = {
    "invalid_auth": ("Slack does not know SLACK_APP_TOKEN.", SOURCES["SLACK_APP_TOKEN"]),
    "token_revoked": ("SLACK_APP_TOKEN was revoked.", SOURCES["SLACK_APP_TOKEN"]),
    "missing_scope": ("SLACK_APP_TOKEN lacks connections:write.", SOURCES["SLACK_APP_TOKEN"]),
    "not_allowed_token_type": ("SLACK_APP_TOKEN is no app-level token.", SOURCES["SLACK_APP_TOKEN"]),
    "link_disabled": ("Socket Mode is switched off.", SOCKET_MODE),
    "too_many_websockets": (
        "The app has ten sockets already, as many as Slack allows.",
        "Stop other processes that serve this app.",
    ),
}


async def socket_side(
    client: AsyncWebClient, settings: SlackSettings, installation: Installation
) -> tuple[str, list[Finding]]:
    """The app's id, where a socket told it."""
    if not settings.app_token:
        if settings.signing_secret:
            return "", []
        return "", [skipped(SOCKET, "Not opened until SLACK_APP_TOKEN is right.")]
    try:
        hello = await _first_word(client, settings)
    except Refused as refused:
        text, fix = _OF_APP_TOKEN.get(str(refused), (f"No socket opens: {refused}.", SOCKET_MODE))
        return "", [failed(SOCKET, text, fix)]
    except Silent:
        return "", [failed(SOCKET, f"No socket opened within {PATIENCE:g} s.", f"{NETWORK} {SOCKET_MODE}")]
    info = hello.get("connection_info") or {}
    owner = owner_of(installation.settings.data_dir)
    return str(info.get("app_id", "")), [_beside(int(hello.get("num_connections") or 1) - 1, owner)]


def _beside(others: int, owner: str) -> Finding:
    """Whoever else is connected gets a share of the events, and no event comes twice."""
    if others > 0 and not owner:
        return warning(
            SOCKET,
            f"It opens, and so did {counted(others, 'other connection')} of this app that {'is' if others == 1 else 'are'} not from here.",
            "Stop the other process: Slack gives each event to one connection only. Or create an app of its own.",
        )
    return ok(SOCKET, f"It opens{f', beside {others:,} of {owner}' if others > 0 else ''}.")


async def _first_word(client: AsyncWebClient, settings: SlackSettings) -> dict[str, Any]:
    """Slack's greeting on a socket of our own, which is closed at once.

    From the moment it is open, Slack gives it a share of the app's events. One that comes is
    not acknowledged: Slack then brings it again, to whoever serves the app.
    """
    from aiohttp import ClientError, ClientWSTimeout, WSMsgType

    said, _ = await ask(client, "apps.connections.open", token=settings.app_token)
    url = str(said.get("url", ""))
    session = client.session
    assert session is not None
    proxy = None if is_reached_directly(url) else client.proxy
    try:
        async with (
            asyncio.timeout(PATIENCE),
            session.ws_connect(url, proxy=proxy, timeout=ClientWSTimeout(ws_close=LEAVING)) as socket,
        ):
            async for frame in socket:
                word = json.loads(frame.data) if frame.type is WSMsgType.TEXT else {}
                if word.get("type") == "disconnect":
                    raise Refused(str(word.get("reason")))
                if word.get("type") == "hello":
                    return dict(word)
    except (ClientError, OSError, ValueError) as lost:  # a TimeoutError is an OSError
        raise Silent from lost
    raise Silent


def over_http(settings: SlackSettings) -> Iterator[Finding]:
    if not settings.signing_secret:
        return
    if not _SIGNING_SECRET.fullmatch(settings.signing_secret):
        yield warning(
            HTTP,
            "SLACK_SIGNING_SECRET does not look like one: they have 32 signs of 0-9 and a-f.",
            SOURCES["SLACK_SIGNING_SECRET"],
        )
        return
    yield ok(HTTP, f"The signing secret is there. Whether Slack can reach …{PATH} was not tested.")
