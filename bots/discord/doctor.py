"""What the doctor looks at in Discord: token, intent, commands, gateway, servers and what came from them.

Nothing is posted or registered, no session is begun, and every request is given a few seconds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from bots.discord.address import DIRECT, PLATFORM, TALK, said_at
from bots.discord.checkup.asking import open_asking
from bots.discord.checkup.bot import (
    BOT,
    INTENT,
    INVITE,
    PORTAL,
    TOKEN,
    id_in,
    identify,
    invite,
    of_bot,
)
from bots.discord.checkup.gateway import GATEWAY, of_gateway
from bots.discord.checkup.registered import REGISTERED, of_commands
from bots.discord.doctor_servers import SERVERS, of_servers
from bots.discord.settings import API_URL, DiscordSettings, read_discord_settings
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.doctor.installation import Installation, by_setting
from bots.doctor.threads import they_come, threads_below
from core.errors import SettingsError

__all__ = ["ID", "IDS", "PORTAL", "SECRETS", "SETTINGS", "TOKENS", "examine"]

TOKENS = ("DISCORD_TOKEN",)
SETTINGS = (*TOKENS, "DISCORD_API_URL")
SECRETS = SETTINGS  # a faulty address may hold a password

ID = re.compile(r"\d{17,20}")  # of people and roles: milliseconds since 2015 and 22 bits more, "Snowflakes"
IDS = "In Discord: User Settings › Advanced › Developer Mode, then right-click the person or role › Copy ID."

READ, EVENTS = "Discord settings", "Discord events"

_FIXES = {
    "DISCORD_TOKEN": TOKEN,
    "DISCORD_API_URL": f"Take it out to use {API_URL}, or give the address of your proxy.",
}
#: What stands beside the token on the application's pages, by its shape.
_TAKEN_FOR_TOKENS = (
    (ID, "the application's or a person's id"),
    (re.compile(r"[0-9a-f]{64}"), "the application's public key"),
    (re.compile(r"[\w-]{32}"), "the application's client secret"),
)


async def examine(installation: Installation) -> list[Finding]:
    settings, found = read(installation)
    if settings is None:
        return [*found, skipped(BOT, "Discord is not asked until its settings can be read.")]
    async with open_asking(settings) as asking:
        bot = await identify(asking)
        if isinstance(bot, Finding):
            known = id_in(settings.token)
            because = "Not looked at until Discord takes DISCORD_TOKEN."
            left_out = [skipped(check, because) for check in (INTENT, REGISTERED, GATEWAY, SERVERS)]
            return [*found, bot, *left_out, *_invite(known), _events(installation.settings.data_dir, None)]
        commands, gateway, (servers, of_them) = await asyncio.gather(
            of_commands(asking, bot.application_id), of_gateway(asking), of_servers(asking, bot)
        )
    invited = invite(bot.application_id, needs_code=bot.needs_code)
    events = _events(installation.settings.data_dir, servers)
    return [*found, *of_bot(bot), *commands, *gateway, *of_them, *invited, events]


def read(installation: Installation) -> tuple[DiscordSettings | None, list[Finding]]:
    """The settings, where Discord can be asked with them, and what is wrong with them."""
    given = {name: installation.given.get(name, "").strip() for name in SETTINGS}
    try:
        settings = read_discord_settings(given, None)
    except SettingsError as fault:
        return None, [failed(READ, told, _FIXES[name]) for name, told in by_setting(fault).items()]
    return settings, list(_shape(given["DISCORD_TOKEN"]))


def _shape(token: str) -> Iterator[Finding]:
    """Discord has the last word on what a token is."""
    if token.count(".") == 2:
        return
    looks = next(
        (f" It looks like {what}." for shape, what in _TAKEN_FOR_TOKENS if shape.fullmatch(token)), ""
    )
    yield warning(
        READ, f"DISCORD_TOKEN is no bot's token: they have three parts with dots between.{looks}", TOKEN
    )


def _invite(application_id: str) -> Iterator[Finding]:
    """Without Discord's word, as far as the token itself tells."""
    if application_id:
        yield from invite(application_id, needs_code=False)
    else:
        yield skipped(INVITE, "Its address is not known until Discord takes DISCORD_TOKEN.")


def _events(data_dir: Path, servers: Collection[str] | None) -> Finding:
    """``servers``: those that the bot is in; None where nobody knows."""
    places = [PLATFORM] if servers is None else [f"{PLATFORM}/{server}" for server in (*servers, DIRECT)]
    threads = [thread for place in places for thread in threads_below(data_dir, place)]
    if began := [said_at(thread) for thread in threads if ID.fullmatch(thread)]:
        return they_come(EVENTS, began)
    if TALK in threads:
        return ok(EVENTS, "They come: there were direct messages.")
    if servers is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(EVENTS, "None has come yet.", "Mention the bot in a channel while `footnote run` runs.")
