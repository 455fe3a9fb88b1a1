"""The speed at which a model on a server of one's own reads and writes, measured by its calls.

A slow one is asked less, and waited for longer. A hosted model is not measured.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from core.conversation import value
from core.errors import StoreUnavailable
from core.storage.database import AsyncDatabase

logger = logging.getLogger(__name__)

#: Tokens that a question with every check reads and writes: the median over FastAPI's documentation.
READ, WRITTEN = 6_600, 800
#: Seconds for these: above the first a model is slow, below the second no longer. Between them it stays what it was.
SLOW, QUICK = 45.0, 25.0
NEWEST = 0.3  # share of the newest call in what is known
TIMES = 10  # so many times faster than it writes a model reads, where its server does not tell both
CHARACTERS = 4  # of a token, where the server counts none
NANOSECONDS = 1_000_000_000
_REMEMBER = (
    "INSERT INTO paces VALUES (?, ?, ?, ?) ON CONFLICT (model) DO UPDATE SET"
    " reading = excluded.reading, writing = excluded.writing, slow = excluded.slow"
)

Reply = TypeVar("Reply")


@value
class Speed:
    """Tokens a second."""

    reading: float
    writing: float

    @property
    def seconds(self) -> float:
        """The seconds for a question with every check, one call after another."""
        return READ / self.reading + WRITTEN / self.writing

    def after(self, newest: Self) -> Self:
        """This speed once one more call was measured."""
        pairs = ((self.reading, newest.reading), (self.writing, newest.writing))
        reading, writing = (1 / ((1 - NEWEST) / before + NEWEST / now) for before, now in pairs)
        return replace(self, reading=reading, writing=writing)

    def is_slow(self, *, was_slow: bool) -> bool:
        return self.seconds > (QUICK if was_slow else SLOW)


def speed_of(message: Any, prompt: int, seconds: float) -> Speed:
    """The speed of a call whose prompt has this many characters. It is taken from the reply, as Ollama gives
    it, or measured."""
    counted, metadata = (
        getattr(message, "usage_metadata", None) or {},
        getattr(message, "response_metadata", {}),
    )
    read = max(counted.get("input_tokens") or prompt / CHARACTERS, 1)
    written = max(counted.get("output_tokens") or len(str(message.text)) / CHARACTERS, 1)
    reading, writing = metadata.get("prompt_eval_duration"), metadata.get("eval_duration")
    if reading and writing:
        return Speed(reading=read * NANOSECONDS / reading, writing=written * NANOSECONDS / writing)
    rate = (read + TIMES * written) / max(seconds, 0.001)
    return Speed(reading=rate, writing=rate / TIMES)


@dataclass(slots=True, kw_only=True)
class Pace:
    """One model's speed, shared by the turns of a process and kept for the next one. Until its first call a
    model on one's own machine counts as slow: its first answer is written soon, and not cut off."""

    model: str = ""
    is_own: bool = False  #: on a server of one's own; False: nothing is measured
    longest: float = 0.0  #: seconds that a call of a slow model may take
    is_slow: bool = False
    speed: Speed | None = None  #: None: not measured yet
    database: AsyncDatabase | None = None
    clock: Callable[[], float] = time.monotonic
    _running: list[list[int]] = field(default_factory=list)  #: of each call, how many ran with it at most

    def patience(self, timeout: float) -> float:
        """Seconds that a call may take; ``timeout``: of a model that is not slow."""
        return max(timeout, self.longest) if self.is_slow else timeout

    async def measure(self, asking: Awaitable[Reply], prompt: int) -> Reply:
        """The reply; calls side by side are taken to share the server."""
        mine, began = [0], self.clock()
        self._running.append(mine)
        for each in self._running:
            each[0] = max(each[0], len(self._running))
        try:
            reply = await asking
        finally:
            self._running = [each for each in self._running if each is not mine]
        if self.is_own:
            message = getattr(reply, "raw", reply)
            await self._learn(speed_of(message, prompt, (self.clock() - began) / mine[0]))
        return reply

    async def _learn(self, newest: Speed) -> None:
        is_first, was_slow = self.speed is None, self.is_slow
        self.speed = self.speed.after(newest) if self.speed else newest
        self.is_slow = self.speed.is_slow(was_slow=was_slow)
        if self.is_slow != was_slow:
            logger.info("the model is %s now", "slow" if self.is_slow else "no longer slow")
        if self.database is not None and (is_first or self.is_slow != was_slow):
            with suppress(StoreUnavailable):  # it is measured again
                values = (self.model, self.speed.reading, self.speed.writing, int(self.is_slow))
                await self.database.write(_REMEMBER, values)


def load_paces(
    models: Mapping[str, bool], *, longest: float, database: AsyncDatabase | None = None
) -> dict[str, Pace]:
    """The paces of models by name, whether each is on a server of one's own; those known are remembered."""
    rows = database.database.rows("SELECT model, reading, writing, slow FROM paces") if database else ()
    known = {name: (Speed(reading=reads, writing=writes), bool(slow)) for name, reads, writes, slow in rows}
    paces = {}
    for name, is_own in models.items():
        speed, is_slow = known.get(name, (None, True)) if is_own else (None, False)
        paces[name] = Pace(
            model=name, is_own=is_own, longest=longest, is_slow=is_slow, speed=speed, database=database
        )
    return paces
