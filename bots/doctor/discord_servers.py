"""The doctor's findings in the servers of the bot: its permissions in each channel.

Discord lists no channel that the bot cannot see ("Permissions, Channel Visibility").
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bots.chat.platform import Refused
from bots.chat.texts import counted
from bots.discord.commands import (
    HISTORY,
    NEEDED,
    OPEN,
    PERMISSIONS,
    SEND,
    SEND_IN_THREADS,
    VIEW,
    Application,
    DiscordApi,
    channel_permissions,
    invite_url,
    names,
    server_permissions,
)
from bots.discord.limits import SERVERS_PAGE
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from core.conversation import value
from core.turns.messenger import Unreachable

PATIENCE = 5.0  # seconds for one request, and for the gateway's first message


@value
class ServerChannel:
    """A channel in which the bot can be asked, and what it may do there."""

    name: str
    needs: tuple[str, ...]
    may: frozenset[str]

    @property
    def lacks(self) -> tuple[str, ...]:
        return tuple(name for name in self.needs if name not in self.may)

    @property
    def is_answered_in(self) -> bool:
        """In the channel itself, or in a thread of it."""
        in_threads = SEND_IN_THREADS in self.needs and not {OPEN, SEND_IN_THREADS} & {*self.lacks}
        return in_threads or (SEND in self.needs and SEND in self.may)


SERVERS = "Discord servers"

EXAMINED = 10  # servers; three requests for each, all at once, and 50 a second are allowed
NAMED = 5  # channels of one server


@value
class Server:
    """One server as the bot sees it."""

    name: str
    rights: frozenset[str]  #: of the bot's roles, before the overwrites of a channel
    channels: tuple[ServerChannel, ...]


async def of_servers(api: DiscordApi, bot: Application) -> tuple[tuple[str, ...] | None, list[Finding]]:
    """The ids of the servers, None where Discord does not list them, and what is found there."""
    try:
        known = await api.get("/users/@me/guilds")
    except Refused as refused:
        return None, [skipped(SERVERS, f"Discord does not list them: HTTP {refused}.")]
    except Unreachable:
        return None, [skipped(SERVERS, f"Discord did not list them within {PATIENCE:g} s.")]
    ids = tuple(each["id"] for each in known)
    if not ids:
        how = f"Open {invite_url(bot.id)}"
        return ids, [warning(SERVERS, "The bot is in no server: only direct messages reach it.", how)]
    results = await asyncio.gather(*(_examine(api, bot, each) for each in known[:EXAMINED]))
    found = [finding for findings in results for finding in findings]
    if (more := len(ids) - EXAMINED) > 0:
        least = " or more" if len(ids) == SERVERS_PAGE else ""
        found.append(skipped(SERVERS, f"{more:,}{least} other servers were not examined."))
    return ids, found


async def _examine(api: DiscordApi, bot: Application, known: Mapping[str, Any]) -> list[Finding]:
    path = f"/guilds/{known['id']}"
    try:
        about, channels, member = await asyncio.gather(
            api.get(path), api.get(f"{path}/channels"), api.get(f"{path}/members/{bot.user_id}")
        )
    except Refused as refused:
        return [
            skipped(SERVERS, f"{known['name']}: Discord does not show its permissions there: HTTP {refused}.")
        ]
    except Unreachable:
        return [skipped(SERVERS, f"{known['name']}: Discord did not answer within {PATIENCE:g} s.")]
    permissions = server_permissions(about, member)
    visible = tuple(
        ServerChannel(name=f"#{channel['name']}", needs=NEEDED[channel["type"]], may=may)
        for channel in channels
        if channel["type"] in NEEDED
        and VIEW in (may := names(channel_permissions(channel, member, bot.user_id, permissions)))
    )
    return list(of_server(Server(name=known["name"], rights=names(permissions), channels=visible), bot))


def of_server(server: Server, bot: Application) -> Iterator[Finding]:
    """How many channels are usable; then what the bot's role lacks, then what single channels deny."""
    if not server.channels:
        yield failed(
            SERVERS,
            f"{server.name}: the bot sees no channel.",
            f"In Discord: the channel › Edit Channel › Permissions › Add members or roles › {bot.user_name}, "
            "and allow it View Channel.",
        )
        return
    yield ok(SERVERS, f"{server.name}: {_count(server.channels)}")
    tell = warning if any(channel.is_answered_in for channel in server.channels) else failed
    lacking = [channel for channel in server.channels if channel.lacks]
    of_role = [
        name
        for name in PERMISSIONS
        if name not in server.rights and any(name in channel.lacks for channel in lacking)
    ]
    if of_role:
        yield tell(
            SERVERS,
            f"{server.name}: the bot's role lacks {', '.join(of_role)}.",
            f"In Discord: {server.name} › Server Settings › Roles › {bot.user_name} › Permissions: switch on what "
            f"is missing. Or add the bot again: {invite_url(bot.id)}",
        )
    denied = [
        (channel.name, here)
        for channel in lacking
        if (here := [name for name in channel.lacks if name not in of_role])
    ]
    if denied:
        yield tell(
            SERVERS,
            f"{server.name}: {_list(denied)}.",
            f"In Discord: the channel › Edit Channel › Permissions › {bot.user_name}: allow what is missing, "
            "or leave it as it is where nobody should ask.",
        )


def _count(channels: Sequence[ServerChannel]) -> str:
    seen = f"it sees {counted(len(channels), 'channel')}"
    if not any(channel.lacks for channel in channels):
        return f"{seen} and may do there what it needs to."
    answered = sum(channel.is_answered_in for channel in channels)
    opens = sum(OPEN in channel.may for channel in channels if OPEN in channel.needs)
    reads = sum(HISTORY in channel.may for channel in channels)
    return f"{seen}, can answer in {answered:,}, open threads in {opens:,} and read back in {reads:,}."


def _list(denied: Sequence[tuple[str, Sequence[str]]]) -> str:
    listed = "; ".join(f"{name} lacks {', '.join(rights)}" for name, rights in denied[:NAMED])
    more = len(denied) - NAMED
    return listed + (f"; so do {more:,} more" if more > 0 else "")
