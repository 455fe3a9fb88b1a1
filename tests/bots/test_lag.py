"""Whether a loop that keeps others waiting is told."""

from __future__ import annotations

import asyncio
import logging
import time

from bots.lag import lag_watched


async def test_a_loop_that_was_held_up_is_told_with_how_long(caplog):
    caplog.set_level(logging.INFO, "bots.lag")

    async with lag_watched():
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - what must not happen
        await asyncio.sleep(0.06)

    (told,) = caplog.records
    assert told.most_ms >= 200
    assert told.p99_ms <= told.most_ms
