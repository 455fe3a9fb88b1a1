"""Whether a late event loop is logged, and threads and the garbage collector make way for it."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time

from bots.process import SWITCH_INTERVAL, beside, favor_loop, measure_lag


async def test_a_blocked_loop_is_logged_with_the_delay(caplog):
    caplog.set_level(logging.INFO, "bots.process")

    async with beside(measure_lag()):
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - what must not happen
        await asyncio.sleep(0.06)

    (record,) = caplog.records
    assert record.most_ms >= 200
    assert record.p99_ms <= record.most_ms


def test_threads_and_garbage_collection_make_way_only_while_a_bot_serves():
    gc.unfreeze()  # what was collected before the first test
    before, frozen = sys.getswitchinterval(), gc.get_freeze_count()

    with favor_loop():
        assert sys.getswitchinterval() < SWITCH_INTERVAL * 1.01
        assert gc.get_freeze_count() > frozen

    assert sys.getswitchinterval() == before
    assert gc.get_freeze_count() == frozen
