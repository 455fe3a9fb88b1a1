"""The real clients of OpenAI, Anthropic and Ollama against local servers that speak their protocols."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest
from fakes.chat_servers import Broken, ChatServer, FakeAnthropic, FakeOllama, FakeOpenAI, Refusal, TooLong
from fakes.gemini import Cut, Hang, Status, default_reply
from fakes.passages import statements

from core.errors import ModelTrouble, SettingsError
from core.library.documents import Passage, Retrieved
from core.reasoning.calls import Limits
from core.reasoning.chat_model import ChatModels
from core.reasoning.limits import ROW, open_budget
from core.reasoning.providers import Access, connect
from core.reasoning.reasoner import Ask, Strip
from core.storage.storage import Storage

ASK = Ask(question="How many files may I upload?")
TEXT = "Uploads take at most five files. Each may have 2 MB."
FOUND = Retrieved(
    passage=Passage(
        id="doc:1", collection="all", source="guide.md", title="Guide", path=("Uploads",),
        location="Uploads", text=TEXT, start=0, end=len(TEXT), url=None,
    ),
    score=1.0,
)  # fmt: skip
STRIPS = (Strip(number=1, retrieved=FOUND, text=TEXT, start=0, end=len(TEXT)),)
GRADES = {
    "passages": [{"passage": 1, "relevance": "correct", "evidence": [1]}],
    "sufficient": True,
    "missing": "",
}


@dataclass(frozen=True)
class Provider:
    model: str
    server: type[ChatServer]


PROVIDERS = {
    "openai": Provider("openai:gpt-5", FakeOpenAI),
    "responses": Provider(
        "openai:gpt-5-pro", FakeOpenAI
    ),  # a model that is served by OpenAI's Responses alone
    "anthropic": Provider("anthropic:claude-sonnet-5", FakeAnthropic),
    "untooled": Provider("anthropic:claude-opus-5-5", FakeAnthropic),  # cannot be made to use a tool
    "ollama": Provider("ollama:llama3.1:8b", FakeOllama),
}


ALOUD = (
    '<think>They want {"passages"} of {some kind}, so {"x": 1}.</think>\nHere it is:\n```json\n@\n```\nDone.'
)


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return PROVIDERS[request.param]


@pytest.fixture
async def server(provider):
    async with provider.server() as server:
        yield server
        assert server.rejected == []


def access_to(server, timeout=20.0, api_key="test-key"):
    return Access(
        openai_api_key=api_key,
        openai_url=f"{server.base_url}/v1",
        anthropic_api_key=api_key,
        anthropic_url=server.base_url,
        ollama_host=server.base_url,
        timeout=timeout,
    )


@pytest.fixture
async def open_models(provider, server):
    opened = []

    def open_them(timeout=20.0, api_key="test-key", budget=None):
        models = ChatModels.open(
            chat_model=provider.model, grader_model=provider.model, limits=Limits(pause=0.001), budget=budget,
            access=access_to(server, timeout, api_key),
        )  # fmt: skip
        opened.append(models)
        return models

    yield open_them
    for models in opened:
        await models.aclose()
    # Imported here: at the top, every process of tests would load both libraries, a third of what collecting costs.
    from langchain_anthropic._client_utils import _get_default_async_httpx_client
    from langchain_openai.chat_models._client_utils import _cached_async_httpx_client

    # Both classes keep a client for each address, closed or not, and the next server may get the same port.
    _cached_async_httpx_client.cache_clear()
    _get_default_async_httpx_client.cache_clear()


async def trouble_of(models):
    """What one turn's plan fails with; empty when it does not."""
    try:
        await models.reasoner(turn_timeout=60).plan(ASK)
    except ModelTrouble as trouble:
        return str(trouble)
    return ""


async def test_every_step_of_a_turn_is_asked_and_read_and_its_tokens_are_counted(open_models, server):
    reasoner = open_models().reasoner(turn_timeout=60)

    plan = await reasoner.plan(ASK)
    grades = await reasoner.grade(ASK, (FOUND,))
    draft = await reasoner.write(ASK, STRIPS)
    grounded = await reasoner.check_grounding(statements("At most five. [1]"), STRIPS)
    useful = await reasoner.check_usefulness(ASK, draft.text)

    assert (plan.route, grades.sufficient, useful) == ("documents", True, True)
    assert grades.of["doc:1"].evidence == (1,)
    assert draft.text == "Uploads take at most five files. [1]"
    assert not grounded.unsupported
    assert [call.step for call in server.calls] == ["plan", "grade", "write", "grounding", "usefulness"]
    assert (reasoner.usage.input_tokens, reasoner.usage.output_tokens) == tuple(
        map(sum, zip(*server.tokens, strict=True))
    )
    assert reasoner.usage.input_tokens > 0


async def test_a_draft_is_heard_while_it_is_written_and_costs_what_the_whole_reply_does(open_models, server):
    written = "Uploads take at most five files. [1] Each may have 2 MB. [1]"
    server.queue("write", written)
    reasoner, heard = open_models().reasoner(turn_timeout=60), []

    draft = await reasoner.write(ASK, STRIPS, None, heard.append)

    assert server.calls[-1].body["stream"] is True
    assert draft.text == written
    assert [each.text for each in heard][-1:] == [written]
    assert all(written.startswith(each.text) for each in heard)
    assert (reasoner.usage.input_tokens, reasoner.usage.output_tokens) == server.tokens[0]


@pytest.mark.parametrize(
    ("ending", "told"), [(Refusal("No."), "refused"), (TooLong("Uploads take at most"), "could not be read")]
)
async def test_a_draft_that_is_refused_or_cut_off_while_it_is_heard_is_no_draft(
    open_models, server, ending, told
):
    if isinstance(server, FakeOllama) and isinstance(ending, Refusal):
        pytest.skip("it never refuses")
    server.queue("write", ending, ending)

    with pytest.raises(ModelTrouble, match=told):
        await open_models().reasoner(turn_timeout=60).write(ASK, STRIPS, None, lambda _: None)


async def test_a_stream_that_does_not_say_how_it_ended_counts_for_nothing(open_models, server):
    written = "Uploads take at most five files. [1] Each may have 2 MB. [1]"
    server.queue("write", Broken("Uploads take at most five files. [1] Each may have"), written)

    draft = await open_models().reasoner(turn_timeout=60).write(ASK, STRIPS, None, lambda _: None)

    assert draft.text == written


async def test_a_server_that_does_not_stream_is_asked_for_the_whole_from_then_on(open_models, server):
    if isinstance(server, FakeOllama):
        pytest.skip("its client has no other way")
    streams = []

    def reply(call):
        streams.append(bool(call.body.get("stream")))
        return Status(400) if call.body.get("stream") else None

    server.reply = reply
    models = open_models()

    for _ in range(2):
        draft = await models.reasoner(turn_timeout=60).write(ASK, STRIPS, None, lambda _: None)
        assert draft.text == "Uploads take at most five files. [1]"

    assert streams == [True, False, False]


def unbound(call):
    """What a model says that nobody holds to a schema: prose, until it is told of one, and then aloud."""
    if not call.schema:
        return None
    if "Its JSON Schema:" not in call.prompt:
        return "Sure! I would look at the guide first."
    return ALOUD.replace("@", json.dumps(default_reply(call)))


async def test_a_server_that_ignores_the_schema_is_told_it_in_the_prompt_from_then_on(open_models, server):
    server.reply = unbound
    models = open_models()
    reasoner = models.reasoner(turn_timeout=60)

    plan = await reasoner.plan(ASK)
    grades = await reasoner.grade(ASK, (FOUND,))
    grounded = await reasoner.check_grounding(statements("At most five. [1]"), STRIPS)
    after = await models.reasoner(turn_timeout=60).plan(ASK)

    assert (plan.route, grades.sufficient, grounded.unsupported, after.route) == (
        "documents",
        True,
        (),
        "documents",
    )
    assert [call.step for call in server.calls] == ["plan", "plan", "grade", "grounding", "plan"]


async def test_a_model_that_is_held_to_the_schema_is_not_told_it(open_models, server):
    server.queue("plan", TooLong())
    reasoner = open_models().reasoner(turn_timeout=60)

    await reasoner.plan(ASK)
    await reasoner.grade(ASK, (FOUND,))

    assert not [call for call in server.calls if "Its JSON Schema:" in call.prompt]


@pytest.mark.parametrize(
    ("answers", "sentence", "asked"),
    [
        ([Status(401)], "The model key was refused.", 1),
        ([Status(403)], "The model key was refused.", 1),
        ([Status(404)], "The model is not known to its provider.", 1),
        ([Status(400)], "The model refused this question.", 1),
        ([Status(429)] * 2, "The model is busy.", 2),
        ([Status(429, retry_after="60")], "The model is busy.", 1),
        ([Status(503)] * 2, "The model is busy.", 2),
        ([Status(529)] * 2, "The model is busy.", 2),
        ([Cut()] * 2, "The model cannot be reached.", 2),
        ([TooLong()] * 2, "The model's reply could not be read.", 2),
        (["Certainly!"] * 2, "The model's reply could not be read.", 2),
        ([{"sufficient": "perhaps"}] * 2, "The model's reply could not be read.", 2),
    ],
    ids=repr,
)
async def test_a_fault_is_one_sentence_and_tried_again_where_that_may_help(
    open_models, server, answers, sentence, asked
):
    if isinstance(server, FakeOllama) and getattr(answers[0], "retry_after", ""):
        pytest.skip("its client keeps no header of a refusal")
    server.queue("grade", *answers)

    with pytest.raises(ModelTrouble) as trouble:
        await open_models().reasoner(turn_timeout=60).grade(ASK, (FOUND,))

    assert str(trouble.value) == sentence
    assert len(server.calls) == asked


async def test_a_refusal_is_told_as_one(open_models, server, provider):
    if provider.server is FakeOllama:
        pytest.skip("it has no way to refuse but words")
    server.queue("grade", Refusal())

    with pytest.raises(ModelTrouble, match="The model refused this question"):
        await open_models().reasoner(turn_timeout=60).grade(ASK, (FOUND,))

    assert len(server.calls) == 1


@pytest.mark.parametrize("unreadable", [TooLong(), "Certainly!", {"sufficient": "perhaps"}], ids=repr)
async def test_after_a_reply_that_cannot_be_used_the_model_is_told_why_and_asked_again(
    open_models, server, unreadable
):
    server.queue("grade", unreadable, GRADES)
    reasoner = open_models().reasoner(turn_timeout=60)

    grades = await reasoner.grade(ASK, (FOUND,))

    assert grades.sufficient
    assert "Your last reply could not be used" in server.calls[1].prompt
    assert reasoner.usage.output_tokens == sum(written for _, written in server.tokens)


async def test_a_model_that_hangs_costs_one_timeout(open_models, server, pass_time):
    server.reply = lambda _call: pass_time(20.0) or Hang()

    assert await trouble_of(open_models(timeout=20.0)) == "The model did not answer within 20 s."
    assert len(server.calls) == 1


async def test_a_wrong_key_is_told_at_once_and_opens_no_circuit(open_models, server):
    if isinstance(server, FakeOllama):
        server.api_key = "one that the proxy before it asks for"
    models = open_models(api_key="wrong-key")

    told = [await trouble_of(models) for _ in range(ROW + 1)]

    assert told == ["The model key was refused."] * (ROW + 1)
    assert server.calls == []


async def test_a_model_that_is_down_is_left_alone(open_models, server):
    server.reply = lambda _call: Status(503)
    models = open_models()

    told = [await trouble_of(models) for _ in range(ROW)]

    assert len(server.calls) == ROW
    assert "left alone for a moment" in told[-1]


async def test_the_tokens_of_the_day_are_counted_for_every_provider(open_models, server, tmp_path):
    server.queue("plan", TooLong())
    with open_budget(1, Storage(data_dir=tmp_path)) as budget:
        first = await trouble_of(open_models(budget=budget))
        spent = await budget.read_spent_today()
        again = await trouble_of(open_models(budget=budget))

    assert first != ""  # the second try finds nothing left
    assert spent == sum(map(sum, server.tokens)) > 0
    assert "used up" in again
    assert len(server.calls) == 1


async def test_only_so_much_is_asked_for_and_nothing_streamed_but_by_ollama(open_models, server):
    await open_models().reasoner(turn_timeout=60).plan(ASK)

    body = server.calls[0].body
    limits = [body.get(name) for name in ("max_completion_tokens", "max_output_tokens", "max_tokens")]
    assert 8_192 in [*limits, body.get("options", {}).get("num_predict")]
    assert not body.get("stream") or isinstance(server, FakeOllama)


@pytest.mark.parametrize(
    ("name", "key"), [("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:claude", "ANTHROPIC_API_KEY")]
)
def test_without_a_key_the_setting_that_is_missing_is_named(name, key):
    with pytest.raises(SettingsError) as fault:
        connect("CHAT_MODEL", name, Access())

    assert str(fault.value) == f"CHAT_MODEL={name} needs {key}."


@pytest.mark.parametrize("extra", ["openai", "anthropic", "ollama"])
def test_without_its_package_the_extra_that_brings_it_is_named(monkeypatch, extra):
    from langchain.chat_models import base

    monkeypatch.setitem(sys.modules, f"langchain_{extra}", None)
    base._get_chat_model_creator.cache_clear()

    with pytest.raises(SettingsError) as fault:
        connect("GRADER_MODEL", f"{extra}:some", Access(openai_api_key="k", anthropic_api_key="k"))

    base._get_chat_model_creator.cache_clear()
    assert f"GRADER_MODEL={extra}:some needs packages that are not installed" in str(fault.value)
    assert f"uv sync --no-dev --inexact --extra {extra}, or pip install '.[{extra}]'" in str(fault.value)
