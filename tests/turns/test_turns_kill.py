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

TESTS = Path(__file__).resolve().parents[1]
MORTAL = TESTS / "fakes" / "mortal.py"
POINTS = (
    "before store", "after store", "before begin", "after begin", "plan", "grade", "write", "verify",
    "before deliver", "after deliver",
)  # fmt: skip
PATIENCE = 60  # seconds until a process that hangs fails its test


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
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "graph")))},
    )


async def run_to_the_end(folder, point="none", patience=PATIENCE):
    process = await start(folder, point)
    await asyncio.wait_for(process.communicate(), patience)
    return process.returncode


def bring(folder, count):
    ids = [f"q{number}" for number in range(count)]
    (folder / "inbox").write_text("\n".join(ids))
    return ids


def endings(folder, id):
    """What the sink shows of a turn in the end: the distinct states that replaced its first sign."""
    first, *states = (folder / "sink" / f"{id}.txt").read_text().splitlines()
    assert first == "…"
    return {json.dumps(json.loads(state), sort_keys=True) for state in states}


async def test_one_kill_after_another_at_every_point_leaves_each_turn_one_ending(folder):
    """What is cut off more than three times ends in an apology, everything else in its answer."""
    for number, point in enumerate(POINTS, start=1):
        ids = bring(folder, number)
        assert await run_to_the_end(folder, point) == -signal.SIGKILL
        (folder / "spent").unlink()

    assert await run_to_the_end(folder) == 0

    assert {turn: len(endings(folder, turn)) for turn in ids} == dict.fromkeys(ids, 1)


async def test_a_turn_that_kills_its_process_three_times_ends_in_an_apology(folder):
    (turn,) = bring(folder, 1)
    for _ in range(3):
        assert await run_to_the_end(folder, "always write") == -signal.SIGKILL

    assert await run_to_the_end(folder, "always write") == 0

    (ending,) = endings(folder, turn)
    assert json.loads(ending)["kind"] == "failed"


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
