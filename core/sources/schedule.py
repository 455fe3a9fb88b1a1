"""Syncs on a durable schedule: when one is due is stored, and its work goes through the durable queue.

One process at a time looks. What it puts into the queue is named after the source and the moment, so that a look
twice is one sync, and whichever process takes it, a kill only makes it begin again where it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from core.conversation import Command, Conversation
from core.errors import FootnoteError
from core.sources.store import SourceRecord, SourceStore

SYNC_SOURCE, LOOK_AGAIN = "sync_source", "look_again"  # names of commands
LOOK_EVERY = 5.0  # seconds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSchedule:
    """The schedule by which sources are read."""

    store: SourceStore
    enqueue: Callable[[Command], Awaitable[None]]
    place: Conversation  #: whose commands go to who does the work
    prefix: str  #: begins the ids of commands
    now: Callable[[], float] = time.time
    due: asyncio.Event = field(default_factory=asyncio.Event)  #: set to have it looked at once
    _following: set[asyncio.Task[None]] = field(default_factory=set)

    async def keep_looking(self) -> None:
        """For one process at a time; until it is cancelled."""
        while True:
            try:
                await self.enqueue_due()
            except FootnoteError:  # the database is away; it passes
                logger.warning("due syncs could not be looked for", exc_info=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.due.wait(), LOOK_EVERY)
            self.due.clear()

    async def enqueue_due(self) -> None:
        now = self.now()
        for record in await asyncio.to_thread(self.store.due, now):
            await self.enqueue(
                self._command(record, SYNC_SOURCE, f"source-{record.number}-{record.next_at:.0f}", {})
            )

    def follow(self, prefix: str, work: Callable[[], Awaitable[None]]) -> None:
        """Have this done soon, if there is a source whose address begins so. It is not waited for, as who tells of a
        change does not wait; what is lost on the way is found by the next sync.
        """
        task = asyncio.create_task(self._follow(prefix, work))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _follow(self, prefix: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            if await asyncio.to_thread(self.store.has_below, prefix):
                await work()
        except FootnoteError:  # the database is away
            logger.warning("a change of a source was not taken; the next sync finds it", exc_info=True)

    async def look_again(self, address: str, items: Sequence[str], change: str) -> None:
        """Have these items of the sources with an address read again, or all of them if none is named; ``change`` is the
        id of what was told.
        """
        for record in await asyncio.to_thread(self.store.at, address):
            name, details = (LOOK_AGAIN, {"items": [*items]}) if items else (SYNC_SOURCE, {})
            await self.enqueue(self._command(record, name, f"look-{record.number}-{change}", details))

    def _command(self, record: SourceRecord, name: str, task: str, details: dict[str, Any]) -> Command:
        place = self.place
        return Command(
            id=f"{self.prefix}{task}",
            conversation=Conversation(
                platform=place.platform,
                space=place.space,
                channel=place.channel,
                thread=f"source-{record.number}",
            ),
            author="",
            name=name,
            details={"source": record.number, **details},
            said_at=self.now(),
        )
