"""`footnote migrate`: what it makes and migrates, and what it says."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from threading import Event, Thread
from time import sleep

import psycopg
import pytest
from fakes.patience import PATIENCE
from fakes.version_1 import lay_down

from bots.commands import backup
from bots.stores.source import IN_FOLDER
from core.library.data_lock import lock_data_dir
from core.settings import Settings
from core.storage import postgres
from core.storage.database import Schema
from core.storage.postgres import making_tables
from core.storage.storage import open_storage

STORES = [
    "answers",
    "conversations",
    "gaps",
    "library",
    "mcp",
    "page",
    "questions",
    "rates",
    "rooms",
    "slack",
    "sources",
    "spending",
    "turns",
]


@pytest.fixture
def told(capsys):
    """Run the command; its lines as store -> what was done."""

    def migrate(settings):
        assert backup.migrate(Namespace(), settings) == 0
        return dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())

    return migrate


def test_an_empty_postgres_gets_every_store_once(postgres_url, tmp_path, told):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)

    first, second = told(settings), told(settings)
    with open_storage(settings) as storage:
        queued = storage.database("footnote", Schema()).rows("SELECT count(*) FROM dbos.workflow_status")

    assert sorted(first) == sorted(second) == STORES
    assert all(done.startswith("made, version ") for done in first.values())
    assert all(done.endswith("unchanged") for done in second.values())
    assert queued == [(0,)]


def test_a_folder_of_an_older_version_is_migrated(tmp_path, told, monkeypatch):
    settings = Settings(data_dir=lay_down(tmp_path))
    newer = replace(IN_FOLDER["rooms"], migrations=(lambda rooms: rooms.execute("DROP TABLE opted_out"),))
    monkeypatch.setitem(IN_FOLDER, "rooms", newer)

    first, second = told(settings), told(settings)

    assert first["rooms.sqlite"] == "migrated from version 1 to 2"
    assert second["rooms.sqlite"] == "version 2, unchanged"


def test_beside_a_process_that_serves_the_folder_there_is_nothing_to_do(tmp_path, capsys):
    settings = Settings(data_dir=lay_down(tmp_path))

    with lock_data_dir(settings.data_dir, "footnote run"):
        code = backup.migrate(Namespace(), settings)

    assert code == 0
    assert "brought it up to date when it started" in capsys.readouterr().out


def test_an_empty_folder_has_nothing_to_migrate(tmp_path, capsys):
    code = backup.migrate(Namespace(), Settings(data_dir=tmp_path))

    assert (code, capsys.readouterr().out) == (0, f"There is nothing in {tmp_path} yet.\n")


def test_tables_of_a_library_are_made_by_one_process_at_a_time_and_who_waits_keeps_no_index_from_it(
    postgres_url, monkeypatch
):
    order: list[str] = []
    looked = Event()

    def look_again(_seconds: float) -> None:
        looked.set()
        sleep(0.01)

    def second() -> None:
        with making_tables(postgres_url):
            order.append("second")

    monkeypatch.setattr(postgres.time, "sleep", look_again)
    waiting = Thread(target=second)
    with making_tables(postgres_url), psycopg.connect(postgres_url, autocommit=True) as connection:
        waiting.start()
        has_looked = looked.wait(PATIENCE)
        connection.execute("SET statement_timeout = '30s'")
        connection.execute("CREATE TABLE made (number INT)")
        connection.execute("CREATE INDEX CONCURRENTLY made_by ON made (number)")
        order.append("first")
    waiting.join()

    assert has_looked
    assert order == ["first", "second"]
