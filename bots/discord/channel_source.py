"""Reads a Discord channel as a source over REST, a call after the other, so that questions have room.

Discord allows 50 requests a second to a bot, and fewer on a route, which its headers tell ("Rate Limits"): discord.py
keeps to both. An answer of 429 that it cannot wait out is waited out by the engine of sources.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from bots.chat import channel_source
from bots.chat.channels import ChannelStore
from bots.chat.platform import Refused
from bots.discord import content
from bots.discord.calls import CHANNEL, MESSAGES, MESSAGES_PAGE, UNKNOWN_CHANNEL, DiscordCalls
from bots.discord.people import DiscordPeople
from bots.discord.route import DISCORD, Me, first_id_at
from bots.discord.serve import open_client
from bots.discord.settings import SERVERS_PAGE, VIEW, Application, read_application, read_discord_settings
from core.conversation import value
from core.errors import SettingsError
from core.sources.source import SourceKind, SourceThrottled, SourceUnavailable, SourceWithdrawn
from core.turns.messenger import Unreachable

THREADS_PAGE = 100  # threads, "List Public Archived Threads"
INTERVAL = 0.1  # seconds between two calls: 10 a second leave 40 of 50 to who answers questions
WAIT = 60.0  # seconds, where discord.py has waited as often as it does
#: "JSON Error Codes" of what the bot sees no more: an unknown channel or server, and missing rights.
GONE = (UNKNOWN_CHANNEL, "10004", "50001", "50013")


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
    info: content.DiscordChannelInfo
    _threads: dict[str, content.Json] | None = None  #: of the channel, by id, as they were listed

    @property
    def name(self) -> str:
        return self.info.name

    def mark(self, moment: float) -> str:
        return first_id_at(moment)

    async def page(self, until: str, since: float = 0.0) -> channel_source.EntryPage:
        """One page of entries; of a forum all its posts. A day, which has a ``since``, is read without its threads."""
        threads = [] if since else [content.thread_entry(each) for each in (await self._listed()).values()]
        messages: list[content.Json] = []
        if not self.info.is_forum:
            before = {"before": until} if until else {}
            messages = await self._read(MESSAGES, self.info.channel, limit=MESSAGES_PAGE, **before)
        is_last = len(messages) < MESSAGES_PAGE
        found = {each["id"]: content.channel_entry(each, self.info) for each in messages}
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
        entries = [each for each in entries if each.said_at >= since]
        return channel_source.EntryPage(entries=entries, is_last=is_last)

    async def thread(self, thread: str) -> Sequence[channel_source.ChannelMessage]:
        known = (self._threads or {}).get(thread) or await self._look_up(thread)
        if known is None or not content.is_open_thread_of(known, self.info.channel):
            return []
        messages: list[content.Json] = []
        while True:
            before = {"before": messages[-1]["id"]} if messages else {}
            try:
                page = await self._read(MESSAGES, thread, limit=MESSAGES_PAGE, **before)
            except Refused as refused:
                if refused.code != UNKNOWN_CHANNEL:
                    why = f"Discord refused a thread of {self.name}: {refused}."
                    raise SourceUnavailable(why) from refused
                return []
            messages += page
            if len(page) < MESSAGES_PAGE:
                break
        title = str(known.get("name") or "") if self.info.is_forum else ""
        titles = {thread: title}
        found = [
            content.channel_message(each, self.info, title=titles.get(each["id"], ""))
            for each in messages[::-1]
        ]
        return [each for each in found if each is not None]

    async def _look_up(self, thread: str) -> content.Json | None:
        try:
            known: content.Json = await self._read(CHANNEL, thread)
        except Refused as refused:
            if refused.code in GONE:
                return None
            raise SourceUnavailable(f"Discord refused a thread of {self.name}: {refused}.") from refused
        return known

    async def _listed(self) -> dict[str, content.Json]:
        """The threads that everyone in the channel may read, open and archived; listed once."""
        if self._threads is None:
            found: list[content.Json] = []
            if self.info.has_threads:
                # Those that are open are listed again at the end: one may be opened meanwhile.
                found = [*await self._active(), *await self._archived(), *await self._active()]
            here = self.info.channel
            self._threads = {each["id"]: each for each in found if content.is_open_thread_of(each, here)}
        return self._threads

    async def _active(self) -> Sequence[content.Json]:
        listed = await self._refusing("/guilds/{guild_id}/threads/active", guild_id=self.info.server)
        return list(listed["threads"])

    async def _archived(self) -> Sequence[content.Json]:
        """The archived threads, the latest first."""
        path, found, before = f"{CHANNEL}/threads/archived/public", list[content.Json](), dict[str, str]()
        while True:
            page = await self._refusing(path, channel_id=self.info.channel, limit=THREADS_PAGE, **before)
            found += page["threads"]
            if not page["has_more"] or not page["threads"]:
                return found
            before = {"before": page["threads"][-1]["thread_metadata"]["archive_timestamp"]}

    async def _read(self, path: str, channel: str, **parameters: Any) -> Any:
        """Raises Refused for a thread alone."""
        if channel == self.info.channel:
            return await self._refusing(path, channel_id=channel, **parameters)
        return await self.api.get(path, channel_id=channel, **parameters)

    async def _refusing(self, path: str, **parameters: Any) -> Any:
        try:
            return await self.api.get(path, **parameters)
        except Refused as refused:
            if refused.code in GONE:
                raise SourceWithdrawn(f"{self.name} cannot be read any more: {refused}.") from refused
            raise SourceUnavailable(f"Discord refused to show {self.name}: {refused}.") from refused


def discord_kind(channel_store: ChannelStore | None, *, interval: float = INTERVAL) -> SourceKind:
    return channel_source.ChannelSources(
        platform=DISCORD, channel_store=channel_store, connect=_calls, find=_find,
        look_up=lambda calls, *ids: _known(PacedCalls(calls=calls, interval=interval), *ids),
    ).kind()  # fmt: skip


@value
class KnownDiscordChannel:
    """A channel, and what is known of the server that it is in."""

    api: PacedCalls
    server: str
    channel: content.Json
    roles: Sequence[content.Json]
    member: content.Json  #: the bot there
    application: Application

    @property
    def name(self) -> str:
        return f"#{self.channel.get('name') or self.channel['id']}"

    @property
    def trouble(self) -> str:
        if self.application.reads_content:
            return ""
        return (
            "Discord hides what people write: the application's Message Content intent is off. Switch it on in the "
            "Developer Portal › Bot › Privileged Gateway Intents."
        )

    def refusal(self, *, is_own: bool) -> str:
        channel, name, application = self.channel, self.name, self.application
        if channel["type"] in content.OPEN_THREADS:
            return f"{name} is a thread: name the channel that it is in."
        if channel["type"] not in (*content.TALKS, *content.FORUMS, content.PRIVATE_THREAD):
            return f"{name} holds no messages."
        mine = content.permissions_in(channel, self.server, self.roles, self.member, application.user_id)
        if lacking := content.NEEDED - mine:
            return (
                f"The bot lacks {' and '.join(sorted(lacking))} in {name}: Edit Channel › Permissions › "
                f"{application.user_name}."
            )
        of_all = content.permissions_in(channel, self.server, self.roles)
        if is_own or (channel["type"] != content.PRIVATE_THREAD and of_all >= content.NEEDED):
            return ""
        return (
            f"{name} is private, or what was said there before is not for everyone: it is for those who see it alone. "
            "Write `learn channel` there: it is then read for that channel only."
        )

    async def reader(self) -> DiscordChannel:
        """The reader, with the names of roles and of channels that everyone may view."""
        try:
            channels = await self.api.get("/guilds/{guild_id}/channels", guild_id=self.server)
        except Refused as refused:
            why = f"Discord does not list the channels of {self.name}: {refused}."
            raise SourceUnavailable(why) from refused
        seen = (each for each in channels if VIEW in content.permissions_in(each, self.server, self.roles))
        user, kind = self.application.user_id, self.channel["type"]
        own = (role["id"] for role in self.roles if (role.get("tags") or {}).get("bot_id") == user)
        info = content.DiscordChannelInfo(
            server=self.server, channel=self.channel["id"], name=self.name,
            is_forum=kind in content.FORUMS, has_threads=kind in content.WITH_THREADS,
            me=Me(user_id=user, role_ids=frozenset(own)),
            names={each["id"]: each["name"] for each in (*self.roles, *seen)},
        )  # fmt: skip
        return DiscordChannel(api=self.api, info=info)


async def _known(api: PacedCalls, server: str, channel: str) -> KnownDiscordChannel:
    """Raises SourceWithdrawn for a channel that the bot does not see, or that is not in this server."""
    try:
        found = await api.get(CHANNEL, channel_id=channel)
        if found.get("guild_id") != server:
            raise SourceWithdrawn(f"There is no channel {channel} in this server.")
        if found["type"] == content.PRIVATE_THREAD:  # its parent's overwrites hold in it
            parent = await api.get(CHANNEL, channel_id=found["parent_id"])
            found = {**found, "permission_overwrites": parent.get("permission_overwrites")}
        application = read_application(await api.get("/applications/@me"))
        roles = await api.get("/guilds/{guild_id}/roles", guild_id=server)
        path = "/guilds/{guild_id}/members/{user_id}"
        member = await api.get(path, guild_id=server, user_id=application.user_id)
    except Refused as refused:
        kind = SourceWithdrawn if refused.code in GONE else SourceUnavailable
        why = f"The bot sees no channel {channel} ({refused}): it needs View Channels there."
        raise kind(why) from refused
    return KnownDiscordChannel(
        api=api, server=server, channel=found, roles=roles, member=member, application=application
    )


async def _find(calls: DiscordCalls, server: str, channel: str) -> channel_source.Found:
    """The channels of this id or "#name"; several of one server may have one name."""
    api, named = PacedCalls(calls=calls), channel.removeprefix("#")
    found: list[tuple[str, str]] = []
    try:
        if named == channel:
            known = await api.get(CHANNEL, channel_id=channel)
            found = [(known["guild_id"], channel)] if known.get("guild_id") else []
        else:
            async for each in _servers(api):
                for one in await api.get("/guilds/{guild_id}/channels", guild_id=each):
                    if one.get("name") == named and one["type"] in (*content.TALKS, *content.FORUMS):
                        found.append((each, one["id"]))
    except Refused:
        return []
    return [each for each in found if server in ("", each[0])]


async def _servers(api: PacedCalls) -> AsyncIterator[str]:
    after = "0"
    while True:
        page = await api.get("/users/@me/guilds", limit=SERVERS_PAGE, after=after)
        for each in page:
            yield each["id"]
        if len(page) < SERVERS_PAGE:
            return
        after = page[-1]["id"]


@asynccontextmanager
async def _calls(channel_store: ChannelStore | None) -> AsyncIterator[DiscordCalls]:
    """The calls of the bot that is served here; else of the one that DISCORD_TOKEN names."""
    served = channel_store.people.get(DISCORD) if channel_store else None
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
