"""A proposed search that nobody decides in time: its card says so, whatever happens meanwhile, and nothing is sent."""

from __future__ import annotations

import asyncio
import re
import shutil

import pytest
from fakes.served import CUP, FRANCE
from fakes.served_page import ServedPage
from fakes.stages import BeginChat, at_terminal, in_discord, in_slack
from fakes.web_servers import FakeSearXNG

EXPIRED = "this search has expired. Nothing was sent to the web."
UNTIL = "It can be decided until"
OPEN = {"approve", "edit", "deny"}


@pytest.fixture
async def engine():
    async with FakeSearXNG([FRANCE]) as engine:
        yield engine


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / "home")


def settings(engine, *, expire):
    return {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url, "PROPOSALS_EXPIRE": expire}


async def until_expired(stage):
    platform = stage.slack if hasattr(stage, "slack") else stage.discord
    await platform.until(lambda: EXPIRED in stage.card.visible)


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_card_that_nobody_decides_says_once_that_it_expired_and_a_late_press_is_told(
    begin: BeginChat, engine, folder
):
    async with begin(folder, settings(engine, expire="2s")) as stage:
        asked = await stage.ask(CUP)
        offered = stage.buttons()
        await until_expired(stage)
        stage.served.is_troubled = True
        told = await stage.press_in_private("approve", stage.ann, as_asked=True)
        changes = [each for each in stage.card.revisions if EXPIRED in each.visible]

    assert UNTIL in asked
    assert offered >= OPEN
    assert not stage.buttons() & OPEN
    assert EXPIRED in told
    assert len(changes) == 1
    assert engine.requests == []


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_card_expires_though_the_process_was_killed_meanwhile(begin: BeginChat, engine, folder):
    async with begin(folder, settings(engine, expire="4s")) as stage:
        await stage.ask(CUP)
        await stage.kill_and_open()
        await until_expired(stage)

    assert not stage.buttons() & OPEN
    assert engine.requests == []


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_what_was_decided_in_time_does_not_expire(begin: BeginChat, engine, folder):
    async with begin(folder, settings(engine, expire="4s")) as stage:
        await stage.ask(CUP)
        said_no = await stage.say_no()
        thread = stage.card.visible
        await stage.begin_anew(CUP)
        await until_expired(stage)  # the earlier one would have expired before

    assert "said no" in said_no
    assert "said no" in thread
    assert EXPIRED not in thread


async def test_a_terminal_says_until_when_and_takes_no_yes_after_it(engine, folder):
    async with at_terminal(folder, settings(engine, expire="1s")) as stage:
        asked = await stage.ask(CUP)
        await asyncio.sleep(1.0)  # as long as it may be decided
        stage.terminal.press("y\r")
        said = await stage.terminal.until_idle()

    assert UNTIL in asked
    assert EXPIRED in " ".join(said.split())
    assert engine.requests == []


async def test_the_page_says_until_when_and_takes_no_yes_after_it(engine, folder):
    async with ServedPage(folder=folder, settings=settings(engine, expire="2s")) as page:
        await page.open()
        _, _, headers = await page.browser.post("/threads", text=CUP)
        thread = headers["Location"].partition("#")[0]
        asked = await page.until_shows(thread, UNTIL)
        proposal = re.search(r'name="proposal" value="(\w+)"', asked)[1]
        await asyncio.sleep(2.0)  # as long as it may be decided
        expired = await page.until_shows(thread, EXPIRED)
        await page.browser.post(f"{thread}/decision", proposal=proposal, verdict="approve", query="")
        late = await page.until_shows(thread, "Search the web.")

    assert 'name="verdict"' in asked
    assert 'name="verdict"' not in expired
    assert 'name="verdict"' not in late
    assert engine.requests == []
