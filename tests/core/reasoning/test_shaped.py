"""Replies of a shape from models whose providers put theirs together differently."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from core.reasoning.calls import TRACING, StructuredModel
from core.reasoning.replies import GroundingReply, UsefulnessReply

ASKED = [("human", "Is it useful?")]


class CannedModel(BaseChatModel):
    """Replies the same to everything, and remembers what it was told besides the messages."""

    reply: str
    told: list[dict[str, Any]] = []  # noqa: RUF012 - pydantic copies it for each model
    built: list[type] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "canned"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.told.append(kwargs)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply))])

    def with_structured_output(self, schema, *, include_raw=False, **_):
        """As Google's: the model, told a schema, and a parser."""
        self.built.append(schema)
        told = self.bind(schema=schema.__name__, **{TRACING: {"schema": schema, "kwargs": {}}})
        return told | PydanticOutputParser(pydantic_object=schema)


class OtherModel(CannedModel):
    """One whose structured model is made of other parts."""

    def with_structured_output(self, schema, *, include_raw=False, **_):
        self.built.append(schema)

        async def ask(messages):
            raw = await self.ainvoke(messages)
            try:
                return {"raw": raw, "parsed": schema.model_validate_json(raw.text), "parsing_error": None}
            except ValueError as trouble:
                return {"raw": raw, "parsed": None, "parsing_error": trouble}

        return RunnableLambda(ask if include_raw else lambda _: pytest.fail("the raw reply is wanted"))


@pytest.fixture(params=[CannedModel, OtherModel])
def kind(request):
    return request.param


async def test_a_reply_of_the_shape_is_parsed_and_kept_as_it_came(kind):
    shaped = await StructuredModel(kind(reply='{"useful": true}')).ask(UsefulnessReply, ASKED)

    assert shaped.parsed == UsefulnessReply(useful=True)
    assert shaped.raw.text == '{"useful": true}'
    assert shaped.trouble is None


@pytest.mark.parametrize("reply", ['{"useful": "maybe"}', "Yes.", ""])
async def test_a_reply_of_another_shape_is_kept_with_what_is_wrong_with_it(kind, reply):
    shaped = await StructuredModel(kind(reply=reply)).ask(UsefulnessReply, ASKED)

    assert shaped.parsed is None
    assert shaped.raw.text == reply
    assert isinstance(shaped.trouble, Exception)


@pytest.mark.parametrize("reply", ["Yes, it is. " * 3_000, '{"useful": true'])
async def test_prose_and_json_cut_short_are_not_left_to_a_parser_that_tries_every_prefix(monkeypatch, reply):
    parsed = []
    monkeypatch.setattr("langchain_core.output_parsers.json.parse_json_markdown", parsed.append)

    shaped = await StructuredModel(CannedModel(reply=reply)).ask(UsefulnessReply, ASKED)

    assert isinstance(shaped.trouble, ValueError)
    assert parsed == []


@pytest.mark.parametrize(
    "reply",
    ['```json\n{"useful": true}\n```', 'Sure: {"useful": true}', '{"useful": true}\n\nHope that helps!'],
)
async def test_words_and_fences_around_the_object_are_ignored(reply):
    shaped = await StructuredModel(CannedModel(reply=reply)).ask(UsefulnessReply, ASKED)

    assert shaped.parsed == UsefulnessReply(useful=True)


async def test_what_a_shape_takes_is_built_once(kind):
    model = kind(reply='{"useful": true, "unsupported": []}')
    shaped = StructuredModel(model)
    for shape in (UsefulnessReply, GroundingReply):
        await shaped.ask(shape, ASKED)
    built = len(model.built)

    for shape in (UsefulnessReply, GroundingReply, UsefulnessReply):
        await shaped.ask(shape, ASKED)

    assert len(model.built) == built
    assert len(model.told) == 5


async def test_nothing_is_prepared_for_a_tracer():
    model = CannedModel(reply='{"useful": true}')

    await StructuredModel(model).ask(UsefulnessReply, ASKED)

    assert model.told == [{"schema": "UsefulnessReply"}]
