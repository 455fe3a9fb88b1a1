"""Which turns compute, and who gives way to them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from core import priority as at_work
from core.priority import computing, give_way, is_anybody_computing, waiting


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch):
    monkeypatch.setattr(at_work, "LONGEST_WAY", 60.0)


def test_nobody_gives_way_to_nobody():
    give_way()

    assert not is_anybody_computing()


def test_work_gives_way_until_the_turn_has_ended():
    done = []

    def work() -> None:
        give_way()
        done.append("work")

    with computing():
        thread = threading.Thread(target=work)
        thread.start()
        done.append("turn")
    thread.join()

    assert done == ["turn", "work"]


def test_work_goes_on_while_a_turn_waits_for_a_model():
    with computing():
        with waiting():
            give_way()
            is_computing = is_anybody_computing()
        was_back = is_anybody_computing()

    assert (is_computing, was_back, is_anybody_computing()) == (False, True, False)


def test_a_turn_that_never_ends_keeps_no_work_from_being_done(monkeypatch):
    monkeypatch.setattr(at_work, "LONGEST_WAY", 0.001)

    with computing():
        give_way()

        assert is_anybody_computing()


def test_it_gives_way_to_each_of_several_turns():
    with computing():
        with computing(), waiting():
            assert is_anybody_computing()
        assert is_anybody_computing()


async def test_calls_side_by_side_are_one_wait():
    """A turn asks two models at once, each in a task of its own. The second answers later."""
    first, second = asyncio.Event(), asyncio.Event()
    seen = []

    async def ask(answer: asyncio.Event) -> None:
        with waiting():
            await answer.wait()
        seen.append(is_anybody_computing())

    with computing():
        asking = asyncio.gather(ask(first), ask(second))
        await asyncio.sleep(0)
        first.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        second.set()
        await asking

    assert seen == [False, True]


async def test_a_call_that_outlives_its_turn_leaves_nothing_behind():
    answer = asyncio.Event()

    async def ask() -> None:
        with waiting():
            await answer.wait()

    with computing():
        asking = asyncio.create_task(ask())
        await asyncio.sleep(0)
    answer.set()
    await asking

    assert not is_anybody_computing()


def test_a_call_of_no_turn_changes_nothing():
    with waiting():
        assert not is_anybody_computing()
    assert not is_anybody_computing()
