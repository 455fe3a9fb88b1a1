"""How long the event loop keeps everybody waiting: told once a minute, and kept short."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import ceil

from core.library.throttle import others_first

logger = logging.getLogger(__name__)

BETWEEN = 0.05  # seconds between two looks
TOLD_EVERY = 60.0  # seconds
SHARE = 0.99
OFTEN = (700, 10, 10)  # Python's own: many short rounds of the garbage collector, none of them felt
HAND_OVER = 0.0005  # seconds after which a thread that computes lets the loop go on; Python's own are .005


@contextmanager
def loop_first() -> Iterator[None]:
    """Keep what is beside the loop from holding it up.

    What was built so far lives as long as the process: the garbage collector leaves it out of its rounds,
    which would look through 220,000 objects for 150 ms. And threads that compute hand over sooner.
    """
    gc.collect()
    gc.freeze()
    loading = gc.get_threshold()
    gc.set_threshold(*OFTEN)
    switching = sys.getswitchinterval()
    sys.setswitchinterval(HAND_OVER)
    try:
        with others_first():
            yield
    finally:
        sys.setswitchinterval(switching)
        gc.set_threshold(*loading)
        gc.unfreeze()


@asynccontextmanager
async def lag_watched() -> AsyncIterator[None]:
    """Log, at the level of information, by how much the loop was late in the last minute."""
    watching = asyncio.create_task(_watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])


async def _watch() -> None:
    loop = asyncio.get_running_loop()
    late: list[float] = []
    told = loop.time()
    try:
        while True:
            due = loop.time() + BETWEEN
            await asyncio.sleep(BETWEEN)
            late.append(loop.time() - due)
            if loop.time() - told >= TOLD_EVERY:
                _tell(late)
                late, told = [], loop.time()
    finally:
        _tell(late)


def _tell(late: list[float]) -> None:
    if late:
        ordered = sorted(late)
        p99 = ordered[ceil(SHARE * len(ordered)) - 1]
        logger.info(
            "the event loop was late",
            extra={"p99_ms": round(1000 * p99, 1), "most_ms": round(1000 * ordered[-1], 1)},
        )
