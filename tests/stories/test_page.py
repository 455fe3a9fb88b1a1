"""The operators' page beside a bot, on both databases, and over a kill: what it shows of chat, and what it starts there."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager, closing
from functools import partial

import pytest
from fakes.desk import Browser
from fakes.gemini import FakeGemini, Hang
from fakes.ports import free_port
from fakes.served import (
    FERRY,
    FERRY_ANSWER,
    PONTOON,
    PONTOON_ANSWER,
    SHORT_LEASES,
    environment,
    index_handbook,
)
from fakes.served_page import LINK, ServedPage, seen
from fakes.stages import BeginChat, in_discord, in_slack

from bots.process import NO_FILE_LEFT

SLIP = "Who may use the slipway in winter?"  # the handbook does not say
FILES, HALVES = 512, 600  # files that the process may open, and half requests to its page
LOG_OF_A_QUESTION = 100_000  # characters, at its most talkative
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
KEPT = "In winter the slipway may be used by the rescue boat only."
GAP = re.compile(r'data-row href="(/gaps/[^"?]+)')


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / "home")


@asynccontextmanager
async def page_beside(served, tmp_path):
    """Another process that serves the page of the same stores."""
    (tmp_path / "page").mkdir()
    stores = {"DATA_DIR": str(served.folder / ".footnote")}
    async with ServedPage(folder=tmp_path / "page", settings={**served.settings, **stores}) as page:
        await page.open()
        yield page


def id_of(user):
    return str(getattr(user, "id", user))


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_person_is_asked_about_a_gap_once_in_the_thread_of_its_newest_question(
    begin: BeginChat, folder, tmp_path
):
    async with begin(folder, {}) as stage:
        stage.served.is_troubled = begin is in_discord  # it says that the thread is there already
        await stage.ask(SLIP)
        await stage.begin_anew("Who may use the slipway in the winter?")
        async with page_beside(stage.served, tmp_path) as page:
            gap = GAP.findall(await page.until_shows("/gaps", "slipway"))[0]
            nobody_set = await page.browser.post(gap, state="consult")
            stage.served.settings["EXPERTS"] = id_of(stage.bob)
            await stage.kill_and_open()

            status, _, headers = await page.browser.post(gap, state="consult")
            request = await stage.until_answered()
            again = await page.browser.post(gap, state="consult")
            shown = await page.until_shows("/gaps?state=asked", "slipway")

    assert (nobody_set[0], "EXPERTS names nobody" in nobody_set[1]) == (409, True)
    assert (status, headers["Location"]) == (303, "/gaps?days=7&done=decided")
    assert ("bob" in request, "the winter?" in request) == (True, True)
    assert (again[0], "asked about this already" in again[1]) == (409, True)
    assert len(GAP.findall(shown)) == 1


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_questions_and_traces_show_names_and_no_ids(begin: BeginChat, folder, tmp_path):
    async with begin(folder, {}) as stage:
        await stage.ask(FERRY)
        async with page_beside(stage.served, tmp_path) as page:
            listed = await page.until_shows("/questions", "general</a>")
            trace = re.findall(r'data-row href="(/questions/[^"]+)', listed)[0]
            _, shown = await page.browser.get(trace)
            _, of_ann = await page.browser.get("/questions?author=ann&channel=general")
            _, of_bob = await page.browser.get("/questions?author=bob")
        ann = id_of(stage.ann)

    assert ">ann</a>" in listed
    assert "<dd>ann</dd>" in shown
    assert ">general</dd>" in shown
    assert [f">{ann}<" in page for page in (listed, shown)] == [False, False]
    assert [FERRY in page for page in (of_ann, of_bob)] == [True, False]


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_the_page_tells_machines_whether_anybody_answers(begin: BeginChat, folder, tmp_path):
    async with begin(folder, {}) as stage, page_beside(stage.served, tmp_path) as page:
        ready = await page.browser.get("/readyz")
        await stage.served.kill()
        gone = await page.browser.get("/readyz")
        asked = await page.browser.post("/gaps/none", state="consult")
        await stage.served.open()
        back = await page.until_shows("/readyz", "ok")

    assert ready == (200, "ok\n")
    assert (gone[0], "No Footnote is running" in gone[1]) == (503, True)
    assert asked[0] == 404
    assert back == "ok\n"


@pytest.mark.parametrize("database", ["folder", "postgresql"])
async def test_a_question_of_the_page_is_answered_once_over_a_kill(database, request, folder, tmp_path):
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else ""
    if url:
        index_handbook(folder, url)
    async with FakeGemini() as gemini:
        settings = {
            "GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url, "DATABASE_URL": url,
        }  # fmt: skip
        async with ServedPage(folder=folder, settings=settings) as page:
            page.constants |= SHORT_LEASES
            await page.open()
            gemini.queue("write", Hang())
            _, _, headers = await page.browser.post("/threads", text=PONTOON)
            thread = headers["Location"].partition("#")[0]
            await gemini.until_step("write")
            _, before = await page.browser.get(thread)
            await page.kill()
            await page.open()
            after = await page.until_shows(thread, PONTOON_ANSWER)
            logged = await page.until_shows("/questions", "answered</span>")

    assert ('role="status"' in before, PONTOON_ANSWER in before) == (True, False)
    assert (after.count("<article"), after.count("<h2>")) == (1, 1)
    assert logged.count("data-row") == 1
    assert gemini.rejected == []


async def test_what_is_asked_while_nobody_serves_waits_and_is_answered_once(folder, tmp_path):
    async with in_slack(folder, {}) as stage, page_beside(stage.served, tmp_path) as page:
        await stage.served.kill()
        _, _, headers = await page.browser.post("/threads", text=FERRY)
        thread = headers["Location"].partition("#")[0]
        _, waiting = await page.browser.get(thread)
        await stage.served.open()
        answered = await page.until_shows(thread, FERRY_ANSWER)
        await page.until_shows("/questions", FERRY)
        with closing(sqlite3.connect(folder / ".footnote" / "questions.sqlite")) as database:
            ((logged,),) = database.execute("SELECT count(*) FROM questions").fetchall()

    assert "Waiting…" in waiting
    assert answered.count("<article") == 1
    assert logged == 1


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_an_answer_kept_on_the_page_is_cited_in_chat_until_its_collection_is_closed(
    begin: BeginChat, folder, tmp_path
):
    async with begin(folder, {}) as stage:
        stage.served.is_troubled = begin is in_discord
        await stage.ask(SLIP)
        async with page_beside(stage.served, tmp_path) as page:
            gap = GAP.findall(await page.until_shows("/gaps", "slipway"))[0]
            kept = {"question": SLIP, "text": KEPT, "collection": "default"}
            await page.browser.post(gap, state="written", **kept)
            cited = await stage.begin_anew(SLIP)
            await footnote(folder, "access", "default", "--nobody")
            closed = await stage.begin_anew(SLIP)
            newest = re.findall(
                r'data-row href="(/questions/[^"]+)', (await page.browser.get("/questions"))[1]
            )[0]
            _, trace = await page.browser.get(newest)
            gaps = await page.until_shows("/gaps?since=30d", "slipway")

    assert (KEPT in cited, "Olga" in cited) == (True, True)
    assert [KEPT in each for each in (closed, trace, gaps)] == [False, False, False]


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_reply_that_is_kept_in_chat_closes_its_gap_until_it_is_forgotten(
    begin: BeginChat, folder, tmp_path
):
    async with begin(folder, {}) as stage:
        stage.served.is_troubled = begin is in_discord
        await stage.ask(SLIP)
        await stage.begin_anew("In winter, who may use the slipway?")
        async with page_beside(stage.served, tmp_path) as page:
            await page.until_shows("/gaps", "slipway")
            await stage.remark(stage.bob, KEPT)
            kept = await stage.ask_by_mention("keep")
            closed = await page.until_shows("/gaps", "There is no such group")
            gap = GAP.findall(await page.until_shows("/gaps?state=answered", "slipway"))[0]
            _, decided = await page.browser.get(gap)
            answer = re.findall(r'href="(/answers/[0-9a-f]+)', decided)[0]
            await page.browser.post(answer, change="forget", sure="yes")
            await page.until_shows("/gaps", "slipway")

    assert KEPT in kept
    assert "slipway" not in closed
    assert ("bob: answered" in decided, KEPT in decided) == (True, True)


async def footnote(folder, *words):
    """A command beside what serves this folder."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bots", *words, cwd=folder, env=environment(folder),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


@asynccontextmanager
async def half_requests(port, number):
    """So many connections that never finish their request, as far as the server holds them."""
    opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(number)))
    for _, writer in opened:
        writer.write(HALF)
    yield
    for _, writer in opened:
        writer.close()


async def printed_links(served):
    return LINK.findall(served.log)


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_the_bot_answers_while_the_page_is_attacked_with_half_requests(begin: BeginChat, folder):
    async with begin(folder, {}) as stage:
        await stage.served.stop()
        port = free_port()
        stage.served.arguments, stage.served.files = ("run", "--page", str(port)), FILES
        await stage.served.open()
        await seen(partial(printed_links, stage.served))
        before = len(stage.served.log)
        async with half_requests(port, HALVES):
            answer = await stage.ask(FERRY)
            ready = await Browser(f"http://127.0.0.1:{port}").get("/readyz")
        logged = len(stage.served.log) - before

    assert FERRY_ANSWER in answer
    assert ready == (200, "ok\n")
    assert NO_FILE_LEFT not in stage.served.log
    assert logged < LOG_OF_A_QUESTION
