"""Runs of a turn or command that their process did not survive, and which of them speak against it.

When a process dies, everything that ran in it is cut off, and nobody knows what killed it. So after two such runs
a turn runs alone: nothing else thinks in its process. A run alone speaks against the turn only if it came no
further than the one before it; whoever is killed from outside gets on a little each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.conversation import value
from core.turns.waiting import Seat

CUT_OFF = 2  # runs beside others, until a turn runs alone
ALONE = 3  # runs alone that began at one place and were cut off, until a turn is given up
#: Attributes of a workflow: how many runs a stop of their process cut off, and those alone.
STOPS, LONE = "stops", "alone"


@value
class LoneRuns:
    """The newest runs alone that began at one place."""

    place: str = ""  #: how far the turn had come: the newest checkpoint of its conversation
    count: int = 0
    stops: int = 0  #: by when the last of them began


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRun:
    """One run: the first, or a later one that continues after what was recorded."""

    attempt: int = 1  #: counts from 1
    stops: int = 0  #: earlier runs that were cut off by an orderly stop of their process
    lone: LoneRuns = field(default_factory=LoneRuns)
    executor: str = ""  #: the name under which this process took it
    seat: Seat | None = None  #: every seat of the process, where it runs alone
    is_hopeless: bool = False  #: the turn was given up

    @classmethod
    def claimed(cls, attempt: int, executor: str, attributes: Mapping[str, Any]) -> TurnRun:
        """As it is taken from the queue."""
        lone = LoneRuns(**attributes.get(LONE, {}))
        return cls(attempt=attempt, executor=executor, stops=attributes.get(STOPS, 0), lone=lone)

    @property
    def is_again(self) -> bool:
        return self.attempt > 1

    @property
    def cut_off(self) -> int:
        """Earlier runs that ended with their process, other than by a stop."""
        return self.attempt - 1 - self.stops

    @property
    def is_suspect(self) -> bool:
        return self.cut_off >= CUT_OFF

    def alone_at(self, place: str) -> LoneRuns:
        """Those that were cut off at this place so far; a stop of the process cuts off nothing."""
        if self.lone.place != place:
            return LoneRuns(place=place, stops=self.stops)
        was_stopped = self.stops > self.lone.stops
        return replace(self.lone, count=self.lone.count - was_stopped, stops=self.stops)

    def begun_at(self, place: str) -> TurnRun:
        """The run alone that begins there now; a hopeless one where enough were cut off there."""
        before = self.alone_at(place)
        if before.count >= ALONE:
            return replace(self, is_hopeless=True)
        return replace(self, lone=replace(before, count=before.count + 1))
