"""What is replaced in DBOS is there, in the form that is known, and has its effect."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import contextmanager
from pathlib import Path

import pytest
from dbos import DBOS
from dbos._dbos import _get_dbos_instance
from fakes.messengers import RecordingMessenger
from fakes.patience import PATIENCE
from fakes.scripted import question
from fakes.turns import TO_HERE, turns_over
from sqlalchemy import event

from core.errors import SettingsError
from core.turns import dbos_patches
from core.turns.dbos_patches import PATCHES, check_patched
from core.turns.queue import launch
from core.turns.waiting import DiskWatch

TESTS = Path(__file__).parent


def test_the_installed_dbos_is_known():
    check_patched.__wrapped__()

    assert len({patch.name for patch in PATCHES}) == len(PATCHES)


@pytest.mark.parametrize(
    "name", ["_nowhere:f", "_queue:no_such_function", "_sys_db:SystemDatabase.get_queue"]
)
def test_a_dbos_of_another_form_is_refused_in_a_sentence(monkeypatch, name):
    changed = dbos_patches.Patch(name=name, takes="self pattern", why="", test="")
    monkeypatch.setattr(dbos_patches, "PATCHES", (*PATCHES, changed))

    with pytest.raises(
        SettingsError, match=rf"{re.escape(name)} changed\)\. Install what pyproject\.toml names"
    ):
        check_patched.__wrapped__()


def test_each_names_the_test_that_notices():
    named = [patch.test.split("::") for patch in PATCHES]

    missing = [name for file, name in named if f"def {name}(" not in (TESTS / file).read_text()]

    assert missing == []


def test_nothing_else_of_dbos_is_replaced():
    core = Path(dbos_patches.__file__).parents[1]
    private = re.compile(r"^\s*(?:system|_\w+|GlobalParams|DefaultSerializer)\.\w+ = ", re.MULTILINE)

    texts = {file.name: file.read_text(encoding="utf-8") for file in core.rglob("*.py")}
    found = {name for name, text in texts.items() if "dbos" in text.lower() and private.search(text)}

    assert found == {Path(dbos_patches.__file__).name}


@contextmanager
def full_once():
    """The disk takes the first row of all not; yields what was refused."""
    refused, engine = [], _get_dbos_instance()._sys_db.engine

    def refuse(_connection, _cursor, statement, *_):
        if statement.startswith("INSERT") and not refused:
            refused.append(statement)
            fault = sqlite3.OperationalError("database or disk is full")
            fault.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise fault

    event.listen(engine, "before_cursor_execute", refuse)
    try:
        yield refused
    finally:
        event.remove(engine, "before_cursor_execute", refuse)


async def test_a_write_that_a_full_disk_refuses_is_tried_again(folder):
    messenger = RecordingMessenger()

    async with turns_over(folder, messenger) as turns:
        with full_once() as refused:
            await turns.accept(question(), TO_HERE)
        await messenger.until_delivered("q1")

    assert len(refused) == 1
    assert turns.disk.trouble == "the disk is full"


async def test_it_is_known_that_writes_wait_for_the_server(postgres_url, postgres):
    async def nothing_runs():
        pass

    disk = DiskWatch()
    async with launch(postgres_url, disk=disk, close=nothing_runs):
        postgres.stop()
        try:
            looking = asyncio.create_task(DBOS.get_workflow_status_async("q1"))
            async with asyncio.timeout(PATIENCE):
                while not disk.trouble:  # noqa: ASYNC110 - DBOS looks in a thread of its own
                    await asyncio.sleep(0.01)
        finally:
            postgres.start()
        found = await asyncio.wait_for(looking, PATIENCE)

    assert found is None
    assert disk.trouble == "the database cannot be reached"


async def test_turns_are_taken_under_the_newest_name(folder):
    messenger = RecordingMessenger()

    async with turns_over(folder, messenger) as turns:
        await turns.accept(question(id="q1"), TO_HERE)
        await messenger.until_delivered("q1")
        turns.run_as("another")
        await turns.accept(question(id="q2"), TO_HERE)
        await messenger.until_delivered("q2")
        taken = await DBOS.list_workflows_async(load_input=False, load_output=False)

    assert {each.workflow_id: each.executor_id for each in taken} == {"q1": "footnote", "q2": "another"}
