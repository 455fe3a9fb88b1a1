"""The server of these tests: whatever becomes of them, nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from fakes.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
TESTS = """
from fakes.postgres import PostgresServer

with PostgresServer.started(in_memory=True) as server:
    print(server.folder, server.data, flush=True)
    input()
"""


async def test_it_leaves_no_file_where_the_tests_are_killed():
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    tests = await asyncio.create_subprocess_exec(
        sys.executable, "-c", TESTS, env={**os.environ, "PYTHONPATH": path}, **given
    )
    async with asyncio.timeout(PATIENCE):
        places = [Path(place) for place in (await tests.stdout.readline()).decode().split()]
    were_there = [place.is_dir() for place in places]

    tests.kill()
    await tests.communicate()
    async with asyncio.timeout(PATIENCE):
        while any(place.exists() for place in places):  # noqa: ASYNC110 - another process deletes them
            await asyncio.sleep(0.02)

    assert were_there == [True, True]
