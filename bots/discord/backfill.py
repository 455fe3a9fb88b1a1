"""What was said while no events came: looked for in every channel that has something new.

How far everything that was said has been taken in: where the next start begins to look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord.utils import snowflake_time, time_snowflake

from bots.chat.channels import ChannelStore
from bots.discord.route import PLATFORM


@dataclass(slots=True)
class Watermarks:
    """A mark that moves up as messages are stored, and never past one that is not stored yet."""

    channel_store: ChannelStore
    _newest: int = 0  #: of the messages that were stored
    _untaken: list[int] = field(default_factory=list)  #: from which messages on something may be missing

    @property
    def last(self) -> int | None:
        """The newest message of which nothing before is missing; None when nothing was ever heard."""
        return self.channel_store.watermark(PLATFORM)

    def begin(self, newest: int) -> None:
        """The very first time: nothing up to this message is looked for."""
        self.channel_store.set_watermark(PLATFORM, max(newest, 1))

    def hold(self, first: int) -> None:
        """From this message on something may be missing, until it is released."""
        if self.last is None:
            self.begin(first - 1)
        self._untaken.append(first)

    def release(self, first: int, *, newest: int = 0) -> None:
        """What was held is taken in, up to ``newest``."""
        self._untaken.remove(first)
        self._newest = max(self._newest, newest)
        if mark := min([self._newest, *(held - 1 for held in self._untaken)]):
            self.channel_store.set_watermark(PLATFORM, mark)


logger = logging.getLogger(__name__)

MISSED_AT_MOST = 24 * 3600.0  # seconds; who asked longer ago has gone on
OVERLAP = 10.0  # seconds of what was heard that are looked at again: ids are not quite in order
PER_CHANNEL = 10_000  # messages of one channel that are looked through
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
CLOSED_TO_US = (403, 404)  # HTTP statuses of a channel that is not ours to read


def first_to_look_at(watermarks: int, now: float) -> int:
    """The id after which to look; ``heard`` is the last message before, ``now`` seconds since the epoch."""
    from datetime import UTC, datetime

    oldest = time_snowflake(datetime.fromtimestamp(now - MISSED_AT_MOST, UTC))
    return max(watermarks - (int(OVERLAP * 1000) << 22), oldest, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Of a server, or of the direct messages; what was taken before is known by its id."""

    take: Callable[[discord.Message], Awaitable[None]]
    since: int  #: the id after which to look

    async def of_server(self, guild: discord.Guild) -> None:
        looked_at = set()
        for channel in (*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads):
            looked_at.add(channel.id)
            await self._look_at(channel)
        for parent in (*guild.text_channels, *guild.forums):
            if _may_read(parent):
                await _insist(lambda parent=parent: self._take_from_archived(parent))  # type: ignore[misc]
        for thread in guild.threads:  # also those that were archived at first, and not any more by then
            if thread.id not in looked_at:
                await self._look_at(thread)

    async def of_talks(self, client: discord.Client, channels: Collection[int]) -> None:
        """Of the direct messages that the bot had before: Discord has no list of others."""
        for channel in channels:
            talk = client.get_partial_messageable(channel, type=discord.ChannelType.private)
            await _insist(lambda talk=talk: self._take_from(talk))  # type: ignore[misc]

    async def _look_at(self, channel: Any) -> None:
        if self._has_news(channel) and _may_read(channel):
            await _insist(lambda: self._take_from(channel))

    def _has_news(self, channel: Any) -> bool:
        return (channel.last_message_id or 0) > self.since

    async def _take_from(self, channel: Any) -> None:
        looked_at = 0
        after = discord.Object(self.since)
        async for message in channel.history(after=after, limit=PER_CHANNEL, oldest_first=True):
            await self.take(message)
            looked_at += 1
        if looked_at == PER_CHANNEL:
            logger.warning("too much was said to look through all of it", extra={"channel": channel.id})

    async def _take_from_archived(self, parent: Any) -> None:
        """Threads that left the list in the meantime: the latest to be archived come first."""
        async for thread in _archived_after(parent, self.since):
            if self._has_news(thread):
                await self._take_from(thread)


async def _archived_after(parent: Any, since: int) -> AsyncIterator[discord.Thread]:
    async for thread in parent.archived_threads(limit=None):
        if thread.archive_timestamp < snowflake_time(since):
            return
        yield thread


def _may_read(channel: Any) -> bool:
    me = channel.guild.me
    if me is None or isinstance(channel, discord.Thread):
        return True
    rights = channel.permissions_for(me)
    return bool(rights.view_channel and rights.read_message_history)


async def _insist(look: Callable[[], Awaitable[None]]) -> None:
    """Until Discord answers, or says that it will not."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await look()
        except discord.HTTPException as refused:
            if refused.status in CLOSED_TO_US:
                return logger.info("a channel could not be looked through", extra={"code": refused.code})
            trouble = str(refused.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as lost:
            trouble = type(lost).__name__
        logger.warning("cannot look for what was missed", extra={"reason": trouble, "pause_seconds": pause})
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
