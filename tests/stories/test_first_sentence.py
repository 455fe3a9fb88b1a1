"""The first sentences of an answer stand in the thread while the rest is written: checked, and once."""

from __future__ import annotations

import asyncio
import random
import shutil

import pytest
from fakes.drafts import blocks_of
from fakes.gemini import FakeGemini, Paused, default_reply
from fakes.served import PATIENCE, ingest
from fakes.served_page import ServedPage
from fakes.stages import at_terminal, in_discord, in_slack

QUESTION = "When do the ferries to the island leave, and what do they cost?"
FIRST, SECOND, FALSE, LAST = (
    "The ferry to the island leaves at nine.", "It costs twelve euros.", "Dogs pay twice.", "Children travel free.",
)  # fmt: skip
PAGE = f"# Island\n\n{FIRST} {SECOND} {LAST} Bicycles stay on the pontoon.\n"
DRAFT = f"{FIRST} [1] {SECOND} [1] {FALSE} [1] {LAST} [1]"


class Writer:
    """A model that stops in the middle of its answer; a judge that finds the false sentence."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()
        self.drafts: list[str] = []  #: of which only the last settles the question

    def __call__(self, step, call):
        if step == "write":
            strip = next(block.number for block in blocks_of(call.prompt, ["strip"]) if FIRST in block.text)
            draft = self.drafts.pop(0) if self.drafts else DRAFT
            text = draft.replace("[1]", f"[{strip}]")
            return Paused(text, at=len(FIRST) + 12, goes_on=self.goes_on)
        if step in ("grounding", "confirm"):
            judged = blocks_of(call.prompt, ["sentence"])
            against = [one.number for one in judged if FALSE in one.text]
            return {"unsupported" if step == "grounding" else "unstated": against}
        return {"useful": not self.drafts} if step == "usefulness" else default_reply(call)


@pytest.fixture
def writer():
    return Writer()


@pytest.fixture
async def gemini(writer):
    async with FakeGemini(reply=writer) as gemini:
        yield gemini
        assert gemini.rejected == []


@pytest.fixture
def home(template, tmp_path):
    home = shutil.copytree(template, tmp_path / "home")
    (home / "island.md").write_text(PAGE)
    ingest(home, "island.md")
    return home


@pytest.fixture
def settings(gemini):
    return {"GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url, "WEB_SEARCH": "off"}


@pytest.fixture(params=[in_slack, in_discord], ids=["slack", "discord"])
async def stage(request, home, settings):
    async with request.param(home, settings, {"bots.chat.messenger:BETWEEN": 0.1}) as stage:
        yield stage


def begins(seen: str) -> int:
    """How many messages begin with the answer; quotes of it begin with a quotation mark."""
    return sum(line.startswith(FIRST) for line in seen.splitlines())


async def until(seen, is_met):
    async with asyncio.timeout(PATIENCE):
        while not is_met(seen()):  # noqa: ASYNC110 - the state of a platform is what is waited for
            await asyncio.sleep(0.02)


async def test_it_stands_there_while_the_rest_is_written_and_the_end_goes_on_from_it(stage, writer):
    asking = asyncio.create_task(stage.ask(QUESTION))
    await until(stage.in_sight, begins)

    assert FALSE not in stage.in_sight()
    assert LAST not in stage.in_sight()
    writer.goes_on.set()
    answer = await asking

    assert FALSE not in answer
    assert answer.index(FIRST) < answer.index(SECOND) < answer.index(LAST)
    assert begins(stage.in_sight()) == 1


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)], ids=["a few", "many"])
async def test_a_process_that_is_killed_meanwhile_leaves_one_answer(stage, writer, kills):
    chance, stage.served.is_troubled = random.Random(1), True  # what was begun is refused a second time
    for _ in range(kills):
        writer.goes_on.clear()
        asking = asyncio.create_task(stage.begin_anew(QUESTION))
        await asyncio.sleep(0)  # it leaves the thread before
        await until(stage.in_sight, begins)

        await asyncio.sleep(chance.uniform(0.0, 0.1))  # so that it is killed at any step
        if chance.random() < 0.5:
            writer.goes_on.set()
        await stage.kill_and_open()
        writer.goes_on.set()
        answer = await asking

        assert LAST in answer
        assert FALSE not in answer
        await until(stage.in_sight, lambda seen: begins(seen) == 1)


async def test_another_draft_takes_the_place_of_what_stood_there(stage, writer):
    writer.drafts = [f"{FIRST} [1] {FALSE} [1]", f"{SECOND} [1] {LAST} [1]"]

    asking = asyncio.create_task(stage.ask(QUESTION))
    await until(stage.in_sight, begins)
    writer.goes_on.set()
    answer = await asking

    assert answer.startswith(SECOND)
    await until(stage.in_sight, lambda seen: begins(seen) == 0)


async def test_at_a_terminal_it_stands_above_the_progress_until_the_end(home, settings, writer):
    async with at_terminal(home, settings) as stage:
        asking = asyncio.create_task(stage.ask(QUESTION))
        await until(lambda: stage.terminal.written, lambda seen: FIRST in seen)
        meanwhile = stage.terminal.written
        writer.goes_on.set()
        answer = await asking

    assert LAST not in meanwhile
    assert "Writing…" in meanwhile.split(FIRST)[-1]
    assert LAST in answer
    assert FALSE not in meanwhile


async def test_on_the_page_it_stands_with_its_quote_above_the_progress_until_the_end(home, settings, writer):
    async with ServedPage(folder=home, settings=settings) as page:
        await page.open()
        _, _, headers = await page.browser.post("/threads", text=QUESTION)
        thread = headers["Location"].partition("#")[0]
        meanwhile = await page.until_shows(thread, FIRST)
        writer.goes_on.set()
        ended = await page.until_shows(thread, "Answered in")
        assert await page.stop() == 0

    assert "island.md" in meanwhile
    assert "Writing…" in meanwhile
    assert "trace</a>" not in meanwhile
    assert LAST not in meanwhile.partition("<blockquote>")[0]
    assert FALSE not in meanwhile
    assert LAST in ended
    assert "Writing…" not in ended
