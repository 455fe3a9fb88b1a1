"""A bot that was moved to PostgreSQL, and back, goes on as if nothing had happened."""

from __future__ import annotations

import asyncio
import re

import pytest
from fakes.fork_server import PIPE, start_python
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PATIENCE, environment, served, workspace
from fakes.slack import Hang
from fakes.web_servers import FakeSearXNG

TIME = re.compile(r"in [\d.]+ m?s")


async def run(office, *arguments):
    """The exit code of a command, and what it says."""
    process = await start_python(
        *("-m", "bots", *arguments),
        cwd=office.folder,
        env=environment(office.folder) | office.settings,
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, f"{out.decode()}{err.decode()}"


async def succeed(office, *arguments):
    code, told = await run(office, *arguments)
    assert code == 0, told


@pytest.fixture
async def searxng(office):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


async def test_buttons_of_open_proposals_work_after_each_move(office, slack, searxng, postgres_url):
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    await office.open()
    before = await slack.mention(ann, general, FERRY)
    (answer,) = await office.until_answered(before)
    asked = [await slack.mention(ann, general, CUP) for _ in range(2)]
    cards = [(await office.until_answered(each))[0] for each in asked]
    undecided = cards[0].revisions[-1]
    beside = await run(office, "move", "--to", postgres_url)
    await office.stop()

    await succeed(office, "move", "--to", postgres_url)
    office.settings["DATABASE_URL"] = postgres_url
    await office.open()
    again = await slack.mention(ann, general, FERRY)
    (same,) = await office.until_answered(again)
    await slack.press(cards[0], "approve", ann)
    _, found = await office.until_answered(asked[0], 2)
    in_use = await run(office, "move", "--to", "back")
    await office.stop()

    await succeed(office, "move", "--to", "back")
    office.settings["DATABASE_URL"] = ""
    office.settings["DATA_DIR"] = "back"
    await office.open()
    await slack.press(cards[0], "approve", ann, as_seen=undecided)  # it was decided before the move
    await slack.press(cards[1], "approve", ann)
    _, also_found = await office.until_answered(asked[1], 2)

    assert (beside[0], in_use[0]) == (2, 2)
    assert "is using" in beside[1]
    assert "is served by a process" in in_use[1]
    assert FERRY_ANSWER in answer.visible
    assert TIME.sub("", same.visible) == TIME.sub("", answer.visible)
    assert "France" in found.visible
    assert "France" in also_found.visible
    assert len(searxng.requests) == 2
    assert len(slack.replies(general, before.ts)) == 1  # nothing that was answered is answered anew
    assert len(slack.finals(general, asked[0].ts)) == 2
    assert (slack.rejected, office.faults) == ([], [])


@pytest.fixture
async def cut_off(office, slack, ann, general):
    """A question whose turn was killed on its way to the messenger."""
    await office.open()
    slack.faults.queue("agents.sessions.setStatus", Hang())
    asked = await slack.mention(ann, general, FERRY)
    await slack.until(lambda: slack.faults.injected)
    await office.kill()
    await slack.until(lambda: not slack.sockets.live)
    return asked


@pytest.mark.parametrize("moves", [1, 2])
async def test_a_turn_that_a_kill_cut_off_is_answered_once_after_the_move(
    office, slack, cut_off, postgres_url, moves
):
    await succeed(office, "move", "--to", postgres_url)
    office.settings["DATABASE_URL"] = postgres_url
    if moves == 2:
        await succeed(office, "move", "--to", "back")
        office.settings |= {"DATABASE_URL": "", "DATA_DIR": "back"}

    await office.open()
    await slack.redeliver()
    (answer,) = await office.until_answered(cut_off)

    assert FERRY_ANSWER in answer.visible
    assert len(slack.replies(cut_off.channel, cut_off.ts)) == 1


async def test_what_was_asked_before_the_move_counts_in_the_rate(office, slack, ann, general, postgres_url):
    office.settings["QUESTIONS_PER_PERSON"] = "2/day"
    await office.open()
    for _ in range(2):
        await office.until_answered(await slack.mention(ann, general, FERRY))
    await office.stop()

    await succeed(office, "move", "--to", postgres_url)
    office.settings["DATABASE_URL"] = postgres_url
    await office.open()
    await slack.mention(ann, general, FERRY)
    (refusal,) = await slack.until(lambda: slack.ephemerals(ann))

    assert "You have asked 2 questions within one day" in refusal.visible


async def test_an_installed_workspace_is_served_after_each_move(installable, slack, postgres_url):
    office = installable
    await served(office, slack)
    _, eve, channel = await workspace(office, slack, "globex")
    await office.stop()

    await succeed(office, "move", "--to", postgres_url)
    office.settings["DATABASE_URL"] = postgres_url
    await served(office, slack)
    (answer,) = await office.until_answered(await slack.mention(eve, channel, FERRY))
    await office.stop()
    await succeed(office, "move", "--to", "back")
    office.settings |= {"DATABASE_URL": "", "DATA_DIR": "back"}
    await served(office, slack)
    (same,) = await office.until_answered(await slack.mention(eve, channel, FERRY))

    assert FERRY_ANSWER in answer.visible
    assert FERRY_ANSWER in same.visible
