"""How often an address may try a link or a cookie that opens nothing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

LIMIT = 10  # wrong tries
WITHIN = 60.0  # seconds
REMEMBERED = 10_000  # addresses


@dataclass(slots=True, kw_only=True)
class WrongTries:
    """Counts them by address, in this process."""

    clock: Callable[[], float] = time.monotonic
    _times: dict[str, deque[float]] = field(default_factory=dict)

    def wait(self, address: str) -> int:
        """Seconds until this address may try again; 0: now."""
        times = self._times.get(address)
        if times is None:
            return 0
        now = self.clock()
        while times and times[0] <= now - WITHIN:
            times.popleft()
        if not times:
            del self._times[address]
        return ceil(times[0] + WITHIN - now) if len(times) >= LIMIT else 0

    def count(self, address: str) -> None:
        """One more. Of too many addresses, the one that was first is forgotten."""
        times = self._times.setdefault(address, deque(maxlen=LIMIT))
        times.append(self.clock())
        if len(self._times) > REMEMBERED:
            del self._times[next(iter(self._times))]
