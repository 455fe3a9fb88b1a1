"""What the disk does not take yet: tried until it does, and told of to whoever waits."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from core.turns.disk_watch import DiskWatch

UNTOLD = 1.5  # seconds that nobody is told: a press is to be answered within three
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries; doubled each time

T = TypeVar("T")


async def written(disk: DiskWatch, write: Callable[..., T], *values: Any) -> T:
    """What ``write`` gives back; as long as the disk takes nothing, again, as the queue does by itself."""
    pause = FIRST_PAUSE
    while True:
        try:
            return write(*values)
        except sqlite3.Error as trouble:
            if not disk.is_passing(trouble):
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


async def tell_what_keeps(taking: asyncio.Task[Any], disk: DiskWatch, tell: Callable[[str], None]) -> None:
    """Why, until it is done or told of; SQLite itself waits some seconds for another program before it says so."""
    while not taking.done():
        await asyncio.wait([taking], timeout=UNTOLD)
        if not taking.done() and disk.trouble:
            tell(disk.trouble)
            return
