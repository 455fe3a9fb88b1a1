"""The checkpoint file: what the end of a turn leaves in it, and when it waits for the disk."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, hit, question
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from core.conversation import Outcome, value
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.turns.assistant import Assistant
from core.turns.checkpoints import open_checkpoints

HITS = (hit("The tower is 300 metres tall."),)


@pytest.fixture
async def assistant(tmp_path):
    async def deps(_turn, report):
        return Deps(
            policy=PRESETS["footnote"],
            reasoner=ScriptedReasoner(),
            documents=ScriptedDocuments(default=HITS),
            web=None,
            report=report,
        )

    async with open_checkpoints(tmp_path / "conversations.sqlite") as checkpoints:
        yield Assistant(
            graph=build_graph(checkpoints), checkpoints=checkpoints, make_deps=deps, turn_timeout=30
        )


async def rows(assistant, query):
    return [tuple(row) for row in await assistant.checkpoints.conn.execute_fetchall(query)]


async def test_a_turn_leaves_one_checkpoint_which_says_what_it_cost(assistant):
    outcome = await assistant.run(question())

    state = await assistant._state(question().conversation.id)
    assert state["outcome"] == outcome
    assert isinstance(state["outcome"], Outcome)
    assert outcome.timing_ms["total"] > 0
    assert await rows(assistant, "SELECT count(*) FROM checkpoints") == [(1,)]


async def test_the_next_turn_goes_on_from_a_settled_checkpoint(assistant):
    await assistant.run(question(id="q1"))
    await assistant.run(question("And how old is it?", id="q2"))

    state = await assistant._state(question().conversation.id)
    assert [exchange.question for exchange in state["history"]] == [
        "How tall is the tower?",
        "And how old is it?",
    ]


async def test_the_end_of_a_turn_waits_for_the_disk_and_the_checkpoints_within_it_do_not(assistant):
    statements: list[str] = []
    await assistant.checkpoints.conn.set_trace_callback(statements.append)

    await assistant.run(question())

    commits = [index for index, sql in enumerate(statements) if sql == "COMMIT"]
    waits, waits_no_more = (statements.index(f"PRAGMA synchronous = {level}") for level in ("FULL", "NORMAL"))
    assert len(commits) > 4
    assert [index for index in commits if waits < index < waits_no_more] == commits[-1:]
    assert await rows(assistant, "PRAGMA synchronous") == [(1,)]


def kept_as(decorate):
    class Kept:
        number: int
        names: tuple[str, ...] = ()

    return decorate(Kept)(number=3, names=("a", "b"))


def test_a_value_is_written_as_any_dataclass_is():
    plain = kept_as(dataclass(frozen=True, slots=True, kw_only=True))

    written, as_a_value = (JsonPlusSerializer().dumps_typed({"held": it}) for it in (plain, kept_as(value)))

    assert as_a_value == written
