"""``footnote gaps``: the groups for people, the table for machines, beside a running bot and without."""

from __future__ import annotations

import csv
import io
import subprocess
import time
from contextlib import closing

import pytest
from fakes.harbour import FERRY_QUESTION

from bots.record import GAP_COLUMNS
from core.answers.answers import open_answers
from core.answers.store import KeptAnswer
from core.bootstrap import open_library
from core.gaps.questions import open_gap_store
from core.library.data_lock import lock_data_dir
from core.settings import Settings
from core.storage.storage import open_storage

CHESS = ("Who won the chess world cup?", "Which player won the chess world cup last year?")
VISA = "=HYPERLINK(1) Do I need a visa for Peru?"


async def ask_unanswerable(machine):
    for text in (*CHESS, VISA, FERRY_QUESTION):
        await machine.run("ask", text, "--docs", "docs")


async def test_what_was_not_answered_is_listed_in_groups(machine):
    await ask_unanswerable(machine)

    with lock_data_dir(machine.folder / ".footnote", "footnote run"):  # as a bot that runs has it
        ran = await machine.run("gaps")

    assert ran.code == 0
    assert FERRY_QUESTION not in ran.out
    assert "2 questions of 1 person, new" in ran.out
    assert all(text in ran.out for text in (*CHESS, VISA))
    assert ran.err == "2 groups of 3 questions, compared by their words.\n"


async def test_the_table_for_machines_has_a_line_for_each_question_and_no_formula(machine):
    await ask_unanswerable(machine)

    rows = list(csv.DictReader(io.StringIO((await machine.run("gaps", "--since", "1h", "--csv")).out)))

    assert tuple(rows[0]) == GAP_COLUMNS
    assert sorted(row["question"] for row in rows) == sorted((*CHESS, f"'{VISA}"))
    assert [row["count"] for row in rows] == ["2", "2", "1"]
    assert len({row["group"] for row in rows}) == 2


async def test_where_all_was_answered_it_says_so(machine):
    await machine.run("ask", FERRY_QUESTION, "--docs", "docs")

    ran = await machine.run("gaps")

    assert (ran.code, ran.out) == (0, "")
    assert "Everything that was asked in this time was answered" in ran.err


async def test_words_that_are_not_kept_are_counted(machine):
    machine.settings["TRACE_DAYS"] = "0"
    await machine.run("ask", CHESS[0], "--docs", "docs")

    ran = await machine.run("gaps")

    assert "1 more question whose words are not kept any more" in ran.err
    assert CHESS[0] not in ran.out


def apply(patch, folder):
    subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True)


async def teach(machine, question, text):
    """What somebody in a channel answered, and was kept."""
    now, settings = time.time(), Settings(data_dir=machine.folder / ".footnote")
    said = KeptAnswer(
        id="k1", question=question, text=text, author="U1", name="Ann", place="#help", conversation="", message="m1",
        url=None, collection="default", language="en", said_at=now, kept_at=now, valid_until=0.0,
    )  # fmt: skip
    with (
        open_storage(settings) as storage,
        closing(open_library(settings, storage)) as library,
        open_answers(storage, library, review_after=180) as answers,
        open_gap_store(storage) as gaps,
    ):
        await answers.keep(said)
        await answers.use("k1")
        await gaps.mark(["t1"], "answered", author="Ann", at=now, answer="k1")


async def test_what_a_person_answered_is_written_as_a_patch_that_applies(machine):
    await machine.run("ingest", "docs")
    await teach(machine, "Do dogs pay on the ferry?", "Dogs travel free on the ferry.")
    before = {file: file.read_bytes() for file in machine.docs.iterdir()}

    ran = await machine.run("gaps", "--draft", "out")

    (patch,) = (machine.folder / "out").iterdir()
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [
        "Do dogs pay on the ferry?",
        f"  Ann, in #help, {time.strftime('%-d %b %Y')}",
    ]
    assert str(patch.relative_to(machine.folder)) in ran.out
    assert ran.err == f"1 draft. No document was changed. In {machine.docs}, `git apply FILE` applies one.\n"
    assert {file: file.read_bytes() for file in machine.docs.iterdir()} == before
    apply(patch, machine.docs)
    assert any("Dogs travel free on the ferry." in file.read_text() for file in machine.docs.iterdir())
    again = await machine.run("gaps", "--draft", "out")
    assert again.err == "A document states this now, so what Ann said is retired: Do dogs pay on the ferry?\n"
    later = await machine.run("gaps", "--draft", "out")
    assert later.err.startswith("Nobody answered what the documents left open")


async def test_a_draft_that_somebody_edited_stays_as_it_is(machine):
    await machine.run("ingest", "docs")
    await teach(machine, "Do dogs pay on the ferry?", "Dogs travel free on the ferry.")
    await machine.run("gaps", "--draft", "out")
    (draft,) = (machine.folder / "out").iterdir()
    made = draft.read_bytes()

    await machine.run("gaps", "--draft", "out")
    assert list((machine.folder / "out").iterdir()) == [draft]
    draft.write_text("Edited.")
    ran = await machine.run("gaps", "--draft", "out")

    beside = draft.with_stem(f"{draft.stem}-2")
    assert draft.read_text() == "Edited."
    assert beside.read_bytes() == made
    assert str(beside.relative_to(machine.folder)) in ran.out


async def test_without_an_answer_there_is_nothing_to_draft(machine):
    ran = await machine.run("gaps", "--draft")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("Nobody answered what the documents left open in this time")
    assert not (machine.folder / "footnote-drafts").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--pull-requests",), "--pull-requests goes with --draft."), (("--draft", "--csv"), "--csv")],
)
async def test_what_makes_no_sense_together_is_refused(machine, arguments, said):
    ran = await machine.run("gaps", *arguments)

    assert ran.code == 2
    assert said in ran.err


async def test_a_folder_that_cannot_be_written_is_said(machine):
    await machine.run("ingest", "docs")
    await teach(machine, "Do dogs pay on the ferry?", "Dogs travel free on the ferry.")
    (machine.folder / "out").write_text("a file")

    ran = await machine.run("gaps", "--draft", "out")

    assert ran.code == 1
    assert "cannot be written" in ran.err
