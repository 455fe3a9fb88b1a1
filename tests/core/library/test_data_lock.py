import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fakes.shelf import open_store

from core.errors import IndexInUse, SettingsError
from core.library.chroma import ChromaIndex
from core.library.data_lock import SERVING, find_owner, lock_data_dir, make_data_dir

HOLD = """
import sys
from pathlib import Path
from core.library.data_lock import lock_data_dir
with lock_data_dir(Path(sys.argv[1]), "footnote chat"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(data_dir):
    """A process that holds the folder until its standard input ends, or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, data_dir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_told_who_holds_the_folder_and_how_to_go_on(tmp_path):
    with another_process(tmp_path / "data") as process, pytest.raises(IndexInUse) as refused:
        lock_data_dir(tmp_path / "data", "footnote ask").__enter__()

    assert str(refused.value) == (
        f"Another Footnote (process {process.pid}, footnote chat) is using {tmp_path / 'data'}. "
        "Wait until it has ended, or set DATA_DIR to another folder."
    )


def test_a_killed_process_holds_nothing(tmp_path):
    with another_process(tmp_path / "data") as process:
        process.kill()
        process.wait()

        with lock_data_dir(tmp_path / "data", "footnote ask"):
            note = (tmp_path / "data" / "owner").read_text()

    assert note == f"process {os.getpid()}, footnote ask"


def test_a_process_that_ended_holds_nothing(tmp_path):
    with another_process(tmp_path / "data") as process:
        process.communicate("")

        assert not (tmp_path / "data" / "owner").exists()
        with lock_data_dir(tmp_path / "data", "footnote ask"):
            pass


def test_one_process_cannot_hold_a_folder_twice_and_keeps_it_when_it_tries(tmp_path):
    with lock_data_dir(tmp_path, "footnote chat"):
        for _ in range(2):
            with pytest.raises(IndexInUse, match=rf"process {os.getpid()}, footnote chat"):
                lock_data_dir(tmp_path, "footnote ask").__enter__()

    with lock_data_dir(tmp_path, "footnote ask"):
        pass


def test_the_folder_is_let_go_when_the_work_fails(tmp_path):
    def fail():
        with lock_data_dir(tmp_path, "footnote chat"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    with lock_data_dir(tmp_path, "footnote ask"):
        pass


@pytest.mark.parametrize("note", [None, b"", b"\xff\xfe"])
def test_an_owner_whose_note_cannot_be_read_is_named_as_far_as_it_goes(tmp_path, note):
    with lock_data_dir(tmp_path, "footnote chat"):
        (tmp_path / "owner").unlink()
        if note is not None:
            (tmp_path / "owner").write_bytes(note)

        with pytest.raises(IndexInUse, match=r"Another Footnote \((just starting|\ufffd+)\) is using"):
            lock_data_dir(tmp_path, "footnote ask").__enter__()


def test_who_owns_a_folder_can_be_asked_without_owning_it(tmp_path):
    assert find_owner(tmp_path) is None

    with lock_data_dir(tmp_path, "footnote ask"):
        command = find_owner(tmp_path)
    with lock_data_dir(tmp_path, SERVING):
        bot = find_owner(tmp_path)

    assert command.name == f"process {os.getpid()}, footnote ask"
    assert (command.is_serving, bot.is_serving) == (False, True)
    assert find_owner(tmp_path) is None


def test_an_owner_that_has_not_said_its_name_yet_does_not_serve(tmp_path):
    with lock_data_dir(tmp_path, SERVING):
        (tmp_path / "owner").unlink()
        owner = find_owner(tmp_path)

    assert (owner.is_named, owner.is_serving) == (False, False)


# Where it cannot be


def test_a_file_in_the_place_of_the_folder_is_a_sentence(tmp_path):
    (tmp_path / "data").write_text("a file")

    for folder in (tmp_path / "data", tmp_path / "data" / "below"):
        with pytest.raises(SettingsError, match=rf"DATA_DIR {folder} cannot be made: .+\.$"):
            lock_data_dir(folder, "footnote ask").__enter__()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no file system that takes no files")
@pytest.mark.parametrize("folder", ["/proc", "/proc/footnote"])
def test_a_place_that_takes_no_files_is_a_sentence(folder):
    with pytest.raises(SettingsError, match=rf"DATA_DIR {folder} cannot be (made|written): .+\.$"):
        lock_data_dir(Path(folder), "footnote ask").__enter__()


def test_a_folder_that_may_not_be_written_is_a_sentence(unprivileged):
    for name, mode in (("read-only", 0o500), ("closed", 0)):
        (unprivileged / name).mkdir(mode=mode)

        with pytest.raises(
            SettingsError, match=rf"DATA_DIR .+{name} cannot be written: permission denied\.$"
        ):
            lock_data_dir(unprivileged / name, "footnote ask").__enter__()
        with pytest.raises(SettingsError, match=r"cannot be made: permission denied\.$"):
            make_data_dir(unprivileged / name / "below")


def test_a_folder_in_the_place_of_the_lock_is_a_sentence(tmp_path):
    (tmp_path / "lock").mkdir()

    with pytest.raises(SettingsError, match=r"cannot be written: .+\.$"):
        lock_data_dir(tmp_path, "footnote ask").__enter__()


# Who may read it


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


@pytest.fixture
def permissive():
    """A process whose files would be for everybody."""
    others = os.umask(0)
    yield
    assert os.umask(others) == 0


@pytest.mark.usefixtures("permissive")
def test_everything_in_the_folder_is_readable_by_its_owner_alone(tmp_path):
    data = tmp_path / "state" / "data"

    with lock_data_dir(data, "footnote ingest"):
        store, vectors = open_store(data / "library.sqlite"), ChromaIndex(data / "vectors")
        vectors.add("default", [f"{number}" for number in range(300)], np.eye(300, 8, dtype=np.float32))
        (data / "history").write_text("what was asked")
        (data / "sub").mkdir()
        found = modes(data)
        vectors.close()
        store.close()

    assert {name: mode for name, mode in found.items() if mode & 0o077} == {}
    assert found["data"] == found["vectors"] == 0o700
    assert found["library.sqlite"] == found["chroma.sqlite3"] == found["lock"] == found["owner"] == 0o600
    assert {"library.sqlite-wal", "history", "sub"} <= found.keys()


@pytest.mark.usefixtures("permissive")
def test_a_folder_that_was_there_keeps_its_mode(tmp_path):
    """It may be a shared one; what is put there is private all the same."""
    (tmp_path / "shared").mkdir(mode=0o755)

    with lock_data_dir(tmp_path / "shared", "footnote ingest"):
        open_store(tmp_path / "shared" / "library.sqlite").close()

        assert modes(tmp_path / "shared") == {
            "shared": 0o755,
            "library.sqlite": 0o600,
            "lock": 0o600,
            "owner": 0o600,
        }


@pytest.mark.usefixtures("permissive")
def test_reading_without_owning_makes_private_files_too(tmp_path):
    make_data_dir(tmp_path / "data")
    open_store(tmp_path / "data" / "library.sqlite").close()

    assert set(modes(tmp_path / "data").values()) == {0o700, 0o600}
