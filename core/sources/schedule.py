"""Syncs on a durable schedule: when one is due is stored, and its work goes through the durable queue.

One process at a time looks. What it puts into the queue is named after the source and the moment, so that a look
twice is one sync, and whichever process takes it, a kill only makes it begin again where it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.conversation import Command, Conversation
from core.errors import FootnoteError
from core.sources.store import SourceRecord, SourceStore

SYNC_SOURCE = "sync_source"  # the command's name
LOOK_EVERY = 5.0  # seconds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSchedule:
    """Has due sources read."""

    store: SourceStore
    enqueue: Callable[[Command], Awaitable[None]]
    place: Conversation  #: whose commands go to who does the work
    prefix: str  #: begins the ids of commands
    now: Callable[[], float] = time.time

    async def keep_looking(self) -> None:
        """For one process at a time; until it is cancelled."""
        while True:
            try:
                await self.enqueue_due()
            except FootnoteError:  # the database is away; it passes
                logger.warning("due syncs could not be looked for", exc_info=True)
            await asyncio.sleep(LOOK_EVERY)

    async def enqueue_due(self) -> None:
        now = self.now()
        for record in await asyncio.to_thread(self.store.due, now):
            await self.enqueue(self._command(record, now))

    def _command(self, record: SourceRecord, now: float) -> Command:
        place = self.place
        return Command(
            id=f"{self.prefix}source-{record.number}-{record.next_at:.0f}",
            conversation=Conversation(
                platform=place.platform,
                space=place.space,
                channel=place.channel,
                thread=f"source-{record.number}",
            ),
            author="",
            name=SYNC_SOURCE,
            details={"source": record.number},
            said_at=now,
        )
