"""Copies of all stores: what is locked meanwhile, and what is refused."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from bots.stores.folder import FolderSource, empty_folder, open_folder, put_uploads
from bots.stores.server import refuse_company
from core.errors import SettingsError
from core.library.data_lock import INCOMPLETE
from core.storage.postgres import open_pool


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
    with open_folder(tmp_path / "there") as folder:
        yield folder


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


class BreakingOff(FolderSource):
    """Its uploads end in the middle."""

    def copy_upload(self, name: str, target: Path) -> None:
        target.write_text("The mo")
        raise OSError("no space left")


def test_an_upload_that_cannot_be_copied_whole_leaves_nothing(uploads, tmp_path):
    source = BreakingOff(folder=uploads.folder, data_dir=uploads.data_dir, tables={}, databases={})

    with pytest.raises(OSError, match="no space"):
        put_uploads(source, tmp_path / "here")

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
