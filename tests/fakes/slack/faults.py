"""What can go wrong between an app and Slack, when a test says so."""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any


@dataclass(frozen=True)
class RateLimited:
    """429 with ``Retry-After``; nothing happened."""

    retry_after: int = 1  #: seconds, whole as Slack sends them


@dataclass(frozen=True)
class ServerError:
    """5xx with a page instead of JSON; nothing happened."""

    code: int = 503


@dataclass(frozen=True)
class Refusal:
    """``{"ok": false, "error": …}`` whatever was asked; nothing happened."""

    error: str


@dataclass(frozen=True)
class LostRequest:
    """The connection breaks before anything happens."""


@dataclass(frozen=True)
class LostResponse:
    """It happened, and the connection breaks before the reply."""


@dataclass(frozen=True)
class Hang:
    """Nothing more until ``faults.released`` is set; then all goes on as usual."""

    after_effect: bool = False


@dataclass(frozen=True)
class Slow:
    """It happens at once, the reply takes its time."""

    seconds: float


Fault = RateLimited | ServerError | Refusal | LostRequest | LostResponse | Hang | Slow


@dataclass
class Faults:
    """Faults by method (``chat.postMessage``, ``*`` for any): queued ones first, then by chance."""

    seed: int = 0
    chances: dict[str, Mapping[Fault, float]] = field(default_factory=dict)  #: method -> fault -> probability
    refresh_every: int = 0  #: envelopes a socket carries before Slack asks for a new one; 0: never
    drop_every: int = 0  #: envelopes a socket carries before it breaks; 0: never
    duplicate_chances: dict[str, float] = field(default_factory=dict)  #: kind of DUPLICATES -> probability

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.injected: list[tuple[str, Fault]] = []
        self._queued: dict[str, deque[Fault]] = defaultdict(deque)
        self._not_before: dict[str, float] = {}

    def queue(self, method: str, *faults: Fault) -> None:
        """What the next requests to a method meet; after them all is well again."""
        self._queued[method].extend(faults)

    def next(self, method: str) -> Fault | None:
        queued = self._queued[method] or self._queued["*"]
        fault = queued.popleft() if queued else self._by_chance(method)
        if fault is not None:
            self.injected.append((method, fault))
        return fault

    def _by_chance(self, method: str) -> Fault | None:
        drawn = self.random.random()
        for fault, chance in self.chances.get(method, self.chances.get("*", {})).items():
            drawn -= chance
            if drawn < 0:
                return fault
        return None

    def duplicates(self) -> list[str]:
        return [kind for kind, chance in self.duplicate_chances.items() if self.random.random() < chance]

    def promise(self, method: str, args: dict[str, Any], retry_after: int) -> None:
        """From now on this request, and others like it, are not welcome for so many seconds."""
        until = time.monotonic() + retry_after
        self._not_before |= {_request(method, args): until, _place(method, args): until}

    def too_early(self, method: str, args: dict[str, Any]) -> tuple[float, float]:
        """Seconds by which a request comes before its Retry-After is over, and before that of its like."""
        now = time.monotonic()
        same, alike = (
            self._not_before.get(key, now) for key in (_request(method, args), _place(method, args))
        )
        return max(0.0, same - now), max(0.0, alike - now)


def _place(method: str, args: dict[str, Any]) -> str:
    """What a rate limit is for: a method, in a channel where there is one."""
    return f"{method} in {args.get('channel', '')}"


def _request(method: str, args: dict[str, Any]) -> str:
    return f"{method} {json.dumps(args, sort_keys=True, default=str)}"
