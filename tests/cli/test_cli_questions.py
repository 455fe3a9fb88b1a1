"""``footnote questions``: the list for people, the table for machines, beside a running bot and without."""

from __future__ import annotations

import csv
import io
import json

import pytest
from fakes.harbour import FERRY_QUESTION, PONTOON_QUESTION

from bots.record import QUESTION_COLUMNS, cell, write_csv

FORMULA = '=HYPERLINK("http://x.example","When does the ferry leave")?'


async def test_what_was_asked_is_listed_with_how_it_ended(machine):
    await machine.run("ask", PONTOON_QUESTION, "--docs", "docs")
    await machine.run("ask", "Who won the chess world cup?", "--docs", "docs")

    ran = await machine.run("questions")
    unanswered = await machine.run("questions", "--since", "1h", "--outcome", "no_answer")

    assert ran.code == 0
    chess, pontoon = (each.split("\t") for each in ran.out.splitlines())
    assert (pontoon[1], pontoon[3], pontoon[-1]) == ("cli/local/terminal", "answered", PONTOON_QUESTION)
    assert chess[-1] == "Who won the chess world cup?"
    assert ran.err.startswith("2 turns: ")
    assert "pontoon" not in unanswered.out


async def test_the_table_for_machines_holds_no_formula(machine):
    await machine.run("ask", FORMULA, "--docs", "docs")
    await machine.run("ask", FERRY_QUESTION, "--docs", "docs")

    ran = await machine.run("questions", "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))

    assert tuple(rows[0]) == QUESTION_COLUMNS
    assert [row["question"] for row in rows] == [FERRY_QUESTION, f"'{FORMULA}"]
    assert rows[0]["channel"] == "cli/local/terminal"
    assert float(rows[0]["seconds"]) >= 0
    assert rows[0]["cost"] == ""


async def test_with_trace_days_0_the_figures_are_listed_without_words(machine):
    machine.settings["TRACE_DAYS"] = "0"
    await machine.run("ask", FERRY_QUESTION, "--docs", "docs")

    ran = await machine.run("questions", "--csv")
    (row,) = csv.DictReader(io.StringIO(ran.out))

    assert (row["question"], row["kind"]) == ("", "question")


async def test_where_nothing_was_asked_it_says_so(machine):
    ran = await machine.run("questions")
    failed = await machine.run("questions", "--outcome", "failed")

    assert (ran.code, ran.out, ran.err) == (0, "", "Nothing was asked in this time.\n")
    assert (failed.code, failed.err) == (0, "Nothing ended as “failed” in this time.\n")


@pytest.mark.parametrize("span", ["7", "d", "-1d", "0d", "1y", "٣d"])
async def test_a_span_that_is_none_is_told(machine, span):
    ran = await machine.run("questions", f"--since={span}")

    assert ran.code == 2
    assert "is not a span of time" in ran.err


async def test_a_span_of_too_many_digits_is_told(machine):
    ran = await machine.run("questions", "--since=999999d")

    assert ran.code == 2
    assert "999999d is too long a time" in ran.err


async def test_what_is_asked_to_test_the_answers_is_not_counted(machine):
    (machine.folder / "q.jsonl").write_text(json.dumps({"question": FERRY_QUESTION}) + "\n")

    evaluated = await machine.run("test", "q.jsonl", "--docs", "docs")
    ran = await machine.run("questions", "--csv")

    assert evaluated.code == 0
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"), ("  =1", "'  =1"),
        ("＝1", "'＝1"), ("plain", "plain"), (-1.5, -1.5), (None, ""), (0, 0), ("a\x1b[31mb", "ab"), ("a\u202eb", "ab"),
    ],
)  # fmt: skip
def test_a_cell_is_no_formula_and_holds_no_control_character(content, written):
    assert cell(content) == written


def test_a_cell_with_commas_quotes_and_lines_comes_back_as_it_was():
    stream, row = io.StringIO(), ["a,b", 'say "hi"', "two\nlines"]

    write_csv(stream, ["x", "y", "z"], [row])

    assert list(csv.reader(io.StringIO(stream.getvalue()))) == [["x", "y", "z"], row]
