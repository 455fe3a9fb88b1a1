"""What older versions stored beside the library: conversations, turns that waited, and rooms."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager, closing

import pytest
from fakes.messengers import RecordingMessenger
from fakes.older import lay_down
from fakes.queues import make_empty_queue
from fakes.scripted import ScriptedDocuments, ScriptedReasoner
from test_graph import TOWER, assistant_over

from bots.chat.channels import open_channel_store
from core.conversation import Conversation, Question
from core.errors import StoreTrouble
from core.turns.turns import open_turns
from core.wording import Sentence

OPEN_PROPOSAL, ALLOWED_PROPOSAL = "p9b12da347c", "p19ff8612d6"  # in the conversations "ferry" and "cut"


def of_the_terminal(thread):
    return Conversation(platform="cli", space="local", channel="terminal", thread=thread)


def asked(text, thread):
    return Question(id="new", conversation=of_the_terminal(thread), author="ada", text=text, asked_at=1.0)


@asynccontextmanager
async def assistant_of(folder):
    async with assistant_over(folder, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,))) as assistant:
        yield assistant


@pytest.fixture
def conversations(tmp_path):
    return lay_down("conversations", tmp_path / "conversations.sqlite")


async def test_what_was_proposed_and_said_is_read(conversations):
    async with assistant_of(conversations.parent) as assistant:
        found = await assistant.find_proposal(OPEN_PROPOSAL)
        history = (await assistant._state(of_the_terminal("ferry").id))["history"]
        left = await assistant.unfinished(of_the_terminal("cut"))

    assert found is not None
    assert (found[0].thread, found[1].query, found[1].is_open) == (
        "ferry",
        "Who won the 1998 football world cup",
        True,
    )
    assert [exchange.question for exchange in history][:2] == [
        "When does the ferry to Sark leave?",
        "Does it take bicycles?",
    ]
    assert left is not None
    assert (left.proposal_id, left.query) == (ALLOWED_PROPOSAL, "petrol price France 1998")


def damage(conversations, old, new):
    """Let the conversation "ferry" say something else, as another version would have."""
    with closing(sqlite3.connect(conversations)) as database, database:
        ((stored,),) = database.execute(
            "SELECT checkpoint FROM checkpoints WHERE thread_id LIKE '%/ferry'"
        ).fetchall()
        assert old in stored
        database.execute(
            "UPDATE checkpoints SET checkpoint = ? WHERE thread_id LIKE '%/ferry'",
            (stored.replace(old, new),),
        )


UNKNOWN_FIELD, NO_CHECKPOINT = (b"asker", b"askee"), (b"channel_values", b"\xc1hannel_values")


@pytest.mark.parametrize("change", [UNKNOWN_FIELD, NO_CHECKPOINT], ids=["unknown field", "no checkpoint"])
async def test_a_conversation_that_cannot_be_read_is_told_and_hides_no_other(conversations, change):
    damage(conversations, *change)

    async with assistant_of(conversations.parent) as assistant:
        with pytest.raises(StoreTrouble) as told:
            await assistant.run(asked("And bicycles?", "ferry"))
        hidden = await assistant.find_proposal(OPEN_PROPOSAL)
        found = await assistant.find_proposal(ALLOWED_PROPOSAL)
        elsewhere = await assistant.run(asked("How tall is the tower?", "new"))

    assert str(told.value) == Sentence("conversation_unreadable")
    assert hidden is None
    assert found is not None
    assert elsewhere.kind == "answered"


async def test_a_conversation_that_cannot_be_read_can_be_forgotten_and_begun_anew(conversations):
    damage(conversations, *UNKNOWN_FIELD)

    async with assistant_of(conversations.parent) as assistant:
        await assistant.forget(of_the_terminal("ferry"))
        outcome = await assistant.run(asked("How tall is the tower?", "ferry"))

    assert outcome.kind == "answered"


@pytest.fixture
def waiting(tmp_path):
    """The queue of the first version, with three turns in it."""
    make_empty_queue(tmp_path)
    return lay_down("turns", tmp_path / "turns.sqlite")


@asynccontextmanager
async def turns_of(folder, messenger):
    async with (
        assistant_of(folder) as assistant,
        open_turns(
            assistant, {"test": messenger}, database_url=f"sqlite:///{folder / 'turns.sqlite'}"
        ) as turns,
    ):
        yield turns


async def test_turns_that_waited_when_the_first_version_was_killed_are_run_in_their_order(waiting):
    messenger = RecordingMessenger()

    async with turns_of(waiting.parent, messenger):
        await messenger.until_delivered("q0", "q4", "q1")

    assert {turn: outcome.kind for turn, outcome in messenger.outcomes.items()} == dict.fromkeys(
        ("q0", "q4", "q1"), "answered"
    )
    assert messenger.delivered.index("q0") < messenger.delivered.index("q4")
    assert len(messenger.delivered) == 3


async def test_a_turn_that_cannot_be_read_keeps_no_other_from_running(waiting):
    with closing(sqlite3.connect(waiting)) as database, database:
        database.execute(
            "UPDATE workflow_input SET inputs = replace(inputs, 'Question', 'Riddle') WHERE workflow_uuid = 'q0'"
        )
    messenger = RecordingMessenger()

    async with turns_of(waiting.parent, messenger):
        await messenger.until_delivered("q4", "q1")

    assert set(messenger.delivered) == {"q4", "q1"}


def test_rooms_know_what_they_knew(tmp_path):
    lay_down("rooms", tmp_path / "rooms.sqlite")
    there = Conversation(platform="slack", space="T1", channel="C1", thread="1700000000.000100")
    another = Conversation(platform="slack", space="T1", channel="C2", thread="1700000000.000200")

    with open_channel_store(tmp_path) as rooms:
        room = rooms.room_of(there)
        rooms.remember_thread(another, "U2", 5.0)
        rooms.set_follow(another, "thread")

        assert (room.follow, room.knows_thread, room.asker) == ("mentions", True, "U1")
        assert rooms.room_of(another).since == 5.0
        assert [rooms.take_word(word) for word in ("w1", "w2")] == [False, True]
