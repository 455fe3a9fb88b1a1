"""Processes that are killed in the middle of turns: none is lost, none is answered twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from fakes.fork_server import PIPE, start_python
from fakes.mortal import endings
from fakes.patience import PATIENCE

from core.turns.waiting import ALONE, CUT_OFF

TESTS = Path(__file__).resolve().parents[2]
MORTAL = TESTS / "fakes" / "mortal.py"
POINTS = (
    "before store", "after store", "before begin", "after begin", "plan", "grade", "write", "verify",
    "before deliver", "after deliver",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, empty_queue):
    shutil.copy(empty_queue, tmp_path)
    (tmp_path / "sink").mkdir()
    (tmp_path / "acknowledged").touch()
    return tmp_path


async def start(folder, point="none"):
    return await start_python(
        *(str(MORTAL), str(folder), point),
        cwd=folder,
        stdout=PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS)))},
    )


async def run_to_the_end(folder, point="none", patience=PATIENCE):
    process = await start(folder, point)
    await asyncio.wait_for(process.communicate(), patience)
    return process.returncode


def bring(folder, count):
    ids = [f"q{number}" for number in range(count)]
    (folder / "inbox").write_text("\n".join(ids))
    return ids


async def test_one_kill_after_another_at_every_point_leaves_each_turn_its_answer(folder):
    for number, point in enumerate(POINTS, start=1):
        ids = bring(folder, number)
        assert await run_to_the_end(folder, point) == -signal.SIGKILL
        (folder / "spent").unlink()

    assert await run_to_the_end(folder) == 0

    assert kinds(folder, ids) == dict.fromkeys(ids, "answered")


async def kills_until_the_end(folder, point):
    """How often the process dies at a point until it comes to its end."""
    for kills in range(2 * (CUT_OFF + ALONE)):
        if await run_to_the_end(folder, f"always {point}") == 0:
            return kills
    raise AssertionError("it dies on and on")


def kinds(folder, ids):
    """How each turn ended, which ended once."""
    found = {turn: endings(folder, turn) for turn in ids}
    return {turn: json.loads(each)["kind"] for turn, (each,) in found.items()}


@pytest.mark.parametrize("point", ["plan", pytest.param("verify", marks=pytest.mark.long)])
async def test_a_turn_that_kills_its_process_each_time_ends_in_an_apology(folder, point):
    ids = bring(folder, 1)

    assert await kills_until_the_end(folder, point) == CUT_OFF + ALONE

    assert kinds(folder, ids) == {"q0": "failed"}


@pytest.mark.parametrize(
    "point", ["write", *(pytest.param(each, marks=pytest.mark.long) for each in ("plan", "before answered"))]
)
async def test_a_turn_that_kills_its_process_is_given_up_and_none_that_ran_beside_it(folder, point):
    """Nor the one behind it in its conversation, q6."""
    ids = bring(folder, 9)

    assert await kills_until_the_end(folder, f"{point} of q2") == CUT_OFF + ALONE

    assert kinds(folder, ids) == {turn: "failed" if turn == "q2" else "answered" for turn in ids}


async def test_a_turn_that_gets_on_a_little_between_kills_is_not_given_up_however_many_there_are(folder):
    ids = bring(folder, 1)
    for point in ("plan", "write", "verify", "before deliver"):
        for _ in range(ALONE - 1):
            assert await run_to_the_end(folder, f"always {point}") == -signal.SIGKILL

    assert await run_to_the_end(folder) == 0

    assert kinds(folder, ids) == {"q0": "answered"}


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_at_any_point_costs_nothing(folder, point):
    ids = bring(folder, 2)
    assert await run_to_the_end(folder, point) == -signal.SIGKILL

    assert await run_to_the_end(folder) == 0

    for turn in ids:
        (ending,) = endings(folder, turn)
        assert json.loads(ending)["kind"] == "answered"


async def kill_at_random(folder, *, turns, kills, seed, patience=PATIENCE):
    """So many kills under load, each some moments after a process began to take turns."""
    chance = random.Random(seed)
    ids: list[str] = []
    for round_ in range(kills):
        ids = bring(folder, turns * (round_ + 1) // kills)
        process = await start(folder)
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        try:
            await asyncio.wait_for(process.wait(), chance.uniform(0.0, 0.8))
        except TimeoutError:
            process.kill()
        await process.communicate()
    assert await run_to_the_end(folder, patience=patience) == 0
    return ids


async def test_random_kills_lose_and_double_nothing(folder):
    ids = await kill_at_random(folder, turns=20, kills=2, seed=1)

    assert len(ids) == 20
    assert {turn: len(endings(folder, turn)) for turn in ids} == dict.fromkeys(ids, 1)


@pytest.mark.long
async def test_two_hundred_random_kills_lose_and_double_nothing(folder):
    ids = await kill_at_random(folder, turns=2000, kills=200, seed=2, patience=900)

    assert len(ids) == 2000
    assert {turn: len(endings(folder, turn)) for turn in ids} == dict.fromkeys(ids, 1)
