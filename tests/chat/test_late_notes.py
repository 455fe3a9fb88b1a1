"""A process that slept past its lease wakes among the turns that others have ended meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from fakes.patience import PATIENCE
from fakes.scripted import question

from bots.chat import messenger
from bots.chat.commands import ChatCommands
from bots.chat.messenger import ChatMessenger
from bots.chat.people import Approval
from bots.chat.replies import Replies
from bots.discord.render import LAYOUT
from core.conversation import Answer, Outcome, Progress
from core.library.documents import Readable
from core.turns.replicas import OWNERSHIP

ASKED = question("How tall is the tower?", id="test/space/channel/1")
ANSWERED = Outcome(
    kind="answered",
    turn_id=ASKED.id,
    answer=Answer(text="Ninety metres.", citations=(), grounding="documents", composed=True),
)
READING, WRITING = "Reading 3 passages…", "Writing…"


@dataclass
class FakeOwnership:
    """Of a run in this process, which may sleep past its lease."""

    has_lease: bool = True

    def is_certain(self):
        return self.has_lease


@dataclass
class Board:
    """A platform with one message, which every edit replaces."""

    text: str = ""
    responds: asyncio.Event = field(default_factory=asyncio.Event)  #: else edits arrive, and nobody is told
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self, route, turn, work, *, is_again):
        self._replace(work.sentence)
        return "the message"

    async def progress(self, route, handle, turn, work, *, is_new):
        if is_new:
            self._replace(work.sentence)
            await self.responds.wait()

    async def finish(self, route, handle, turn, message, *, is_again, is_waiting):
        self._replace(message.text)

    def _replace(self, text):
        self.text = text
        self.changed.set()

    async def until(self, text):
        async with asyncio.timeout(PATIENCE):
            while text not in self.text:
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
def ownership(monkeypatch):
    monkeypatch.setattr(messenger, "BETWEEN", 0.01)
    return FakeOwnership()


@pytest.fixture
def board():
    return Board()


class Nobody:
    async def names(self, route, users):
        return {}

    def is_direct(self, route):
        return False


class OpenChannels:
    """Channels in which nothing is closed."""

    async def reads(self, _conversation, _author, _library):
        return Readable(collections=frozenset({"default"}))


class OpenAnswers:
    """Answers of which nothing was withdrawn."""

    async def within(self, outcome, _readable):
        return outcome


def messenger_of(board, outcomes):
    async def proposals(_conversation):
        return ()

    async def outcome_of(turn_id):
        return outcomes.get(turn_id)

    footnote = SimpleNamespace(library=None, answers=OpenAnswers())
    commands = ChatCommands(
        footnote=footnote, channel_store=OpenChannels(), people=Nobody(), upload_index=None
    )
    replies = Replies(
        posts=board, renderer=LAYOUT, approval=Approval(people=Nobody(), engine="DuckDuckGo"),
        proposals=proposals, outcomes=outcome_of,
    )  # fmt: skip
    return ChatMessenger(commands=commands, replies=replies, refresh=90.0)


class Run:
    """A turn that this process thinks about, until it is cut off."""

    def __init__(self, messenger, ownership):
        self._began, self._ownership = asyncio.Event(), ownership
        self._task = asyncio.create_task(self._think(messenger))

    async def _think(self, messenger):
        OWNERSHIP.set(self._ownership)
        handle = await messenger.begin(ASKED, {}, is_again=False)
        self._report = messenger.reporter(ASKED, {}, handle)
        self._began.set()
        await asyncio.Event().wait()

    async def report(self, **progress):
        await self._began.wait()
        self._report(Progress(**progress))

    async def cut_off(self):
        """Return when nothing of it is left."""
        self._task.cancel()
        await asyncio.wait([self._task])
        async with asyncio.timeout(PATIENCE):
            while left := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(left)


async def test_a_note_that_was_still_to_be_sent_covers_no_answer_of_another_process(board, ownership):
    outcomes = {}
    run = Run(messenger_of(board, outcomes), ownership)
    board.responds.set()
    await run.report(stage="reading", count=3)
    await board.until(READING)

    ownership.has_lease = False
    outcomes[ASKED.id], board.text = ANSWERED, "Ninety metres."
    await run.report(stage="writing")
    await run.cut_off()

    assert board.text == "Ninety metres."


async def test_an_answer_is_shown_again_if_a_note_was_being_sent_when_its_process_fell_asleep(
    board, ownership
):
    outcomes = {}
    run = Run(messenger_of(board, outcomes), ownership)
    await run.report(stage="writing")
    await board.until(WRITING)

    ownership.has_lease = False
    outcomes[ASKED.id] = ANSWERED
    await run.cut_off()

    assert "Ninety metres." in board.text


async def test_nothing_is_shown_again_where_every_note_came_in_time(board, ownership):
    run = Run(messenger_of(board, {ASKED.id: ANSWERED}), ownership)
    board.responds.set()
    await run.report(stage="reading", count=3)
    await board.until(READING)

    ownership.has_lease = False
    board.text = "What another process has shown."
    await run.cut_off()

    assert board.text == "What another process has shown."
