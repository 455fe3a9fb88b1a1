"""`footnote move`: into PostgreSQL and back, what it verifies, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import sqlite3
from contextlib import closing
from random import Random

import psycopg
import pytest
from fakes.harbour import (
    CUP_QUESTION,
    FERRY,
    FERRY_QUESTION,
    FRANCE,
    HARBOUR,
    PATIENCE,
    PONTOON_QUESTION,
    Machine,
    emptied,
)
from fakes.served import DEAD_END
from fakes.tiny_network import write_tiny_network
from fakes.web_servers import FakeSearXNG
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from core.answers.answers import open_answers
from core.bootstrap import open_library
from core.gaps.questions import open_gap_store
from core.graph.checkpoints import TASK_RESULT
from core.library import tables
from core.library.documents import Scope
from core.library.fts5 import Fts5Index
from core.settings import Settings
from core.storage.sqlite import SqliteDatabase
from core.storage.storage import open_storage
from core.turns import checkpoints

THERE = re.compile(r"^(\w+): ([\d,]+ rows?), digest (\w{16}), the same on both sides$", re.MULTILINE)
QUESTIONS = (FERRY_QUESTION, PONTOON_QUESTION)


@pytest.fixture
async def searxng():
    async with FakeSearXNG([FRANCE]) as engine:
        yield engine


def machine_in(folder, engine):
    """A folder with documents in it, and a network that embeds them."""
    (folder / "docs").mkdir()
    (folder / "docs" / "harbour.md").write_text(HARBOUR)
    (folder / "docs" / "ferry.md").write_text(FERRY + "\nA NUL\0 in a text.\n")
    network = write_tiny_network(folder / "network")
    settings = {"EMBEDDING_MODEL": str(network), "WEB_SEARCH": "searxng", "SEARXNG_URL": engine}
    return Machine(folder=folder, settings=settings)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where each test has its folder: what is indexed is known by its path."""
    return tmp_path_factory.mktemp("move") / "machine"


@pytest.fixture
def machine(place, searxng):
    return machine_in(emptied(place), searxng.url)


async def succeed(machine, *arguments):
    ran = await machine.run(*arguments)
    assert ran.code == 0, ran.err
    return ran.out


async def refused(machine, *arguments):
    ran = await machine.run(*arguments)
    assert ran.code == 2, ran.out + ran.err
    assert ran.err.count("\n") == 1
    return ran.err


async def answers(machine):
    lines = "\n".join(json.dumps({"id": question, "question": question}) for question in QUESTIONS)
    ran = await machine.run("ask", "--batch", "-", "--passages", "5", stdin=lines)
    assert ran.code == 0, ran.err
    return [
        {
            "text": each["text"],
            "citations": each["citations"],
            "passages": [(passage["source"], passage["start"]) for passage in each["passages"]],
        }
        for each in ran.records
    ]


@pytest.fixture(scope="module")
def template(place, tmp_path_factory):
    """What ``used`` lays down, made once."""
    machine = machine_in(emptied(place), DEAD_END)  # nothing is searched for yet
    proposal = asyncio.run(use(machine))
    return shutil.copytree(place, tmp_path_factory.mktemp("template") / "used"), proposal


async def use(machine):
    await succeed(machine, "ingest", "docs")
    learned = machine.folder / ".footnote" / "learned" / "a-channel"
    learned.mkdir(parents=True)
    (learned / "note.md").write_text("# Note\n\nThe moon is full tonight.\n")
    await succeed(machine, "ingest", str(learned / "note.md"), "--collection", "a-channel")
    await succeed(machine, "ask", FERRY_QUESTION, "--thread", "one")
    asked = json.loads(await succeed(machine, "ask", CUP_QUESTION, "--thread", "one", "--json"))
    add_pending_writes(machine.folder / ".footnote")
    return asked["proposal"]["id"]


@pytest.fixture
def used(template, machine):
    """A folder with documents, an upload, a turn that was cut off, a conversation and an open proposal, whose id
    is returned.
    """
    folder, proposal = template
    shutil.copytree(folder, emptied(machine.folder), dirs_exist_ok=True)
    return proposal


def add_pending_writes(folder):
    """What two tasks of a turn returned that was cut off between two checkpoints."""
    rows = [
        ("cli/local/terminal/one", "", "1f1e6c22-50a6-64fc-8006-d53e6456de51", task, f"~{task}", 0, TASK_RESULT,
         *JsonPlusSerializer().dumps_typed({"passages": [task, "Größe", None]}))
        for task in ("task-1", "task-2")
    ]  # fmt: skip
    with closing(sqlite3.connect(folder / "conversations.sqlite")) as database, database:
        database.executemany(
            "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )


def pending_writes(folder):
    """All columns, in the order of the key."""
    with closing(sqlite3.connect(folder / "conversations.sqlite")) as database:
        return database.execute("SELECT * FROM writes ORDER BY 1, 2, 3, 4, 6").fetchall()


def digests(told):
    return {store: (count, digest) for store, count, digest in THERE.findall(told)}


def filled(told):
    """Those of the stores that hold anything: there are some in a folder that a server makes when they are needed."""
    return {store: found for store, found in digests(told).items() if found[0] != "0 rows"}


async def approve(machine, proposal, thread="one"):
    told = json.loads(await succeed(machine, "decide", proposal, "--approve", "--thread", thread, "--json"))
    return told["outcome"], "France" in told["text"]


def rows_on(url, query):
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


async def taught(settings, edited_by=""):
    """What is kept there: the versions of an answer, and what was decided about a gap. First somebody edits it, if named."""
    with (
        closing(open_library(settings)) as library,
        open_storage(settings) as storage,
        open_answers(storage, library, review_after=180) as kept,
        open_gap_store(storage) as gaps,
    ):
        if edited_by:
            answer = await kept.correct(
                question="Who has the key?", text="Marta.", collection="default", name="Petra", message="m1"
            )
            await kept.edit(answer, question=answer.question, text="Olga.", by=edited_by)
            await gaps.mark(["q1"], "answered", author=edited_by, at=1.0, answer=answer.id)
        (listed,) = await kept.list_answers()
        return listed.answer, await kept.versions(listed.answer.id), await gaps.marks()


async def test_who_edited_an_answer_stays_known_there_back_and_out_of_an_archive(machine, postgres_url):
    folder = machine.folder / ".footnote"
    before = await taught(Settings(data_dir=folder, embedding_model="none"), edited_by="Ann")

    await succeed(machine, "move", "--to", postgres_url)
    there = await taught(Settings(data_dir=folder, database_url=postgres_url, embedding_model="none"))
    machine.settings["DATABASE_URL"] = postgres_url
    await succeed(machine, "backup", "all.footnote")
    del machine.settings["DATABASE_URL"]
    machine.settings["DATA_DIR"] = "back"
    await succeed(machine, "restore", "all.footnote")
    back = await taught(Settings(data_dir=machine.folder / "back", embedding_model="none"))

    answer, versions, marks = before
    assert there == back == before
    assert (answer.editor, [each.text for each in versions]) == ("Ann", ["Marta.", "Olga."])
    assert marks["q1"].answer == answer.id


async def test_there_and_back_everything_is_the_same(machine, used, postgres_url):
    before = await answers(machine)

    there = await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    back = await succeed(machine, "move", "--to", "back")
    on_postgres = await answers(machine), await approve(machine, used)
    del machine.settings["DATABASE_URL"]
    machine.settings["DATA_DIR"] = "back"
    again = await answers(machine), await approve(machine, used)

    assert filled(there) == filled(back)
    assert filled(there).keys() == {"conversations", "library", "questions", "vectors"}
    assert on_postgres == again == (before, ("answered", True))


async def test_what_a_turn_that_was_cut_off_had_written_is_the_same_after_each_copy(
    machine, used, postgres_url
):
    before = pending_writes(machine.folder / ".footnote")
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url

    await succeed(machine, "move", "--to", "back")
    await succeed(machine, "backup", "all.footnote")
    machine.settings |= {"DATABASE_URL": "", "DATA_DIR": "restored"}
    await succeed(machine, "restore", "all.footnote")

    assert len(before) == 2
    assert pending_writes(machine.folder / "back") == before
    assert pending_writes(machine.folder / "restored") == before


@pytest.mark.long
async def test_ten_thousand_passages_and_five_hundred_conversations_move_there_and_back(
    machine, used, postgres_url
):
    for part in range(10):
        folder = machine.docs / str(part)
        folder.mkdir()
        for number in range(part * 10, part * 10 + 10):
            (folder / f"{number}.md").write_text("\n".join(_berths(number)))
        await succeed(machine, "ingest", f"docs/{part}")
    proposals = [proposal for part in range(5) for proposal in await asked_in_threads(machine, part)]
    before = await said(machine)

    there = await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    back = await succeed(machine, "move", "--to", "back")
    on_postgres = await said(machine), await approve(machine, used), await approve(machine, *proposals[-1])
    del machine.settings["DATABASE_URL"]
    machine.settings["DATA_DIR"] = "back"
    again = await said(machine), await approve(machine, used), await approve(machine, *proposals[-1])

    print(there)  # the counts, for whoever runs it with -s
    assert len(proposals) >= 50
    assert digests(there) == {store: told for store, told in digests(back).items() if told[0] != "0 rows"}
    assert on_postgres == again
    assert again[:2] == (before, ("answered", True))


async def said(machine):
    """The answers alone: to the small network all passages are alike, so the order of the others means nothing."""
    return [(told["text"], told["citations"]) for told in await answers(machine)]


def _berths(document):
    """A hundred sections, each a passage of its own."""
    for number in range(document * 100, document * 100 + 100):
        dice = Random(number)
        words = " ".join(f"w{dice.randrange(5_000)}" for _ in range(100))
        yield f"## Berth b{number}\n\nBerth b{number} holds {words}.\n"


async def asked_in_threads(machine, part):
    """A question in each of a hundred threads, in ten of them one for the web; the open proposals of those."""
    threads = [f"{part}-{number}" for number in range(100)]
    lines = [
        {"id": thread, "thread": thread, "question": CUP_QUESTION if number < 10 else FERRY_QUESTION}
        for number, thread in enumerate(threads)
    ]
    told = await machine.run("ask", "--batch", "-", stdin="\n".join(map(json.dumps, lines)))
    outcomes = [json.loads(line) for line in told.out.splitlines()]
    return [(each["proposal"]["id"], each["id"]) for each in outcomes if each["proposal"]]


async def test_an_id_that_was_given_before_is_not_given_again(machine, used, postgres_url):
    with closing(sqlite3.connect(machine.folder / ".footnote" / "library.sqlite")) as database, database:
        database.execute("UPDATE sqlite_sequence SET seq = 900 WHERE name = 'documents'")
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    (machine.folder / "docs" / "new.md").write_text("# New\n\nNew.\n")
    await succeed(machine, "ingest", "docs")

    assert rows_on(postgres_url, "SELECT id FROM documents WHERE source LIKE '%new.md'") == [(901,)]


async def test_what_is_forgotten_after_the_move_is_found_no_more(machine, used, postgres_url):
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url

    await succeed(machine, "forget", "docs")
    told = json.loads(await succeed(machine, "ask", FERRY_QUESTION, "--json"))

    assert told["outcome"] != "answered"
    assert rows_on(postgres_url, "SELECT DISTINCT document FROM postings") == rows_on(
        postgres_url, "SELECT id FROM documents"
    )
    assert rows_on(postgres_url, "SELECT count(*) FROM vectors") == rows_on(
        postgres_url, "SELECT count(*) FROM passages"
    )


async def test_uploads_follow_the_folder(machine, used, postgres_url):
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    await succeed(machine, "move", "--to", "back")

    place = (machine.folder / "back" / "learned" / "a-channel" / "note.md").resolve()
    with closing(sqlite3.connect(machine.folder / "back" / "library.sqlite")) as database:
        found = database.execute("SELECT address FROM documents WHERE source LIKE '%note.md'").fetchall()
    assert found == [(str(place),)]
    assert place.read_text().endswith("tonight.\n")
    assert (
        within(machine.folder / "back", place.parent) == within(machine.folder / "back", "/") == [str(place)]
    )
    assert within(machine.folder / "back", machine.folder / ".footnote") == []


def within(data_dir, folder):
    """Where the moon is found below a folder."""
    with closing(SqliteDatabase(data_dir / "library.sqlite", tables.SCHEMA)) as database:
        scope = Scope(collections=frozenset({"a-channel"}), addresses=(str(folder),))
        found = Fts5Index(database).search(["moon"], scope, limit=5)
        query = "SELECT address FROM documents d JOIN passages p ON p.document = d.id WHERE p.id = ?"
        return [address for passage, _ in found for (address,) in database.rows(query, (int(passage),))]


async def test_a_target_that_holds_something_is_left_alone(machine, used, postgres_url):
    await succeed(machine, "move", "--to", postgres_url)
    (machine.folder / "full").mkdir()
    (machine.folder / "full" / "letter.txt").write_text("Dear Ann")

    again = await refused(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    full = await refused(machine, "move", "--to", "full")

    assert "holds something already" in again
    assert "--to" in again
    assert "holds something already (letter.txt)" in full
    assert [each.name for each in (machine.folder / "full").iterdir() if each.name != "lock"] == [
        "letter.txt"
    ]
    assert await answers(machine)


async def test_what_cannot_be_moved_is_refused_in_one_sentence(machine, postgres_url):
    nothing = await refused(machine, "move", "--to", postgres_url)
    folder = await refused(machine, "move", "--to", "elsewhere")
    nobody = await refused(machine, "move", "--to", "postgresql://postgres@127.0.0.1:9/none")
    machine.settings["DATABASE_URL"] = postgres_url
    both = await refused(machine, "move", "--to", postgres_url)
    empty = await refused(machine, "move", "--to", "elsewhere")

    assert "There is nothing to move in .footnote" in nothing
    assert "name the URL of a PostgreSQL" in folder
    assert "There is nothing to move" in nobody
    assert "Both are a PostgreSQL" in both
    assert "holds no stores" in empty
    assert not (machine.folder / "elsewhere").exists() or not [
        each for each in (machine.folder / "elsewhere").iterdir() if each.name != "lock"
    ]


async def test_other_versions_are_refused(machine, used, postgres_url):
    file = machine.folder / ".footnote" / "conversations.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 0")
    older = await refused(machine, "move", "--to", postgres_url)
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"PRAGMA user_version = {checkpoints.SCHEMA.version}")
    await succeed(machine, "move", "--to", postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE footnote_versions SET version = version + 1 WHERE store = 'library'")
    machine.settings["DATABASE_URL"] = postgres_url
    newer = await refused(machine, "move", "--to", "back")

    assert "conversations.sqlite is of an older version. Run `footnote migrate` first." in older
    assert "Install that version." in newer


async def test_rows_that_do_not_fit_the_tables_are_a_sentence_and_leave_nothing(machine, used, postgres_url):
    with closing(sqlite3.connect(machine.folder / ".footnote" / "library.sqlite")) as database, database:
        database.execute("UPDATE documents SET size = 'large'")

    ran = await machine.run("move", "--to", postgres_url)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("was dropped: the rows do not fit the tables.\n")
    assert rows_on(postgres_url, "SELECT count(*) FROM documents") == [(0,)]
    assert rows_on(postgres_url, "SELECT to_regclass('incomplete_copy')") == [(None,)]


async def killed(machine, *arguments):
    """A command that ends by `kill -9` while it writes the library."""
    await ended(machine, signal.SIGKILL, *arguments)


async def ended(machine, number, *arguments, held=None):
    """The exit code of a command that is sent a signal while it writes the library.

    ``held``: a connection with a lock that keeps it from ending before.
    """
    process = await machine.start(*arguments)
    async with asyncio.timeout(PATIENCE):
        await process.stderr.readuntil("Library…".encode())
        process.send_signal(number)
        if held is not None:
            held.rollback()
        await process.communicate()
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_whoever_stops_a_move_finds_nothing_of_it(machine, used, postgres_url, number):
    temporary = machine.folder / "temporary"
    temporary.mkdir()
    machine.settings["TMPDIR"] = str(temporary)

    machine.settings["DATABASE_URL"] = postgres_url
    await succeed(machine, "migrate")
    del machine.settings["DATABASE_URL"]
    with psycopg.connect(postgres_url) as held:
        held.execute("LOCK TABLE documents IN SHARE MODE")  # which lets read, and not write
        there = await ended(machine, number, "move", "--to", postgres_url, held=held)
    left_there = rows_on(postgres_url, "SELECT to_regclass('incomplete_copy')")
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    with psycopg.connect(postgres_url) as held:
        held.execute("LOCK TABLE passages IN ACCESS EXCLUSIVE MODE")
        back = await ended(machine, number, "move", "--to", "back", held=held)

    assert there == back == 128 + number
    assert left_there == [(None,)]
    assert [each.name for each in (machine.folder / "back").iterdir()] == ["lock"]
    assert list(temporary.iterdir()) == []


async def test_a_place_that_cannot_be_used_is_named_as_it_was_typed(machine, used, postgres, postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        latin = await refused(machine, "move", "--to", postgres.url("latin"))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP DATABASE latin")
    untold = await refused(machine, "move", "--to", f"{postgres.url('postgres')}?sslmode=require")
    await succeed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    file = await refused(machine, "move", "--to", "docs/ferry.md")

    assert "The PostgreSQL of --to keeps texts in LATIN1. Give Footnote a database made with" in latin
    assert untold == "The PostgreSQL of --to does not speak TLS, which sslmode demands.\n"
    assert file == "docs/ferry.md cannot be made: file exists.\n"


async def test_after_a_kill_the_target_is_refused_until_the_move_is_run_again(machine, used, postgres_url):
    await killed(machine, "move", "--to", postgres_url)
    machine.settings["DATABASE_URL"] = postgres_url
    half = await refused(machine, "ask", FERRY_QUESTION)
    diagnoses = [await machine.run("doctor")]
    machine.settings["DATABASE_URL"] = ""
    there = await succeed(machine, "move", "--to", postgres_url)

    machine.settings["DATABASE_URL"] = postgres_url
    await killed(machine, "move", "--to", "back")
    machine.settings |= {"DATABASE_URL": "", "DATA_DIR": "back"}
    half_back = [await refused(machine, command) for command in ("sources", "migrate")]
    diagnoses.append(await machine.run("doctor"))
    machine.settings |= {"DATABASE_URL": postgres_url, "DATA_DIR": ".footnote"}
    back = await succeed(machine, "move", "--to", "back")

    assert "holds a copy that is not whole" in half
    for each in diagnoses:
        assert each.code == 1
        assert re.search("✗ index .* holds a copy that is not whole", each.out)
    assert all("back holds a copy that is not whole" in each for each in half_back)
    assert digests(there).items() <= digests(back).items()


@pytest.mark.parametrize("goes_to", ["postgresql", "folder"])
async def test_an_archive_of_either_database_is_restored_on_the_other(machine, used, postgres_url, goes_to):
    before = await answers(machine)
    await succeed(machine, "move", "--to", postgres_url)
    if goes_to == "folder":
        machine.settings["DATABASE_URL"] = postgres_url
    await succeed(machine, "backup", "all.footnote")
    if goes_to == "folder":
        machine.settings |= {"DATABASE_URL": "", "DATA_DIR": "restored"}
    else:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; DROP SCHEMA dbos CASCADE; CREATE SCHEMA public")
            connection.execute("CREATE EXTENSION vector")
        machine.settings |= {"DATABASE_URL": postgres_url, "DATA_DIR": "restored"}
    told = await succeed(machine, "restore", "all.footnote")

    assert "1 upload again" in told
    uploads = machine.folder / "restored" / "learned"
    assert [each.name for each in uploads.rglob("*") if each.stat().st_mode & 0o077] == []
    assert (uploads / "a-channel" / "note.md").is_file()
    assert await answers(machine) == before
    assert await approve(machine, used) == ("answered", True)
