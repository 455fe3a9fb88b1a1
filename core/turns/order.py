"""The order of what people say in one conversation, kept while it is still being read and stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.conversation import Command, Decision, Question, Turn

LONGEST_ORDER = 2**31 - 1  # DBOS keeps a priority in 31 bits
NAPS = 3  # at most, however often the loop is held up
LATE = 0.1  # of a nap; a loop that wakes later than that has not read what came meanwhile


#: When something was said, in seconds since the epoch, and its id: a platform may count in milliseconds, in one of
#: which two things may be said, and its ids sort by time.
Place = tuple[float, str]


@dataclass(slots=True, weakref_slot=True)
class Line:
    """What one conversation's people said and nobody has stored yet, by when they said it."""

    _places: list[Place] = field(default_factory=list)
    _left: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def hold(self, place: Place) -> Iterator[None]:
        """Whatever was said later waits, for as long as this is held."""
        self._places.append(place)
        try:
            yield
        finally:
            self._places.remove(place)
            left, self._left = self._left, asyncio.Event()
            left.set()

    async def until_first(self, place: Place) -> None:
        """Wait for whoever spoke earlier and holds a place."""
        while min(self._places, default=place) < place:
            await self._left.wait()


async def settled(seconds: float) -> None:
    """Wait for what may still come by another way: once more when the loop was held up while it might have."""
    loop = asyncio.get_running_loop()
    for _ in range(NAPS if seconds else 0):
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        if loop.time() - due < LATE * seconds:
            return


def order_of(turn: Turn | Command) -> int:
    """Earlier turns first, in milliseconds: two connections may bring them the other way round.

    It begins anew every 24.8 days, which only turns that wait on both sides of that moment would feel. Of those
    that share a millisecond, DBOS takes the lesser id first: with SQLite it knows the second they were stored in.
    """
    return 1 + int(said_at(turn) * 1000) % LONGEST_ORDER


def said_at(turn: Turn | Command) -> float:
    """Seconds since the epoch."""
    if isinstance(turn, Question):
        return turn.asked_at
    return turn.decided_at if isinstance(turn, Decision) else turn.said_at


@dataclass(slots=True, kw_only=True)
class UnhurriedClock:
    """Seconds since the epoch, but never more of them since the beginning than have really passed.

    Where the wall is set back, so is this; a clock that was wrong at the beginning is believed.
    """

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _ahead: float = field(init=False)  #: of the steady clock, at the beginning

    def __post_init__(self) -> None:
        self._ahead = self.wall() - self.steady()

    def now(self) -> float:
        return min(self.wall(), self.steady() + self._ahead)
