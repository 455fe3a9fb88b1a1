"""The version of a SQLite file: made new, migrated once and wholly, or refused and left alone."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.patience import PATIENCE
from fakes.version_1 import lay_down

from bots.doctor import index
from bots.doctor.settings import Configuration
from core.bootstrap import open_library
from core.errors import IndexInUse, VersionMismatch
from core.library import tables
from core.library.data_lock import lock_data_dir
from core.settings import Settings
from core.storage.database import Schema, prepare, version_in

ROOT = Path(__file__).resolve().parents[1]
NOTES = Schema(tables="CREATE TABLE IF NOT EXISTS notes (text TEXT)")


def add_author(notes):
    notes.execute("ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'")


def sign(notes):
    notes.execute("UPDATE notes SET author = 'ada' WHERE text = 'Hers.'")


def fail(_notes):
    raise RuntimeError("the third step broke")


SECOND, THIRD = replace(NOTES, migrations=(add_author,)), replace(NOTES, migrations=(add_author, sign))


def opened(file, schema):
    with closing(sqlite3.connect(file)) as notes:
        prepare(notes, file, schema)


def rows(file, query="SELECT * FROM notes"):
    with closing(sqlite3.connect(file)) as notes:
        return notes.execute(query).fetchall()


@pytest.fixture
def file(tmp_path):
    """A file of version 1 with two notes."""
    opened(tmp_path / "notes.sqlite", NOTES)
    with closing(sqlite3.connect(tmp_path / "notes.sqlite")) as notes, notes:
        notes.executemany("INSERT INTO notes VALUES (?)", [("Hers.",), ("His.",)])
    return tmp_path / "notes.sqlite"


def test_a_new_file_is_of_the_newest_version(tmp_path):
    opened(tmp_path / "first.sqlite", NOTES)
    opened(tmp_path / "third.sqlite", THIRD)

    assert [version_in(tmp_path / f"{name}.sqlite") for name in ("first", "third")] == [1, 3]


def test_a_file_is_migrated_step_by_step_and_once(file):
    opened(file, SECOND)
    second = rows(file)
    opened(file, THIRD)
    opened(file, THIRD)

    assert second == [("Hers.", "nobody"), ("His.", "nobody")]
    assert rows(file) == [("Hers.", "ada"), ("His.", "nobody")]
    assert version_in(file) == 3


def test_a_step_that_fails_leaves_the_file_as_it_was(file):
    with pytest.raises(RuntimeError):
        opened(file, replace(NOTES, migrations=(add_author, sign, fail)))

    assert (rows(file), version_in(file)) == ([("Hers.",), ("His.",)], 1)


DYING = """
import os, signal, sqlite3, sys
from pathlib import Path
from core.storage.database import Schema, prepare

def add_author(notes):
    notes.execute("ALTER TABLE notes ADD COLUMN author TEXT")

def die(notes):
    os.kill(os.getpid(), signal.SIGKILL)

file = Path(sys.argv[1])
prepare(sqlite3.connect(file), file, Schema(migrations=(add_author, die)))
"""


def test_killed_in_the_middle_it_is_as_it_was_and_the_next_start_migrates_it(file):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    killed = subprocess.run(
        [sys.executable, "-c", DYING, file], env=environment, timeout=PATIENCE, check=False
    )
    before = rows(file), version_in(file)
    opened(file, THIRD)

    assert killed.returncode == -signal.SIGKILL
    assert before == ([("Hers.",), ("His.",)], 1)
    assert rows(file) == [("Hers.", "ada"), ("His.", "nobody")]


def test_where_another_process_was_faster_nothing_is_migrated_twice(file):
    with closing(sqlite3.connect(file)) as slow:

        class Late(sqlite3.Connection):
            """Another process migrates the file before this one begins to."""

            def execute(self, statement, *given):
                if statement == "BEGIN IMMEDIATE":
                    prepare(slow, file, SECOND)
                return super().execute(statement, *given)

        with closing(sqlite3.connect(file, factory=Late)) as late:
            prepare(late, file, SECOND)

    assert rows(file) == [("Hers.", "nobody"), ("His.", "nobody")]


def test_a_file_of_a_newer_version_is_refused_and_left_alone(file):
    opened(file, THIRD)
    before = file.read_bytes()

    with pytest.raises(VersionMismatch, match=r"newer version of Footnote\. Install that version again"):
        opened(file, SECOND)

    assert file.read_bytes() == before


@pytest.mark.parametrize("script", ["CREATE TABLE notes (text TEXT)", "PRAGMA application_id = 7"])
def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path, script):
    file = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(script)
    before = file.read_bytes()

    with pytest.raises(VersionMismatch, match=r"belongs to another program. Set DATA_DIR"):
        opened(file, NOTES)

    assert (file.read_bytes(), version_in(file)) == (before, -1)


def test_where_there_is_nothing_yet_there_is_no_version(tmp_path):
    (tmp_path / "empty.sqlite").touch()
    (tmp_path / "garbage.sqlite").write_bytes(b"no database at all. " * 500)

    found = [version_in(tmp_path / f"{name}.sqlite") for name in ("none", "empty", "garbage")]

    assert found == [None, None, None]


# A step of the library, on a folder of version 1


def add_language(library):
    library.execute("ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT 'en'")


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """The settings of a folder of version 1, where the library's newest version is one more than ours."""
    migrations = (*tables.SCHEMA.migrations, add_language)
    monkeypatch.setattr(tables, "SCHEMA", replace(tables.SCHEMA, migrations=migrations))
    monkeypatch.setattr("core.bootstrap.SCHEMA", tables.SCHEMA)
    return Settings(data_dir=lay_down(tmp_path))


def test_a_library_of_version_1_is_migrated_when_it_is_opened(changed):
    with closing(open_library(changed)) as library:
        sources = [entry.source for entry in library.store.entries()]
        languages = library.store.database.rows("SELECT DISTINCT language FROM documents")

    assert "docs/ferry.md" in sources
    assert languages == [("en",)]
    assert version_in(changed.data_dir / "library.sqlite") == tables.SCHEMA.version == 2


def test_while_another_process_holds_the_folder_its_library_is_not_migrated(changed):
    with lock_data_dir(changed.data_dir, "footnote run"), pytest.raises(IndexInUse, match="footnote run"):
        open_library(changed)

    assert version_in(changed.data_dir / "library.sqlite") == 1


def test_the_doctor_reads_an_older_library_without_migrating_it(changed, monkeypatch):
    monkeypatch.setattr(index, "SCHEMA", tables.SCHEMA)

    (finding,) = index.examine(Configuration(settings=changed))

    assert (finding.state, finding.fix) == ("warning", "`footnote sources` brings it up to this one.")
    assert version_in(changed.data_dir / "library.sqlite") == 1
