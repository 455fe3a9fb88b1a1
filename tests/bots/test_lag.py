"""Whether a loop that keeps others waiting is told, and what is beside it gives way."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time

from bots.process import HAND_OVER, lag_watched, loop_first


async def test_a_loop_that_was_held_up_is_told_with_how_long(caplog):
    caplog.set_level(logging.INFO, "bots.process")

    async with lag_watched():
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - what must not happen
        await asyncio.sleep(0.06)

    (told,) = caplog.records
    assert told.most_ms >= 200
    assert told.p99_ms <= told.most_ms


def test_what_is_beside_the_loop_gives_way_only_where_others_are_served():
    before, frozen = sys.getswitchinterval(), gc.get_freeze_count()

    with loop_first():
        assert sys.getswitchinterval() < HAND_OVER * 1.01
        assert gc.get_freeze_count() > frozen

    assert sys.getswitchinterval() == before
    assert gc.get_freeze_count() == frozen
