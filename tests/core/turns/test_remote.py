"""The work of commands that another process does: here a queue in the same process, and a command's view of it."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import psycopg
import pytest
from fakes.leased import RecordingRunner, process
from fakes.messengers import RecordingMessenger
from fakes.patience import PATIENCE
from fakes.scripted import TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over, question

from bots.terminal.messenger import TerminalMessenger, sweep
from bots.terminal.session import TERMINAL
from core.conversation import Command, Conversation, Outcome
from core.errors import NotFound, VersionMismatch
from core.settings import Settings
from core.storage.storage import open_storage
from core.turns import archive
from core.turns.leases import is_any_serving
from core.turns.messenger import SHOWN_BY
from core.turns.remote import OPERATOR, ServerGone, open_remote_queue
from core.turns.turns import open_turns

ROUTE = {SHOWN_BY: TERMINAL}
HERE = Conversation(platform=TERMINAL, space="local", channel="terminal", thread="t")


@dataclass
class ScriptedOperations:
    """Tells something, then does what its name says."""

    runs: list[tuple[str, bool]] = field(default_factory=list)  #: of each, whether it may be done again
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def carry_out(self, name, details, told, *, is_again):
        self.runs.append((name, is_again))
        self.begun.set()
        told.announce("It begins.")
        told.notify("reading", 1, 2)
        if name == "fail":
            raise NotFound("There is nothing of this name.")
        if name == "break":
            raise ZeroDivisionError
        if name == "hang":
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.ended.set()
        told.announce("It ends.")
        return {"given": dict(details)}


@pytest.fixture(params=["sqlite", "postgresql"])
def queue_of(request, folder):
    """The address of a queue."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{folder / 'turns.sqlite'}"


@asynccontextmanager
async def serving(url, folder, operations=None, **messengers):
    """A process that serves."""
    documents = ScriptedDocuments(default=(TOWER,))
    if operations is not None:
        messengers[TERMINAL] = TerminalMessenger(operations=operations)
    async with (
        assistant_over(folder, ScriptedReasoner(), documents) as assistant,
        open_turns(assistant, messengers, database_url=url, drain=0.1) as turns,
    ):
        yield turns


@asynccontextmanager
async def commanding(url, *, is_served=lambda: True):
    waits = []
    async with open_remote_queue(url, is_served=is_served, on_wait=lambda: waits.append("waits")) as queue:
        yield queue, waits


def command(name, number=1):
    return Command(
        id=f"{OPERATOR}{number}", conversation=HERE, author="ada", name=name, details={"n": 1}, said_at=1e9,
        is_apart=True,
    )  # fmt: skip


async def test_a_command_gets_every_note_the_progress_and_the_result_and_leaves_nothing(queue_of, tmp_path):
    told, operations = [], ScriptedOperations()
    async with serving(queue_of, tmp_path, operations), commanding(queue_of) as (queue, _):
        await queue.carry_out(command("do"), ROUTE, told.append)
        left = await archive.is_stored(command("do").id)

    assert [item["note"] for item in told if "note" in item] == ["It begins.", "It ends."]
    assert {"phase": "reading", "done": 1, "total": 2} in told
    assert told[-1] == {"result": {"given": {"n": 1}}}
    assert operations.runs == [("do", False)]
    assert not left


async def test_a_question_of_a_command_returns_its_outcome_and_is_shown_nowhere(queue_of, tmp_path):
    elsewhere = RecordingMessenger()
    asked = question(id=f"{OPERATOR}q")
    async with (
        serving(queue_of, tmp_path, ScriptedOperations(), test=elsewhere),
        commanding(queue_of) as (queue, _),
    ):
        returned = await queue.carry_out(asked, ROUTE, lambda _: None)
        left = await archive.is_stored(asked.id)

    assert asked.conversation.platform == "test"
    assert archive.read(Outcome, returned).kind == "answered"
    assert (elsewhere.shown, left) == ([], False)


async def test_a_cancelled_command_ends_its_work_and_leaves_nothing(queue_of, tmp_path):
    operations = ScriptedOperations()
    async with serving(queue_of, tmp_path, operations), commanding(queue_of) as (queue, _):
        following = asyncio.create_task(queue.carry_out(command("hang"), ROUTE, lambda _: None))
        await asyncio.wait_for(operations.begun.wait(), PATIENCE)

        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following

        assert operations.ended.is_set()
        assert not await archive.is_stored(command("hang").id)


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("fail", "NotFound", "There is nothing of this name."),
        ("break", "FootnoteError", "Footnote has a fault of its own (ZeroDivisionError); its log says more."),
    ],
)
async def test_what_goes_wrong_there_is_a_sentence_here(folder, name, kind, sentence):
    told, url = [], f"sqlite:///{folder / 'turns.sqlite'}"
    async with serving(url, folder, ScriptedOperations()), commanding(url) as (queue, _):
        await queue.carry_out(command(name), ROUTE, told.append)

    assert told[-1] == {"error": {"kind": kind, "sentence": sentence}}


async def test_a_process_of_a_version_without_commands_is_told_apart(folder):
    url = f"sqlite:///{folder / 'turns.sqlite'}"
    async with serving(url, folder, test=RecordingMessenger()), commanding(url) as (queue, _):
        with pytest.raises(VersionMismatch, match="is of another version"):
            await queue.carry_out(command("do"), ROUTE, lambda _: None)

        assert not await archive.is_stored(command("do").id)


async def test_work_that_nobody_takes_up_again_is_withdrawn_after_a_while(folder):
    url = f"sqlite:///{folder / 'turns.sqlite'}"
    async with commanding(url, is_served=lambda: False) as (queue, waits):
        impatient = replace(queue, patience=0.1)
        with pytest.raises(ServerGone, match=r"none came back within 0 seconds\. The work is not queued"):
            await impatient.carry_out(command("do"), ROUTE, lambda _: None)
        left = await queue.client.list_workflows_async()

    assert (left, waits) == ([], ["waits"])


async def test_work_that_a_stop_cut_off_is_done_again_by_the_next_process(folder):
    url, first, second = f"sqlite:///{folder / 'turns.sqlite'}", ScriptedOperations(), ScriptedOperations()
    async with serving(url, folder, first):
        async with commanding(url) as (queue, _):
            await queue.client.enqueue_async(*enqueued("hang"))
        await asyncio.wait_for(first.begun.wait(), PATIENCE)
    async with serving(url, folder, second):
        await asyncio.wait_for(second.begun.wait(), PATIENCE)

    assert (first.runs, second.runs) == ([("hang", False)], [("hang", True)])


def enqueued(name):
    """What a command stores that is killed before it can follow its work."""
    from core.turns.archive import plain
    from core.turns.queue import APPLICATION_VERSION, QUEUE

    options = {
        "workflow_name": "command", "workflow_id": command(name).id, "queue_name": QUEUE,
        "queue_partition_key": command(name).id, "app_version": APPLICATION_VERSION,
    }  # fmt: skip
    return options, plain(command(name)), ROUTE


async def test_what_killed_commands_left_is_swept_and_nothing_else(folder):
    url, messenger = f"sqlite:///{folder / 'turns.sqlite'}", RecordingMessenger()
    async with (
        serving(url, folder, operations := ScriptedOperations(), test=messenger) as turns,
        commanding(url) as (queue, _),
    ):
        await turns.accept(question(), {})
        await messenger.until_delivered("q1")
        await queue.client.enqueue_async(*enqueued("do"))
        await asyncio.wait_for(operations.begun.wait(), PATIENCE)
        handle = await queue.client.retrieve_workflow_async(command("do").id)
        await handle.get_result(polling_interval_sec=0.05)

        assert await sweep() == 0
        assert await sweep(timedelta(seconds=-5)) == 1
        assert not await archive.is_stored(command("do").id)
        assert await archive.is_stored("q1")


async def test_a_queue_that_is_not_there_yet_is_waited_for(tmp_path, empty_queue):
    looks, file = [], tmp_path / "turns.sqlite"

    def is_served():
        looks.append(None)
        if len(looks) == 3:
            shutil.copy(empty_queue, file)
        return True

    async with commanding(f"sqlite:///{file}", is_served=is_served) as (queue, _):
        assert await queue.client.list_workflows_async() == []
    assert len(looks) >= 3


async def test_a_process_that_ends_before_it_is_ready_is_no_riddle(tmp_path):
    with pytest.raises(ServerGone, match="has just ended"):
        async with commanding(f"sqlite:///{tmp_path / 'turns.sqlite'}", is_served=lambda: False):
            pass


async def test_on_postgresql_somebody_serves_who_has_a_living_lease_and_takes_turns(tmp_path, postgres_url):
    before = is_any_serving(postgres_url)
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        async with process(storage) as lease:
            only_there = is_any_serving(postgres_url)
            async with lease.serving(RecordingRunner()):
                async with asyncio.timeout(PATIENCE):
                    while not is_any_serving(postgres_url):  # noqa: ASYNC110 - what changes is in a database
                        await asyncio.sleep(0.05)
    after = is_any_serving(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        dead = "INSERT INTO replicas VALUES ('dead', 'footnote run', TRUE, now() - interval '1 h')"
        connection.execute(dead)
    beside_dead = is_any_serving(postgres_url)

    assert (before, only_there, after, beside_dead) == (False, False, False, False)
