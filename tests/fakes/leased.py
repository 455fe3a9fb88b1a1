"""A process with a lease, and what it is told to run."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.turns.leases import open_leases


@dataclass
class RecordingRunner:
    stopped: list[str] = field(default_factory=list)
    abandoned: int = 0
    names: list[str] = field(default_factory=list)
    living: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def stop_thinking(self, conversation):
        self.stopped.append(conversation)
        self.changed.set()
        return True

    def run_as(self, executor):
        self.names.append(executor)

    def take_over(self, living):
        self.living = set(living)

    async def abandon(self):
        self.abandoned += 1
        self.changed.set()


@asynccontextmanager
async def process(store):
    async with open_leases(store, "footnote run") as lease:
        yield lease
