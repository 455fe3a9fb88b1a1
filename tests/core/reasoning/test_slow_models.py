"""Whatever a model on one's own machine does, each question ends once: with an answer, or with why there is none."""

from __future__ import annotations

import pytest
from fakes.chat_servers import FakeOllama, FakeOpenAI, TooLong
from fakes.gemini import Cut, Status

from bots.chat.texts import page_of, reason_of, remarks
from bots.mcp.results import answered
from bots.record import record_of
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, situation
from core.bootstrap import open_footnote, reads_everything
from core.grounding.citations import IN_DOUBT
from core.reasoning.calls import Limits
from core.settings import Settings

SERVERS = {"ollama": FakeOllama, "openai": FakeOpenAI}
HANDBOOK = "# Ferry\n\nThe ferry to Sark leaves pier three at half past nine. It carries no cars.\n"
QUOTED = "The ferry to Sark leaves pier three at half past nine. [1]"
REWORDED = f"{QUOTED} Leave your vehicle on the mainland, as none may come aboard. [1]"
FERRY = "When does the ferry to Sark leave?"
THOUGHT = '<think>They want JSON {"of": some} kind.</think>\n'
PROSE = "Well, I would say that all of it is fine."


async def outcome_of(tmp_path, server, kind, *, policy="auto"):
    (tmp_path / "ferry.md").write_text(HANDBOOK)
    reached = (
        {"ollama_host": server.base_url} if kind == "ollama" else {"openai_base_url": f"{server.base_url}/v1"}
    )
    settings = Settings(
        data_dir=tmp_path / "data", embedding_model="none", web_search="off", chat_model=f"{kind}:small",
        openai_api_key="test-key", policy=policy, **reached,
    )  # fmt: skip
    async with open_footnote(settings, purpose="test", reads=reads_everything) as footnote:
        footnote.library.ingest([tmp_path / "ferry.md"])
        return await footnote.assistant.run(ask(FERRY, situation(fresh_conversation())), lambda _: None)


@pytest.mark.parametrize("policy", ["auto", "footnote"])
@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize(
    ("written", "judged"),
    [
        (REWORDED, PROSE),
        (REWORDED, THOUGHT + '{"unsupported": [2]}'),
        (THOUGHT + REWORDED, TooLong()),
        (f"They want the time.\n</think>\n\n{REWORDED}", PROSE),
        ("<think>They want the time. Or", PROSE),
        (TooLong(REWORDED), PROSE),
        ("", PROSE),
        (Status(400), Status(400)),  # as where the context is too small
        (Status(500), Status(500)),
        (Cut(), Cut()),
        (REWORDED, Cut()),
        ('{"answer": "At half past nine."}', "{}"),
    ],
    ids=[
        "ignores the schema", "thinks aloud", "thinks and is cut off", "thinks unannounced",
        "only thinks", "is cut off", "says nothing", "has no room",
        "fails", "breaks off", "breaks off later", "writes JSON",
    ],
)  # fmt: skip
async def test_each_question_ends_once_with_an_answer_or_a_reason(tmp_path, kind, policy, written, judged):
    def reply(call):
        return written if call.step == "write" else judged

    async with SERVERS[kind](reply=reply) as server:
        outcome = await outcome_of(tmp_path, server, kind, policy=policy)

    if outcome.kind == "answered":
        assert "half past nine" in outcome.answer.text
        assert outcome.answer.citations[0].quote in HANDBOOK
        assert "think" not in outcome.answer.text
    else:
        assert outcome.kind in ("no_answer", "failed")
        assert outcome.reason
    assert len(server.calls) <= Limits().calls


@pytest.mark.parametrize(
    "judged", [PROSE, TooLong(), Cut(), Status(500)], ids=["prose", "cut", "broken", "failing"]
)
async def test_what_a_failed_check_leaves_in_doubt_is_marked_and_what_stands_word_for_word_is_not(
    tmp_path, judged
):
    def reply(call):
        return REWORDED if call.step == "write" else judged

    async with FakeOllama(reply=reply) as server:
        outcome = await outcome_of(tmp_path, server, "ollama")

    answer = outcome.answer
    sure, doubted = answer.text.split(" Leave your")
    assert IN_DOUBT not in sure
    assert doubted.endswith(f"] {IN_DOUBT}")
    assert answer.unsettled == ("Leave your vehicle on the mainland, as none may come aboard.",)
    assert f"{IN_DOUBT} stands after what could not be checked." in remarks(outcome)
    assert IN_DOUBT in page_of(outcome, engine="")
    record = record_of(outcome, thread=None, engine="")
    assert record["unsettled"] == list(answer.unsettled)
    result = answered(outcome, thread="t", engine="", documents={}).structured_content
    assert (result["unsettled"], IN_DOUBT in result["text"]) == (list(answer.unsettled), True)


async def test_what_the_second_call_finds_unsupported_is_cut_and_nothing_is_marked(tmp_path):
    def reply(call):
        if call.step == "write":
            return REWORDED
        return {"unsupported": [2], "lacking": [], "elsewhere": [], "idle": [], "absent": [], "leaning": []}

    async with FakeOllama(reply=reply) as server:
        outcome = await outcome_of(tmp_path, server, "ollama")

    assert (outcome.answer.text, outcome.answer.unsettled) == (QUOTED, ())
    assert [each.text for each in outcome.answer.left_out] == [
        "Leave your vehicle on the mainland, as none may come aboard."
    ]
    assert "Left out" in reason_of(outcome)
    assert "unsettled" not in record_of(outcome, thread=None, engine="")
