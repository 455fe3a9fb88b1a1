"""PostgreSQL restarted or out of reach: a sentence each time, and everything goes on when it is back."""

from __future__ import annotations

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from bots.cli import main
from core.errors import StoreUnavailable
from core.settings import Settings
from core.storage.database import Schema
from core.storage.storage import open_storage
from core.turns.waiting import DiskWatch, is_away

NOTES = Schema(tables="CREATE TABLE notes (text TEXT)")
ADD = "INSERT INTO notes VALUES (?)"


@pytest.fixture
def notes(postgres_url, tmp_path):
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        yield storage.database("notes", NOTES)


def add(notes, *texts):
    with notes.transaction() as writing:
        for text in texts:
            writing.execute(ADD, (text,))


def test_after_a_restart_of_the_server_reads_and_writes_go_on(notes, postgres):
    add(notes, "before")
    postgres.stop()
    postgres.start()

    add(notes, "after")

    assert notes.rows("SELECT text FROM notes") == [("before",), ("after",)]


def test_a_transaction_in_which_the_server_goes_away_left_nothing(notes, postgres):
    def cut_off():
        with notes.transaction() as writing:
            writing.execute(ADD, ("one",))
            postgres.stop()
            postgres.start()
            writing.execute(ADD, ("two",))

    with pytest.raises(StoreUnavailable, match=r"cannot be reached\.$"):
        cut_off()

    assert notes.rows("SELECT text FROM notes") == []


def test_while_it_is_away_it_is_told_as_a_trouble_that_passes(notes, postgres):
    disk = DiskWatch()
    postgres.stop()
    try:
        with pytest.raises(StoreUnavailable) as raised:
            notes.rows("SELECT 1")
    finally:
        postgres.start()

    assert disk.is_passing(raised.value)
    assert disk.trouble == "the database cannot be reached"
    assert notes.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (psycopg.OperationalError("connection refused"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.CannotConnectNow(), True),
        (psycopg.errors.TooManyConnections(), True),
        (PoolTimeout("no connection after 5 s"), True),
        (psycopg.errors.QueryCanceled(), False),
        (psycopg.errors.DiskFull(), False),
        (psycopg.errors.UniqueViolation(), False),
        (OSError("connection refused"), False),
    ],
    ids=repr,
)
def test_a_server_is_away_that_takes_no_connection_and_not_one_that_refuses_a_query(error, passes):
    wrapped = StoreUnavailable("The PostgreSQL of DATABASE_URL cannot be reached.")
    wrapped.__cause__ = error

    assert (is_away(error), is_away(wrapped)) == (passes, passes)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Run a command on this database; what it prints when it refuses to begin."""

    def run(url):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("DATABASE_URL", url)
        assert main(["sources"]) == 2
        told = capsys.readouterr().err
        assert "sesame" not in told
        return told.splitlines()[-1]

    return run


def test_a_server_that_is_away_at_the_start_is_told_in_one_sentence(refused, postgres_url, postgres):
    postgres.stop()
    try:
        told = refused(postgres_url)
    finally:
        postgres.start()

    assert told == "The PostgreSQL of DATABASE_URL cannot be reached."


def test_a_database_that_does_not_exist_is_told_without_the_password(refused, postgres):
    told = refused(postgres.url("missing"))

    assert told == "The PostgreSQL of DATABASE_URL has no database or user of this name."


def test_a_url_that_cannot_be_read_is_told_without_the_password(refused):
    told = refused("postgresql://ada:se same@localhost/x")

    assert told.startswith("DATABASE_URL cannot be read: it is postgresql://USER:PASSWORD@HOST/NAME")
    assert "se same" not in told
