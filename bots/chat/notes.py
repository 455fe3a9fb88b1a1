"""Signs of progress: the newest note of a turn, about once a second at most, and again before it fades."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bots.chat.platform import Refused
from core.conversation import Progress
from core.turns.messenger import Unreachable

logger = logging.getLogger(__name__)

BETWEEN = 1.0  # seconds between two edits; Slack and Discord take about one message a second in a channel


@dataclass(slots=True, kw_only=True)
class Notes:
    """Notes on their way to the platform; those that are overtaken by a newer one are left out."""

    show: Callable[[Progress], Awaitable[None]]
    refresh: float  #: seconds after which the platform's own sign fades, or nearly
    _newest: Progress = field(default_factory=lambda: Progress(stage="reading"))
    _is_fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def report(self, progress: Progress) -> None:
        self._newest = progress
        self._is_fresh.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """No note comes after this: one on its way is waited for, or it could cover the answer."""
        self._is_closed.set()
        self._is_fresh.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while not self._is_closed.is_set():
            self._is_fresh.clear()
            try:
                await self.show(self._newest)
            except (Unreachable, Refused):
                logger.info("a note of progress was left out")
            if not await _happens(self._is_closed, BETWEEN):
                await _happens(self._is_fresh, self.refresh)


async def _happens(event: asyncio.Event, within: float) -> bool:
    try:
        return await asyncio.wait_for(event.wait(), within)
    except TimeoutError:
        return False
