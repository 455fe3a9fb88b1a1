"""What is said in one conversation is stored in the order in which it was said."""

from __future__ import annotations

import asyncio
import time

from core.turns.waiting import NAPS, Resequencer, wait_for_earlier

WINDOW = 0.05  # seconds


async def stored(resequencer, said_at, into, *, window=WINDOW, name=""):
    with resequencer.hold((said_at, name)):
        await wait_for_earlier(window)
        await resequencer.until_first((said_at, name))
        await asyncio.sleep(0)  # storing takes a while
        into.append(name or said_at)


async def test_what_comes_later_but_was_said_earlier_is_first():
    resequencer, order = Resequencer(), []

    await asyncio.gather(*(stored(resequencer, moment, order) for moment in (3.0, 1.0, 2.0)))

    assert order == [1.0, 2.0, 3.0]


async def test_moments_that_share_a_millisecond_keep_their_order():
    resequencer, order = Resequencer(), []
    moments = [1_790_000_000.123456 + number / 1_000_000 for number in range(5)]

    await asyncio.gather(*(stored(resequencer, moment, order) for moment in reversed(moments)))

    assert order == moments


async def test_of_the_same_moment_the_lesser_id_is_first_and_the_other_waits_for_it():
    resequencer, order = Resequencer(), []

    await asyncio.gather(*(stored(resequencer, 1.0, order, name=name) for name in ("m3", "m1", "m2")))

    assert order == ["m1", "m2", "m3"]


async def test_a_loop_that_was_held_up_reads_what_came_meanwhile_before_anything_is_stored():
    resequencer, order = Resequencer(), []

    async def read_in_many_steps():
        for _ in range(50):
            await asyncio.sleep(0)
        await stored(resequencer, 1.0, order)

    later = asyncio.create_task(stored(resequencer, 2.0, order))
    await asyncio.sleep(0)
    time.sleep(2 * WINDOW)  # noqa: ASYNC251 - the loop stands still, and both sockets fill
    await asyncio.gather(later, read_in_many_steps())

    assert order == [1.0, 2.0]


async def test_a_loop_that_is_always_late_holds_nothing_up_for_ever():
    rounds = 0

    async def hold_up():
        nonlocal rounds
        while True:
            rounds += 1
            time.sleep(WINDOW)  # noqa: ASYNC251 - so does a machine that has too much to do
            await asyncio.sleep(0)

    busy = asyncio.create_task(hold_up())
    await wait_for_earlier(WINDOW)
    busy.cancel()

    assert rounds <= 4 * NAPS


async def test_whoever_gives_up_a_place_without_being_stored_lets_the_others_go():
    resequencer, order = Resequencer(), []

    with resequencer.hold((1.0, "")):
        later = asyncio.create_task(stored(resequencer, 2.0, order, window=0.0))
        await asyncio.sleep(0)
        assert order == []
    await later

    assert order == [2.0]


async def test_nobody_waits_for_what_was_said_later():
    resequencer, order = Resequencer(), []

    with resequencer.hold((2.0, "")):
        await stored(resequencer, 1.0, order, window=0.0)

    assert order == [1.0]
