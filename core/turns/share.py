"""How many turns a process takes from the queue at a look, so that a burst is shared by all that have room.

DBOS lets a process take everything that waits. Most of it would then wait for a seat here, while other processes
have seats that are free.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from core.turns.replicas import Replicas

FULL = 1.0  # seconds between two looks of a process without a free seat; others look ten times a second


@dataclass(slots=True)
class Share:
    """Of one process beside others."""

    seats: int
    _took_at: float = -math.inf  #: when it might last take any, by the monotonic clock

    def take(self, running: int, now: float) -> int:
        """How many turns to take now, with so many running or waiting for a seat here.

        What no process has a seat for is taken too, if more slowly: it shows who asked that it waits in line.
        """
        if running >= self.seats and now - self._took_at < FULL:
            return 0
        self._took_at = now
        return self.seats - running if running < self.seats else self.seats


def share_claims(replicas: Replicas, seats: int, most: int) -> None:
    """From now on DBOS takes no more than this process's share; ``most`` is how many it would run at once."""
    from dbos._dbos import _get_dbos_instance

    system = _get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS limits what runs, and not what is taken at a look
    claim, share = system.start_queued_partitioned_workflows, Share(seats)

    def claim_share(queue: Any, executor: str, version: str, room: int, **options: Any) -> list[str]:
        if replicas.are_several:
            room = min(room, share.take(most - room, time.monotonic()))
        return claim(queue, executor, version, room, **options) if room else []

    system.start_queued_partitioned_workflows = claim_share  # type: ignore[method-assign, assignment]
