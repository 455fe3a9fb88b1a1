"""`footnote backup` and `footnote restore`: what is in the archive, and which archives are refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing

import pytest
from fakes.harbour import Machine, emptied
from fakes.tiny_network import write_tiny_network

from core.errors import SettingsError
from core.storage.archive import read_archive, write_archive

CATS = "# Cats\n\nCats purr at night.\n"
DOGS = "# Dogs\n\nDogs bark at the moon.\n"
QUESTION = "Do cats purr at night?"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where each test has its folder: what is indexed is known by its path."""
    return tmp_path_factory.mktemp("backup") / "machine"


def machine_in(folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "cats.md").write_text(CATS)
    (folder / "docs" / "dogs.md").write_text(DOGS)
    network = write_tiny_network(folder / "network")
    return Machine(folder=folder, settings={"EMBEDDING_MODEL": str(network)})


@pytest.fixture
def machine(place):
    return machine_in(emptied(place))


@pytest.fixture(scope="module")
def template(place, tmp_path_factory):
    """What ``archive`` lays down, made once."""
    asyncio.run(back_up(machine_in(emptied(place))))
    return shutil.copytree(place, tmp_path_factory.mktemp("template") / "backed up")


async def back_up(machine):
    await succeed(machine, "ingest", "docs")
    learned = machine.folder / ".footnote" / "learned" / "a-channel"
    learned.mkdir(parents=True)
    (learned / "note.md").write_text("# Note\n\nThe moon is full.\n")
    await succeed(machine, "ingest", str(learned / "note.md"), "--collection", "a-channel")
    await succeed(machine, "backup", "all.footnote")


@pytest.fixture
def archive(template, machine):
    """Of a folder with two documents that were embedded."""
    shutil.copytree(template, emptied(machine.folder), dirs_exist_ok=True)
    return machine.folder / "all.footnote"


async def succeed(machine, *arguments):
    ran = await machine.run(*arguments)
    assert ran.code == 0, ran.err
    return ran.out


async def answer_of(machine):
    told = json.loads(await succeed(machine, "ask", QUESTION, "--json", "--passages", "5"))
    return {name: told[name] for name in ("outcome", "text", "citations", "passages")}


def rows(machine, query):
    with closing(sqlite3.connect(machine.folder / ".footnote" / "library.sqlite")) as database:
        return database.execute(query).fetchall()


def rewritten(archive, change):
    """A copy of the archive whose parts went through ``change(name, data)``; None leaves a part out."""
    copy = archive.with_name("changed.footnote")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(copy, "w") as target:
        for name in source.namelist():
            if (data := change(name, source.read(name))) is not None:
                target.writestr(name, data)
    return copy


async def test_a_restored_folder_answers_alike_and_nothing_is_embedded_anew(machine, archive):
    before = await answer_of(machine)
    vectors = rows(machine, "SELECT count(*) FROM passages WHERE embedded = 1")
    shutil.rmtree(machine.folder / ".footnote")

    told = await succeed(machine, "restore", "all.footnote")

    assert rows(machine, "SELECT count(*) FROM passages WHERE embedded = 1") == vectors
    assert await answer_of(machine) == before
    assert "3 vectors and 1 upload" in told
    assert archive.stat().st_mode & 0o077 == 0
    assert (machine.folder / ".footnote" / "library.sqlite").stat().st_mode & 0o077 == 0


async def test_an_id_that_was_given_before_the_backup_is_not_given_again(machine, archive):
    shutil.rmtree(machine.folder / ".footnote")
    await succeed(machine, "restore", "all.footnote")
    ((last,),) = rows(machine, "SELECT seq FROM sqlite_sequence WHERE name = 'documents'")
    await succeed(machine, "forget", "docs")
    (machine.folder / "docs" / "cats.md").write_text(f"{CATS}\nThe moon.\n")
    await succeed(machine, "ingest", "docs")

    ((first,),) = rows(machine, "SELECT min(id) FROM documents WHERE source LIKE 'docs%'")
    assert first > last


async def test_a_folder_that_was_looked_at_still_holds_nothing(machine, archive):
    machine.settings["DATA_DIR"] = "elsewhere"

    listed = await machine.run("sources")
    as_json = await machine.run("sources", "--json")
    restored = await machine.run("restore", archive.name)

    assert "Nothing is indexed yet" in listed.err
    assert as_json.record == []
    assert restored.code == 0, restored.err


async def test_uploads_follow_the_folder_to_another_place(machine, archive):
    machine.settings["DATA_DIR"] = "elsewhere"

    await succeed(machine, "restore", "all.footnote")

    place = (machine.folder / "elsewhere" / "learned" / "a-channel" / "note.md").resolve()
    with closing(sqlite3.connect(machine.folder / "elsewhere" / "library.sqlite")) as database:
        found = database.execute("SELECT address FROM documents WHERE source LIKE '%note.md'").fetchall()
    assert found == [(str(place),)]
    assert place.read_text().endswith("The moon is full.\n")


async def test_passages_whose_vectors_are_missing_are_embedded_by_the_next_command(machine, archive):
    def without_last(name, data):
        return data if name != "vectors/passages.jsonl" else b"".join(data.splitlines(keepends=True)[:-1])

    def told_so(name, data):
        data = without_last(name, data)
        if name != "manifest.json":
            return data
        manifest = json.loads(data)
        with zipfile.ZipFile(archive) as opened:
            kept = without_last("vectors/passages.jsonl", opened.read("vectors/passages.jsonl"))
        manifest["members"]["vectors/passages.jsonl"] = [2, hashlib.sha256(kept).hexdigest()]
        return json.dumps(manifest)

    rewritten(archive, told_so)
    shutil.rmtree(machine.folder / ".footnote")

    told = await succeed(machine, "restore", "changed.footnote")
    pending = rows(machine, "SELECT count(*) FROM passages WHERE embedded = 0")
    await answer_of(machine)

    assert "1 vector will be made" in told
    assert pending == [(1,)]
    assert rows(machine, "SELECT count(*) FROM passages WHERE embedded = 0") == [(0,)]


def cut(archive):
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) // 2])
    return archive


def with_other_rows(archive):
    return rewritten(
        archive,
        lambda name, data: data.replace(b"purr", b"bark") if name.endswith("passages.jsonl") else data,
    )


def with_a_row_less(archive):
    return rewritten(archive, lambda name, data: b"" if name == "library/documents.jsonl" else data)


def without_a_table(archive):
    return rewritten(archive, lambda name, data: None if name == "library/documents.jsonl" else data)


def with_another_statement(archive):
    return rewritten(archive, lambda name, data: data.replace(b"CREATE INDEX", b"DROP INDEX"))


def no_archive(archive):
    archive.write_text("# Cats\n")
    return archive


def with_another_member_list(archive):
    return rewritten(
        archive,
        lambda name, data: (
            json.dumps(json.loads(data) | {"members": [1]}) if name == "manifest.json" else data
        ),
    )


def said_to_be(header):
    """In the directory at the end of the zip, where two bytes at a place in the first entry say so."""

    def damage(archive):
        data = bytearray(archive.read_bytes())
        place, number = header
        entry = data.index(b"PK\x01\x02") + place
        data[entry : entry + 2] = number.to_bytes(2, "little")
        archive.write_bytes(data)
        return archive

    return damage


#: By the number of the byte in an entry: the version of zip that it needs, whether it is encrypted, and how it is
#: compressed. "4.3.12 Central directory structure", APPNOTE.TXT of PKWARE
NEWER_ZIP, ENCRYPTED, OTHERWISE_COMPRESSED = (6, 99), (8, 1), (10, 97)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        with_other_rows,
        with_a_row_less,
        without_a_table,
        with_another_statement,
        with_another_member_list,
        no_archive,
        said_to_be(NEWER_ZIP),
        said_to_be(ENCRYPTED),
        said_to_be(OTHERWISE_COMPRESSED),
    ],
)
async def test_a_damaged_archive_is_refused_and_leaves_nothing(machine, archive, damage):
    damaged = damage(archive)
    machine.settings["DATA_DIR"] = "elsewhere"

    ran = await machine.run("restore", damaged.name)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"{damaged.name} is no archive of `footnote backup`, or it is damaged.\n"
    left = machine.folder / "elsewhere"
    assert not left.exists() or [each.name for each in left.iterdir()] == ["lock"]


@pytest.mark.parametrize("named", ["format", "version"])
async def test_an_archive_of_a_newer_version_is_refused(machine, archive, named):
    number = re.compile(rb'(?<="%s": )\d+' % named.encode())
    later = rewritten(
        archive, lambda _name, data: number.sub(lambda now: str(int(now[0]) + 98).encode(), data)
    )
    machine.settings["DATA_DIR"] = "elsewhere"

    ran = await machine.run("restore", later.name)

    assert ran.code == 2
    assert "was written by a newer version of Footnote" in ran.err


async def test_a_folder_that_holds_something_and_a_file_that_exists_are_left_alone(machine, archive):
    size = archive.stat().st_size

    full = await machine.run("restore", "all.footnote")
    there = await machine.run("backup", "all.footnote")
    machine.settings["DATA_DIR"] = "nowhere"
    empty = await machine.run("backup", "nothing.footnote")
    absent = await machine.run("restore", "nothing.footnote")

    assert [full.code, there.code, empty.code, absent.code] == [2, 2, 2, 2]
    assert "holds something already" in full.err
    assert "exists already" in there.err
    assert "There is nothing to back up in nowhere." in empty.err
    assert "cannot be read: no such file" in absent.err
    assert archive.stat().st_size == size
    assert not (machine.folder / "nothing.footnote").exists()


async def test_a_queue_elsewhere_is_not_restored_where_nobody_reads_it(machine, archive):
    elsewhere = machine.folder / "queue.sqlite"
    machine.settings |= {"DATA_DIR": "elsewhere", "DATABASE_URL": f"sqlite:///{elsewhere}"}
    refused = await machine.run("restore", "all.footnote")
    machine.settings["DATABASE_URL"] = f"sqlite:///{machine.folder}/elsewhere/turns.sqlite"
    await succeed(machine, "restore", "all.footnote")

    assert refused.code == 2
    assert refused.err.startswith(f"DATABASE_URL has the queue of turns in {elsewhere}, and it")
    assert refused.err.count("\n") == 1
    assert not elsewhere.exists()


async def test_vectors_are_not_left_out_because_their_copy_has_no_room(machine, archive):
    large = machine.folder / ".footnote" / "vectors" / "large"
    with large.open("wb") as opened:
        opened.truncate(2**43)  # takes no room itself, and its copy would take 8 TB

    ran = await machine.run("backup", "again.footnote")

    assert (ran.code, ran.out) == (2, "")
    assert "has no room for a copy of the vectors" in ran.err
    assert not [each.name for each in machine.folder.iterdir() if each.name.startswith("again")]


@pytest.mark.parametrize("at", [0, 4096])  # its header, and a page of its tables
async def test_a_store_that_is_damaged_is_named(machine, archive, at):
    file = machine.folder / ".footnote" / "library.sqlite"
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(b"no page" * 600 if at == 0 else b"no page" * 6_000)

    ran = await machine.run("backup", "again.footnote")

    assert (ran.code, ran.out) == (2, "")
    assert ".footnote/library.sqlite is damaged." in ran.err


def _write_while(file, word, meanwhile=lambda: None):
    with write_archive(file) as archive:
        archive.add_rows("store/table.jsonl", [(word,)])
        meanwhile()
        archive.finish({})


def test_two_backups_of_one_name_write_none_of_each_other(tmp_path):
    file = tmp_path / "all.footnote"

    with pytest.raises(SettingsError, match="exists already"):
        _write_while(file, "late", lambda: _write_while(file, "early"))

    with read_archive(file) as archive:
        assert list(archive.rows("store/table.jsonl")) == [("early",)]
    assert list(tmp_path.iterdir()) == [file]
