"""The servers that the bot is in, and what it may do in their channels.

Channels that it does not see are in none of Discord's lists ("Permissions, Channel Visibility"),
so nothing is told of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bots.chat.texts import counted
from bots.discord.checkup.asking import PATIENCE, Asking, Refused, Silent
from bots.discord.checkup.bot import Bot
from bots.discord.checkup.rights import HISTORY, NEEDED, OPEN, VIEW, Place, in_channel, in_server, names
from bots.discord.commands import PERMISSIONS, invite_url
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from core.values import value

SERVERS = "Discord servers"

PAGE = 200  # servers at most of one reply, "Get Current User Guilds"
LOOKED_INTO = 10  # servers; three requests for each, all at once, and 50 a second are taken
NAMED = 5  # channels of one server


@value
class Server:
    """One server as the bot finds it."""

    name: str
    rights: frozenset[str]  #: of the bot's roles, before any channel says otherwise
    places: tuple[Place, ...]


async def of_servers(asking: Asking, bot: Bot) -> tuple[tuple[str, ...] | None, list[Finding]]:
    """The ids of the servers, None where nobody tells, and what is found there."""
    try:
        known = await asking.get("/users/@me/guilds")
    except Refused as refused:
        return None, [skipped(SERVERS, f"Discord does not tell which: {refused}.")]
    except Silent:
        return None, [skipped(SERVERS, f"Discord did not tell which within {PATIENCE:g} s.")]
    ids = tuple(each["id"] for each in known)
    if not ids:
        how = f"Open {invite_url(bot.application_id)}"
        return ids, [warning(SERVERS, "The bot is in no server: only direct messages reach it.", how)]
    looked = await asyncio.gather(*(_look(asking, bot, each) for each in known[:LOOKED_INTO]))
    found = [finding for findings in looked for finding in findings]
    if (more := len(ids) - LOOKED_INTO) > 0:
        least = " or more" if len(ids) == PAGE else ""
        found.append(skipped(SERVERS, f"{more:,}{least} other servers were not looked into."))
    return ids, found


async def _look(asking: Asking, bot: Bot, known: Mapping[str, Any]) -> list[Finding]:
    path = f"/guilds/{known['id']}"
    try:
        about, channels, member = await asyncio.gather(
            asking.get(path), asking.get(f"{path}/channels"), asking.get(f"{path}/members/{bot.user_id}")
        )
    except Refused as refused:
        return [skipped(SERVERS, f"{known['name']}: Discord does not tell what it may do there: {refused}.")]
    except Silent:
        return [skipped(SERVERS, f"{known['name']}: Discord did not tell within {PATIENCE:g} s.")]
    powers = in_server(about, member)
    places = (
        Place(
            name=f"#{channel['name']}",
            needs=NEEDED[channel["type"]],
            may=names(in_channel(channel, member, bot.user_id, powers)),
        )
        for channel in channels
        if channel["type"] in NEEDED
    )
    seen = tuple(place for place in places if VIEW in place.may)
    return list(of_server(Server(name=known["name"], rights=names(powers), places=seen), bot))


def of_server(server: Server, bot: Bot) -> Iterator[Finding]:
    """How many channels are as they should be; then what the bot's role lacks, then what single channels take."""
    if not server.places:
        yield failed(
            SERVERS,
            f"{server.name}: the bot sees no channel.",
            f"In Discord: the channel › Edit Channel › Permissions › Add members or roles › {bot.name}, "
            "and allow it View Channel.",
        )
        return
    yield ok(SERVERS, f"{server.name}: {_count(server.places)}")
    tell = warning if any(place.is_answered_in for place in server.places) else failed
    lacking = [place for place in server.places if place.lacks]
    of_role = [
        name
        for name in PERMISSIONS
        if name not in server.rights and any(name in place.lacks for place in lacking)
    ]
    if of_role:
        yield tell(
            SERVERS,
            f"{server.name}: the bot's role lacks {', '.join(of_role)}.",
            f"In Discord: {server.name} › Server Settings › Roles › {bot.name} › Permissions: switch on what "
            f"is missing. Or add the bot anew: {invite_url(bot.application_id)}",
        )
    taken = [
        (place.name, here)
        for place in lacking
        if (here := [name for name in place.lacks if name not in of_role])
    ]
    if taken:
        yield tell(
            SERVERS,
            f"{server.name}: {_some(taken)}.",
            f"In Discord: the channel › Edit Channel › Permissions › {bot.name}: allow what is missing, "
            "or leave it so where nobody is to ask.",
        )


def _count(places: Sequence[Place]) -> str:
    seen = f"it sees {counted(len(places), 'channel')}"
    if not any(place.lacks for place in places):
        return f"{seen} and may do there what it needs to."
    answered = sum(place.is_answered_in for place in places)
    opens = sum(OPEN in place.may for place in places if OPEN in place.needs)
    reads = sum(HISTORY in place.may for place in places)
    return f"{seen}, can answer in {answered:,}, open threads in {opens:,} and read back in {reads:,}."


def _some(taken: Sequence[tuple[str, Sequence[str]]]) -> str:
    told = "; ".join(f"{name} lacks {', '.join(rights)}" for name, rights in taken[:NAMED])
    more = len(taken) - NAMED
    return told + (f"; so do {more:,} more" if more > 0 else "")
