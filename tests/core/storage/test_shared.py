"""Two processes on one PostgreSQL: what one of them stores, the other goes by from its next question on."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store
from core.bootstrap import open_library
from core.conversation import Conversation
from core.library.documents import Scope
from core.library.library import DEFAULT_COLLECTION, NOTE_EVERY
from core.library.retriever import Query
from core.settings import Settings
from core.storage.storage import open_storage

QUAY = Conversation(platform="slack", space="T1", channel="C1", thread="1.1")
FERRY = Query(text="When does the ferry leave?", scope=Scope(collections=frozenset({DEFAULT_COLLECTION})))


@pytest.fixture
def processes(postgres_url, tmp_path):
    """The stores as each process opens them for itself."""
    with ExitStack() as opened:
        folders = [tmp_path / name for name in ("first", "second")]
        yield [
            opened.enter_context(open_storage(Settings(data_dir=folder, database_url=postgres_url)))
            for folder in folders
        ]


def found(library):
    return [hit.passage.text for hit in library.retrieve(FERRY).passages]


def test_a_document_is_found_changed_and_gone_for_both_at_once(processes, postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    one, other = (open_library(settings, storage) for storage in processes)
    note, seen = tmp_path / "note.md", [found(other)]

    note.write_text("The ferry leaves at nine.\n")
    one.ingest([note])
    seen.append(found(other))
    note.write_text("The ferry leaves at ten o'clock.\n")
    one.refresh()
    seen.append(found(other))
    other.forget(str(note))
    seen.append(found(one))

    assert seen == [[], ["The ferry leaves at nine."], ["The ferry leaves at ten o'clock."], []]


def test_both_know_when_the_files_were_last_looked_at(processes, postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    one, other = (open_library(settings, storage) for storage in processes)
    before = other.refresh_age()

    one.refresh()
    age = other.refresh_age()

    assert before is None
    assert age is not None
    assert 0 <= age < NOTE_EVERY


async def test_what_a_channel_chose_through_one_process_the_other_goes_by(processes, postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    (tmp_path / "rules.md").write_text("The ferry takes no cars.\n")
    with open_channel_store(processes[0]) as one, open_channel_store(processes[1]) as other:
        library = open_library(settings, processes[0])
        library.ingest([tmp_path / "rules.md"], collection="rules")
        opened = AccessChange(opens=(("channel", QUAY.channel_id),))
        before = await other.thread_state(QUAY), (await other.reads(QUAY, "ann", library)).collections

        await one.database.call(change_access, one.database.database, "rules", opened, known=["rules"])
        is_open = (await other.reads(QUAY, "ann", library)).collections

        await one.set_follow(QUAY, "off")
        await one.use(QUAY, "ann", "rules", library)
        await one.remember_thread(QUAY, "ann", 1.0)
        noted = await one.note_unasked("turn", QUAY, 5.0)
        await other.withdraw("turn", QUAY)
        after = await other.thread_state(QUAY), (await other.reads(QUAY, "ann", library)).collections

        assert (before[0].follow, before[1]) == ("asker", frozenset())
        assert is_open == {"rules"}
        assert (after[0].follow, after[1]) == ("off", frozenset({"rules"}))
        assert noted
        assert await one.unasked(QUAY, 6.0) == (1, 1)
        assert not (await one.thread_state(QUAY)).knows_thread
