"""What can go wrong between an app and Discord's REST API, when a test says so."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True)
class RateLimited:
    """429 with ``Retry-After`` and the same in its body; nothing happened."""

    retry_after: float = 1.0  #: seconds
    is_global: bool = False  #: for every route, not for this one


@dataclass(frozen=True)
class ServerError:
    """5xx with a page instead of JSON; nothing happened. discord.py retries 500, 502, 504 and 524."""

    status: int = 502


@dataclass(frozen=True)
class Refusal:
    """An error of Discord's own whatever was asked; nothing happened."""

    status: int = 403
    code: int = 50013
    message: str = "Missing Permissions"


@dataclass(frozen=True)
class LostRequest:
    """The connection breaks before anything happens."""


@dataclass(frozen=True)
class LostResponse:
    """It happened, and the connection breaks before the reply."""


@dataclass(frozen=True)
class Hang:
    """Nothing more until ``released`` is set; then all goes on as usual."""

    after_effect: bool = False


@dataclass(frozen=True)
class Slow:
    """It happens at once, the reply takes its time."""

    seconds: float


Fault = RateLimited | ServerError | Refusal | LostRequest | LostResponse | Hang | Slow
Bucket = tuple[int, float]  #: so many requests in so many seconds


@dataclass
class Faults:
    """Faults by route (``POST /channels/{channel_id}/messages``, ``*`` for any): queued first, then by chance."""

    seed: int = 0
    chances: dict[str, Mapping[Fault, float]] = field(default_factory=dict)  #: route -> fault -> probability
    buckets: dict[str, Bucket] = field(default_factory=dict)  #: rates that are enforced; route -> its limit
    told: Bucket = (50, 1.0)  #: of other routes: told, not enforced; discord.py keeps to it
    duplicate_chance: float = 0.0  #: that an event comes twice
    early_retries: list[str] = field(default_factory=list)  #: requests before their Retry-After was over

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.injected: list[tuple[str, Fault]] = []
        self._queued: dict[str, deque[Fault]] = defaultdict(deque)
        self._not_before: dict[str, float] = {}
        self._spent: dict[str, deque[float]] = defaultdict(deque)

    def queue(self, route: str, *faults: Fault) -> None:
        """What the next requests to a route meet; after them all is well again."""
        self._queued[route].extend(faults)

    def next(self, route: str, path: str, place: str) -> Fault | None:
        """What this request meets, if anything; ``place`` is the route in its channel, which rates are for."""
        limited = self._too_early(route, path) or self._over_rate(route, place)
        if limited is not None:
            return limited
        queued = self._queued[route] or self._queued["*"]
        fault = queued.popleft() if queued else self._by_chance(route)
        if fault is not None:
            self.injected.append((route, fault))
        if isinstance(fault, RateLimited):
            place = "*" if fault.is_global else f"{route} {path}"
            self._not_before[place] = time.monotonic() + fault.retry_after
        return fault

    def remaining(self, route: str, place: str) -> tuple[int, int, float]:
        """Limit, what is left of it, and the seconds until it is whole again."""
        if route not in self.buckets:
            return self.told[0], self.told[0] - 1, self.told[1]
        limit, seconds = self.buckets[route]
        spent = self._spent[place]
        reset = spent[0] + seconds - time.monotonic() if spent else seconds
        return limit, limit - len(spent), max(0.0, reset)

    def _by_chance(self, route: str) -> Fault | None:
        drawn = self.random.random()
        for fault, chance in self.chances.get(route, self.chances.get("*", {})).items():
            drawn -= chance
            if drawn < 0:
                return fault
        return None

    def _too_early(self, route: str, path: str) -> RateLimited | None:
        now = time.monotonic()
        for place, is_global in ((f"{route} {path}", False), ("*", True)):
            left = self._not_before.get(place, now) - now
            if left > 0:
                self.early_retries.append(f"{route} {path}: {left:.3f} s too early")
                return RateLimited(left, is_global)
        return None

    def _over_rate(self, route: str, place: str) -> RateLimited | None:
        """Counts a request against its bucket."""
        if route not in self.buckets:
            return None
        limit, seconds = self.buckets[route]
        spent, now = self._spent[place], time.monotonic()
        while spent and spent[0] <= now - seconds:
            spent.popleft()
        if len(spent) < limit:
            spent.append(now)
            return None
        limited = RateLimited(spent[0] + seconds - now)
        self.injected.append((route, limited))
        return limited
