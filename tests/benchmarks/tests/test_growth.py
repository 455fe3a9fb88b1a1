"""The measuring of growth: every look finds what the turns before it left."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from benchmarks import growth, startup
from benchmarks.serving import size_of
from benchmarks.startup import apart


def test_what_is_measured_apart_is_measured_in_another_process():
    assert apart(os.getpid) != os.getpid()


def test_the_size_of_a_database_counts_what_is_still_in_its_log(tmp_path):
    file = tmp_path / "some.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE words (text TEXT)")
        before = size_of(file)
        with database:
            database.execute("INSERT INTO words VALUES (?)", ("x" * 100_000,))

        assert size_of(file) - before > 90_000


def test_memory_and_queue_grow_with_the_turns():
    grown = growth.many_threads(50, threads=4, each=3)

    assert len(grown) == 3
    assert 0 < grown[0].memory <= grown[1].memory <= grown[2].memory
    assert 0 <= grown[0].queue <= grown[1].queue <= grown[2].queue > 0


def test_a_start_and_its_first_retrieval_take_time():
    ready, first = startup.measure(60, "none")

    assert ready > 0
    assert first > 0


@pytest.mark.long
def test_the_quick_form_is_whole():
    section = growth.run(print, quick=True)

    assert all(figure > 0 for figure in section.figures.values())
