"""What SLACK_BOT_TOKEN tells: who the bot is, what it may do, whose clock is wrong, and where it is a member."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.slack.checkup.asking import PATIENCE, Refused, Silent, ask
from bots.slack.checkup.sources import APP, NETWORK, REINSTALL, SOURCES
from bots.slack.http import CLOCK_SKEW
from bots.slack.manifest import SCOPES
from bots.slack.settings import SlackSettings

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

BOT, SCOPED, CLOCK, CHANNELS = "Slack bot", "Slack scopes", "Slack clock", "Slack channels"

PAGE = 999  # channels at most of one reply, "users.conversations"
SKEWED = 60.0  # seconds between two clocks; at CLOCK_SKEW no signature is taken any more

#: What Slack's error codes of "auth.test" mean; every other one is shown as it is.
_OF_BOT_TOKEN: Mapping[str, tuple[str, str]] = {
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
    if not settings.bot_token:
        return None, [skipped(BOT, "Slack is not asked for the bot until SLACK_BOT_TOKEN is right.")]
    try:
        bot = await _identify(client)
    except Refused as refused:
        text, fix = _OF_BOT_TOKEN.get(str(refused), (f"Slack refused SLACK_BOT_TOKEN: {refused}.", NETWORK))
        finding = failed(BOT, text, fix)
    except Silent:
        finding = failed(BOT, f"Slack did not answer within {PATIENCE:g} s.", NETWORK)
    else:
        found = ok(BOT, f"@{bot.name} in the workspace {bot.team}.")
        return bot, [found, *scopes(bot.scopes), *clock(bot.skew, settings), await _channels(client, bot)]
    because = "Not looked at until Slack takes SLACK_BOT_TOKEN."
    return None, [finding, *(skipped(check, because) for check in (SCOPED, CLOCK, CHANNELS))]


async def _identify(client: AsyncWebClient) -> Bot:
    said, headers = await ask(client, "auth.test")
    granted = headers.get("x-oauth-scopes")
    return Bot(
        name=str(said.get("user", "")),
        team=str(said.get("team", "")),
        team_id=str(said.get("team_id", "")),
        app_id=await _app_of(client, str(said.get("bot_id", ""))),
        scopes=None if granted is None else frozenset(filter(None, re.split(r"[,\s]+", granted))),
        skew=_skew(headers.get("Date", "")),
    )


async def _app_of(client: AsyncWebClient, bot_id: str) -> str:
    try:
        said, _ = await ask(client, "bots.info", bot=bot_id)
    except (Refused, Silent):
        return ""
    return str(said.get("bot", {}).get("app_id", ""))


def scopes(granted: frozenset[str] | None) -> Iterator[Finding]:
    """What the token may do, beside what it is used for."""
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
    told = f"This machine's clock is {abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} Slack's"
    fix = "Switch on network time: `timedatectl set-ntp true`"
    if abs(skew) < SKEWED:
        yield ok(CLOCK, "Within a minute of Slack's.")
    elif settings.signing_secret and abs(skew) >= CLOCK_SKEW:
        yield failed(CLOCK, f"{told}: no request over HTTP is taken for genuine.", fix)
    else:
        yield warning(CLOCK, f"{told}; {CLOCK_SKEW} s apart, no request over HTTP is taken for genuine.", fix)


def _skew(date: str) -> float | None:
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


async def _channels(client: AsyncWebClient, bot: Bot) -> Finding:
    """Where the bot is a member; direct messages reach it anyway."""
    kinds = {"channels:read": "public_channel", "groups:read": "private_channel"}
    types = [kind for scope, kind in kinds.items() if bot.scopes is None or scope in bot.scopes]
    if not types:
        return skipped(CHANNELS, "Not looked at until channels:read or groups:read is granted.")
    try:
        said, _ = await ask(
            client, "users.conversations", types=",".join(types), exclude_archived="true", limit=str(PAGE)
        )
    except Refused as refused:
        return skipped(CHANNELS, f"Slack does not tell which: {refused}.")
    except Silent:
        return skipped(CHANNELS, f"Slack did not tell which within {PATIENCE:g} s.")
    channels = said.get("channels", ())
    if not channels:
        return warning(
            CHANNELS,
            "The bot is in no channel.",
            f"Write in the channel it should be in: /invite @{bot.name}",
        )
    private = sum(bool(channel.get("is_private")) for channel in channels)
    more = "at least " if said.get("response_metadata", {}).get("next_cursor") else ""
    return ok(CHANNELS, f"In {more}{len(channels) - private} public and {private} private ones.")
