"""A damaged index, as those see it who ask: in a channel in other words than at the operator's terminal."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from core.bootstrap import open_footnote, open_library, reads_everything
from core.conversation import Conversation, Question
from core.errors import DocumentError, for_people
from core.settings import Settings
from core.wording import Sentence

ADVICE = "library.sqlite is damaged. Run `footnote ingest --rebuild` with your documents."
QUAY = Conversation(platform="somewhere", space="T1", channel="C1", thread="1.1")


@pytest.fixture
def settings(tmp_path):
    """Of a data folder whose passages are overwritten."""
    made = Settings(data_dir=tmp_path / "data", embedding_model="none", web_search="off")
    (tmp_path / "ferry.md").write_text("# Ferry\n\nThe ferry to Sark leaves pier three at half past nine.\n")
    with closing(open_library(made)) as library:
        library.ingest([tmp_path / "ferry.md"])
    file = made.data_dir / "library.sqlite"
    with closing(sqlite3.connect(file)) as sound:
        ((page,),) = sound.execute("SELECT rootpage FROM sqlite_master WHERE name = 'passages'")
        ((size,),) = sound.execute("PRAGMA page_size")
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"\x55" * size)
    return made


async def asked(settings, **how):
    question = Question(
        id="q", conversation=QUAY, author="ada", text="When does the ferry to Sark leave?", asked_at=1.0
    )
    async with open_footnote(settings, purpose="test", reads=reads_everything, **how) as footnote:
        return await footnote.assistant.run(question)


async def test_people_are_told_kindly_and_whoever_runs_it_what_to_run(settings, caplog):
    outcome = await asked(settings, sentence=for_people)

    assert (outcome.kind, outcome.reason) == ("failed", Sentence("index_unreadable"))
    assert any(ADVICE in record.getMessage() for record in caplog.records)


async def test_at_the_terminal_it_is_said_what_to_run(settings):
    outcome = await asked(settings)

    assert outcome.kind == "failed"
    assert outcome.reason.endswith(ADVICE)


def test_other_troubles_are_told_to_people_as_they_are():
    assert for_people(DocumentError("is empty")) == "is empty"
