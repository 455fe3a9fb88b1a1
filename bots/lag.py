"""How long the event loop keeps everybody waiting, told once a minute."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil

logger = logging.getLogger(__name__)

BETWEEN = 0.05  # seconds between two looks
TOLD_EVERY = 60.0  # seconds
SHARE = 0.99


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
