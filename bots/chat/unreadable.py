"""Events and messages of a shape that nobody described: each stops nothing but itself, and is logged once."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb

logger = logging.getLogger(__name__)


LOG_PAUSE = 60.0  # seconds between two lines about the same thing


@dataclass(slots=True)
class LogLimit:
    """True if it is time to log something again."""

    _next: dict[str, float] = field(default_factory=dict)  #: by what the line is about; few things

    def admits(self, about: str) -> bool:
        """True once a minute."""
        now = time.monotonic()
        if now < self._next.get(about, now):
            return False
        self._next[about] = now + LOG_PAUSE
        return True


#: What reading a value of another shape raises.
MALFORMED = (AttributeError, LookupError, OverflowError, TypeError, ValueError)


@dataclass(slots=True)
class Unreadable:
    """Counts what cannot be read. The log names the places in the code; an error's text may quote people."""

    _places: Counter[str] = field(default_factory=Counter)  #: since the last line of the log
    _log_limit: LogLimit = field(default_factory=LogLimit)

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Leave out what cannot be read in here."""
        try:
            yield
        except MALFORMED as fault:
            self.count(fault)

    def count(self, fault: Exception) -> None:
        self._places[_place_of(fault)] += 1
        if self._log_limit.admits("unreadable"):
            extra = {"count": self._places.total(), "reason": ", ".join(sorted(self._places))}
            logger.warning("what could not be read was left out", extra=extra)
            self._places.clear()


def _place_of(fault: Exception) -> str:
    """ "KeyError in receive.py:120"."""
    *_, last = extract_tb(fault.__traceback__)
    return f"{type(fault).__name__} in {Path(last.filename).name}:{last.lineno}"
