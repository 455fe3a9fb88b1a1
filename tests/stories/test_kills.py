"""One process serves Slack and Discord, and is killed again and again: by a question, or from outside."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from fakes.cluster import READY, Replica
from fakes.crowd import WORLD_CUP, Crowd
from fakes.served import FERRY, FERRY_ANSWER, FRANCE, PATIENCE
from fakes.thoughts import WatchedModel
from fakes.web_servers import FakeSearXNG

from core.turns.waiting import ALONE, CUT_OFF

ENDING = 120.0  # seconds until what is not answered counts as lost
DEADLY = "Which dogs may enter the harbour?"  # no process survives that somebody asks the model about it
CUT_OFF_TOLD = "I was cut off"


@dataclass
class DeadlyModel(WatchedModel):
    """Kills whoever asks it about one question."""

    served: Replica | None = None

    async def _think(self, step, call):
        if self.served is not None and any(DEADLY in each for each in call.blocks("question")):
            self.served.process.kill()
        return await super()._think(step, call)


@dataclass(repr=False)
class Supervised(Replica):
    """The host starts the process anew whenever it has ended."""

    deaths: int = 0
    _starts: int = field(default=0)

    async def until_connected(self):
        self._starts += 1
        await self.slack.until(lambda: self.log.count(READY) >= self._starts)
        await self.discord.until(lambda: self.discord.gateway.live)

    async def until_dead(self):
        await self.process.wait()
        await self.slack.until(lambda: not self.slack.sockets.live)
        await self.discord.until(lambda: not self.discord.gateway.live)
        self.deaths += 1

    @asynccontextmanager
    async def kept_alive(self):
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _keep(self):
        while True:
            await self.until_dead()
            await self.open()


@pytest.fixture
async def model():
    async with DeadlyModel() as model:
        yield model


@pytest.fixture
async def engine():
    async with FakeSearXNG([FRANCE]) as engine:
        yield engine


@pytest.fixture
def platforms(slack, discord):
    slack.retries_by_itself, slack.retry_delays = True, (0.0, 2.0, 5.0)
    discord.hasten()
    return slack, discord


@pytest.fixture
async def served(template, tmp_path, platforms, model, engine):
    slack, discord = platforms
    settings = {
        "GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url, "LOG_LEVEL": "info",
        "WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url,
    }  # fmt: skip
    async with Supervised.copied(
        template, tmp_path, slack=slack, discord=discord, settings=settings
    ) as served:
        model.served = served
        await served.open()
        yield served


@pytest.fixture
async def crowd(served, slack, discord):
    crowd = Crowd(slack, discord, random.Random(1))
    await crowd.begin()
    return crowd


def shown(crowd):
    """What people see at the end of each turn of the handbook's questions; more than one ending shows."""
    return [[each.visible for each in crowd.endings(asked)] for asked in crowd.asked if not asked.is_search]


def assert_all_answered(crowd):
    wrong = [endings for endings in shown(crowd) if [FERRY_ANSWER in each for each in endings] != [True]]
    assert wrong == []
    found = {asked.turn: len(crowd.found(asked)) for asked in crowd.searches}
    assert found == dict.fromkeys(found, 1)


async def test_a_question_that_kills_its_process_is_explained_once_and_all_others_are_answered(
    served, crowd, slack, model
):
    ann = slack.add_user("carl")
    channel, model.taking = slack.add_channel("kennel", ann), 0.4
    async with served.kept_alive(), crowd.allowing():
        await crowd.ask(WORLD_CUP)
        await crowd.ask()
        deadly = await slack.mention(ann, channel, DEADLY)
        await crowd.ask()
        await slack.until(lambda: slack.finals(channel, deadly.ts), within=ENDING)
        await crowd.until_answered(ENDING)
        await slack.until(lambda: len(slack.replies(channel, deadly.ts)) == 1)
        (apology,) = slack.finals(channel, deadly.ts)

    assert f"{CUT_OFF_TOLD} {served.deaths} times" in apology.visible
    assert (
        CUT_OFF + ALONE <= served.deaths <= CUT_OFF + ALONE + 1
    )  # one more where it died before it had a reply
    assert_all_answered(crowd)


@pytest.mark.parametrize(
    ("kills", "searches"), [(5, 1), pytest.param(24, 3, marks=pytest.mark.long)], ids=["a few", "many"]
)
async def test_kills_one_after_another_cost_nobody_an_answer(served, crowd, kills, searches):
    """As many as one in four seconds, with new questions all the while, and searches that are allowed."""
    chance = random.Random(1)
    for _ in range(searches):
        await crowd.ask(WORLD_CUP)
    async with crowd.allowing():
        began = time.monotonic()
        for _ in range(kills):
            await crowd.ask()
            await asyncio.sleep(chance.uniform(0.3, 4.0))
            served.process.kill()
            await served.until_dead()
            await served.open()
        print(f"{kills} kills in {time.monotonic() - began:.0f} s")
        await crowd.until_answered(ENDING)

    assert_all_answered(crowd)


@pytest.mark.parametrize(("questions", "kills"), [(12, 3), pytest.param(1_000, 200, marks=pytest.mark.long)])
async def test_random_kills_under_load_lose_and_double_nothing(chat, questions, kills):
    """On each platform alone, without a model; a third of the questions come while the process is down."""
    chance = random.Random(1)
    each_time = questions // kills
    asked = []
    await chat.open()

    for _ in range(kills):
        for number in range(each_time):
            if number == each_time - each_time // 3:
                await asyncio.sleep(chance.uniform(0.0, 1.5))
                await chat.kill()
            asked += [await chat.mention(chat.ann, chat.general, FERRY)]
        await chat.open_again()
    for each in asked:
        # What was cut off twice runs alone, one after the other.
        await chat.until_answered(each, within=PATIENCE + questions)

    assert [len(chat.replies(each)) for each in asked] == [1] * questions
