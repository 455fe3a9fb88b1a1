"""The versions of stores in PostgreSQL: made once, migrated once while others wait, or refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from fakes.patience import PATIENCE
from fakes.postgres import until_waiting

from core.errors import VersionMismatch
from core.settings import Settings
from core.storage.database import VERSIONS, Schema
from core.storage.storage import open_storage

NOTES = Schema(tables="CREATE TABLE notes (text TEXT)")


def add_author(notes):
    notes.execute("ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'")


def add_size(notes):
    notes.execute("ALTER TABLE notes ADD COLUMN size INTEGER NOT NULL DEFAULT 0")


def fail(_notes):
    raise RuntimeError("the third step broke")


SECOND, THIRD = replace(NOTES, migrations=(add_author,)), replace(NOTES, migrations=(add_author, add_size))


@pytest.fixture
def shared(postgres_url, tmp_path):
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        yield storage


def version(shared):
    ((version,),) = shared.database("notes", NOTES).rows(
        f"SELECT version FROM {VERSIONS} WHERE store = 'notes'"
    )
    return version


def test_a_store_is_made_once_and_migrated_step_by_step(shared):
    with shared.database("notes", NOTES).transaction() as writing:
        writing.execute("INSERT INTO notes VALUES (?)", ("Hers.",))
    before = version(shared)

    second = shared.database("notes", SECOND).rows("SELECT * FROM notes")
    third = shared.database("notes", replace(NOTES, migrations=(add_author, add_size))).rows(
        "SELECT * FROM notes"
    )

    assert (before, second, third) == (1, [("Hers.", "nobody")], [("Hers.", "nobody", 0)])


def test_a_step_that_fails_leaves_the_store_as_it_was(shared):
    notes = shared.database("notes", NOTES)

    with pytest.raises(RuntimeError):
        shared.database("notes", replace(NOTES, migrations=(add_author, fail)))

    assert (notes.rows("SELECT * FROM notes"), version(shared)) == ([], 1)


def test_beside_one_newer_version_the_older_one_goes_on(shared):
    older, newer = shared.database("notes", NOTES), shared.database("notes", SECOND)
    again = shared.database("notes", NOTES)

    for database, text in ((older, "His."), (again, "Hers.")):
        with database.transaction() as writing:
            writing.execute("INSERT INTO notes (text) VALUES (?)", (text,))

    assert newer.rows("SELECT * FROM notes") == [("His.", "nobody"), ("Hers.", "nobody")]


def test_a_store_that_is_newer_by_two_versions_is_refused(shared):
    shared.database("notes", THIRD)

    with pytest.raises(VersionMismatch, match=r"newer version of Footnote\. Install that version again"):
        shared.database("notes", NOTES)


def test_tables_of_another_program_are_refused_and_left_alone(shared):
    shared.database("others", Schema(tables="CREATE TABLE notes (number INTEGER)"))

    with pytest.raises(
        VersionMismatch, match=r"tables of another program\. Give Footnote a database of its own"
    ):
        shared.database("notes", NOTES)

    assert shared.database("others", Schema()).rows("SELECT number FROM notes") == []


def test_of_processes_that_start_together_one_migrates_and_the_others_wait(shared, postgres_url):
    shared.database("notes", NOTES)
    waited = []

    def migrate(notes):
        waited.append(until_waiting(postgres_url, 2))
        add_author(notes)  # fails where it was done already

    schema = replace(NOTES, migrations=(migrate,))
    with ThreadPoolExecutor(3) as together:  # each has a connection of its own, as a process has
        opened = [together.submit(shared.database, "notes", schema) for _ in range(3)]
        found = [each.result(PATIENCE).rows("SELECT text, author FROM notes") for each in opened]

    assert waited == [True]
    assert (found, version(shared)) == ([[], [], []], 2)
