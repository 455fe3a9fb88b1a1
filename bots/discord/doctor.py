"""What the doctor looks at in Discord: token, intent, commands, gateway, servers and what came from them.

Nothing is posted or registered, no session is begun, and every request is given a few seconds.

The gateway: whether it can be reached, and how often it may be today.

A session is not begun, only greeted: 1,000 may be begun in a day ("Session Start Limit Object").

Whether Discord was told of the commands as they are now.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bots.discord.commands import COMMANDS, ApplicationCommand
from bots.discord.doctor_bot import (
    BOT,
    INTENT,
    INVITE,
    NETWORK,
    PATIENCE,
    PORTAL,
    SERVERS,
    TOKEN,
    Asking,
    RequestRefused,
    Silent,
    id_in,
    identify,
    invite,
    of_bot,
    of_servers,
    open_asking,
)
from bots.discord.route import DIRECT, PLATFORM, TALK, said_at
from bots.discord.settings import API_URL, DiscordSettings, read_discord_settings
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.doctor.folder import report_events, thread_ids
from bots.doctor.settings import Installation, faults_by_setting
from core.errors import SettingsError

GATEWAY = "Discord gateway"

HELLO = 10  # "Gateway Opcodes"
VERSION = "10"  # of the gateway, as of the API
LEAVING = 1.0  # seconds for the socket to close
FEW = 50  # sessions that may still be begun
_RESTARTS = "Find out why `footnote run` starts so often: LOG_LEVEL=info tells."


async def of_gateway(asking: Asking) -> list[Finding]:
    try:
        about = await asking.get("/gateway/bot")
        await _greeting(asking, about["url"])
    except RequestRefused as refused:
        return [failed(GATEWAY, f"Discord does not tell where its gateway is: {refused}.", NETWORK)]
    except Silent:
        return [failed(GATEWAY, f"It cannot be reached, or does not greet within {PATIENCE:g} s.", NETWORK)]
    return [starts(about["session_start_limit"])]


def starts(limit: dict[str, Any]) -> Finding:
    """What is left of a day's sessions."""
    left, total = limit["remaining"], limit["total"]
    hours = f"{limit['reset_after'] / 3_600_000:.0f} h"  # given in milliseconds
    told = f"It greets. Of {total:,} sessions a day, {left:,} can still be begun"
    if not left:
        return failed(GATEWAY, f"{told}: no `footnote run` can connect for {hours}.", _RESTARTS)
    if left < FEW:
        return warning(GATEWAY, f"{told} within {hours}.", _RESTARTS)
    return ok(GATEWAY, f"{told}.")


async def _greeting(asking: Asking, url: str) -> None:
    """Returns once the gateway has said hello. Raises Silent."""
    from aiohttp import ClientError, ClientWSTimeout, WSMsgType
    from yarl import URL

    address = URL(url).with_query(v=VERSION, encoding="json")
    try:
        async with (
            asyncio.timeout(PATIENCE),
            asking.session.ws_connect(
                address, proxy=asking.proxy, timeout=ClientWSTimeout(ws_close=LEAVING)
            ) as socket,
        ):
            async for frame in socket:
                if frame.type is WSMsgType.TEXT and json.loads(frame.data).get("op") == HELLO:
                    return
    except (ClientError, OSError, ValueError) as lost:  # a TimeoutError is an OSError
        raise Silent from lost
    raise Silent


REGISTERED = "Discord commands"
SYNC = "`footnote manifest discord --sync`"

#: What a field means where it is left out, "Application Command Structure" and "Option Structure".
#: Fields that are not here say nothing of what people see.
_COMMAND: Mapping[str, Any] = {
    "type": 1, "name": "", "description": "", "default_member_permissions": None, "nsfw": False,
}  # fmt: skip
_OPTION: Mapping[str, Any] = {
    "type": 0, "name": "", "description": "", "required": False, "max_length": None, "min_length": None,
    "autocomplete": False,
}  # fmt: skip


async def of_commands(asking: Asking, application_id: str) -> list[Finding]:
    try:
        registered = await asking.get(f"/applications/{application_id}/commands")
    except RequestRefused as refused:
        return [skipped(REGISTERED, f"Discord does not tell which are registered: {refused}.")]
    except Silent:
        return [skipped(REGISTERED, f"Discord did not tell within {PATIENCE:g} s which are registered.")]
    return list(compare(registered))


def compare(registered: Sequence[ApplicationCommand]) -> Iterator[Finding]:
    """What is registered, beside what is used."""
    known, used = ({_key(each): shape(each) for each in those} for those in (registered, COMMANDS))
    missing = [name for kind, name in used if (kind, name) not in known]
    changed = [key[1] for key in used if key in known and known[key] != used[key]]
    if missing:
        yield failed(REGISTERED, f"Not registered: {', '.join(missing)}.", SYNC)
    if changed:
        yield failed(REGISTERED, f"Registered otherwise than they are: {', '.join(changed)}.", SYNC)
    if not missing and not changed:
        yield ok(REGISTERED, f"All {len(used)} are registered.")
    if more := [name for kind, name in known if (kind, name) not in used]:
        yield warning(
            REGISTERED, f"Registered, but not Footnote's: {', '.join(more)}.", f"{SYNC} takes them away."
        )


def shape(command: ApplicationCommand) -> Mapping[str, Any]:
    """All that decides what a command is, defaults included."""
    options = [
        {name: given.get(name, default) for name, default in _OPTION.items()}
        | {"choices": [(choice["name"], choice["value"]) for choice in given.get("choices") or ()]}
        for given in command.get("options") or ()
    ]
    whole = {name: command.get(name, default) for name, default in _COMMAND.items()}
    return whole | {"contexts": sorted(command.get("contexts") or ()), "options": options}


def _key(command: ApplicationCommand) -> tuple[int, str]:
    """A name is taken once for each type."""
    return command.get("type", 1), command["name"]


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
    given = {name: installation.values.get(name, "").strip() for name in SETTINGS}
    try:
        settings = read_discord_settings(given, None)
    except SettingsError as fault:
        return None, [failed(READ, told, _FIXES[name]) for name, told in faults_by_setting(fault).items()]
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
    threads = [thread for place in places for thread in thread_ids(data_dir, place)]
    if began := [said_at(thread) for thread in threads if ID.fullmatch(thread)]:
        return report_events(EVENTS, began)
    if TALK in threads:
        return ok(EVENTS, "They come: there were direct messages.")
    if servers is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(EVENTS, "None has come yet.", "Mention the bot in a channel while `footnote run` runs.")
