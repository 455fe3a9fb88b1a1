"""The doctor's checks of Slack: tokens, scopes, clock, channels, the socket and events.

Nothing is posted, and every request has a few seconds. Which events an app is subscribed to can only
be read with a configuration token ("apps.manifest.export"), which Footnote does not have: the doctor
looks at the questions that have arrived instead.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bots.chat.platform import Refused, is_reached_directly
from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.doctor.folder import find_owner, report_events, thread_ids
from bots.doctor.settings import Configuration, faults_by_setting
from bots.doctor.slack_tokens import APP, BOT, NETWORK, PATIENCE, SOURCES, Bot, ask, bot_side, workspaces
from bots.slack.calls import open_calls
from bots.slack.manifest import EVENTS_PATH
from bots.slack.route import PLATFORM
from bots.slack.settings import NAMES, SlackSettings, read_slack_settings, settings_of
from core.errors import SettingsError
from core.settings import Settings
from core.turns.messenger import Unreachable

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

SOCKET, HTTP = "Slack socket", "Slack HTTP"
SOCKET_MODE = f"{APP} Socket Mode › Enable Socket Mode."

LEAVING = 1.0  # seconds for a socket to close; Slack leaves the connection below it open

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
    client: AsyncWebClient, settings: SlackSettings, configuration: Configuration
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
    info = hello.get("connection_info") or {}
    owner = find_owner(configuration.settings.data_dir)
    return str(info.get("app_id", "")), [_beside(int(hello.get("num_connections") or 1) - 1, owner)]


def _beside(others: int, owner: str) -> Finding:
    """Each event goes to one connection only, so another process would get a share of them."""
    if others > 0 and not owner:
        return warning(
            SOCKET,
            f"It opens, and so did {counted(others, 'other connection')} of this app that {'is' if others == 1 else 'are'} not from here.",
            "Stop the other process: Slack gives each event to one connection only. Or create an app of its own.",
        )
    return ok(SOCKET, f"It opens{f', beside {others:,} of {owner}' if others > 0 else ''}.")


async def _hello(client: AsyncWebClient, settings: SlackSettings) -> dict[str, Any]:
    """Slack's "hello" on a socket that is closed at once.

    While it is open, Slack sends it a share of the app's events. They are not acknowledged, so Slack
    delivers them again, to the process that serves the app.
    """
    from aiohttp import ClientError, ClientWSTimeout, WSMsgType

    reply, _ = await ask(client, "apps.connections.open", token=settings.app_token)
    url = str(reply.get("url", ""))
    session = client.session
    assert session is not None
    proxy = None if is_reached_directly(url) else client.proxy
    try:
        async with (
            asyncio.timeout(PATIENCE),
            session.ws_connect(url, proxy=proxy, timeout=ClientWSTimeout(ws_close=LEAVING)) as socket,
        ):
            async for frame in socket:
                message = json.loads(frame.data) if frame.type is WSMsgType.TEXT else {}
                if message.get("type") == "disconnect":
                    raise Refused(str(message.get("reason")))
                if message.get("type") == "hello":
                    return dict(message)
    except (ClientError, OSError, ValueError) as lost:  # a TimeoutError is an OSError
        raise Unreachable from lost
    raise Unreachable


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
    yield ok(HTTP, f"The signing secret is there. Whether Slack can reach …{EVENTS_PATH} was not tested.")


TITLE = "Slack"
SETUP = "`footnote manifest slack` prints the app to create; the README says what follows."
TOKENS: tuple[str, ...] = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
SETTINGS = NAMES

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
            bot_side(calls.client, settings),
            socket_side(calls.client, settings, configuration),
            workspaces(calls.client, settings, configuration),
        )
    if bot and app_id and bot.app_id not in ("", app_id):
        of_socket = [failed(SOCKET, *_TWO_APPS)]
    events = _events(bot, configuration.settings)
    return [*found, *of_bot, *of_socket, *over_http(settings), *of_workspaces, events]


def read_settings(configuration: Configuration) -> tuple[SlackSettings, dict[str, str]]:
    """The settings, with faulty ones left empty, and the faults by the setting's name."""
    given = {name: configuration.values.get(name, "").strip() for name in SETTINGS}
    faults: dict[str, str] = {}
    try:
        if read_slack_settings(given, None) is None:
            faults = {TOKENS[0]: f"{TOKENS[0]} is not set."}
    except SettingsError as fault:
        faults = faults_by_setting(fault)
    sound = {name: "" if name in faults else value for name, value in given.items()}
    return settings_of(sound), faults


def _fix_of(name: str, configuration: Configuration) -> str:
    bot, app = (configuration.values.get(each, "") for each in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"))
    if bot.startswith("xapp-") and app.startswith("xoxb-"):
        return "The two tokens are in each other's place: swap them."
    return SOURCES[name]


def _events(bot: Bot | None, settings: Settings) -> Finding:
    place = f"{PLATFORM}/{bot.team_id}" if bot else PLATFORM
    began = [float(ts) for ts in thread_ids(settings, place) if _TS.fullmatch(ts)]
    if began:
        return report_events(EVENTS, began)
    if bot is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(
        EVENTS,
        "None has come yet. Which ones the app is subscribed to cannot be read with these tokens.",
        "Mention the bot while `footnote run` runs. If it stays silent, compare Event Subscriptions › "
        "Subscribe to bot events, under your app, with `footnote manifest slack`.",
    )
