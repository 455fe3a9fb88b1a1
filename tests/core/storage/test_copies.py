"""Copies of all stores: what is locked meanwhile, and what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from bots.stores.folder import (
    FolderSource,
    FolderUploads,
    compare,
    empty_folder,
    lay_down,
    make_stores,
    open_folder,
    put_uploads,
)
from bots.stores.server import copy_to_server, refuse_company
from bots.stores.source import COMPARING, Tallies, Tally
from core.errors import FootnoteError, SettingsError
from core.library.data_lock import INCOMPLETE
from core.settings import Settings
from core.storage.postgres import INCOMPLETE as INCOMPLETE_COPY
from core.storage.postgres import open_pool
from core.storage.storage import open_storage


def test_the_lock_of_a_copy_ends_with_its_transaction_though_the_connection_stays(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        with connection.transaction():
            refuse_company(connection, postgres_url)
            with psycopg.connect(postgres_url) as other, pytest.raises(SettingsError, match="another"):
                refuse_company(other, postgres_url)
            with pytest.raises(SettingsError, match="is being copied"), open_pool(postgres_url):
                pass

        with open_pool(postgres_url):
            pass


@pytest.fixture
def uploads(tmp_path):
    """A folder with one upload, and half of another one."""
    below = tmp_path / "there" / "learned" / "a-channel"
    below.mkdir(parents=True)
    (below / "note.md").write_text("The moon is full.")
    (below / "other.md.part").write_text("The mo")
    return FolderUploads(tmp_path / "there")


def names_below(folder):
    return [each.name for each in sorted(folder.rglob("*")) if each.is_file()]


def test_an_upload_is_copied_once_and_a_part_of_one_never(uploads, tmp_path):
    put_uploads(uploads, tmp_path / "here")
    put_uploads(uploads, tmp_path / "here")

    assert names_below(tmp_path / "here") == ["note.md"]


@pytest.mark.parametrize("held", ["The mo", "The moon is half."])
def test_another_file_in_the_place_of_an_upload_is_refused_and_kept(uploads, tmp_path, held):
    place = tmp_path / "here" / "learned" / "a-channel" / "note.md"
    place.parent.mkdir(parents=True)
    place.write_text(held)

    with pytest.raises(SettingsError, match=r"note\.md is another file"):
        put_uploads(uploads, tmp_path / "here")

    assert place.read_text() == held


class BreakingOff(FolderUploads):
    """Each ends in the middle."""

    def copy(self, name: str, target: Path) -> None:
        target.write_text("The mo")
        raise OSError("no space left")


def test_an_upload_that_cannot_be_copied_whole_leaves_nothing(uploads, tmp_path):
    with pytest.raises(OSError, match="no space"):
        put_uploads(BreakingOff(uploads.folder), tmp_path / "here")

    assert names_below(tmp_path / "here") == []


@pytest.mark.parametrize("name", ["incomplete/letter.txt", f"{INCOMPLETE}/letter.txt"])
def test_a_folder_of_someone_else_is_not_taken_for_a_copy_that_was_cut_off(tmp_path, name):
    letter = tmp_path / "home" / name
    letter.parent.mkdir(parents=True)
    letter.write_text("Dear Ann")

    with (
        pytest.raises(SettingsError, match="holds something already"),
        empty_folder(tmp_path / "home", "footnote move"),
    ):
        pass

    assert letter.read_text() == "Dear Ann"


def test_what_is_left_of_a_copy_that_was_cut_off_makes_room_for_the_next_one(tmp_path):
    (tmp_path / "home" / "vectors").mkdir(parents=True)
    (tmp_path / "home" / INCOMPLETE).touch()

    with empty_folder(tmp_path / "home", "footnote move") as beside:
        (beside / "library.sqlite").touch()

    assert names_below(tmp_path / "home") == ["library.sqlite", "lock"]


def test_a_copy_is_dropped_if_a_process_begins_to_serve_meanwhile(tmp_path, postgres_url):
    make_stores(tmp_path)
    serve = "INSERT INTO replicas (id, purpose, serves) VALUES ('late', 'footnote run', TRUE)"

    def begin_to_serve(step):
        if step == COMPARING:
            with psycopg.connect(postgres_url) as connection:
                connection.execute(serve)

    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    with (
        open_folder(tmp_path) as folder,
        open_storage(settings) as storage,
        pytest.raises(SettingsError, match="was served meanwhile"),
    ):
        copy_to_server(folder, storage, tmp_path, begin_to_serve)

    with psycopg.connect(postgres_url) as connection:
        left = connection.execute("SELECT to_regclass(%s)", (INCOMPLETE_COPY,)).fetchall()
    assert left == [(None,)]


def test_a_folder_that_cannot_take_the_uploads_is_named(uploads, tmp_path, postgres_url):
    make_stores(tmp_path / "there")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "learned").write_text("a file")

    with (
        open_folder(tmp_path / "there") as folder,
        open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage,
        pytest.raises(SettingsError, match="here cannot be written"),
    ):
        copy_to_server(folder, storage, tmp_path / "here", lambda _step: None)


class Filling(FolderSource):
    """The disk is full after its first row."""

    def rows(self, store, table):
        yield from list(super().rows(store, table))[:1]
        fault = sqlite3.OperationalError("database or disk is full")
        fault.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise fault


def test_a_full_disk_is_no_fault_of_what_is_copied(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    make_stores(tmp_path / "there")
    with open_folder(tmp_path / "there") as folder:
        source = Filling(
            folder=folder.folder, data_dir=folder.data_dir, tables=folder.tables, databases=folder.databases
        )
        with pytest.raises(SettingsError, match="here cannot be written: database or disk is full"):
            lay_down(source, tmp_path / "here", tmp_path / "here", lambda _step: None)


def test_a_copy_that_differs_is_no_fault_of_the_archive():
    read, written = Tallies("a"), Tallies("b")
    read.by_store["library"], written.by_store["library"] = Tally(count=1, total=1), Tally(count=1, total=2)

    with pytest.raises(FootnoteError, match="of library, 1 rows were read"):
        compare(read, written)


def test_rows_that_nobody_reads_to_their_end_are_no_trouble(tmp_path):
    make_stores(tmp_path)
    with open_folder(tmp_path) as source:
        versions = next(each for each in source.tables["turns"].tables if each.name == "dbos_migrations")
        rows = source.rows("turns", versions)
        first = next(rows)

    rows.close()

    assert first
