"""Reads a Discord channel as a source over REST, a call after the other, so that questions have room.

Discord allows 50 requests a second to a bot, and fewer on a route, which its headers tell ("Rate Limits"): discord.py
keeps to both. An answer of 429 that it cannot wait out is waited out by the engine of sources.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bots.chat.channel_source import (
    DISCORD_CHANNELS,
    ChannelMessage,
    ChannelSource,
    EntryPage,
    channel_in,
    channel_kind,
    only_one,
)
from bots.chat.channels import ChannelStore, channel_at, own_collection, source_of
from bots.chat.platform import Refused
from bots.discord.calls import (
    MESSAGES,
    MESSAGES_PAGE,
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    UNKNOWN_CHANNEL,
    DiscordCalls,
)
from bots.discord.content import (
    FORUMS,
    NEEDED,
    OPEN_THREADS,
    PRIVATE_THREAD,
    TALKS,
    WITH_THREADS,
    DiscordPlace,
    Json,
    channel_entry,
    channel_message,
    is_open_thread_of,
    permissions_in,
    thread_entry,
)
from bots.discord.people import DiscordPeople
from bots.discord.route import PLATFORM, Me, first_id_at
from bots.discord.serve import open_client
from bots.discord.settings import SERVERS_PAGE, VIEW, Application, read_application, read_discord_settings
from core.conversation import value
from core.errors import SettingsError
from core.sources.source import SourceContext, SourceKind, SourceThrottled, SourceUnavailable, SourceWithdrawn
from core.turns.messenger import Unreachable

THREADS_PAGE = 100  # threads, "List Public Archived Threads"
INTERVAL = 0.1  # seconds between two calls: 10 a second leave 40 of 50 to who answers questions
WAIT = 60.0  # seconds, where discord.py has waited as often as it does
CHANNEL = "/channels/{channel_id}"
#: Error codes of what the bot sees no more, "JSON Error Codes"; 10004 is an unknown server.
GONE = (UNKNOWN_CHANNEL, "10004", MISSING_ACCESS, MISSING_PERMISSIONS)


@dataclass(slots=True, kw_only=True)
class PacedCalls:
    """The REST API as a source reads it: what is in the way is an error of sources, or Refused."""

    calls: DiscordCalls
    interval: float = INTERVAL  #: seconds
    _next_at: float = 0.0

    async def get(self, path: str, **parameters: Any) -> Any:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._next_at - loop.time()))
        self._next_at = loop.time() + self.interval
        try:
            return await self.calls.call("GET", path, **parameters)
        except Unreachable as lost:
            if getattr(lost.__cause__, "status", None) == 429:
                raise SourceThrottled("Discord asks to wait.", retry_after=WAIT) from lost
            raise SourceUnavailable("Discord cannot be reached.") from lost


@dataclass(slots=True, kw_only=True)
class DiscordChannel:
    """One channel that the bot may read."""

    api: PacedCalls
    at: DiscordPlace
    _threads: dict[str, Json] | None = None  #: of the channel, by id, as they were listed

    @property
    def place(self) -> str:
        return self.at.name

    def mark(self, moment: float) -> str:
        return first_id_at(moment)

    async def page(self, until: str, since: float = 0.0) -> EntryPage:
        """One page of entries; of a forum all its posts. A day, which has a ``since``, is read without its threads."""
        threads = [] if since else [thread_entry(each) for each in (await self._listed()).values()]
        messages: list[Json] = []
        if not self.at.is_forum:
            before = {"before": until} if until else {}
            messages = await self._read(MESSAGES, self.at.channel, limit=MESSAGES_PAGE, **before)
        is_last = len(messages) < MESSAGES_PAGE
        found = {each["id"]: channel_entry(each, self.at) for each in messages}
        if not since:  # what was listed decides whether a message has a thread
            found = {name: replace(each, thread="") for name, each in found.items()}
        oldest = 0 if is_last else min(map(int, found))
        for thread in threads:
            if oldest <= int(thread.id) and (not until or int(thread.id) < int(until)):
                message = found.get(thread.id)
                found[thread.id] = replace(thread, message=message.message if message else None)
        entries = sorted(found.values(), key=lambda each: int(each.id), reverse=True)
        if any(each.said_at < since for each in entries):
            is_last = True
        return EntryPage(entries=[each for each in entries if each.said_at >= since], is_last=is_last)

    async def thread(self, thread: str) -> Sequence[ChannelMessage]:
        known = (self._threads or {}).get(thread) or await self._look_up(thread)
        if known is None or not is_open_thread_of(known, self.at.channel):
            return []
        messages: list[Json] = []
        while True:
            before = {"before": messages[-1]["id"]} if messages else {}
            try:
                page = await self._read(MESSAGES, thread, limit=MESSAGES_PAGE, **before)
            except Refused as refused:
                if refused.code != UNKNOWN_CHANNEL:
                    raise SourceUnavailable(
                        f"Discord refused a thread of {self.place}: {refused}."
                    ) from refused
                return []
            messages += page
            if len(page) < MESSAGES_PAGE:
                break
        title = str(known.get("name") or "") if self.at.is_forum else ""
        found = [
            channel_message(each, self.at, title=title if each["id"] == thread else "")
            for each in reversed(messages)
        ]
        return [each for each in found if each is not None]

    async def _look_up(self, thread: str) -> Json | None:
        try:
            known: Json = await self._read(CHANNEL, thread)
        except Refused as refused:
            if refused.code in GONE:
                return None
            raise SourceUnavailable(f"Discord refused a thread of {self.place}: {refused}.") from refused
        return known

    async def _listed(self) -> dict[str, Json]:
        """The threads that everyone in the channel may read, open and archived; listed once."""
        if self._threads is None:
            found: list[Json] = []
            if self.at.has_threads:
                # Those that are open are listed again at the end: one may be opened meanwhile.
                found = [*await self._active(), *await self._archived(), *await self._active()]
            self._threads = {each["id"]: each for each in found if is_open_thread_of(each, self.at.channel)}
        return self._threads

    async def _active(self) -> Sequence[Json]:
        listed = await self._refusing("/guilds/{guild_id}/threads/active", guild_id=self.at.server)
        return list(listed["threads"])

    async def _archived(self) -> Sequence[Json]:
        """The latest to be archived come first."""
        path, found, before = f"{CHANNEL}/threads/archived/public", list[Json](), dict[str, str]()
        while True:
            page = await self._refusing(path, channel_id=self.at.channel, limit=THREADS_PAGE, **before)
            found += page["threads"]
            if not page["has_more"] or not page["threads"]:
                return found
            before = {"before": page["threads"][-1]["thread_metadata"]["archive_timestamp"]}

    async def _read(self, path: str, channel: str, **parameters: Any) -> Any:
        """Raises Refused for a thread alone."""
        if channel == self.at.channel:
            return await self._refusing(path, channel_id=channel, **parameters)
        return await self.api.get(path, channel_id=channel, **parameters)

    async def _refusing(self, path: str, **parameters: Any) -> Any:
        try:
            return await self.api.get(path, **parameters)
        except Refused as refused:
            if refused.code in GONE:
                raise SourceWithdrawn(f"{self.place} cannot be read any more: {refused}.") from refused
            raise SourceUnavailable(f"Discord refused to show {self.place}: {refused}.") from refused


@value
class KnownChannel:
    """A channel, and what is known of the server that it is in."""

    channel: Json
    roles: Sequence[Json]
    member: Json  #: the bot there
    application: Application

    @property
    def name(self) -> str:
        return f"#{self.channel.get('name') or self.channel['id']}"

    @property
    def me(self) -> Me:
        user = self.application.user_id
        own = (role["id"] for role in self.roles if (role.get("tags") or {}).get("bot_id") == user)
        return Me(user_id=user, role_ids=frozenset(own))


def discord_kind(channel_store: ChannelStore | None, *, interval: float = INTERVAL) -> SourceKind:
    """Without a store, which knows who asked not to be read, channels can be looked up and not read."""
    return channel_kind(
        DISCORD_CHANNELS,
        open=partial(_open_channel, channel_store=channel_store, interval=interval),
        resolve=partial(_resolve, channel_store=channel_store),
        check=partial(_check, channel_store=channel_store),
    )


@asynccontextmanager
async def _open_channel(
    address: str, context: SourceContext, *, channel_store: ChannelStore | None, interval: float
) -> AsyncIterator[ChannelSource]:
    server, channel = channel_in(address)
    if channel_store is None:
        raise SourceUnavailable("Who asked not to be read is not known here.")
    async with _calls(channel_store) as calls:
        api = PacedCalls(calls=calls, interval=interval)
        known = await _known(api, server, channel)
        is_own = context.collection == own_collection(channel_at(PLATFORM, server, channel))
        if refusal := refusal_of(known, server, is_own=is_own):
            raise SourceWithdrawn(refusal)
        if trouble := _trouble(known):
            raise SourceUnavailable(trouble)
        at = await _place(api, known, server)
        yield ChannelSource(
            reader=DiscordChannel(api=api, at=at),
            label=f"{PLATFORM}:{at.name}",
            opted_out=channel_store.opted_out,
        )


async def _check(address: str, _context: SourceContext, *, channel_store: ChannelStore | None) -> None:
    """True if the channel may be read for itself; for which collection it is read is asked at each sync."""
    server, channel = channel_in(address)
    async with _calls(channel_store) as calls:
        known = await _known(PacedCalls(calls=calls), server, channel)
        if refusal := refusal_of(known, server, is_own=True) or _trouble(known):
            raise SourceUnavailable(refusal)


def refusal_of(known: KnownChannel, server: str, *, is_own: bool) -> str:
    """Why the channel may not be read into a collection; empty if it may. ``is_own``: that of the channel alone."""
    channel, name = known.channel, known.name
    if channel["type"] in OPEN_THREADS:
        return f"{name} is a thread: name the channel that it is in."
    if channel["type"] not in (*TALKS, *FORUMS, PRIVATE_THREAD):
        return f"{name} holds no messages."
    lacking = NEEDED - permissions_in(channel, server, known.roles, known.member, known.application.user_id)
    if lacking:
        return (
            f"The bot lacks {' and '.join(sorted(lacking))} in {name}: Edit Channel › Permissions › "
            f"{known.application.user_name}."
        )
    is_private = (
        channel["type"] == PRIVATE_THREAD or not permissions_in(channel, server, known.roles) >= NEEDED
    )
    if is_own or not is_private:
        return ""
    return (
        f"{name} is private, or what was said there before is not for everyone: it is for those who see it alone. "
        "Write `learn channel` there: it is then read for that channel only."
    )


def _trouble(known: KnownChannel) -> str:
    if known.application.reads_content:
        return ""
    return (
        "Discord hides what people write: the application's Message Content intent is off. Switch it on in the "
        "Developer Portal › Bot › Privileged Gateway Intents."
    )


async def _known(api: PacedCalls, server: str, channel: str) -> KnownChannel:
    """Raises SourceWithdrawn for a channel that the bot does not see, or that is not in this server."""
    try:
        found = await api.get(CHANNEL, channel_id=channel)
        if found.get("guild_id") != server:
            raise SourceWithdrawn(f"There is no channel {channel} in this server.")
        if found["type"] == PRIVATE_THREAD:  # its parent's overwrites hold in it
            parent = await api.get(CHANNEL, channel_id=found["parent_id"])
            found = {**found, "permission_overwrites": parent.get("permission_overwrites")}
        application = read_application(await api.get("/applications/@me"))
        roles = await api.get("/guilds/{guild_id}/roles", guild_id=server)
        path = "/guilds/{guild_id}/members/{user_id}"
        member = await api.get(path, guild_id=server, user_id=application.user_id)
    except Refused as refused:
        kind = SourceWithdrawn if refused.code in GONE else SourceUnavailable
        raise kind(
            f"The bot sees no channel {channel} ({refused}): it needs View Channels there."
        ) from refused
    return KnownChannel(channel=found, roles=roles, member=member, application=application)


async def _place(api: PacedCalls, known: KnownChannel, server: str) -> DiscordPlace:
    """With names of roles, and of the channels that everyone may view: others are named by nobody's client."""
    try:
        channels = await api.get("/guilds/{guild_id}/channels", guild_id=server)
    except Refused as refused:
        raise SourceUnavailable(
            f"Discord does not list the channels of {known.name}: {refused}."
        ) from refused
    seen = {
        each["id"]: each["name"] for each in channels if VIEW in permissions_in(each, server, known.roles)
    }
    return DiscordPlace(
        server=server,
        channel=known.channel["id"],
        name=known.name,
        is_forum=known.channel["type"] in FORUMS,
        has_threads=known.channel["type"] in WITH_THREADS,
        me=known.me,
        names={each["id"]: each["name"] for each in known.roles} | seen,
    )


async def _resolve(address: str, _context: SourceContext, *, channel_store: ChannelStore | None) -> str:
    """The id of a channel that is named, as another may have the name tomorrow."""
    server, channel = channel_in(address)
    async with _calls(channel_store) as calls:
        found = await _found(PacedCalls(calls=calls), channel)
    there = [source_of(channel_at(PLATFORM, *each)) for each in found if server in ("", each[0])]
    return only_one(there, channel)


async def _found(api: PacedCalls, channel: str) -> list[tuple[str, str]]:
    """Servers and ids of the channels with a name or an id; two of one server may have the same name."""
    try:
        if not channel.startswith("#"):
            known = await api.get(CHANNEL, channel_id=channel)
            return [(known["guild_id"], channel)] if known.get("guild_id") else []
        found, after = [], "0"
        while True:
            servers = await api.get("/users/@me/guilds", limit=SERVERS_PAGE, after=after)
            for server in servers:
                channels = await api.get("/guilds/{guild_id}/channels", guild_id=server["id"])
                found += [
                    (server["id"], each["id"])
                    for each in channels
                    if each.get("name") == channel[1:] and each["type"] in (*TALKS, *FORUMS)
                ]
            if len(servers) < SERVERS_PAGE:
                return found
            after = servers[-1]["id"]
    except Refused:
        return []


@asynccontextmanager
async def _calls(channel_store: ChannelStore | None) -> AsyncIterator[DiscordCalls]:
    """The calls of the bot that is served here; else of the one that DISCORD_TOKEN names."""
    served = channel_store.people.get(PLATFORM) if channel_store else None
    if isinstance(served, DiscordPeople):
        yield served.calls
        return
    try:
        settings = read_discord_settings(os.environ)
        if settings is None:
            raise SourceUnavailable("DISCORD_TOKEN is needed to read a channel of Discord.")
        async with open_client(settings) as (client, _):
            yield DiscordCalls(client.http)
    except SettingsError as fault:
        raise SourceUnavailable(str(fault)) from fault
