"""What the doctor looks at in Slack: tokens, scopes, channels, the socket and what came over it.

Nothing is posted, and every request is given a few seconds. What an app is subscribed to can be
read with a configuration token alone ("apps.manifest.export"), which Footnote is not given: there
it goes by the questions that have come.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from bots.doctor.findings import Finding, failed, skipped, warning
from bots.doctor.installation import Installation, by_setting
from bots.doctor.threads import they_come, threads_below
from bots.slack.address import PLATFORM
from bots.slack.calls import open_calls
from bots.slack.checkup.bot import BOT, Bot, bot_side
from bots.slack.checkup.socket import SOCKET, over_http, socket_side
from bots.slack.checkup.sources import SOURCES
from bots.slack.settings import API_URL, SlackSettings, read_slack_settings
from core.errors import SettingsError

TOKENS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
SETTINGS = (*TOKENS, "SLACK_API_URL")
SECRETS = SETTINGS  # the address of a proxy may hold a password

ID = re.compile(r"[UWS][A-Z0-9]{2,}")  # of people and user groups
IDS = "In Slack: the person's profile › ⋮ › Copy member ID; of a user group, the id that begins with S."

READ, EVENTS = "Slack settings", "Slack events"

_TS = re.compile(r"\d+\.\d+")  # a thread's id: the seconds since the epoch at which it began
_TWO_APPS = (
    "SLACK_BOT_TOKEN and SLACK_APP_TOKEN belong to two apps: what is said to the bot never comes here.",
    "Copy both tokens from the same app.",
)


async def examine(installation: Installation) -> list[Finding]:
    settings, faults = read(installation)
    found = [failed(READ, sentence, _fix_of(name, installation)) for name, sentence in faults.items()]
    if "SLACK_API_URL" in faults:
        return [*found, skipped(BOT, "Slack is not asked until SLACK_API_URL can be read.")]
    async with open_calls(settings) as calls:
        (bot, of_bot), (app_id, of_socket) = await asyncio.gather(
            bot_side(calls.client, settings), socket_side(calls.client, settings, installation)
        )
    if bot and app_id and bot.app_id not in ("", app_id):
        of_socket = [failed(SOCKET, *_TWO_APPS)]
    events = _events(bot, installation.settings.data_dir)
    return [*found, *of_bot, *of_socket, *over_http(settings), events]


def read(installation: Installation) -> tuple[SlackSettings, dict[str, str]]:
    """The settings, those at fault left empty, and what is wrong by the setting's name."""
    given = {name: installation.given.get(name, "").strip() for name in SETTINGS}
    faults: dict[str, str] = {}
    try:
        if read_slack_settings(given, None) is None:
            faults = {TOKENS[0]: f"{TOKENS[0]} is not set."}
    except SettingsError as fault:
        faults = by_setting(fault)
    sound = {name: "" if name in faults else value for name, value in given.items()}
    settings = SlackSettings(
        bot_token=sound["SLACK_BOT_TOKEN"],
        app_token=sound["SLACK_APP_TOKEN"],
        signing_secret=sound["SLACK_SIGNING_SECRET"],
        api_url=f"{(sound['SLACK_API_URL'] or API_URL).rstrip('/')}/",
    )
    return settings, faults


def _fix_of(name: str, installation: Installation) -> str:
    bot, app = (installation.given.get(each, "") for each in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"))
    if bot.startswith("xapp-") and app.startswith("xoxb-"):
        return "The two tokens are in each other's place: swap them."
    return SOURCES[name]


def _events(bot: Bot | None, data_dir: Path) -> Finding:
    place = f"{PLATFORM}/{bot.team_id}" if bot else PLATFORM
    began = [float(ts) for ts in threads_below(data_dir, place) if _TS.fullmatch(ts)]
    if began:
        return they_come(EVENTS, began)
    if bot is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(
        EVENTS,
        "None has come yet. Which ones the app is subscribed to cannot be read with these tokens.",
        "Mention the bot while `footnote run` runs. If it stays silent, compare Event Subscriptions › "
        "Subscribe to bot events, under your app, with `footnote manifest slack`.",
    )
