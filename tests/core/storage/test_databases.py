"""Both databases behind one interface: the same queries, transactions and values."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from core.settings import Settings
from core.storage.database import Schema
from core.storage.postgres import POOL_SIZE
from core.storage.storage import open_storage

NOTES = Schema(
    tables="CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE, at REAL, size INTEGER, body BLOB)"
)
ADD = "INSERT INTO notes (text) VALUES (?)"


@pytest.fixture
def notes(storage):
    database = storage.database("notes", NOTES)
    yield database
    database.close()


def texts(notes):
    return [text for (text,) in notes.rows("SELECT text FROM notes ORDER BY id")]


def test_values_come_back_as_they_were_stored(notes):
    snowflake, at, body = 1_234_567_890_123_456_789, 1_790_000_000.123456, b"\x00\xff"

    with notes.transaction() as writing:
        writing.execute(
            "INSERT INTO notes (text, at, size, body) VALUES (?, ?, ?, ?)",
            ("50% of “it’s”?", at, snowflake, body),
        )

    assert notes.rows("SELECT text, at, size, body FROM notes") == [("50% of “it’s”?", at, snowflake, body)]
    assert notes.rows("SELECT sum(size), count(*) FROM notes WHERE text LIKE '50%' OR text = '?'") == [
        (snowflake, 1)
    ]


def test_a_flag_is_stored_as_a_number(notes):
    with notes.transaction() as writing:
        writing.execute("INSERT INTO notes (text, size) VALUES (?, ?)", ("yes", True))

    assert notes.rows("SELECT size FROM notes WHERE size = ?", (True,)) == [(1,)]


def test_an_id_is_returned_and_what_is_there_already_is_not_stored_twice(notes):
    with notes.transaction() as writing:
        first, second = (
            writing.execute(f"{ADD} RETURNING id", (text,)).fetchone()[0] for text in ("one", "two")
        )
        again = writing.execute(f"{ADD} ON CONFLICT DO NOTHING", ("one",)).rowcount
        writing.executemany(f"{ADD} ON CONFLICT (text) DO NOTHING", (("two",), ("three",)))

    assert (second - first, again) == (1, 0)
    assert texts(notes) == ["one", "two", "three"]


def test_a_transaction_is_all_or_nothing(notes):
    def fail():
        with notes.transaction() as writing:
            writing.execute(ADD, ("one",))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert texts(notes) == []


def test_a_nested_transaction_joins_the_outer_one_and_is_read_when_that_is_complete(notes):
    with notes.transaction() as outer:
        outer.execute(ADD, ("one",))
        with notes.transaction() as inner:
            inner.execute(ADD, ("two",))
        during = texts(notes)

    assert (during, texts(notes)) == ([], ["one", "two"])


def test_threads_write_at_the_same_time(notes):
    def write(number):
        for step in range(5):
            with notes.transaction() as writing:
                writing.execute(ADD, (f"{number}/{step}",))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(texts(notes)) == 50


def test_threads_that_wait_for_their_turn_take_no_connection_from_others(postgres_url, tmp_path):
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        notes = storage.database("notes", replace(NOTES, is_serial=True))

        def write(number):
            with notes.transaction() as writing:
                writing.execute(ADD, (str(number),))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2 * POOL_SIZE)]
        with notes.transaction():
            for thread in threads:
                thread.start()
            meanwhile = [texts(notes) for _ in range(100)]
        for thread in threads:
            thread.join()

        assert meanwhile == [[]] * 100
        assert len(texts(notes)) == 2 * POOL_SIZE
