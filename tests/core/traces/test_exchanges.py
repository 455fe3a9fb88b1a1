"""What models were sent and said: kept beside a trace where the operator wants it, and gone with any of its documents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.desk import NOON, answered, asked, traced

from core.conversation import ModelExchange
from core.traces.log import DAY, open_question_log
from core.traces.trace import TracedPassage
from core.wording import Sentence

EXCHANGE = ModelExchange(
    model="gemini",
    messages=(("system", "Answer."), ("human", "Pay is secret.")),
    reply="It is secret. \N{SNOWMAN}",
)
#: As a reasoner keeps it: of a sentence that can be said in another language.
FAILED = ModelExchange(
    model="gemini", messages=(("human", "When?"),), reply="", trouble=Sentence("model_busy")
)


@pytest.fixture
def log(storage):
    with open_question_log(storage, days=14) as log:
        log.now = lambda: NOON
        yield log


def told():
    """A trace of which a model saw a passage that no draft was written from."""
    pay = TracedPassage(id="7", collection="pay", source="pay.md", title="", location="", start=0, end=1)
    return replace(traced(), passages=(*traced().passages, pay), exchanges=(EXCHANGE, FAILED))


async def test_an_exchange_comes_back_as_it_was_and_is_no_part_of_the_trace(log):
    await log.record(asked("q1"), answered("q1"), told())
    await log.record(asked("q2"), answered("q2"), traced())

    assert await log.exchanges("q1") == (EXCHANGE, FAILED)
    assert await log.exchanges("q2") == ()
    assert (await log.trace("q1")).exchanges == ()


@pytest.mark.parametrize("source", ["pay.md", "harbour.md"])
async def test_an_exchange_is_gone_with_a_document_that_a_model_only_looked_at(log, source):
    await log.record(asked("q1"), answered("q1"), told())

    await log.forget_sources([source])

    assert await log.exchanges("q1") == ()


async def test_an_exchange_is_gone_with_its_conversation_and_with_time(log):
    await log.record(asked("q1"), answered("q1"), told())
    await log.record(asked("old", at=NOON - 20 * DAY), answered("old"), told())

    await log.expire()
    kept = [await log.exchanges(turn) for turn in ("q1", "old")]
    await log.forget_conversation(asked("q1").conversation)

    assert [len(each) for each in kept] == [2, 0]
    assert await log.exchanges("q1") == ()
