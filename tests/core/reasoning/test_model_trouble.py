"""A model in trouble for longer than one turn, and one that has taken enough for today; the real client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fakes.gemini import FakeGemini, Status

from core.errors import ModelTrouble, SettingsError
from core.reasoning.calls import Limits
from core.reasoning.chat_model import ChatModels
from core.reasoning.limits import PAUSE, ROW, Circuit, open_budget
from core.reasoning.providers import Access
from core.reasoning.reasoner import Ask
from core.storage.storage import Storage

# Google's client derives from aiohttp's session, which aiohttp discourages; neither is ours to change.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

ASK = Ask(question="How many files may I upload?")
DOWN = "left alone for a moment"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def gemini():
    async with FakeGemini() as server:
        yield server


def models_of(gemini, **more):
    access = Access(google_api_key="test-key", google_url=gemini.base_url, timeout=20)
    return ChatModels.open(
        chat_model="google_genai:gemini-3.5-flash",
        grader_model="google_genai:gemini-3.5-flash-lite",
        access=access,
        limits=Limits(pause=0.001),
        **more,
    )


async def trouble_of(models, **who):
    """What one turn's plan fails with; empty when it does not."""
    try:
        await models.reasoner(turn_timeout=60, **who).plan(ASK)
    except ModelTrouble as trouble:
        return str(trouble)
    return ""


async def test_a_model_that_is_down_is_asked_by_few_turns_and_found_again_when_it_is_back(gemini):
    clock = Clock()
    models = models_of(gemini)
    models.judging.clock = clock
    gemini.reply = lambda _step, _call: Status(503)

    told = [await trouble_of(models) for _ in range(20)]
    asked_while_down = len(gemini.calls)
    clock.now += PAUSE
    still_down = [await trouble_of(models) for _ in range(3)]
    asked_once_more = len(gemini.calls) - asked_while_down
    clock.now += PAUSE
    gemini.reply = lambda _step, _call: None
    back = [await trouble_of(models) for _ in range(3)]
    await models.aclose()

    assert asked_while_down == ROW
    assert [DOWN in each for each in told] == [False] * (ROW // 2) + [True] * (20 - ROW // 2)
    assert asked_once_more == 1
    assert all(still_down)
    assert back == ["", "", ""]


async def test_the_model_that_judges_may_be_down_while_the_other_writes(gemini):
    models = models_of(gemini)
    gemini.reply = lambda step, _call: Status(503) if step == "plan" else None

    for _ in range(ROW):
        assert await trouble_of(models)
    await models.aclose()

    assert (models.judging.is_open, models.writing.is_open) == (True, False)


def test_a_success_ends_a_row_of_failures():
    circuit = Circuit(row=3)

    for _ in range(5):
        circuit.record_failure()
        circuit.record_failure()
        circuit.record_success()

    assert not circuit.is_open


async def test_the_tokens_of_a_day_end_with_the_day_and_not_with_the_process(gemini, storage):
    clock = [NOON]

    async def asked() -> tuple[str, int]:
        with open_budget(1, storage, lambda: clock[0]) as budget:
            models = models_of(gemini, budget=budget)
            told = await trouble_of(models)
            await models.aclose()
            return told, await budget.read_spent_today()

    first = await asked()
    again = await asked()
    clock[0] += timedelta(hours=12)
    tomorrow = await asked()

    assert (first[0], tomorrow[0]) == ("", "")
    assert first[1] == again[1] == tomorrow[1] > 0
    assert "used up" in again[0]
    assert len(gemini.calls) == 2


@pytest.mark.parametrize(
    ("limits", "whose", "others"),
    [
        ({"per_channel": 1}, "this channel", {"channel": "slack/T/D", "person": "ann"}),
        ({"per_person": 1}, "you may take", {"channel": "slack/T/C", "person": "bob"}),
    ],
)
async def test_the_tokens_of_one_channel_or_person_end_for_nobody_else(
    gemini, storage, limits, whose, others
):
    here = {"channel": "slack/T/C", "person": "ann"}

    async def told(who):
        with open_budget(0, storage, lambda: NOON, **limits) as budget:  # as after a restart
            models = models_of(gemini, budget=budget)
            sentence = await trouble_of(models, **who)
            await models.aclose()
            return sentence

    first, again, elsewhere = [await told(who) for who in (here, here, others)]

    assert (first, elsewhere) == ("", "")
    assert whose in again
    assert len(gemini.calls) == 2


async def test_tokens_are_counted_once_for_everybody_and_once_for_each_limit(storage):
    with open_budget(100, storage, lambda: NOON, per_channel=50) as budget:
        await budget.allowance("slack/T/C", "ann").charge(30)
        await budget.allowance("slack/T/C", "bob").charge(30)
        rows = await budget.database.rows("SELECT spender, id, tokens FROM spent_by")

        assert await budget.read_spent_today() == 60
        assert rows == [("channel", "slack/T/C", 60)]
        assert await budget.allowance("slack/T/C", "cid").find_spent() == "channel"
        assert await budget.allowance("slack/T/D", "ann").find_spent() is None


async def test_the_count_of_long_ago_is_not_kept(storage, tmp_path):
    for day in range(60):
        with open_budget(10, storage, lambda day=day: NOON + timedelta(days=day)) as budget:
            await budget.allowance("", "").charge(7)

    with open_budget(10, storage) as budget:
        ((kept,),) = await budget.database.rows("SELECT count(*) FROM spent")

    assert kept <= 32
    if storage.url is None:
        assert (tmp_path / "spending.sqlite").stat().st_mode & 0o077 == 0


def test_a_damaged_count_is_told_as_a_setting(tmp_path):
    (tmp_path / "spending.sqlite").write_bytes(b"no database at all" * 100)

    with pytest.raises(SettingsError, match="Move it away"), open_budget(10, Storage(data_dir=tmp_path)):
        pass
