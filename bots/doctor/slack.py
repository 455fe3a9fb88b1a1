"""The doctor's checks of Slack: tokens, scopes, clock, channels, the socket and events.

Nothing is posted, and every request has a few seconds. Which events an app is subscribed to can only
be read with a configuration token ("apps.manifest.export"), which Footnote does not have: the doctor
looks at the questions that have arrived instead.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bots.chat import channels
from bots.chat.platform import Refused, is_reached_directly
from bots.chat.texts import counted
from bots.doctor import stores
from bots.doctor.findings import Finding, failed, from_error, ok, skipped, warning
from bots.doctor.platforms import first_message, untold
from bots.doctor.settings import Configuration, faults_by_setting
from bots.slack import settings as slack
from bots.slack.calls import code_of, open_calls
from bots.slack.route import SLACK
from core.errors import SettingsError
from core.settings import Settings
from core.storage.storage import file_of
from core.turns.messenger import Unreachable
from core.web.request import http_moment

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

APP = "https://api.slack.com/apps › your app ›"
REINSTALL = f"{APP} OAuth & Permissions › Reinstall to Workspace, then copy the token to SLACK_BOT_TOKEN."
NETWORK = "Check the network, HTTPS_PROXY and SLACK_API_URL."

SOURCES: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": f"{APP} OAuth & Permissions: copy the Bot User OAuth Token (after Install to Workspace).",
    "SLACK_APP_TOKEN": f"{APP} Basic Information › App-Level Tokens: generate one with connections:write.",
    "SLACK_SIGNING_SECRET": f"{APP} Basic Information › App Credentials: copy the Signing Secret.",
    "SLACK_CLIENT_SECRET": f"{APP} Basic Information › App Credentials: copy the Client Secret.",
    "SLACK_API_URL": f"Take it out to use {slack.API_URL}, or give the address of your proxy.",
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
        status = getattr(response, "status_code", None) or getattr(response, "status", "")
        raise Refused(code_of(error) or f"HTTP {status}") from error
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
    """The bot as Slack identifies it."""

    name: str
    team: str  #: the workspace's name
    team_id: str
    app_id: str  #: empty when it could not be asked for
    scopes: frozenset[str] | None  #: granted; None: the reply did not say
    skew: float | None  #: seconds that our clock is ahead of Slack's


async def bot_side(
    client: AsyncWebClient, settings: slack.SlackSettings, needed: Sequence[str]
) -> tuple[Bot | None, list[Finding]]:
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
        there = await _channels(client, bot)
        return bot, [found, *scopes(bot.scopes, needed), *clock(bot.skew, settings), there]
    because = "Not looked at until Slack takes SLACK_BOT_TOKEN."
    return None, [finding, *(skipped(check, because) for check in (SCOPED, CLOCK, CHANNELS))]


async def _identify(client: AsyncWebClient) -> Bot:
    reply, headers = await ask(client, "auth.test")
    granted = headers.get("x-oauth-scopes")
    return Bot(
        name=str(reply.get("user", "")), team=str(reply.get("team", "")),
        team_id=str(reply.get("team_id", "")), app_id=await _fetch_app_id(client, str(reply.get("bot_id", ""))),
        scopes=None if granted is None else frozenset(filter(None, re.split(r"[,\s]+", granted))),
        skew=None if (now := http_moment(headers.get("Date", ""))) is None else time.time() - now,
    )  # fmt: skip


async def _fetch_app_id(client: AsyncWebClient, bot_id: str) -> str:
    try:
        reply, _ = await ask(client, "bots.info", bot=bot_id)
    except (Refused, Unreachable):
        return ""
    return str(reply.get("bot", {}).get("app_id", ""))


def scopes_needed(settings: Settings) -> list[str]:
    """The scopes that the settings and what is stored need; what cannot be read needs none."""
    groups = stores.readable_rows(settings, channels.STORE, "SELECT id FROM access WHERE kind = 'group'")
    readers = stores.readable_rows(settings, "library", "SELECT 1 FROM readers LIMIT 1")
    return slack.needed_scopes(settings, (row[0] for row in groups), has_readers=bool(readers))


def scopes(granted: frozenset[str] | None, needed: Sequence[str]) -> Iterator[Finding]:
    """The scopes that the token has, compared with those that it needs; one that only others need is a hint."""
    if granted is None:
        yield skipped(SCOPED, "Slack's reply does not say which are granted; a proxy may have taken it out.")
        return
    for scope in sorted({*needed} - granted):
        fix = f"{APP} OAuth & Permissions › Scopes: add {scope}, then Reinstall to Workspace."
        yield failed(SCOPED, f"{scope} is missing: {slack.SCOPES[scope]}.", fix)
    if granted.issuperset(needed):
        without = sorted(slack.SOME_NEED - granted)
        later = "".join(f" {each} is not granted, and not needed so far." for each in without)
        yield ok(SCOPED, f"All {len(needed)} that are needed are granted.{later}")
    if more := sorted(granted - slack.SCOPES.keys()):
        fix = f"{APP} OAuth & Permissions › Scopes: take them away, then Reinstall to Workspace."
        yield warning(SCOPED, f"Granted, but not used: {', '.join(more)}.", fix)


def clock(skew: float | None, settings: slack.SlackSettings) -> Iterator[Finding]:
    if skew is None:
        yield skipped(CLOCK, "Slack's reply does not say what time it is.")
        return
    difference = f"This machine's clock is {abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} Slack's"
    fix = "Switch on network time: `timedatectl set-ntp true`"
    if abs(skew) < SKEWED:
        yield ok(CLOCK, "Within a minute of Slack's.")
    elif settings.signing_secret and abs(skew) >= slack.CLOCK_SKEW:
        yield failed(CLOCK, f"{difference}: no request over HTTP is taken for genuine.", fix)
    else:
        apart = f"{slack.CLOCK_SKEW} s apart, no request over HTTP is taken for genuine."
        yield warning(CLOCK, f"{difference}; {apart}", fix)


async def _channels(client: AsyncWebClient, bot: Bot) -> Finding:
    """The channels that the bot is in; direct messages reach it anyway."""
    kinds = {"channels:read": "public_channel", "groups:read": "private_channel"}
    types = [kind for scope, kind in kinds.items() if bot.scopes is None or scope in bot.scopes]
    if not types:
        return skipped(CHANNELS, "Not looked at until channels:read or groups:read is granted.")
    wanted = {"types": ",".join(types), "exclude_archived": "true", "limit": str(PAGE)}
    try:
        reply, _ = await ask(client, "users.conversations", **wanted)
    except (Refused, Unreachable) as trouble:
        return untold(CHANNELS, "Slack {} tell which", trouble, PATIENCE)
    channels = reply.get("channels", ())
    if not channels:
        fix = f"Write in the channel it should be in: /invite @{bot.name}"
        return warning(CHANNELS, "The bot is in no channel.", fix)
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
    client: AsyncWebClient, settings: slack.SlackSettings, configuration: Configuration
) -> list[Finding]:
    """The workspaces that installed the app, and whether Slack still takes the token of each."""
    if not settings.has_oauth:
        return []
    try:
        rows = await asyncio.to_thread(stores.stored_rows, configuration.settings, slack.STORE, _GRANTED)
    except SettingsError as error:
        return [from_error(INSTALLED, error)]
    except sqlite3.Error as error:
        file = file_of(configuration.settings.data_dir, slack.STORE)
        return [stores.report_damage(INSTALLED, file, error, f"Move it away. {INSTALL}")]
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
        fix = f"Install it again. {INSTALL}"
        return failed(INSTALLED, f"{name}: Slack refuses its token, {refused}.", fix)
    except Unreachable:
        return failed(INSTALLED, f"{name}: Slack did not answer within {PATIENCE:g} s.", NETWORK)
    return ok(INSTALLED, f"{name} installed the app.")


# The socket, and events

SOCKET, HTTP = "Slack socket", "Slack HTTP"
SOCKET_MODE = f"{APP} Socket Mode › Enable Socket Mode."

_SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")  # as Slack makes them

#: Error codes of "apps.connections.open", and reasons for which a socket is closed -> finding and fix.
_APP_TOKEN_ERRORS: Mapping[str, tuple[str, str]] = {
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
    client: AsyncWebClient, settings: slack.SlackSettings, configuration: Configuration
) -> tuple[str, list[Finding]]:
    """The app's id, if a socket named it, and the findings."""
    if not settings.app_token:
        if settings.signing_secret or settings.has_oauth:
            return "", []
        return "", [skipped(SOCKET, "Not opened until SLACK_APP_TOKEN is right.")]
    try:
        hello = await _hello(client, settings)
    except Refused as refused:
        text, fix = _APP_TOKEN_ERRORS.get(refused.code, (f"No socket opens: {refused}.", SOCKET_MODE))
        return "", [failed(SOCKET, text, fix)]
    except Unreachable:
        return "", [failed(SOCKET, f"No socket opened within {PATIENCE:g} s.", f"{NETWORK} {SOCKET_MODE}")]
    app_id = str((hello.get("connection_info") or {}).get("app_id", ""))
    return app_id, [await _beside(int(hello.get("num_connections") or 1) - 1, configuration.settings)]


async def _beside(others: int, settings: Settings) -> Finding:
    """Warns of other connections: each event goes to one only, so they would get a share."""
    if others <= 0:
        return ok(SOCKET, "It opens.")
    beside = f"It opens, and so did {counted(others, 'other connection')} of this app"
    try:
        owner = await asyncio.to_thread(stores.find_server, settings)
    except SettingsError:
        unknown = f"{beside}, perhaps from here: that is not known while DATABASE_URL cannot be opened."
        return warning(SOCKET, unknown, "Bring PostgreSQL back, and run the doctor again.")
    if not owner:
        fix = "Stop the other process: Slack gives each event to one connection only. Or create an app of its own."
        return warning(SOCKET, f"{beside} that {'is' if others == 1 else 'are'} not from here.", fix)
    return ok(SOCKET, f"It opens, beside {others:,} of {owner}.")


async def _hello(client: AsyncWebClient, settings: slack.SlackSettings) -> dict[str, Any]:
    """The "hello" of Slack on a socket, which is then closed.

    While it is open, Slack sends it a share of the app's events. They are not acknowledged, so Slack
    delivers them again, to the process that serves the app.
    """
    reply, _ = await ask(client, "apps.connections.open", token=settings.app_token)
    url = str(reply.get("url", ""))
    assert client.session is not None
    proxy = None if is_reached_directly(url) else client.proxy
    return await first_message(client.session, url, proxy, _is_hello, patience=PATIENCE)


def _is_hello(message: Mapping[str, Any]) -> bool:
    """Raises Refused with the reason for which Slack closes the socket."""
    if message.get("type") == "disconnect":
        raise Refused(str(message.get("reason")))
    return message.get("type") == "hello"


def over_http(settings: slack.SlackSettings) -> Iterator[Finding]:
    if not settings.signing_secret:
        return
    if not _SIGNING_SECRET.fullmatch(settings.signing_secret):
        odd = "SLACK_SIGNING_SECRET does not look like one: they have 32 signs of 0-9 and a-f."
        yield warning(HTTP, odd, SOURCES["SLACK_SIGNING_SECRET"])
        return
    untested = f"Whether Slack can reach …{slack.EVENTS_PATH} was not tested."
    yield ok(HTTP, f"The signing secret is there. {untested}")


TITLE = "Slack"
SETUP = "`footnote manifest slack` prints the app to create; the README says what follows."
TOKENS: tuple[str, ...] = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
SETTINGS = slack.NAMES

ID = re.compile(r"[UWS][A-Z0-9]{2,}")  # of people and user groups
ID_HELP = "In Slack: the person's profile › ⋮ › Copy member ID; of a user group, the id that begins with S."

READ, EVENTS = "Slack settings", "Slack events"

_TS = re.compile(r"\d+\.\d+")  # a thread's id: the seconds since the epoch at which it began
_TWO_APPS = (
    "SLACK_BOT_TOKEN and SLACK_APP_TOKEN belong to two apps: what is said to the bot never comes here.",
    "Copy both tokens from the same app.",
)


async def examine(configuration: Configuration) -> list[Finding]:
    settings, faults = read_settings(configuration)
    found = [failed(READ, sentence, _fix_of(name, configuration)) for name, sentence in faults.items()]
    if "SLACK_API_URL" in faults:
        return [*found, skipped(BOT, "Slack is not asked until SLACK_API_URL can be read.")]
    async with open_calls(settings) as calls:
        (bot, of_bot), (app_id, of_socket), of_workspaces = await asyncio.gather(
            bot_side(calls.client, settings, scopes_needed(configuration.settings)),
            socket_side(calls.client, settings, configuration),
            workspaces(calls.client, settings, configuration),
        )
    if bot and app_id and bot.app_id not in ("", app_id):
        of_socket = [failed(SOCKET, *_TWO_APPS)]
    events = _events(bot, configuration.settings)
    return [*found, *of_bot, *of_socket, *over_http(settings), *of_workspaces, events]


def read_settings(configuration: Configuration) -> tuple[slack.SlackSettings, dict[str, str]]:
    """The settings, with faulty ones left empty, and the faults by the setting's name."""
    given = {name: configuration.values.get(name, "").strip() for name in SETTINGS}
    faults: dict[str, str] = {}
    try:
        if slack.read_slack_settings(given, None) is None:
            faults = {TOKENS[0]: f"{TOKENS[0]} is not set."}
    except SettingsError as fault:
        faults = faults_by_setting(fault)
    sound = {name: "" if name in faults else value for name, value in given.items()}
    return slack.make_settings(sound), faults


def _fix_of(name: str, configuration: Configuration) -> str:
    bot, app = (configuration.values.get(each, "") for each in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"))
    if bot.startswith("xapp-") and app.startswith("xoxb-"):
        return "The two tokens are in each other's place: swap them."
    return SOURCES[name]


def _events(bot: Bot | None, settings: Settings) -> Finding:
    prefix = f"{SLACK}/{bot.team_id}" if bot else SLACK
    began = [float(ts) for ts in stores.thread_ids(settings, prefix) if _TS.fullmatch(ts)]
    if began:
        return stores.report_events(EVENTS, began)
    if bot is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(
        EVENTS,
        "None has come yet. Which ones the app is subscribed to cannot be read with these tokens.",
        "Mention the bot while `footnote run` runs. If it stays silent, compare Event Subscriptions › "
        "Subscribe to bot events, under your app, with `footnote manifest slack`.",
    )
