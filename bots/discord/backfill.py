"""Messages sent while the bot was away: fetched from every channel that has new ones.

The watermark is the newest message before which none is missing; the next start fetches from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import discord
from discord.utils import snowflake_time, time_snowflake

from bots.chat.channels import ChannelStore
from bots.chat.unreadable import Unreadable
from bots.discord.limits import MESSAGES_PAGE
from bots.discord.route import PLATFORM

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
    async def load(cls, channel_store: ChannelStore, *, now: float) -> Watermark:
        """As the process left it that listened before this one; at the very first start it is this moment.

        Not that of the first message: Discord may break the connection before it has delivered any.
        """
        if (last := await channel_store.watermark(PLATFORM)) is None:
            last = id_at(now)
            await channel_store.set_watermark(PLATFORM, last)
        return cls(channel_store, last)

    def hold(self, first: int) -> None:
        """From this message on some may be missing, until it is released."""
        self._held.append(first)

    async def release(self, first: int, *, newest: int = 0) -> None:
        """What was held is stored, up to ``newest``."""
        self._held.remove(first)
        self._newest = max(self._newest, newest)
        if watermark := min([self._newest, *(held - 1 for held in self._held)]):
            self.last = max(self.last, watermark)
            await self.channel_store.set_watermark(PLATFORM, watermark)


def id_at(moment: float) -> int:
    """The lowest id of a message sent at this moment, in seconds since the epoch."""
    return time_snowflake(datetime.fromtimestamp(moment, UTC))


def backfill_start(watermark: int, now: float) -> int:
    """The id after which messages are fetched; ``now`` in seconds since the epoch."""
    return max(watermark - (int(OVERLAP * 1000) << 22), id_at(now - BACKFILL_LIMIT), 0)


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
        """From the channels that the bot knows: Discord does not list others."""
        for channel in channels:
            direct = client.get_partial_messageable(channel, type=discord.ChannelType.private)
            await _retry(lambda direct=direct: self._fetch(direct))  # type: ignore[misc]

    async def _fetch_new(self, channel: Any) -> None:
        if self._has_new(channel) and _may_read(channel):
            await _retry(lambda: self._fetch(channel))

    def _has_new(self, channel: Any) -> bool:
        return (channel.last_message_id or 0) > self.since

    async def _fetch(self, channel: Any) -> None:
        """Page by page, each message for itself: the library's own iterator ends at one that it cannot parse."""
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
        """From threads that were archived meanwhile; the latest to be archived come first."""
        async for thread in _archived_after(parent, self.since):
            if self._has_new(thread):
                await self._fetch(thread)


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


async def _retry(fetch: Callable[[], Awaitable[None]]) -> None:
    """Until it succeeds, or Discord refuses access."""
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
        logger.warning(
            "missed messages cannot be fetched yet", extra={"reason": trouble, "pause_seconds": pause}
        )
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
