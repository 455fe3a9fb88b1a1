"""What the Procfile tells a host to run, run as a host does: by a shell, stopped with SIGTERM."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from fakes.office import FERRY, FERRY_ANSWER, PATIENCE, environment
from fakes.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PROCFILE = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text(encoding="utf-8").splitlines())
COMMANDS = Path(sys.executable).parent  # where pip puts `footnote`


async def begin(office, name, **given):
    """Start what the Procfile has under this name."""
    place = {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    with (office.folder / "log").open("ab") as log:
        office.process = await asyncio.create_subprocess_exec(
            *("sh", "-c", f"exec {PROCFILE[name]}"),
            cwd=office.folder,
            env=environment(office.folder) | office.platforms | office.settings | place | given,
            stdout=log,
            stderr=log,
        )


async def test_a_worker_answers_and_ends_when_the_host_says_so(office, slack, ann, general):
    await begin(office, "worker")
    await office.until_connected()

    (answer,) = await office.until_answered(await slack.mention(ann, general, FERRY))

    assert FERRY_ANSWER in answer.visible
    assert await office.stop() == 0


async def test_the_web_process_listens_on_the_port_that_the_host_names(office, slack, ann, general):
    port = free_port()
    slack.request_url = f"http://127.0.0.1:{port}/slack/events"
    office.settings["SLACK_APP_TOKEN"] = ""
    await begin(office, "web", PORT=str(port))
    await slack.until(lambda: '"listening"' in office.log)

    (answer,) = await office.until_answered(await slack.mention(ann, general, FERRY))

    assert FERRY_ANSWER in answer.visible
    assert await office.stop() == 0


@pytest.fixture
def web(office):
    """The same command as of the Procfile, without the shell and the start of Python, which the others have."""
    _footnote, *arguments = PROCFILE["web"].split()
    office.arguments = tuple(arguments)
    return office


@pytest.mark.parametrize("port", ["", "eighty", "65536"])
async def test_a_port_that_is_none_or_missing_is_told(web, port):
    web.settings["PORT"] = port
    await web.open(is_connected=False)

    assert await asyncio.wait_for(web.process.wait(), PATIENCE) == 2
    assert "takes the port that PORT names" in web.log


async def test_a_web_process_is_refused_where_nothing_comes_over_http(web):
    web.settings |= {"SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": "", "DISCORD_TOKEN": "a-token"}
    web.settings["PORT"] = str(free_port())
    await web.open(is_connected=False)

    assert await asyncio.wait_for(web.process.wait(), PATIENCE) == 2
    assert "Discord needs no port" in web.log
