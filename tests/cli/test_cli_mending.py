"""A damaged index: one command mends it, nothing that was learned is lost, and what was forgotten stays so."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from fakes.harbour import FERRY_QUESTION
from fakes.patience import PATIENCE

from bots.chat.channels import own_collection
from core.bootstrap import open_library
from core.conversation import Conversation
from core.library.formats.read import parse_html
from core.settings import Settings

QUAY = Conversation(platform="slack", space="T1", channel="C1", thread="1.1")
LEARNED = own_collection(QUAY)
PAGE = "https://tides.example/sark"
PAGE_HTML = (
    b"<title>Tides of Sark</title><p>High water at Sark is an hour after that at Saint Peter Port.</p>"
)
TIDES = "# Tides\n\nThe spring tide at the quay rises nine metres.\n"
BOATS = 12  # documents, so that the file is long enough to lose its middle


def long(damage):
    return pytest.param(damage, marks=pytest.mark.long)


def overwritten(file, start, stop):
    with file.open("r+b") as damaged:
        damaged.seek(start)
        damaged.write(b"\x55" * (stop - start))


def without_its_head(file):
    overwritten(file, 0, 4096)


def without_its_middle(file):
    size = file.stat().st_size
    overwritten(file, size // 3, 2 * size // 3)


def garbage(file):
    file.write_bytes(b"no database at all. " * 5_000)


def cut_short(file):
    os.truncate(file, file.stat().st_size // 2)


def emptied(file):
    os.truncate(file, 0)


def pages_of(file, table):
    """Where the leaves of a table lie."""
    with closing(sqlite3.connect(file)) as database:
        ((size,),) = database.execute("PRAGMA page_size")
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    return (root - 1) * size, root * size


def without(table):
    def damage(file):
        overwritten(file, *pages_of(file, table))

    return damage


@pytest.fixture
def library(machine):
    """Its file: a folder with something forgotten in it, and a file and a page that a channel learned."""
    for number in range(BOATS):
        (machine.docs / f"boat-{number:02}.md").write_text(
            f"# Boat {number}\n\nIt lies at berth {number}.\n" * 9
        )
    learned = machine.folder / ".footnote" / "learned" / LEARNED
    learned.mkdir(parents=True)
    (learned / "tides.md").write_text(TIDES)
    with closing(opened(machine)) as library:
        library.ingest([machine.docs])
        library.ingest([learned / "tides.md"], collection=LEARNED)
        library.ingest_page(PAGE, parse_html(PAGE_HTML, url=PAGE), collection=LEARNED)
        library.forget(str(machine.docs / "harbour.md"))
    return machine.folder / ".footnote" / "library.sqlite"


def opened(machine):
    return open_library(Settings(data_dir=machine.folder / ".footnote"))


def sources(machine):
    """(collection, source) of everything indexed."""
    with closing(opened(machine)) as library:
        return {(entry.collection, entry.source) for entry in library.store.entries()}


def everything(machine, *, forgotten=True, page=True):
    docs = {("default", f"docs/{file.name}") for file in machine.docs.iterdir()}
    left = docs - {("default", "docs/harbour.md")} if forgotten else docs
    return left | {(LEARNED, "tides.md")} | ({(LEARNED, PAGE)} if page else set())


@pytest.mark.parametrize("damage", [garbage, long(without_its_head), long(emptied)])
async def test_where_nothing_can_be_read_the_documents_named_and_what_was_learned_are_read_again(
    machine, library, damage
):
    damage(library)

    mended = await machine.run("ingest", "--rebuild", "docs")

    assert mended.code == 0, mended.err
    assert mended.out == f"{BOATS + 3} documents added.\n"
    assert "Pages from the web may be missing" in mended.err
    assert "What was forgotten below your folders cannot be read any more" in mended.err
    assert sources(machine) == everything(machine, forgotten=False, page=False)
    asked = await machine.run("ask", FERRY_QUESTION, "--json")
    assert "half past nine" in asked.record["text"]


@pytest.mark.parametrize("damage", [without_its_middle, cut_short])
async def test_a_file_without_its_middle_or_its_end_is_mended_with_the_documents_named(
    machine, library, damage
):
    damage(library)

    mended = await machine.run("ingest", "--rebuild", "docs")

    assert mended.code == 0, mended.err
    assert sources(machine) >= everything(machine, page=False)


@pytest.mark.parametrize(
    "table", ["passages_of", long("documents_counted"), long("words_data"), long("unreadable")]
)
async def test_where_the_rest_can_be_read_nothing_need_be_named_and_all_comes_back(machine, library, table):
    without(table)(library)

    mended = await machine.run("ingest", "--rebuild")

    assert mended.code == 0, mended.err
    assert "1 page from the web came over whole." in mended.err
    assert "missing" not in mended.err
    assert "again" not in mended.err
    assert sources(machine) == everything(machine)


async def test_a_page_whose_passages_are_lost_is_named(machine, library):
    without("passages")(library)

    mended = await machine.run("ingest", "--rebuild")

    assert mended.code == 0, mended.err
    assert f"1 page from the web must be learned again: {PAGE}." in mended.err
    assert sources(machine) == everything(machine, page=False)


@pytest.mark.long
async def test_where_the_folders_are_lost_it_says_what_to_run_and_reads_what_was_learned(machine, library):
    without("roots")(library)

    mended = await machine.run("ingest", "--rebuild")
    left = sources(machine)
    named = await machine.run("ingest", "docs")

    assert "run `footnote ingest PATH` with yours" in mended.err
    assert left == {(LEARNED, "tides.md"), (LEARNED, PAGE)}
    assert named.code == 0, named.err
    assert sources(machine) == everything(machine)


@pytest.mark.long
async def test_what_the_operator_had_forgotten_of_a_channel_is_not_read_again(machine, library):
    with closing(opened(machine)) as known:
        known.forget("tides.md")
    without("words_data")(library)

    await machine.run("ingest", "--rebuild")

    assert sources(machine) == everything(machine) - {(LEARNED, "tides.md")}


async def test_what_a_channel_learned_can_be_forgotten_by_its_name_afterwards(machine, library):
    garbage(library)
    await machine.run("ingest", "--rebuild", "docs")

    forgotten = await machine.run("forget", "tides.md")

    assert forgotten.out == "Forgot tides.md (1 passage).\n"
    assert (LEARNED, "tides.md") not in sources(machine)
    assert not list((library.parent / "learned").rglob("tides.md"))


async def test_the_old_file_is_kept_for_its_owner_alone_until_a_later_one(machine, library):
    aside = library.with_name("library.sqlite.old")
    garbage(library)
    library.chmod(0o644)

    first = await machine.run("ingest", "--rebuild", "docs")
    was_kept = aside.read_bytes()
    without_its_head(library)
    await machine.run("ingest", "--rebuild", "docs")

    assert "still holds text of your documents. Delete it when you like." in first.err
    assert was_kept.startswith(b"no database at all.")
    assert aside.read_bytes()[:4096] == b"\x55" * 4096
    assert (aside.stat().st_mode & 0o777, library.stat().st_mode & 0o777) == (0o600, 0o600)
    assert sorted(file.name for file in library.parent.glob("library*")) == [
        "library.sqlite",
        "library.sqlite.old",
    ]


async def test_where_nothing_is_known_it_asks_for_documents_and_leaves_the_file(machine):
    file = machine.folder / ".footnote" / "library.sqlite"
    file.parent.mkdir()
    garbage(file)

    refused = await machine.run("ingest", "--rebuild")

    assert refused.code == 2
    assert "Name your documents: footnote ingest --rebuild PATH_OR_URL…" in refused.err
    assert file.read_bytes().startswith(b"no database at all.")


@pytest.mark.long
async def test_a_sound_index_is_still_rebuilt_without_a_path(machine, library):
    refused = await machine.run("ingest", "--rebuild", "docs")
    rebuilt = await machine.run("ingest", "--rebuild")

    assert (refused.code, rebuilt.code) == (2, 0)
    assert sources(machine) == everything(machine)
    assert not library.with_name("library.sqlite.old").exists()


async def test_an_index_in_postgresql_is_rebuilt_there_whatever_lies_in_the_data_folder(
    machine, postgres_url
):
    machine.settings["DATABASE_URL"] = postgres_url
    learned = machine.folder / ".footnote" / "learned" / LEARNED
    learned.mkdir(parents=True)
    (learned / "tides.md").write_text(TIDES)
    await machine.run("ingest", "docs")

    rebuilt = await machine.run("ingest", "--rebuild")
    asked = await machine.run("ask", FERRY_QUESTION, "--json")

    assert rebuilt.code == 0, rebuilt.err
    assert "added" in rebuilt.out
    assert "half past nine" in asked.record["text"]
    assert not list((machine.folder / ".footnote").glob("library*"))


# Killed in the middle

DYING = """
import os, signal, sqlite3, sys

left = int(sys.argv[1])

def count():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

class Mortal(sqlite3.Connection):
    def execute(self, statement, *given):
        if statement == "COMMIT":
            count()
        return super().execute(statement, *given)

connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, **{"factory": Mortal, **named})

def watch(event, given):
    if event in ("os.link", "os.rename", "os.remove", "os.chmod") and "library.sqlite" in str(given[0]):
        count()

sys.addaudithook(watch)
from bots.cli import main
sys.exit(main(sys.argv[2:]))
"""


def killed_at(machine, step):
    """Whether a rebuild was killed before this step: a transaction, or a change of the files' names."""
    ended = subprocess.run(
        [sys.executable, "-c", DYING, str(step), "ingest", "--rebuild", "docs"],
        cwd=machine.folder,
        env=machine.environment,
        timeout=PATIENCE,
        check=False,
        capture_output=True,
    )
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


@pytest.mark.parametrize("step", [long(2), 10])
async def test_killed_in_the_middle_it_is_as_damaged_as_before_and_the_next_time_goes_on(
    machine, library, step
):
    without_its_head(library)

    assert killed_at(machine, step)
    told = await machine.run("sources")
    mended = await machine.run("ingest", "--rebuild", "docs")

    assert "is damaged. Run `footnote ingest --rebuild`" in told.err
    assert mended.code == 0, mended.err
    assert ("unchanged" in mended.out) == (step > 2)
    assert sources(machine) == everything(machine, forgotten=False, page=False)


@pytest.mark.long
async def test_killed_before_every_step_it_is_mended_by_the_next(machine, library):
    without("words_data")(library)
    damaged, step = library.read_bytes(), 0

    while killed_at(machine, step):
        mended = await machine.run("ingest", "--rebuild")
        assert mended.code == 0, (step, mended.err)
        assert sources(machine) == everything(machine), step
        library.write_bytes(damaged)
        step += 1
        assert step < 200

    assert step > BOATS
