"""The bot's tokens, as Slack knows them: who it is, scopes, clock and channels, and the workspaces that installed it.

Every request has a few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from bots.chat.platform import Refused
from bots.doctor import shared_store
from bots.doctor.findings import Finding, failed, from_error, ok, skipped, warning
from bots.doctor.folder import query
from bots.doctor.settings import Configuration
from bots.slack.http import CLOCK_SKEW
from bots.slack.manifest import SCOPES
from bots.slack.oauth import STORE
from bots.slack.settings import API_URL, SlackSettings
from core.errors import SettingsError
from core.storage.storage import file_of
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

logger = logging.getLogger(__name__)

APP = "https://api.slack.com/apps › your app ›"
REINSTALL = f"{APP} OAuth & Permissions › Reinstall to Workspace, then copy the token to SLACK_BOT_TOKEN."
NETWORK = "Check the network, HTTPS_PROXY and SLACK_API_URL."

SOURCES: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": f"{APP} OAuth & Permissions: copy the Bot User OAuth Token (after Install to Workspace).",
    "SLACK_APP_TOKEN": f"{APP} Basic Information › App-Level Tokens: generate one with connections:write.",
    "SLACK_SIGNING_SECRET": f"{APP} Basic Information › App Credentials: copy the Signing Secret.",
    "SLACK_CLIENT_SECRET": f"{APP} Basic Information › App Credentials: copy the Client Secret.",
    "SLACK_API_URL": f"Take it out to use {API_URL}, or give the address of your proxy.",
}


PATIENCE = 5.0  # seconds for one request, and for a socket's first message


async def ask(
    client: AsyncWebClient, method: str, *, token: str = "", **given: str
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """One request that only reads: the reply and its headers. Raises Refused and Unreachable."""
    from aiohttp import ClientError
    from slack_sdk.errors import SlackApiError

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    verb = "POST" if token else "GET"  # "apps.connections.open" takes nothing else
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await client.api_call(method, http_verb=verb, params=given, headers=headers)
    except SlackApiError as error:
        response: Any = error.response
        data = getattr(response, "data", None)
        code = data.get("error") if isinstance(data, dict) else None
        status = getattr(response, "status_code", None) or getattr(response, "status", "")
        raise Refused(str(code or f"HTTP {status}")) from error
    except (ClientError, OSError) as error:  # a TimeoutError is an OSError
        raise Unreachable from error
    data = reply.data
    return (data if isinstance(data, dict) else {}), reply.headers


BOT, SCOPED, CLOCK, CHANNELS = "Slack bot", "Slack scopes", "Slack clock", "Slack channels"

PAGE = 999  # channels at most of one reply, "users.conversations"
SKEWED = 60.0  # seconds between two clocks; from CLOCK_SKEW on, signatures are refused

#: Error codes of "auth.test" -> finding and fix; others are shown as they are.
_BOT_TOKEN_ERRORS: Mapping[str, tuple[str, str]] = {
    "invalid_auth": ("Slack does not know SLACK_BOT_TOKEN.", SOURCES["SLACK_BOT_TOKEN"]),
    "token_revoked": ("SLACK_BOT_TOKEN was revoked.", REINSTALL),
    "token_expired": ("SLACK_BOT_TOKEN has expired.", REINSTALL),
    "account_inactive": ("The app was removed from its workspace.", REINSTALL),
    "not_allowed_token_type": ("SLACK_BOT_TOKEN is no bot token.", SOURCES["SLACK_BOT_TOKEN"]),
    "ratelimited": ("Slack was asked too often.", "Try again in a minute."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """Who Slack says the bot is."""

    name: str
    team: str  #: the workspace's name
    team_id: str
    app_id: str  #: empty when it could not be asked for
    scopes: frozenset[str] | None  #: granted; None: the reply did not say
    skew: float | None  #: seconds that our clock is ahead of Slack's


async def bot_side(client: AsyncWebClient, settings: SlackSettings) -> tuple[Bot | None, list[Finding]]:
    if not settings.bot_token and settings.has_oauth:
        return None, []
    if not settings.bot_token:
        return None, [skipped(BOT, "Slack is not asked for the bot until SLACK_BOT_TOKEN is right.")]
    try:
        bot = await _identify(client)
    except Refused as refused:
        text, fix = _BOT_TOKEN_ERRORS.get(
            refused.code, (f"Slack refused SLACK_BOT_TOKEN: {refused}.", NETWORK)
        )
        finding = failed(BOT, text, fix)
    except Unreachable:
        finding = failed(BOT, f"Slack cannot be reached, or does not answer within {PATIENCE:g} s.", NETWORK)
    else:
        found = ok(BOT, f"@{bot.name} in the workspace {bot.team}.")
        return bot, [found, *scopes(bot.scopes), *clock(bot.skew, settings), await _channels(client, bot)]
    because = "Not looked at until Slack takes SLACK_BOT_TOKEN."
    return None, [finding, *(skipped(check, because) for check in (SCOPED, CLOCK, CHANNELS))]


async def _identify(client: AsyncWebClient) -> Bot:
    reply, headers = await ask(client, "auth.test")
    granted = headers.get("x-oauth-scopes")
    return Bot(
        name=str(reply.get("user", "")),
        team=str(reply.get("team", "")),
        team_id=str(reply.get("team_id", "")),
        app_id=await _app_of(client, str(reply.get("bot_id", ""))),
        scopes=None if granted is None else frozenset(filter(None, re.split(r"[,\s]+", granted))),
        skew=_skew(headers.get("Date", "")),
    )


async def _app_of(client: AsyncWebClient, bot_id: str) -> str:
    try:
        reply, _ = await ask(client, "bots.info", bot=bot_id)
    except (Refused, Unreachable):
        return ""
    return str(reply.get("bot", {}).get("app_id", ""))


def scopes(granted: frozenset[str] | None) -> Iterator[Finding]:
    """The scopes that the token has, compared with those that it needs."""
    if granted is None:
        yield skipped(SCOPED, "Slack's reply does not say which are granted; a proxy may have taken it out.")
        return
    for scope in sorted(SCOPES.keys() - granted):
        yield failed(
            SCOPED,
            f"{scope} is missing: {SCOPES[scope]}.",
            f"{APP} OAuth & Permissions › Scopes: add {scope}, then Reinstall to Workspace.",
        )
    if SCOPES.keys() <= granted:
        yield ok(SCOPED, f"All {len(SCOPES)} are granted.")
    if more := sorted(granted - SCOPES.keys()):
        yield warning(
            SCOPED,
            f"Granted, but not used: {', '.join(more)}.",
            f"{APP} OAuth & Permissions › Scopes: take them away, then Reinstall to Workspace.",
        )


def clock(skew: float | None, settings: SlackSettings) -> Iterator[Finding]:
    if skew is None:
        yield skipped(CLOCK, "Slack's reply does not say what time it is.")
        return
    difference = f"This machine's clock is {abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} Slack's"
    fix = "Switch on network time: `timedatectl set-ntp true`"
    if abs(skew) < SKEWED:
        yield ok(CLOCK, "Within a minute of Slack's.")
    elif settings.signing_secret and abs(skew) >= CLOCK_SKEW:
        yield failed(CLOCK, f"{difference}: no request over HTTP is taken for genuine.", fix)
    else:
        yield warning(
            CLOCK, f"{difference}; {CLOCK_SKEW} s apart, no request over HTTP is taken for genuine.", fix
        )


def _skew(date: str) -> float | None:
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


async def _channels(client: AsyncWebClient, bot: Bot) -> Finding:
    """The channels that the bot is in; direct messages reach it anyway."""
    kinds = {"channels:read": "public_channel", "groups:read": "private_channel"}
    types = [kind for scope, kind in kinds.items() if bot.scopes is None or scope in bot.scopes]
    if not types:
        return skipped(CHANNELS, "Not looked at until channels:read or groups:read is granted.")
    try:
        reply, _ = await ask(
            client, "users.conversations", types=",".join(types), exclude_archived="true", limit=str(PAGE)
        )
    except Refused as refused:
        return skipped(CHANNELS, f"Slack does not tell which: {refused}.")
    except Unreachable:
        return skipped(CHANNELS, f"Slack did not tell which within {PATIENCE:g} s.")
    channels = reply.get("channels", ())
    if not channels:
        return warning(
            CHANNELS,
            "The bot is in no channel.",
            f"Write in the channel it should be in: /invite @{bot.name}",
        )
    private = sum(bool(channel.get("is_private")) for channel in channels)
    more = "at least " if reply.get("response_metadata", {}).get("next_cursor") else ""
    return ok(CHANNELS, f"In {more}{len(channels) - private} public and {private} private ones.")


INSTALLED = "Slack workspaces"
INSTALL = "Open /slack/install of the address where `footnote run slack --http PORT` is reached."

#: What the SDK stored, the newest of a workspace last.
_GRANTED = (
    "SELECT client_id, enterprise_id, team_id, team_name, bot_token FROM slack_bots ORDER BY installed_at"
)


async def workspaces(
    client: AsyncWebClient, settings: SlackSettings, configuration: Configuration
) -> list[Finding]:
    """The workspaces that installed the app, and whether Slack still takes the token of each."""
    file, url = file_of(configuration.settings.data_dir, STORE), configuration.settings.postgres_url
    if not settings.has_oauth:
        return []
    try:
        if url:
            rows = await asyncio.to_thread(shared_store.rows, url, _GRANTED)
        else:
            rows = query(file, _GRANTED) if file.is_file() else []
    except SettingsError as error:
        return [from_error(INSTALLED, error)]
    except sqlite3.Error as error:
        logger.info("%s: %s", file, error)
        return [failed(INSTALLED, f"{file} cannot be opened or is damaged.", f"Move it away. {INSTALL}")]
    granted = {
        (enterprise, team): (name or team or enterprise, token)
        for client_id, enterprise, team, name, token in rows
        if client_id == settings.client_id
    }
    if not granted:
        return [warning(INSTALLED, "None has installed the app yet.", INSTALL)]
    return list(await asyncio.gather(*(_workspace(client, *each) for each in granted.values())))


async def _workspace(client: AsyncWebClient, name: str, token: str) -> Finding:
    try:
        await ask(client, "auth.test", token=token)
    except Refused as refused:
        return failed(
            INSTALLED, f"{name}: Slack refuses its token, {refused}.", f"Install it again. {INSTALL}"
        )
    except Unreachable:
        return failed(INSTALLED, f"{name}: Slack did not answer within {PATIENCE:g} s.", NETWORK)
    return ok(INSTALLED, f"{name} installed the app.")
