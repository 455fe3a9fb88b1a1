"""Which runs speak against a turn whose process died under it, and how one runs alone."""

from __future__ import annotations

import asyncio

import pytest

from core.turns.waiting import ALONE, CUT_OFF, LoneRuns, Seats, TurnRun

HERE, FURTHER = "a checkpoint", "a later one"


@pytest.mark.parametrize(
    ("attempt", "stops", "is_suspect"),
    [(1, 0, False), (2, 0, False), (3, 0, True), (4, 1, True), (9, 7, False)],
)
def test_a_turn_is_suspected_after_two_runs_that_no_stop_cut_off(attempt, stops, is_suspect):
    assert TurnRun(attempt=attempt, stops=stops).is_suspect is is_suspect


def runs_alone(places, *, stops=(0,) * 9):
    """The runs of a turn that was suspected, each cut off but the last one; of places and stops until each."""
    run = TurnRun(attempt=CUT_OFF + 1)
    for place, stop in zip(places, stops, strict=False):
        run = TurnRun(attempt=run.attempt + 1, stops=stop, lone=run.lone).begin_at(place)
        yield run


def test_a_turn_is_given_up_once_as_many_runs_alone_came_no_further():
    *before, last = runs_alone([HERE] * (ALONE + 1))

    assert [run.is_hopeless for run in (*before, last)] == [False] * ALONE + [True]


def test_a_turn_that_came_further_begins_to_be_counted_anew():
    runs = list(runs_alone([HERE, HERE, FURTHER, FURTHER, FURTHER, FURTHER]))

    assert [run.lone.count for run in runs[:-1]] == [1, 2, 1, 2, 3]
    assert [run.is_hopeless for run in runs] == [False] * 5 + [True]


def test_a_stop_of_the_process_does_not_count_against_the_turn_that_runs_alone():
    runs = runs_alone([HERE] * 6, stops=[0, 1, 2, 3, 3, 3])

    assert [run.lone.count for run in runs] == [1, 1, 1, 1, 2, 3]


def test_what_was_stored_of_runs_is_read_again():
    run = TurnRun.from_claim(5, "me", {"stops": 2, "alone": {"place": HERE, "count": 1, "stops": 1}})

    assert run == TurnRun(attempt=5, executor="me", stops=2, lone=LoneRuns(place=HERE, count=1, stops=1))


async def settle():
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


class Thinker:
    """Takes a seat, or all of them, until it is told to end."""

    def __init__(self, seats, **alone):
        self.thinks, self.told, self._end = False, [], asyncio.Event()
        taking = seats.all_taken(**alone) if alone else seats.take(self.told.append)
        self._task = asyncio.create_task(self._think(taking))

    async def _think(self, taking):
        async with taking:
            self.thinks = True
            await self._end.wait()
        self.thinks = False

    async def end(self):
        self._end.set()
        await self._task
        await settle()

    async def cancel(self):
        self._task.cancel()
        await asyncio.wait([self._task])
        await settle()


async def test_nothing_thinks_beside_a_turn_that_runs_alone_and_what_comes_later_waits_in_line():
    seats = Seats(3)
    before = Thinker(seats)
    await settle()
    alone = Thinker(seats, seconds=60.0)
    await settle()
    later = Thinker(seats)
    await settle()
    assert (before.thinks, alone.thinks, later.thinks) == (True, False, False)

    await before.end()
    assert (alone.thinks, later.thinks) == (True, False)
    assert [progress.stage for progress in later.told] == ["waiting"]

    await alone.end()
    assert later.thinks


async def test_two_turns_run_alone_one_after_the_other():
    seats = Seats(3)
    first = Thinker(seats, seconds=60.0)
    await settle()
    second = Thinker(seats, seconds=60.0)
    await settle()
    assert (first.thinks, second.thinks) == (True, False)

    await first.end()
    assert second.thinks


async def test_a_turn_that_takes_long_alone_lets_others_think_beside_it():
    seats = Seats(3)
    alone = Thinker(seats, seconds=0.0)
    later = Thinker(seats)
    while not later.thinks:  # noqa: ASYNC110 - the loop's timer is what is waited for
        await asyncio.sleep(0)

    assert alone.thinks


async def test_whoever_is_cut_off_while_it_waits_to_run_alone_holds_nobody_up():
    seats = Seats(3)
    before = Thinker(seats)
    await settle()
    alone = Thinker(seats, seconds=60.0)
    await settle()
    later = Thinker(seats)
    await settle()

    await alone.cancel()

    assert (before.thinks, later.thinks) == (True, True)
