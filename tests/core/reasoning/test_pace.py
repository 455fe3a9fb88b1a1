"""How fast a model of one's own is found to be, and what follows from it: few calls, and time for each."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from fakes.chat_servers import FakeOllama
from fakes.gemini import Hang

from bots.chat.texts import answered_in
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, situation
from core.bootstrap import open_footnote, reads_everything
from core.errors import ModelTrouble
from core.reasoning.chat_model import ChatModels
from core.reasoning.limits import SCHEMA, STORE
from core.reasoning.pace import QUICK, SLOW, Pace, Speed, load_paces, speed_of
from core.reasoning.providers import Access, is_own
from core.reasoning.reasoner import Ask
from core.settings import Settings
from core.storage.storage import Storage

LAPTOP = Speed(reading=60, writing=6)  # an 8B model on a processor: 243 s for every check
CARD = Speed(reading=2_000, writing=60)  # the same on a graphics card: 17 s
BETWEEN = Speed(reading=500, writing=40)  # 33 s
MODEL = "ollama:llama3.1:8b"
HANDBOOK = "# Ferry\n\nThe ferry to Sark leaves pier three at half past nine. It carries no cars.\n"
FERRY = "When does the ferry to Sark leave?"


def a_reply(read=0, written=0, **told):
    """A model's message."""
    counted = {"input_tokens": read, "output_tokens": written}
    return SimpleNamespace(text="It leaves at noon.", usage_metadata=counted, response_metadata=told)


def test_a_server_that_says_how_long_it_took_is_believed_and_else_the_clock():
    told = a_reply(1_200, 60, prompt_eval_duration=20_000_000_000, eval_duration=10_000_000_000)

    assert speed_of(told, 0, seconds=500) == LAPTOP
    assert speed_of(a_reply(1_200, 60), 0, seconds=30) == LAPTOP
    assert speed_of(a_reply(), 4_000, seconds=1).reading == pytest.approx(1_045)  # by the letters


def test_between_two_bounds_a_model_stays_what_it_was():
    assert QUICK < BETWEEN.seconds < SLOW
    assert [speed.is_slow(was_slow=False) for speed in (LAPTOP, BETWEEN, CARD)] == [True, False, False]
    assert [speed.is_slow(was_slow=True) for speed in (LAPTOP, BETWEEN, CARD)] == [True, True, False]


def test_one_call_turns_nothing_round():
    assert not CARD.after(Speed(reading=500, writing=10)).is_slow(was_slow=False)
    assert LAPTOP.after(CARD).is_slow(was_slow=True)


async def test_calls_side_by_side_share_the_server():
    now = [0.0]
    pace = Pace(is_own=True, clock=lambda: now[0])
    begun = asyncio.Barrier(2)

    async def take():
        await begun.wait()
        now[0] = 60.0
        return a_reply(600, 60)

    await asyncio.gather(pace.measure(take(), 0), pace.measure(take(), 0))

    assert pace.speed.reading == pytest.approx(40)  # 1,200 weighted tokens in half a minute each


async def test_a_hosted_model_is_not_measured_and_waits_as_long_as_it_always_did():
    pace = Pace(longest=180)

    await pace.measure(asyncio.sleep(0, a_reply()), 400)

    assert (pace.speed, pace.is_slow, pace.patience(60)) == (None, False, 60)
    assert Pace(longest=180, is_slow=True).patience(60) == 180


@pytest.mark.parametrize(
    ("provider", "address", "own"),
    [
        ("ollama", "", True),
        ("ollama", "0.0.0.0:11434", True),
        ("ollama", "http://192.168.1.7:11434", True),
        ("ollama", "https://ollama.com", False),
        ("openai", "http://127.0.0.1:1234/v1", True),
        ("openai", "http://gpu:8000/v1", True),
        ("openai", "http://models.internal/v1", True),
        ("openai", "https://openrouter.ai/api/v1", False),
        ("openai", "", False),
        ("google_genai", "http://127.0.0.1:9", False),
    ],
)
def test_which_servers_are_ones_own(provider, address, own):
    access = Access(ollama_host=address, openai_url=address, google_url=address)

    assert is_own(provider, access) is own


async def test_what_was_measured_is_remembered_for_the_model(tmp_path):
    reply = a_reply(6_600, 800)
    with Storage(data_dir=tmp_path).asynchronous(STORE, SCHEMA) as database:
        first = load_paces({"llama": True, "gemini": False}, longest=180, database=database)
        await first["llama"].measure(asyncio.sleep(0, reply), 0)
        again = load_paces({"llama": True, "other": True}, longest=180, database=database)

    assert (first["gemini"].is_slow, first["llama"].is_slow) == (False, False)
    assert (again["llama"].is_slow, again["llama"].speed is not None) == (False, True)
    assert (again["other"].is_slow, again["other"].speed) == (True, None)  # slow until its first call


@pytest.mark.parametrize(("is_slow", "waited"), [(True, "170 s"), (False, "60 s")], ids=["slow", "quick"])
async def test_a_slow_model_is_waited_for_and_a_quick_one_as_long_as_a_hosted_one(pass_time, is_slow, waited):
    async with FakeOllama() as server:
        server.queue("plan", Hang())
        models = ChatModels.open(
            chat_model=MODEL, grader_model=MODEL,
            access=Access(ollama_host=server.base_url, timeout=60, longest=170),
        )  # fmt: skip
        models.paces["llama3.1:8b"].is_slow = is_slow
        asked = asyncio.create_task(models.reasoner(turn_timeout=175).plan(Ask(question=FERRY)))
        while not server.calls:  # noqa: ASYNC110 - the server is silent by then
            await asyncio.sleep(0)

        pass_time(100)
        for _ in range(20):
            await asyncio.sleep(0)
        was_cut_off = asked.done()
        pass_time(75)

        with pytest.raises(ModelTrouble, match=waited):
            await asked
        await models.aclose()

    assert was_cut_off is not is_slow


@pytest.mark.parametrize(
    ("setting", "speed", "first", "second"),
    [
        ("auto", LAPTOP, True, True), ("auto", CARD, True, False), ("footnote", LAPTOP, False, False),
        ("brief", CARD, True, True),
    ],
    ids=["slow", "quick", "slow but chosen", "quick but chosen"],
)  # fmt: skip
async def test_the_policy_follows_the_measure_unless_it_is_set(tmp_path, setting, speed, first, second):
    """Two processes, one after the other; the first knows nothing of the model. A quote needs one call when brief."""

    def reply(call):
        return "The ferry to Sark leaves pier three at half past nine. [1]" if call.step == "write" else None

    (tmp_path / "ferry.md").write_text(HANDBOOK)
    outcomes, calls, stages = [], [], []
    async with FakeOllama(reply=reply, speed=(speed.reading, speed.writing)) as server:
        settings = Settings(
            data_dir=tmp_path / "data", embedding_model="none", web_search="off", chat_model=MODEL,
            ollama_host=server.base_url, policy=setting,
        )  # fmt: skip
        for _ in range(2):
            begun = len(server.calls)
            async with open_footnote(settings, purpose="test", reads=reads_everything) as footnote:
                footnote.library.ingest([tmp_path / "ferry.md"])
                asked = ask(FERRY, situation(fresh_conversation()))
                outcomes.append(await footnote.assistant.run(asked, stages.append))
            calls.append(len(server.calls) - begun)

    assert [outcome.kind for outcome in outcomes] == ["answered"] * 2
    assert [count == 1 for count in calls] == [first, second]
    assert ["slow language model" in answered_in(outcome) for outcome in outcomes] == [first, second]
    assert {"reading", "checking", "verifying"} <= {progress.stage for progress in stages}
