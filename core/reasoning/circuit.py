"""A model that is down is left alone for a while, by every turn and not by each anew.

The circuit breaker of Nygard, "Release It!": closed while calls succeed, open after a row of
failures, and after a pause one call goes through to see whether the model is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ROW = 6  # failures in a row, of any turns, after which the model counts as down
PAUSE = 30.0  # seconds until one call tries again


@dataclass(slots=True, kw_only=True)
class Circuit:
    """What the turns of this process know together of one model."""

    row: int = ROW
    pause: float = PAUSE
    clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _tries_at: float = 0.0  #: while it is open: when the next call may go through

    @property
    def is_open(self) -> bool:
        return self._failures >= self.row

    def lets_through(self) -> bool:
        """Whether a call may be made now. While it is open that is one call in each pause."""
        if not self.is_open:
            return True
        now = self.clock()
        if now < self._tries_at:
            return False
        self._tries_at = now + self.pause
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1
        if self._failures == self.row:
            self._tries_at = self.clock() + self.pause
