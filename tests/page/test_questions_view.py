"""The list of questions: its pages are full and reach everything, for who reads some collections alone too; and its file."""

from __future__ import annotations

import csv
import io
import re

import pytest
from fakes.desk import NOON, answered, asked, open_desk, traced

from bots.page.views.questions import SHOWN

OPEN, CLOSED = "default", "payroll"


@pytest.fixture(params=["folder", "postgresql"])
async def desk(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    async with open_desk(tmp_path, database_url=url) as desk:
        desk.footnote.log.now = lambda: NOON + 3600
        desk.ingest(tmp_path / "docs", "open.md", "# Harbour\n\nThe ferry leaves.\n", collection=OPEN)
        desk.ingest(tmp_path / "docs", "pay.md", "# Payroll\n\nPay is secret.\n", collection=CLOSED)
        yield desk


async def log(desk, number, text, *, collection):
    turn = f"q{number:04}"
    await desk.footnote.log.record(
        asked(turn, text, at=NOON + number // 2),
        answered(turn, collection=collection),
        traced(text, collection=collection),
    )


async def walk(browser, path):
    """All turns of the pages from this address on, and how many each page shows."""
    turns, sizes = [], []
    while path:
        _, page = await browser.get(path)
        shown = re.findall(r'data-row href="/questions/(q\d+)"', page)
        turns, sizes = [*turns, *shown], [*sizes, len(shown)]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = older and older[1].replace("&amp;", "&")
    return turns, sizes


async def test_pages_are_full_and_reach_all_that_a_reader_may_find(desk):
    for number in range(4 * SHOWN):
        await log(desk, number, f"ferry number {number}", collection=CLOSED if number % 4 else OPEN)
    everything, limited = await desk.browser(), await desk.browser("reader", collections=frozenset({OPEN}))

    all_turns, all_sizes = await walk(everything, "/questions?text=ferry")
    own_turns, own_sizes = await walk(limited, "/questions?text=ferry")

    assert (len(set(all_turns)), all_sizes) == (4 * SHOWN, [SHOWN] * 4)
    assert (sorted(own_turns), own_sizes) == ([f"q{number:04}" for number in range(0, 4 * SHOWN, 4)], [SHOWN])


async def test_a_page_of_nothing_leads_on_where_more_was_not_looked_through(desk, monkeypatch):
    monkeypatch.setattr("bots.page.views.questions.LOOKED", 2 * SHOWN)
    await log(desk, 0, "the oldest ferry", collection=OPEN)
    for number in range(1, 4 * SHOWN):
        await log(desk, number, f"ferry number {number}", collection=CLOSED)
    limited = await desk.browser("reader", collections=frozenset({OPEN}))

    turns, sizes = await walk(limited, "/questions?text=ferry")

    assert turns == ["q0000"]
    assert sizes[0] == 0


async def test_the_file_has_what_the_filter_finds_and_no_closed_words(desk):
    for number in range(6):
        await log(desk, number, f"=cmd ferry {number}", collection=CLOSED if number % 2 else OPEN)
    everything, limited = await desk.browser(), await desk.browser("reader", collections=frozenset({OPEN}))

    files = [
        list(csv.DictReader(io.StringIO((await each.get("/questions.csv"))[1])))
        for each in (everything, limited)
    ]
    one = list(csv.DictReader(io.StringIO((await everything.get("/questions.csv?text=ferry%205"))[1])))

    assert [[row["question"] for row in rows] for rows in files] == [
        [f"'=cmd ferry {number}" for number in reversed(range(6))],
        [f"'=cmd ferry {number}" if not number % 2 else "" for number in reversed(range(6))],
    ]
    assert [row["question"] for row in one] == ["'=cmd ferry 5"]
