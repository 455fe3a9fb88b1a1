"""The seats of the turns that think side by side; who finds none waits in line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.conversation import Progress
from core.turns.assistant import Report


@dataclass(slots=True)
class Seats:
    """So many turns think at once."""

    count: int
    waiting: int = 0  #: turns that have no seat yet
    free: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.count)

    @asynccontextmanager
    async def taken(self, report: Report) -> AsyncIterator[Seat]:
        """A seat until the end of the block; a turn that must wait reports how many are before it."""
        seat = Seat(self, report)
        await seat.take()
        try:
            yield seat
        finally:
            seat.leave()


@dataclass(slots=True)
class Seat:
    """One turn's."""

    seats: Seats
    report: Report
    is_taken: bool = False

    async def take(self) -> None:
        if self.seats.free.locked():
            self.report(Progress(stage="waiting", count=self.seats.waiting))
        self.seats.waiting += 1
        try:
            await self.seats.free.acquire()
        finally:
            self.seats.waiting -= 1
        self.is_taken = True

    def leave(self) -> None:
        if self.is_taken:
            self.is_taken = False
            self.seats.free.release()

    async def sleep(self, seconds: float) -> None:
        """Leave the seat to others meanwhile. A turn that is stopped here takes it no more."""
        self.leave()
        await asyncio.sleep(seconds)
        await self.take()
