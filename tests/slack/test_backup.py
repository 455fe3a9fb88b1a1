"""A bot that was backed up while it served goes on from the archive as if nothing had happened."""

from __future__ import annotations

import asyncio
import re
import shutil

import pytest
from fakes.fork_server import PIPE, start_python
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PATIENCE, environment
from fakes.web_servers import FakeSearXNG

TIME = re.compile(r"in [\d.]+ m?s")


async def run(office, *arguments):
    """What the command says, and its exit code."""
    process = await start_python(
        *("-m", "bots", *arguments),
        cwd=office.folder,
        env=environment(office.folder),
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, f"{out.decode()}{err.decode()}"


@pytest.fixture
async def searxng(office):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


async def test_a_restored_bot_answers_alike_and_the_button_of_an_open_proposal_works(
    office, slack, searxng, ann, general
):
    await office.open()
    before = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(before)
    asked = await slack.mention(ann, general, CUP)
    (card,) = await office.until_answered(asked)

    backed_up = await run(office, "backup", "all.footnote")
    refused = await run(office, "restore", "all.footnote")
    await office.stop()
    shutil.rmtree(office.folder / ".footnote")
    restored = await run(office, "restore", "all.footnote")
    await office.open()
    again = await slack.mention(ann, general, FERRY)
    (same,) = await office.until_answered(again)
    await slack.press(card, "approve", ann)
    _, found = await office.until_answered(asked, 2)

    assert (backed_up[0], restored[0], refused[0]) == (0, 0, 2)
    assert "is using" in refused[1]
    assert FERRY_ANSWER in answer.visible
    assert TIME.sub("", same.visible) == TIME.sub("", answer.visible)
    assert "France" in found.visible
    assert len(searxng.requests) == 1
    assert len(slack.replies(general, before.ts)) == 1  # nothing that was answered is answered anew
    assert (slack.rejected, office.faults) == ([], [])
