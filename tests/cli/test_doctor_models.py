"""What the doctor says of a model on a server of one's own: whether it can be trusted with the steps of an answer."""

from __future__ import annotations

import pytest
from fakes.chat_servers import FakeOllama
from fakes.gemini import Status

from bots.doctor import models
from bots.doctor.models import WORD, examine
from bots.doctor.settings import Configuration
from core.settings import Settings

COUNTED = " ".join(map(str, range(1, 61)))


@pytest.fixture
async def server():
    async with FakeOllama() as server:
        yield server
        assert server.rejected == []


async def findings(server, settings=()):
    chosen = Settings(chat_model="ollama:qwen3:8b", ollama_host=server.base_url, **dict(settings))
    return await examine(Configuration(settings=chosen))


def says(call, *, schema='{"colour": "red"}', word=WORD):
    """What a model says that can do everything, or not."""
    if call.schema:
        return schema
    return word if WORD in call.prompt else COUNTED


async def test_a_model_that_can_do_everything_is_told_with_its_speeds(server):
    server.reply = says

    found = await findings(server)

    assert {each.state for each in found} == {"ok"}
    assert all("tokens a second." in each.text for each in found)
    assert len(server.calls) == 2 * 4


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ({"schema": "I like red."}, "is not held to a schema"),
        ({"word": "There is no word."}, "reads less than the longest prompts"),
    ],
)
async def test_what_a_model_lacks_is_told_with_what_to_do(server, lacks, told):
    server.reply = lambda call: says(call, **lacks)

    found = await findings(server)

    assert {each.state for each in found} == {"warning"}
    assert all(told in each.text and each.fix for each in found)


async def test_a_slow_model_is_told(server, monkeypatch):
    server.reply = says
    monkeypatch.setattr(models, "SLOW_WRITING", 1e9)

    found = await findings(server)

    assert all("raise MODEL_TIMEOUT and TURN_TIMEOUT" in each.fix for each in found)


async def test_a_model_that_refuses_a_task_is_told(server):
    server.reply = lambda call: Status(500) if WORD in call.prompt else says(call)

    found = await findings(server)

    assert all("It refused a small task" in each.text for each in found)
