"""A data folder of version 1, opened by the code of today: nothing that was stored in it is lost.

A test that fails here after a change of what is stored asks for a migration: see ``core/storage/database.py``.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import MISSING, fields
from importlib import import_module

import ormsgpack
import pytest
from fakes.harbour import CUP_QUESTION, FERRY_QUESTION
from fakes.messengers import RecordingMessenger
from fakes.scripted import TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over
from fakes.shelf import files_read, found, open_library, quotable
from fakes.version_1 import CLUB, EDITED, PAGE, QUAY, SPENT_ON, STORES, lay_down, of_the_terminal
from langgraph.checkpoint.serde import jsonplus

from bots.chat.channels import open_channel_store, own_collection
from bots.chat.people import state_email, stated_emails
from core.conversation import Conversation, Decision, Exchange, Outcome, Proposal, Question
from core.errors import StoreTrouble
from core.graph.state import Work
from core.library.readers import ReaderSets, collection_for
from core.library.sync import SyncReport
from core.reasoning.limits import open_budget
from core.storage.database import version_in
from core.storage.storage import Storage
from core.turns.turns import open_turns
from core.wording import Sentence


@pytest.fixture
def data(tmp_path):
    return lay_down(tmp_path)


def rows(file, query):
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def asked(text, thread):
    return Question(id="new", conversation=of_the_terminal(thread), author="ada", text=text, asked_at=1.0)


@asynccontextmanager
async def assistant_of(folder):
    async with assistant_over(folder, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,))) as assistant:
        yield assistant


# The library


def columns_of(file):
    """Those of each table and of each index."""
    return {
        name: [row[1:4] + row[5:] for row in rows(file, f"PRAGMA table_info({name})")]
        if kind == "table"
        else [row[2] for row in rows(file, f"PRAGMA index_info({name})")]
        for kind, name in rows(file, "SELECT type, name FROM sqlite_master")
    }


def content_of(file):
    """What is found and quoted; ids and dates, and terms of where a document lies, differ from folder to folder."""
    return {
        "passages": rows(
            file,
            'SELECT d.source, p.ordinal, p.path, p.location, p.text, p.start, p."end", w.title, w.body'
            " FROM passages p JOIN documents d ON d.id = p.document JOIN words w ON w.rowid = p.id ORDER BY 1, 2",
        ),
        "documents": rows(file, "SELECT source, title, url, hash, size, passages FROM documents ORDER BY 1"),
        "collections": rows(file, "SELECT * FROM collections ORDER BY 1"),
        "page": rows(file, "SELECT scope FROM words WHERE rowid = (SELECT max(p.id) FROM passages p"
                           " JOIN documents d ON d.id = p.document WHERE d.url IS NOT NULL)"),
    }  # fmt: skip


def test_the_library_is_as_if_it_had_been_made_today(data, tmp_path):
    """Its tables, how documents are cut, and the terms that are made of them."""
    from fakes.version_1 import fill_library, write_documents

    write_documents(tmp_path / "today")
    fill_library(tmp_path / "today")
    today = tmp_path / "today" / ".footnote" / "library.sqlite"

    with closing(open_library(data)):
        pass

    assert columns_of(data / "library.sqlite") == columns_of(today)
    assert content_of(data / "library.sqlite") == content_of(today)
    assert version_in(data / "library.sqlite") == version_in(today)


def test_all_is_found_and_no_file_is_read_again(data):
    with closing(open_library(data)) as library, files_read(data.parent / "docs") as opened:
        report = library.refresh()
        answers = [found(library, text)[0] for text in ("ferry to Sark", "visitors' pontoon", "tides")]
        uploaded = found(library, "winter storage of boats", collections=[own_collection(QUAY)])

    assert answers == ["docs/ferry.md", "docs/harbour.md", PAGE]
    assert uploaded == ["winter.md"]
    assert report == SyncReport(skipped=3)
    assert set(opened) <= {"ferry.md", "harbour.md"}  # for their dates are those of the copy


def test_what_was_forgotten_stays_forgotten(data):
    with closing(open_library(data)) as library:
        library.refresh()

        assert CLUB.split("\n")[2] not in quotable(library)


# Conversations


async def test_what_was_said_and_proposed_is_remembered(data):
    async with assistant_of(data) as assistant:
        history = (await assistant._open(of_the_terminal("ferry"))).state["history"]
        (proposal,) = await assistant.proposals(of_the_terminal("ferry"))
        elsewhere = await assistant.find_proposal(proposal.id)
        cut = await assistant.unfinished(of_the_terminal("cut"))

    assert [exchange.question for exchange in history] == [
        FERRY_QUESTION, "Does it take bicycles?", CUP_QUESTION,
    ]  # fmt: skip
    assert (proposal.is_open, proposal.question, elsewhere) == (
        True, CUP_QUESTION, (of_the_terminal("ferry"), proposal),
    )  # fmt: skip
    assert cut is not None
    assert cut.query == EDITED


def is_readable(kind, stored):
    """Whether a value is known by what was stored of it."""
    optional = {
        each.name for each in fields(kind) if (each.default, each.default_factory) != (MISSING, MISSING)
    }
    known = {each.name for each in fields(kind)}
    return known - optional <= stored <= known


async def test_a_field_that_was_not_stored_has_a_default(data):
    stored: dict[type, set[str]] = {}

    def read(code, packed):
        content = ormsgpack.unpackb(packed, ext_hook=read, option=ormsgpack.OPT_NON_STR_KEYS)
        if code == jsonplus.EXT_CONSTRUCTOR_KW_ARGS:
            module, name, given = content[:3]
            stored.setdefault(getattr(import_module(module), name), set()).update(given)
        return code

    for (checkpoint,) in rows(data / "conversations.sqlite", "SELECT checkpoint FROM checkpoints"):
        ormsgpack.unpackb(checkpoint, ext_hook=read, option=ormsgpack.OPT_NON_STR_KEYS)

    assert all(is_readable(kind, names) for kind, names in stored.items())
    assert {Conversation, Decision, Exchange, Outcome, Proposal, Question, Work} <= set(stored)


async def test_a_conversation_goes_on(data):
    async with assistant_of(data) as assistant:
        outcome = await assistant.run(asked("How tall is the tower?", "ferry"))
        history = (await assistant._open(of_the_terminal("ferry"))).state["history"]

    assert outcome.kind == "answered"
    assert len(history) == 4


async def test_a_conversation_that_cannot_be_read_hides_no_other_and_can_be_begun_anew(data):
    with closing(sqlite3.connect(data / "conversations.sqlite")) as database, database:
        database.execute("UPDATE checkpoints SET checkpoint = X'C1C1' WHERE thread_id LIKE '%/ferry'")

    async with assistant_of(data) as assistant:
        with pytest.raises(StoreTrouble) as told:
            await assistant.run(asked("And bicycles?", "ferry"))
        (other,) = await assistant.proposals(of_the_terminal("cut"))
        is_found = await assistant.find_proposal(other.id)
        await assistant.forget(of_the_terminal("ferry"))
        outcome = await assistant.run(asked("How tall is the tower?", "ferry"))

    assert str(told.value) == Sentence("conversation_unreadable")
    assert is_found is not None
    assert outcome.kind == "answered"


# Turns


@asynccontextmanager
async def turns_of(data, messenger):
    url = f"sqlite:///{data / 'turns.sqlite'}"
    async with (
        assistant_of(data) as assistant,
        open_turns(assistant, {"test": messenger}, database_url=url) as turns,
    ):
        yield turns


async def test_turns_that_waited_are_run_in_their_order(data):
    messenger = RecordingMessenger()

    async with turns_of(data, messenger):
        await messenger.until_delivered("w1", "w2", "w3")

    kinds = {turn: outcome.kind for turn, outcome in messenger.outcomes.items()}
    assert kinds == dict.fromkeys(("w1", "w2", "w3"), "answered")
    assert messenger.delivered.index("w1") < messenger.delivered.index("w2")
    assert len(messenger.delivered) == 3


def test_a_field_that_a_waiting_turn_lacks_has_a_default(data):
    ((given,),) = rows(data / "turns.sqlite", "SELECT inputs FROM workflow_input WHERE workflow_uuid = 'w1'")

    asked, _address = json.loads(given)["positionalArgs"]

    assert is_readable(Question, set(asked) - {"kind"})


async def test_a_turn_that_cannot_be_read_keeps_no_other_from_running(data):
    with closing(sqlite3.connect(data / "turns.sqlite")) as database, database:
        database.execute(
            "UPDATE workflow_input SET inputs = replace(inputs, 'Question', 'Riddle') WHERE workflow_uuid = 'w1'"
        )
    messenger = RecordingMessenger()

    async with turns_of(data, messenger):
        await messenger.until_delivered("w2", "w3")

    assert set(messenger.delivered) == {"w2", "w3"}


# What channels prefer, and what was spent


async def test_channels_and_threads_are_known(data):
    moved = Conversation(platform="slack", space="T1", channel="C1", thread="1700000000.000900")

    with open_channel_store(Storage(data_dir=data)) as rooms:
        room = await rooms.thread_state(QUAY)

        assert (room.follow, room.knows_thread, room.asker, room.since) == ("mentions", True, "U1", 5.0)
        assert await rooms.moved_to(moved.thread) == QUAY
        assert await rooms.watermark("discord") == 7
        assert [await rooms.is_first(word) for word in ("w1", "w2")] == [False, True]


def test_readers_and_their_addresses_can_be_noted(data):
    readers = collection_for("default", {"ann@harbour.example"})
    with closing(open_library(data)) as library:
        sets = ReaderSets(library.store.database)
        with library.store.transaction() as writing:
            sets.note(writing, readers, {"ann@harbour.example"})

        assert sets.open_to(["ann@harbour.example"]) == {readers}
    with open_channel_store(Storage(data_dir=data)) as rooms:
        state_email(rooms.database.database, "U1", "Ann@harbour.example")

        assert stated_emails(rooms.database.database) == [("U1", "ann@harbour.example")]


async def test_people_can_ask_not_to_be_read(data):
    with open_channel_store(Storage(data_dir=data)) as rooms:
        await rooms.opt_out("slack/U1")

        assert await rooms.opted_out() == {"slack/U1"}


async def test_tokens_of_the_day_are_counted(data):
    with open_budget(100, Storage(data_dir=data), now=lambda: SPENT_ON, per_person=10) as budget:
        assert await budget.read_spent_today() == 42

        await budget.allowance("slack/T1/C1", "U1").charge(10)

        assert await budget.allowance("slack/T1/C2", "U1").find_spent() == "person"
        assert await budget.read_spent_today() == 52


def test_every_file_says_its_version(data):
    assert {version_in(data / f"{store}.sqlite") for store in STORES} == {1}
