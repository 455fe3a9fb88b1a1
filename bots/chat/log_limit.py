"""Keeps a line out of the log that would stand there again and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

SECONDS = 60.0  # between two lines about the same thing


@dataclass(slots=True)
class LogLimit:
    """Whether it is time to log something again."""

    _next: dict[str, float] = field(default_factory=dict)  #: by what the line is about; few things

    def admits(self, about: str) -> bool:
        """True once a minute."""
        now = time.monotonic()
        if now < self._next.get(about, now):
            return False
        self._next[about] = now + SECONDS
        return True
