"""A process that is killed between a person's decision and its search: at most one search for one press.

What nobody can know after a kill is whether a search that was on its way arrived. It is then
sent once more: the same query, which a person allowed, to the same engine. As soon as its
hits have come, they are written down, and it is not.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from fakes.fork_server import start_python
from fakes.mortal_press import ALLOWED, ASKED, PRESSED
from fakes.patience import PATIENCE

from core.graph.graph import build_graph
from core.turns.checkpoints import open_checkpoints

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, empty_queue):
    shutil.copy(empty_queue, tmp_path)
    (tmp_path / "sink").mkdir()
    return tmp_path


async def run_to_the_end(folder, point="none"):
    process = await start_python(
        *(str(TESTS / "fakes" / "mortal_press.py"), str(folder), point),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS)))},
    )
    await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode


def searches(folder):
    file = folder / "searches"
    return file.read_text().splitlines() if file.exists() else []


def endings(folder, turn):
    """What the sink shows of a turn in the end: the distinct states that replaced its first sign."""
    _first, *states = (folder / "sink" / f"{turn}.txt").read_text().splitlines()
    return [json.loads(state) for state in dict.fromkeys(states)]


async def verdict_stored(folder):
    """What the conversation's file says of its one proposal."""
    async with open_checkpoints(folder / "conversations.sqlite") as checkpoints:
        state = await build_graph(checkpoints).aget_state({"configurable": {"thread_id": "test/s/c/t"}})
    (proposal,) = state.values["proposals"]
    return proposal.verdict, proposal.allowed


async def test_killed_between_the_commit_of_a_decision_and_its_search_it_searches_once(folder):
    assert await run_to_the_end(folder, "decision committed") == -signal.SIGKILL
    assert await verdict_stored(folder) == ("approve", ALLOWED)
    assert searches(folder) == []

    assert await run_to_the_end(folder) == 0

    assert searches(folder) == [ALLOWED]
    assert [ending["kind"] for ending in endings(folder, ASKED)] == ["approval_needed"]
    (ending,) = endings(folder, PRESSED)
    assert ending["kind"] == "answered"
    assert "330 metres" in ending["text"]

    assert await run_to_the_end(folder) == 0

    assert searches(folder) == [ALLOWED]
    assert endings(folder, PRESSED) == [ending]


@pytest.mark.long
async def test_killed_while_its_search_is_on_its_way_it_is_sent_again_and_answers_once(folder):
    assert await run_to_the_end(folder, "search sent") == -signal.SIGKILL
    assert searches(folder) == [ALLOWED]

    assert await run_to_the_end(folder) == 0

    assert searches(folder) == [ALLOWED] * 2
    (ending,) = endings(folder, PRESSED)
    assert ending["kind"] == "answered"


async def test_killed_once_the_hits_have_come_it_does_not_search_again(folder):
    assert await run_to_the_end(folder, "hits came") == -signal.SIGKILL
    assert searches(folder) == [ALLOWED]

    assert await run_to_the_end(folder) == 0

    assert searches(folder) == [ALLOWED]
    (ending,) = endings(folder, PRESSED)
    assert (ending["kind"], "330 metres" in ending["text"]) == ("answered", True)
