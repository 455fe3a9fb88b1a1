"""The checkpoints of both databases: what the end of a turn leaves in them, and when it waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace

import psycopg
import pytest
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, hit, question
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from core.conversation import Outcome, value
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.settings import Settings
from core.storage.storage import Storage, open_storage
from core.turns.assistant import Assistant
from core.turns.checkpoints import open_checkpoints
from core.turns.checkpoints_postgres import open_postgres_checkpoints
from core.turns.leases import open_leases
from core.turns.replicas import ALONE

FULL = 2  # of SQLite's PRAGMA synchronous
HITS = (hit("The tower is 300 metres tall."),)


async def deps(_turn, report):
    return Deps(
        policy=PRESETS["footnote"],
        reasoner=ScriptedReasoner(),
        documents=ScriptedDocuments(default=HITS),
        web=None,
        watcher=report,
    )


@asynccontextmanager
async def assistant_on(storage):
    async with AsyncExitStack() as opened:
        if storage.url is None:
            saver = open_checkpoints(storage.data_dir / "conversations.sqlite")
            replicas, checkpoints = ALONE, await opened.enter_async_context(saver)
        else:
            replicas = await opened.enter_async_context(open_leases(storage, "footnote run"))
            checkpoints = await open_postgres_checkpoints(storage, replicas)
        yield Assistant(
            graph=build_graph(checkpoints), checkpoints=checkpoints, make_deps=deps, turn_timeout=30,
            replicas=replicas,
        )  # fmt: skip


@pytest.fixture
async def assistant(storage):
    async with assistant_on(storage) as assistant:
        yield assistant


@pytest.fixture
async def embedded(tmp_path):
    async with assistant_on(Storage(data_dir=tmp_path)) as assistant:
        yield assistant


@pytest.fixture
async def shared(tmp_path, postgres_url):
    """On PostgreSQL alone."""
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        async with assistant_on(storage) as assistant:
            yield assistant


def counts(storage):
    """The checkpoints, and what was written within a turn."""
    tables = ("checkpoints", "writes" if storage.url is None else "checkpoint_writes")
    if storage.url is None:
        with closing(sqlite3.connect(storage.data_dir / "conversations.sqlite")) as database:
            return [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    return [rows(storage.url, f"SELECT count(*) FROM {table}")[0][0] for table in tables]


def rows(url, query, *values):
    with psycopg.connect(url) as connection:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []


async def test_a_turn_leaves_one_checkpoint_which_says_what_it_cost(assistant, storage):
    outcome = await assistant.run(question())

    state = (await assistant._open(question().conversation)).state
    assert state["outcome"] == outcome
    assert isinstance(state["outcome"], Outcome)
    assert outcome.timing_ms["total"] > 0
    assert counts(storage)[0] == 1


async def test_the_next_turn_goes_on_from_a_settled_checkpoint(assistant):
    await assistant.run(question(id="q1"))
    await assistant.run(question("And how old is it?", id="q2"))

    state = (await assistant._open(question().conversation)).state
    assert [exchange.question for exchange in state["history"]] == [
        "How tall is the tower?",
        "And how old is it?",
    ]


async def test_a_thread_that_is_forgotten_leaves_nothing(assistant, storage):
    await assistant.run(question())
    await assistant.run(elsewhere())

    await assistant.forget(question().conversation)

    assert await assistant.checkpoints.threads() == (elsewhere().conversation.id,)
    assert await assistant.proposals(question().conversation) == ()
    assert counts(storage)[0] == 1


async def test_the_checkpoint_that_was_written_last_counts_whatever_the_clock_said(shared, postgres_url):
    """The ids of checkpoints begin with the time, and the clock of another machine may be ahead."""
    await shared.run(question(id="q1"))
    rows(postgres_url, "UPDATE checkpoints SET checkpoint_id = 'f' || substr(checkpoint_id, 2)")

    await shared.run(question("And how old is it?", id="q2"))

    state = (await shared._open(question().conversation)).state
    assert state["turn"].id == "q2"
    assert len(state["history"]) == 2


async def test_a_turn_of_many_threads_side_by_side_does_not_wait_for_one_connection(shared):
    turns = [elsewhere(f"t{number}") for number in range(20)]

    outcomes = await asyncio.gather(*(shared.run(turn) for turn in turns))

    assert {outcome.kind for outcome in outcomes} == {"answered"}
    assert len(await shared.checkpoints.threads()) == 20


async def test_a_turn_leaves_no_blob_that_nothing_refers_to(shared, postgres_url):
    for number in range(3):
        await shared.run(question(id=f"q{number}"))

    names = rows(postgres_url, "SELECT channel FROM checkpoint_blobs")
    assert len(names) == len(set(names))


async def test_a_process_that_lost_its_conversation_writes_nothing_into_it(shared, postgres_url):
    """It slept past its lease in the middle of a turn, and wakes when the conversation has gone on elsewhere."""
    await shared.run(question())
    before = rows(postgres_url, "SELECT checkpoint_id FROM checkpoints")
    turn = await shared._open(question().conversation)

    await shared._put(question(), turn, {"history": ()})
    await turn.finish({"outcome": None})

    assert rows(postgres_url, "SELECT checkpoint_id FROM checkpoints") == before


async def test_two_processes_that_took_turns_of_one_conversation_think_one_after_the_other(
    tmp_path, postgres_url
):
    """Both were begun, because the later one was stored and taken a moment before the earlier one."""
    running, together = 0, []

    class SlowReasoner(ScriptedReasoner):
        async def write(self, ask, strips, before=None, hear=None):
            nonlocal running
            running += 1
            together.append(running)
            await asyncio.sleep(0.05)
            running -= 1
            return await super().write(ask, strips, before)

    async def slow_deps(turn, report):
        return replace(await deps(turn, report), reasoner=SlowReasoner())

    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        async with assistant_on(storage) as one, assistant_on(storage) as other:
            slow = [replace(each, make_deps=slow_deps) for each in (one, other)]
            asked = [question("How tall is it?", id="q1"), question("And how old?", id="q2")]
            await asyncio.gather(*(each.run(turn) for each, turn in zip(slow, asked, strict=True)))
            state = (await one._open(question().conversation)).state

    assert together == [1, 1]
    assert len(state["history"]) == 2


async def test_a_turn_outlasts_the_time_in_which_the_database_is_away(shared, postgres):
    async def restart():
        postgres.stop()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(postgres.start)

    running = asyncio.gather(*(shared.run(elsewhere(f"t{number}")) for number in range(10)))
    await restart()

    assert {outcome.kind for outcome in await running} == {"answered"}


def elsewhere(thread="elsewhere"):
    asked = question(id=f"q in {thread}")
    return replace(asked, conversation=replace(asked.conversation, thread=thread))


@pytest.fixture
def statements(embedded):
    """What the two connections of the conversations' file carry out: whether it waits for the disk, and the SQL."""
    saver, carried_out = embedded.checkpoints, []
    for connection in (saver.conn, saver._durable):
        ((level,),) = connection.execute("PRAGMA synchronous").fetchall()
        connection.set_trace_callback(lambda sql, waits=level == FULL: carried_out.append((waits, sql)))
    return carried_out


def kinds(statements):
    """Each statement's first word; in capitals where the commit waits for the disk."""
    words = [(waits, sql.split()[0]) for waits, sql in statements]
    return [word if waits else word.lower() for waits, word in words]


async def test_the_end_of_a_turn_waits_for_the_disk_and_the_checkpoints_within_it_do_not(
    embedded, statements
):
    await embedded.run(question(), is_queued=True)

    # Read; stored after the model planned and graded, and after it wrote; stored with what it came to.
    assert kinds(statements) == [
        "select",
        *("begin", "insert", "commit"),
        *("begin", "insert", "commit"),
        *("BEGIN", "INSERT", "DELETE", "DELETE", "COMMIT"),
    ]  # fmt: skip


async def test_a_turn_that_nothing_would_run_again_is_stored_before_the_model_replies(embedded, statements):
    await embedded.run(question())

    assert kinds(statements).count("insert") == 3


async def test_a_turn_hands_a_thread_its_checkpoints_and_nothing_else(tmp_path, monkeypatch):
    """A router that is no coroutine function would be handed to one as well."""
    handed, loop = [], asyncio.get_running_loop()
    run = loop.run_in_executor
    monkeypatch.setattr(
        loop,
        "run_in_executor",
        lambda threads, function, *given: (
            handed.append(getattr(function, "__name__", function)) or run(threads, function, *given)
        ),
    )

    async with assistant_on(Storage(data_dir=tmp_path)) as assistant:
        await assistant.run(question(), is_queued=True)

    assert handed == ["get_tuple", "put", "put", "_put_last"]


async def test_a_passage_is_written_as_often_as_a_model_replied_to_it(embedded, statements):
    """Not with each node that ran, nor with what the node returned, nor with the end of the turn."""
    await embedded.run(question(), is_queued=True)

    inserts = [sql.lower() for _, sql in statements if sql.split()[0] == "INSERT"]
    assert [b"Retrieved".hex() in sql for sql in inserts] == [True, True, False]


def kept_as(decorate):
    class Kept:
        number: int
        names: tuple[str, ...] = ()

    return decorate(Kept)(number=3, names=("a", "b"))


def test_a_value_is_written_as_any_dataclass_is():
    plain = kept_as(dataclass(frozen=True, slots=True, kw_only=True))

    written, as_a_value = (JsonPlusSerializer().dumps_typed({"held": it}) for it in (plain, kept_as(value)))

    assert as_a_value == written
