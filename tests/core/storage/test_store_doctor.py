"""What the doctor says of the one PostgreSQL, which it only reads."""

from __future__ import annotations

from argparse import Namespace

from bots.chat.channels import SCHEMA, open_channel_store
from bots.commands.backup import migrate
from bots.doctor import index, stores
from bots.doctor.settings import Configuration
from core.bootstrap import open_library
from core.conversation import Conversation
from core.settings import Settings
from core.storage.database import VERSIONS
from core.storage.storage import open_storage


def told(settings):
    return [
        (finding.state, finding.text, finding.fix)
        for finding in index.examine(Configuration(settings=settings))
    ]


def test_an_empty_database_is_told_with_what_makes_its_tables_and_is_left_empty(postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)

    first = told(settings)

    assert first == told(settings)
    assert first == [("warning", "DATABASE_URL opens, and nothing is stored yet.", "`footnote migrate`")]


def test_what_the_index_holds_is_counted(postgres_url, tmp_path, capsys):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    (tmp_path / "note.md").write_text("# Ferry\n\nThe ferry leaves at nine.\n")
    migrate(Namespace(), settings)
    library = open_library(settings)
    library.ingest([tmp_path / "note.md"])
    library.close()

    assert told(settings) == [("ok", "1 document with 1 passage.", "")]


def test_stores_of_other_versions_are_named(postgres_url, tmp_path, capsys):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    migrate(Namespace(), settings)
    with open_storage(settings) as storage, storage.database("rooms", SCHEMA).transaction() as writing:
        writing.execute(f"UPDATE {VERSIONS} SET version = 0 WHERE store = 'rooms'")
        writing.execute(f"UPDATE {VERSIONS} SET version = 99 WHERE store = 'library'")

    states = {text: state for state, text, _ in told(settings)}

    assert states["The library in PostgreSQL is of a newer version of Footnote."] == "failed"
    assert states["The rooms in PostgreSQL is of an older version."] == "warning"


async def test_threads_that_began_are_found_there(postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    none_yet = stores.thread_ids(settings, "slack/T1")
    with open_storage(settings) as storage, open_channel_store(storage) as channels:
        for place in ("T1", "T2"):
            thread = Conversation(platform="slack", space=place, channel="C1", thread=f"{place}.0")
            await channels.remember_thread(thread, "ann", 1.0)

    assert none_yet == []
    assert stores.thread_ids(settings, "slack/T1") == ["T1.0"]


def test_few_connections_are_told():
    assert list(stores.room("index", 100)) == []
    (finding,) = stores.room("index", 20)
    assert finding.state == "warning"
    assert "20 connections" in finding.text
