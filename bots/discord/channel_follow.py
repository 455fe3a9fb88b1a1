"""What happens in channels that are sources, as prompts to read single items of them again.

An event tells that something changed, not what it is now: that is read by the source. One that was missed is found
by the next sync. Source: "Gateway Events".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import discord

from bots.chat.channel_documents import DAY, date_of
from bots.chat.channels import source_of
from bots.discord.channel_messages import items_at, thread_items
from bots.discord.route import PLATFORM, said_at
from core.conversation import Conversation
from core.sources.schedule import SourceSchedule
from core.turns.turns import TurnsClosed

logger = logging.getLogger(__name__)

Place = discord.abc.GuildChannel | discord.Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFollower:
    """Has items read again whose channel is a source. Raises TurnsClosed, and StoreUnavailable."""

    schedule: SourceSchedule

    async def wrote(self, message: discord.Message) -> None:
        if message.guild is None or message.author.bot or message.webhook_id is not None:
            return
        if (place := await _place(message.guild, message.channel.id)) is not None:
            day = (f"{date_of(said_at(str(message.id)))}/{DAY}",)
            await self._look(place, _thread_item(place) or day, f"{message.id}-new")

    async def edited(self, edit: discord.RawMessageUpdateEvent) -> None:
        message = edit.message
        if message.guild is None or message.author.bot or message.edited_at is None:
            return
        if (place := await _place(message.guild, edit.channel_id)) is not None:
            items = _thread_item(place) or items_at([str(message.id)])
            await self._look(place, items, f"{message.id}-{message.edited_at.timestamp():.3f}")

    async def deleted(self, guild: discord.Guild | None, channel: int, messages: Sequence[int]) -> None:
        if guild is None or not messages:
            return
        if (place := await _place(guild, channel)) is not None:
            items = _thread_item(place) or items_at(map(str, messages))
            await self._look(place, items, f"{max(messages)}-{len(messages)}-gone")

    async def thread_changed(self, thread: discord.Thread, change: str) -> None:
        items = _thread_item(thread) and thread_items(str(thread.id))
        await self._look(thread, items, f"{thread.id}-{change}")

    async def thread_deleted(self, gone: discord.RawThreadDeleteEvent) -> None:
        """A private thread is a channel of its own."""
        is_private = gone.thread_type is discord.ChannelType.private_thread
        items = () if is_private else thread_items(str(gone.thread_id))
        address = _address(gone.guild_id, gone.thread_id if is_private else gone.parent_id)
        await self._look_at(address, items, f"{gone.thread_id}-gone")

    async def channel_changed(self, channel: discord.abc.GuildChannel) -> None:
        """Its name, or who may read it: all of it is read again, or withdrawn."""
        await self._look_at(_address(channel.guild.id, channel.id), (), f"{channel.id}-{time.time():.3f}")

    async def server_changed(self, server: int) -> None:
        """Who may read which channel of it."""
        for channel in await self._channels_of(server):
            await self._look_at(_address(server, channel), (), f"{channel}-{time.time():.3f}")

    async def _channels_of(self, server: int) -> list[str]:
        """The ids of those that are sources."""
        prefix = _address(server, "")
        found = {record.address for record in await asyncio.to_thread(self.schedule.store.all)}
        return [each.removeprefix(prefix) for each in found if each.startswith(prefix)]

    async def _look(self, place: Place, items: Sequence[str], change: str) -> None:
        is_open = isinstance(place, discord.Thread) and not place.is_private()
        channel = place.parent_id if isinstance(place, discord.Thread) and is_open else place.id
        await self._look_at(_address(place.guild.id, channel), items, change)

    async def _look_at(self, address: str, items: Sequence[str], change: str) -> None:
        if await self.schedule.reads(address):
            await self.schedule.look_again(address, items, change)


def _address(server: int, channel: int | str) -> str:
    place = Conversation(platform=PLATFORM, space=str(server), channel=str(channel), thread="")
    return source_of(place)


def _thread_item(place: Place) -> tuple[str, ...]:
    """Its item, if it is a thread that everyone in its channel may read; a private one is read by days."""
    if not isinstance(place, discord.Thread) or place.is_private():
        return ()
    return items_at((), str(place.id))


async def _place(guild: discord.Guild, channel: int) -> Place | None:
    """Archived threads are not known without asking; None for what the bot does not see."""
    if (known := guild.get_channel_or_thread(channel)) is not None:
        return known
    with suppress(discord.HTTPException, discord.InvalidData):
        return await guild.fetch_channel(channel)
    return None


async def _followed(follower: ChannelFollower, act: Callable[[ChannelFollower], Awaitable[None]]) -> None:
    """The boundary of one event: what it would have told is found by the next sync."""
    try:
        await act(follower)
    except TurnsClosed:
        logger.info("a change came during shutdown; the next sync finds it")
    except Exception:
        logger.exception("a change could not be followed; the next sync finds it")


class ChannelEvents(discord.Client):
    """The events of threads, channels and roles; those of messages are handed on by who takes them anyway."""

    follower: ChannelFollower | None = None  #: while turns are taken

    def follow(self, act: Callable[[ChannelFollower], Awaitable[None]]) -> None:
        """Have it done soon, if a channel of Discord is a source; no message waits for it."""
        if self.follower is not None:
            self.follower.schedule.follow(f"{PLATFORM}:", partial(_followed, self.follower, act))

    async def on_thread_create(self, thread: discord.Thread) -> None:
        self.follow(lambda follower: follower.thread_changed(thread, "new"))

    async def on_thread_update(self, before: discord.Thread, after: discord.Thread) -> None:
        if before.name != after.name:
            change = f"named-{time.time():.3f}"
            self.follow(lambda follower: follower.thread_changed(after, change))

    async def on_raw_thread_delete(self, gone: discord.RawThreadDeleteEvent) -> None:
        self.follow(lambda follower: follower.thread_deleted(gone))

    async def on_guild_channel_update(
        self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel
    ) -> None:
        if (before.name, before.overwrites) != (after.name, after.overwrites):
            self.follow(lambda follower: follower.channel_changed(after))

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        self.follow(lambda follower: follower.channel_changed(channel))

    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        if before.permissions != after.permissions:
            self.follow(lambda follower: follower.server_changed(after.guild.id))

    async def on_guild_role_delete(self, role: discord.Role) -> None:
        self.follow(lambda follower: follower.server_changed(role.guild.id))
