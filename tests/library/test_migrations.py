"""Libraries of older versions, opened by this one: brought up once, wholly or not at all."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import IndexInUse, IndexMismatch, SettingsError
from core.library import migrations
from core.library.catalogue import INDEX_VERSION
from core.library.data_lock import owned
from core.library.database import SCHEMA_VERSION
from core.library.documents import Passage
from core.library.embedding.embedder import OnnxEmbedder
from core.library.library import embedded_text
from core.library.migrations import age_of
from core.library.sync import SyncReport
from core.library.vectors import VectorIndex
from tests.fakes.older import PAGE, lay_down, write_documents
from tests.fakes.tiny_network import write_tiny_network
from tests.library.shelf import files_read, found, open_library, quotable, sources

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("library_0", "library_1")
EVERY = ["docs/club.txt", "docs/ferry.md", "docs/harbour.md", PAGE]


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")


@pytest.fixture(params=VERSIONS)
def data(request, tmp_path, docs):
    """The data folder of an older version."""
    lay_down(request.param, tmp_path / "data" / "library.sqlite", docs=docs)
    return tmp_path / "data"


@pytest.fixture
def first(tmp_path, docs):
    """The data folder of the first version."""
    lay_down("library_0", tmp_path / "data" / "library.sqlite", docs=docs)
    return tmp_path / "data"


def in_file(data, query):
    with closing(sqlite3.connect(data / "library.sqlite")) as database:
        return database.execute(query).fetchall()


def tables_of(data):
    """The columns of each table, and the columns of each index."""
    with closing(sqlite3.connect(data / "library.sqlite")) as database:
        names = database.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {
            name: {row[1:4] + row[5:] for row in database.execute(f"PRAGMA table_info({name})")}
            if kind == "table"
            else [row[2] for row in database.execute(f"PRAGMA index_info({name})")]
            for kind, name in names
        }


def content_of(data):
    """All rows that a person could miss."""
    return {
        table: in_file(data, f"SELECT * FROM {table} ORDER BY 1, 2")
        for table in ("meta", "documents", "passages", "roots", "words")
    }


# What is there afterwards


def test_what_an_older_version_indexed_is_found_without_reading_a_file(data, docs):
    with files_read(docs) as opened:
        library = open_library(data)
        library.check_versions()
        answers = [found(library, asked)[0] for asked in ("ferry to Sark", "visitors' pontoon", "tides")]
        library.close()

    assert answers == ["docs/ferry.md", "docs/harbour.md", PAGE]
    assert opened == []


def test_a_narrow_question_stays_within_its_document(data, docs):
    library = open_library(data)

    assert found(library, "ferry petrol tides", docs / "harbour.md") == ["docs/harbour.md"]
    library.close()


def test_the_tables_are_those_of_a_new_library(data, tmp_path):
    open_library(data).close()
    open_library(tmp_path / "new").close()

    assert tables_of(data) == tables_of(tmp_path / "new")
    assert in_file(data, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert in_file(data, "SELECT value FROM meta WHERE key = 'index_version'") == [(INDEX_VERSION,)]


def test_the_first_sync_cuts_the_files_anew_and_the_second_opens_none(first, docs):
    library = open_library(first)
    with files_read(docs) as opened:
        report = library.refresh()
    with files_read(docs) as opened_again:
        again = library.refresh()

    assert (report, sorted(set(opened))) == (SyncReport(changed=3), ["club.txt", "ferry.md", "harbour.md"])
    assert (again, opened_again) == (SyncReport(skipped=3), [])
    assert sources(library) == EVERY
    library.close()


def test_what_was_forgotten_stays_forgotten(tmp_path, docs):
    lay_down("library_1", tmp_path / "data" / "library.sqlite", docs=docs)

    library = open_library(tmp_path / "data")
    library.refresh()

    assert sources(library) == [name for name in EVERY if name != "docs/club.txt"]
    assert "clubhouse" not in quotable(library)
    library.close()


def test_a_folder_that_the_first_version_forgot_stays_forgotten(first, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "safe.txt").write_text("The safe's number is forty-two.")

    library = open_library(first)
    library.refresh()

    assert sources(library) == EVERY
    assert found(library, "the safe's number") == []
    library.close()


def test_a_file_that_was_deleted_since_is_gone_after_the_first_sync(first, docs):
    (docs / "club.txt").unlink()

    library = open_library(first)
    report = library.refresh()

    assert report.removed == 1
    assert found(library, "clubhouse bar") == []
    library.close()


def test_vectors_are_kept_and_made_anew_only_for_passages_that_changed(data, docs, tmp_path):
    embedder = OnnxEmbedder(write_tiny_network(tmp_path / "tiny", words=("ferry", "harbour", "tides")))
    give_vectors(data, embedder)
    kept = set(in_file(data, "SELECT id, text FROM passages"))
    (docs / "ferry.md").write_text((docs / "ferry.md").read_text().replace("half past nine", "noon"))

    library = open_library(data, embedder)
    library.check_versions()
    before = library.catalogue.count_pending_vectors()
    library.refresh()
    after = {passage.text for passage in library.catalogue.pending_vectors(limit=100)}
    now = set(in_file(data, "SELECT id, text FROM passages"))

    assert before == 0
    assert [text for text in after if "noon" not in text] == []
    assert {text for _, text in kept - now} == {text for _, text in kept if "half past nine" in text}
    assert library.embed_pending() == 1
    assert library.vectors.count("default") == len(now)
    library.close()


def give_vectors(data, embedder):
    """Vectors of all passages, as the older version stored them: the vectors' own folder has not changed."""
    rows = in_file(
        data, "SELECT p.id, d.title, p.path, p.text FROM passages p JOIN documents d ON d.id = p.document"
    )
    index = VectorIndex(data / "vectors")
    texts = [embedded_text(passage_of(*row)) for row in rows]
    index.add("default", [str(row[0]) for row in rows], embedder.embed_documents(texts))
    index.close()
    with closing(sqlite3.connect(data / "library.sqlite")) as database, database:
        database.execute("UPDATE passages SET embedded = 1")
        database.execute("INSERT INTO meta VALUES ('embedding_model', ?)", (embedder.name,))


def passage_of(id, title, path, text):
    return Passage(
        id=str(id), collection="default", source="", title=title, path=tuple(json.loads(path)),
        location="", text=text, start=0, end=len(text),
    )  # fmt: skip


# Once, wholly or not at all

DYING = """
import os, signal, sqlite3, sys
from pathlib import Path
from core.library import migrations

class Mortal(sqlite3.Connection):
    left = int(sys.argv[2])
    def execute(self, *given):
        self.count()
        return super().execute(*given)
    def executemany(self, *given):
        self.count()
        return super().executemany(*given)
    def count(self):
        Mortal.left -= 1
        if Mortal.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, factory=Mortal, **named)
migrations.bring_up(Path(sys.argv[1]), announce=print)
"""


def killed_at(data, statement):
    """Whether the process that brought the library up was killed before this statement of its."""
    ended = subprocess.run(
        [sys.executable, "-c", DYING, str(data / "library.sqlite"), str(statement)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert ended.returncode in (0, -signal.SIGKILL)
    return ended.returncode != 0


@pytest.mark.parametrize("statement", [7, 18, 26])
def test_killed_in_the_middle_it_is_as_it_was_and_the_next_start_does_it_again(first, statement):
    before = content_of(first), tables_of(first)

    assert killed_at(first, statement)

    assert (content_of(first), tables_of(first)) == before
    library = open_library(first)
    assert sources(library) == EVERY
    assert found(library, "ferry to Sark") == ["docs/ferry.md"]
    library.close()


@pytest.mark.long
def test_killed_at_every_statement_it_is_old_or_new(first):
    before, statement = content_of(first), 0

    while killed_at(first, statement):
        statement += 1
        assert statement < 200
        is_new = in_file(first, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
        if is_new:  # killed behind the commit
            break
        assert content_of(first) == before

    assert statement > 20
    library = open_library(first)
    assert sources(library) == EVERY
    assert found(library, "ferry to Sark") == ["docs/ferry.md"]
    library.close()


def test_it_happens_once(first):
    open_library(first).close()
    after = content_of(first)

    migrations.bring_up(first / "library.sqlite", announce=pytest.fail)

    assert not migrations.is_older(first / "library.sqlite")
    assert content_of(first) == after


def test_while_another_process_holds_the_folder_nothing_is_touched(first):
    before = content_of(first)

    with owned(first, "footnote run"), pytest.raises(IndexInUse, match="footnote run"):
        open_library(first)

    assert content_of(first) == before


def test_a_disk_that_refuses_is_a_sentence_and_leaves_the_older_file_whole(unprivileged):
    docs = write_documents(unprivileged / "docs")
    file = lay_down("library_0", unprivileged / "data" / "library.sqlite", docs=docs)
    before = content_of(file.parent)
    for each in file.parent.iterdir():
        each.chmod(0o400)

    with pytest.raises(SettingsError, match=r"library\.sqlite cannot be written: permission denied\."):
        open_library(file.parent)

    for each in file.parent.iterdir():
        each.chmod(0o600)
    assert content_of(file.parent) == before
    library = open_library(file.parent)
    assert sources(library) == EVERY
    library.close()


def test_a_person_is_told_where_it_takes_a_while(first, monkeypatch):
    monkeypatch.setattr(migrations, "MANY", 5)
    told = []

    migrations.bring_up(first / "library.sqlite", announce=told.append)

    assert told == ["Bringing the index up to this version of Footnote: 6 passages, only this once."]


# Other versions


@pytest.mark.parametrize(
    ("index_version", "age"),
    [
        (INDEX_VERSION, "ours"),
        ("1.1.1", "older"),
        ("1.1.2", "older"),
        ("1.1.2.2", "older"),
        ("0.0.0", "older"),
        (f"{SCHEMA_VERSION + 1}.1.1.1", "newer"),
        ("1.1.1.99", "newer"),
        (f"{INDEX_VERSION}.1", "newer"),
        ("next", "newer"),
    ],
)
def test_an_index_is_newer_where_any_part_of_it_is(index_version, age):
    assert age_of(index_version) == age


def test_an_index_whose_cutting_is_older_is_read_again_by_the_next_sync(first):
    library = open_library(first)
    library.refresh()
    schema, _, *others = INDEX_VERSION.split(".")
    library.catalogue.remember("index_version", ".".join((schema, "0", *others)))
    library.close()

    again = open_library(first)

    assert again.catalogue.recall("index_version") == INDEX_VERSION
    assert again.refresh() == SyncReport(changed=3)
    again.close()


def test_an_index_whose_terms_are_older_is_entered_anew_and_no_file_is_read(first):
    library = open_library(first)
    library.refresh()
    with library.catalogue.transaction() as writing:  # as other terms would have cut them
        writing.execute("UPDATE words SET body = 'nonsense', title = ''")
    schema, chunker, *_ = INDEX_VERSION.split(".")
    library.catalogue.remember("index_version", f"{schema}.{chunker}.0.0")
    library.close()

    again = open_library(first)

    assert found(again, "ferry to Sark") == ["docs/ferry.md"]
    assert again.refresh() == SyncReport(skipped=3)
    again.close()


def test_a_newer_library_is_refused_and_not_touched(first):
    open_library(first).close()
    with closing(sqlite3.connect(first / "library.sqlite")) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = content_of(first)

    with pytest.raises(IndexMismatch, match=r"newer version of Footnote\. Install that version again"):
        open_library(first)

    assert content_of(first) == before


def test_an_index_that_newer_code_made_is_refused_until_it_is_built_anew(first):
    library = open_library(first)
    library.catalogue.remember("index_version", f"{INDEX_VERSION}9")

    with pytest.raises(IndexMismatch, match=r"newer version of Footnote\..*`footnote ingest --rebuild`"):
        library.check_versions()
    library.rebuild()

    library.check_versions()
    assert sources(library) == EVERY
    library.close()


def test_every_version_of_the_tables_has_its_step():
    assert sorted(migrations.STEPS) == list(range(SCHEMA_VERSION))
