"""The time on the wall, for what is deleted by its age: a jump ahead makes nothing old."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


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
