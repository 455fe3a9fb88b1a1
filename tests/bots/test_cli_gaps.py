"""``footnote gaps``: the groups for people, the table for machines, beside a running bot and without."""

from __future__ import annotations

import csv
import io

from harbour import FERRY_QUESTION

from bots.record import GAP_COLUMNS
from core.library.data_lock import lock_data_dir

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
