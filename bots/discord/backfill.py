"""Events of channels that have to be looked up: messages sent while the bot was away, and changes in those that are sources.

The watermark is the newest message before which none is missing; the next start fetches from there.

An event tells that something changed, not what it is now: that is read by the source. One that was missed is found
by the next sync. Source: "Gateway Events".
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import aiohttp
import discord
from discord.utils import snowflake_time

from bots.chat.channel_source import DAY, date_of
from bots.chat.channels import ChannelStore, channel_at, source_of
from bots.chat.platform import Unreadable
from bots.discord.calls import MESSAGES_PAGE
from bots.discord.content import items_at, thread_items
from bots.discord.route import DISCORD, first_id_at, said_at
from core.sources.sources import SourceSchedule
from core.turns.turns import TurnsClosed

logger = logging.getLogger(__name__)

BACKFILL_LIMIT = 24 * 3600.0  # seconds; after that an answer is of no use
OVERLAP = 10.0  # seconds before the watermark that are fetched again: ids are not quite in order
CHANNEL_PAGES = 100  # pages of one channel that are fetched
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
NO_ACCESS = (403, 404)  # HTTP statuses of a channel that the bot may not read


@dataclass(slots=True)
class Watermark:
    """Rises as messages are stored, and never past one that is not stored yet."""

    channel_store: ChannelStore
    last: int  #: as it is stored
    _newest: int = 0  #: message that was stored
    _held: list[int] = field(default_factory=list)  #: messages from which on some may be missing

    @classmethod
    async def load(cls, channel_store: ChannelStore, *, now: float) -> Self:
        """The watermark that the last process left; at the very first start, this moment.

        Not that of the first message: Discord may break the connection before it has delivered any.
        """
        if (last := await channel_store.watermark(DISCORD)) is None:
            last = int(first_id_at(now))
            await channel_store.set_watermark(DISCORD, last)
        return cls(channel_store, last)

    def hold(self, first: int) -> None:
        """Hold the watermark below this message until it is released: some may be missing."""
        self._held.append(first)

    async def release(self, first: int, *, newest: int = 0) -> None:
        """Release held messages, which are stored up to ``newest``."""
        self._held.remove(first)
        self._newest = max(self._newest, newest)
        if watermark := min([self._newest, *(held - 1 for held in self._held)]):
            self.last = max(self.last, watermark)
            await self.channel_store.set_watermark(DISCORD, watermark)


def backfill_start(watermark: int, now: float) -> int:
    """The id after which messages are fetched; ``now`` in seconds since the epoch."""
    return max(watermark - (int(OVERLAP * 1000) << 22), int(first_id_at(now - BACKFILL_LIMIT)), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Fetches missed messages; one that was stored before is recognised by its id."""

    take: Callable[[discord.Message], Awaitable[None]]
    since: int  #: the id after which messages are fetched
    unreadable: Unreadable

    async def of_server(self, guild: discord.Guild) -> None:
        fetched = set()
        for channel in (*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads):
            fetched.add(channel.id)
            await self._fetch_new(channel)
        for parent in (*guild.text_channels, *guild.forums):
            if _may_read(parent):
                with self.unreadable.skipped():
                    await _retry(lambda parent=parent: self._fetch_archived(parent))  # type: ignore[misc]
        for thread in guild.threads:  # some may have been reopened meanwhile
            if thread.id not in fetched:
                await self._fetch_new(thread)

    async def of_direct_messages(self, client: discord.Client, channels: Collection[int]) -> None:
        """Fetch from direct messages that the bot knows: Discord lists no others."""
        for channel in channels:
            direct = client.get_partial_messageable(channel, type=discord.ChannelType.private)
            await _retry(lambda direct=direct: self._fetch(direct))  # type: ignore[misc]

    async def _fetch_new(self, channel: Any) -> None:
        if self._has_new(channel) and _may_read(channel):
            await _retry(lambda: self._fetch(channel))

    def _has_new(self, channel: Any) -> bool:
        return (channel.last_message_id or 0) > self.since

    async def _fetch(self, channel: Any) -> None:
        """Fetch page by page and parse each message alone: the library's iterator ends at a malformed one."""
        state, after = channel._state, self.since  # noqa: SLF001 - which that iterator hands to messages too
        for _ in range(CHANNEL_PAGES):
            page = await state.http.logs_from(channel.id, MESSAGES_PAGE, after=after)
            for data in reversed(page):
                with self.unreadable.skipped():
                    await self.take(discord.Message(state=state, channel=channel, data=data))
                with self.unreadable.skipped():
                    after = max(after, int(data["id"]))
            if len(page) < MESSAGES_PAGE:
                return
        logger.warning("too many missed messages; the newest are left out", extra={"channel": channel.id})

    async def _fetch_archived(self, parent: Any) -> None:
        """Fetch from threads that were archived meanwhile; they come latest first."""
        async for thread in parent.archived_threads(limit=None):
            if thread.archive_timestamp < snowflake_time(self.since):
                return
            if self._has_new(thread):
                await self._fetch(thread)


def _may_read(channel: Any) -> bool:
    me = channel.guild.me
    if me is None or isinstance(channel, discord.Thread):
        return True
    rights = channel.permissions_for(me)
    return bool(rights.view_channel and rights.read_message_history)


async def _retry(fetch: Callable[[], Awaitable[None]]) -> None:
    """Try until it succeeds, or Discord refuses access."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await fetch()
        except discord.HTTPException as refused:
            if refused.status in NO_ACCESS:
                return logger.info("the bot may not read a channel", extra={"code": refused.code})
            trouble = str(refused.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as lost:
            trouble = type(lost).__name__
        extra = {"reason": trouble, "pause_seconds": pause}
        logger.warning("missed messages cannot be fetched yet", extra=extra)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


Channel = discord.abc.GuildChannel | discord.Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFollower:
    """Has items read again whose channel is a source. Raises TurnsClosed, and StoreUnavailable."""

    schedule: SourceSchedule

    async def wrote(self, message: discord.Message) -> None:
        if message.guild is None or message.author.bot or message.webhook_id is not None:
            return
        if (channel := await _fetch_channel(message.guild, message.channel.id)) is not None:
            day = (f"{date_of(said_at(str(message.id)))}/{DAY}",)
            await self._look(channel, _thread_item(channel) or day, f"{message.id}-new")

    async def edited(self, edit: discord.RawMessageUpdateEvent) -> None:
        message = edit.message
        if message.guild is None or message.author.bot or message.edited_at is None:
            return
        if (channel := await _fetch_channel(message.guild, edit.channel_id)) is not None:
            items = _thread_item(channel) or items_at([str(message.id)])
            await self._look(channel, items, f"{message.id}-{message.edited_at.timestamp():.3f}")

    async def deleted(self, guild: discord.Guild | None, channel_id: int, messages: Sequence[int]) -> None:
        if guild is None or not messages:
            return
        if (channel := await _fetch_channel(guild, channel_id)) is not None:
            items = _thread_item(channel) or items_at(map(str, messages))
            await self._look(channel, items, f"{max(messages)}-{len(messages)}-gone")

    async def thread_changed(self, thread: discord.Thread, change: str) -> None:
        items = _thread_item(thread) and thread_items(str(thread.id))
        await self._look(thread, items, f"{thread.id}-{change}")

    async def thread_deleted(self, gone: discord.RawThreadDeleteEvent) -> None:
        """Read the deleted thread's items again; a private thread is a channel of its own."""
        is_private = gone.thread_type is discord.ChannelType.private_thread
        items = () if is_private else thread_items(str(gone.thread_id))
        address = _address(gone.guild_id, gone.thread_id if is_private else gone.parent_id)
        await self.schedule.look_again(address, items, f"{gone.thread_id}-gone")

    async def channel_changed(self, channel: discord.abc.GuildChannel) -> None:
        """Read all of a channel again after its name or permissions changed."""
        address = _address(channel.guild.id, channel.id)
        await self.schedule.look_again(address, (), f"{channel.id}-{time.time():.3f}")

    async def server_changed(self, server: int) -> None:
        """Reads the sources of a server again when its permissions changed."""
        prefix = _address(server, "")
        sources = {record.address for record in await asyncio.to_thread(self.schedule.store.all)}
        for address in filter(lambda each: each.startswith(prefix), sources):
            change = f"{address.removeprefix(prefix)}-{time.time():.3f}"
            await self.schedule.look_again(address, (), change)

    async def _look(self, channel: Channel, items: Sequence[str], change: str) -> None:
        is_open = isinstance(channel, discord.Thread) and not channel.is_private()
        parent = channel.parent_id if isinstance(channel, discord.Thread) and is_open else channel.id
        await self.schedule.look_again(_address(channel.guild.id, parent), items, change)


def _address(server: int, channel: int | str) -> str:
    return source_of(channel_at(DISCORD, str(server), str(channel)))


def _thread_item(channel: Channel) -> tuple[str, ...]:
    """The item of a thread that everyone in its channel may read; a private one is read by days."""
    if not isinstance(channel, discord.Thread) or channel.is_private():
        return ()
    return items_at((), str(channel.id))


async def _fetch_channel(guild: discord.Guild, channel: int) -> Channel | None:
    """The channel or thread; None if the bot does not see it. Archived threads are not cached."""
    if (known := guild.get_channel_or_thread(channel)) is not None:
        return known
    with suppress(discord.HTTPException, discord.InvalidData):
        return await guild.fetch_channel(channel)
    return None


async def _followed(follower: ChannelFollower, act: Callable[[ChannelFollower], Awaitable[None]]) -> None:
    """The boundary of one event: after a failure, the next sync finds the change."""
    try:
        await act(follower)
    except TurnsClosed:
        logger.info("a change came during shutdown; the next sync finds it")
    except Exception:
        logger.exception("a change could not be followed; the next sync finds it")


class ChannelEvents(discord.Client):
    """The events of threads, channels and roles. The subclass hands on those of messages."""

    follower: ChannelFollower | None = None  #: while turns are taken

    def follow(self, act: Callable[[ChannelFollower], Awaitable[None]]) -> None:
        """Run ``act`` in the background, if a channel of Discord is a source."""
        if self.follower is not None:
            self.follower.schedule.follow(f"{DISCORD}:", partial(_followed, self.follower, act))

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
