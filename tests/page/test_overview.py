"""The first view: what happened in the last days beside the days before, and what there is to do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.desk import NOON, Inspection, answered, asked, open_desk, traced

from core.conversation import Citation, Outcome, Usage
from core.traces.log import DAY

TEXTS = (
    "Who may use the slipway?",
    "When is the office open?",
    "What does a berth cost?",
    "Is there a crane?",
)


@pytest.fixture(params=["folder", "postgresql"])
async def desk(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    async with open_desk(tmp_path, database_url=url) as desk:
        desk.footnote.log.now = desk.gaps.now = lambda: NOON
        desk.footnote.answers.now = lambda: NOON
        yield desk


def whole(turn):
    """An answer that leaves nothing open."""
    outcome = answered(turn)
    return replace(outcome, answer=replace(outcome.answer, missing=""))


async def log(
    desk, turn, *, days_ago=0.0, kind="answered", author="ann", text=TEXTS[0], seconds=1.0, cost=None
):
    near = Citation(
        number=1, title="Slipway", location="", source="a.md", quote="", start=0, end=1, collection="default"
    )
    outcome = whole(turn) if kind == "answered" else Outcome(kind=kind, turn_id=turn, closest=(near,))
    outcome = replace(outcome, timing_ms={"total": seconds * 1000}, usage=Usage(name="gemini", cost=cost))
    question = asked(turn, text, author=author, at=NOON - days_ago * DAY)
    await desk.footnote.log.record(question, outcome, traced(""))


def figures(page):
    """By name, what each shows and how it changed."""
    shown = re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", " ", told).split()) for name, told in shown}


def paths(page):
    return {
        name: path.replace("&amp;", "&")
        for name, path in re.findall(r'<dt>([^<]+)</dt><dd><a href="([^"]+)"', page)
    }


async def shown_overview(desk, path="/", **limits):
    browser = await desk.browser(**limits)
    status, page = await browser.get(path)
    assert status == 200
    return browser, page


async def test_figures_stand_beside_those_of_the_days_before(desk):
    for number in range(8):  # this week: six answered, one with a search proposed, one not answered
        kind = {6: "approval_needed", 7: "no_answer"}.get(number, "answered")
        await log(desk, f"q{number}", days_ago=number % 3, kind=kind, author=f"u{number % 4}", seconds=4)
    for number in range(4):  # the week before: two of four answered
        kind = "answered" if number < 2 else "no_answer"
        await log(desk, f"p{number}", days_ago=8 + number, kind=kind, author=f"u{number % 2}", seconds=9)
    await log(desk, "long-ago", days_ago=40)
    for turn, is_positive in (("q0", True), ("q1", True), ("q2", False), ("q3", True)):
        await desk.footnote.log.rate(turn, "bob", is_positive=is_positive, at=NOON)
    await desk.footnote.log.rate("p0", "bob", is_positive=False, at=NOON - 8 * DAY)

    _, page = await shown_overview(desk)

    assert figures(page) == {
        "Questions": "8 +100%",
        "Answered": "75% +25 points",
        "Search proposed": "12% +12 points",
        "Not answered": "12% -38 points",
        "People who asked": "4 +100%",
        "Rated helpful": "3 of 4 +75 points",
        "Half took": "≤ 5 s ≤ 10 s before",
        "95% took": "≤ 5 s ≤ 10 s before",
        "Not answered well": "2",  # q2 and q7; q6 is of this very moment
    }


async def test_each_figure_and_each_day_opens_the_questions_behind_it(desk):
    for number, kind in enumerate(("answered", "answered", "no_answer")):
        await log(desk, f"q{number}", days_ago=number, kind=kind)
    await log(desk, "old", days_ago=9, kind="no_answer")
    browser, page = await shown_overview(desk)

    counts = {name: (await browser.get(path))[1].count("data-row") for name, path in paths(page).items()}
    days = [
        each.replace("&amp;", "&")
        for each in re.findall(r'<a href="(/questions[^"]+until=[^"]+)" aria-label', page)
    ]
    of_days = [(await browser.get(path))[1].count("data-row") for path in days]

    assert counts == {"Questions": 3, "Answered": 2, "Not answered": 1, "Not answered well": 1}
    assert of_days == [1, 1, 1]


@pytest.mark.parametrize(
    ("days", "questions"), [("7", "1"), ("30", "2"), ("90", "3"), ("1000", "1"), ("<b>", "1")]
)
async def test_it_shows_7_30_or_90_days(desk, days, questions):
    for number, ago in enumerate((1, 20, 80)):
        await log(desk, f"q{number}", days_ago=ago)

    _, page = await shown_overview(desk, f"/?days={days}")

    assert figures(page)["Questions"].split()[0] == questions


async def test_an_answer_to_a_part_of_a_question_is_half_an_answer(desk):
    for outcome, text in ((whole("whole"), TEXTS[0]), (answered("part"), TEXTS[2])):
        await desk.footnote.log.record(asked(outcome.turn_id, text, at=NOON - DAY), outcome, traced(""))

    browser, page = await shown_overview(desk)
    told, led = figures(page), paths(page)
    _, wholly = await browser.get(led["Answered"])
    _, partly = await browser.get(led["Half answered"])

    assert (told["Answered"], told["Half answered"]) == ("50%", "50%")
    assert [TEXTS[0] in each for each in (wholly, partly)] == [True, False]
    assert [TEXTS[2] in each for each in (wholly, partly)] == [False, True]
    assert "half answered</span>" in partly
    assert "half answered" in (await browser.get("/spend"))[1]


async def test_an_unsure_answer_is_none_that_was_given_and_leads_to_its_gap(desk):
    outcome = answered("unsure")
    outcome = replace(outcome, answer=replace(outcome.answer, is_sure=False))
    await desk.footnote.log.record(asked("unsure", TEXTS[0], at=NOON - DAY), outcome, traced(""))

    browser, page = await shown_overview(desk)
    told, led = figures(page), paths(page)

    assert (told["Answered"], told["Answered, unsure"], told["Not answered well"]) == ("0%", "100%", "1")
    assert TEXTS[0] in (await browser.get(led["Answered, unsure"]))[1]
    assert TEXTS[0] not in (await browser.get(led["Answered"]))[1]


async def test_the_table_beneath_the_plot_has_its_numbers(desk):
    for number, kind in enumerate(("answered", "no_answer", "no_answer")):
        await log(desk, f"q{number}", days_ago=min(number, 1), kind=kind)

    browser, page = await shown_overview(desk)
    table = re.search(r'aria-label="Questions by day in numbers">(.*?)</table>', page, re.DOTALL).group(1)
    rows = re.findall(r'<a href="([^"]+)">([\d-]+)</a></th>(.*?)</tr>', table)

    assert [re.findall(r"<td[^>]*>(\d*)</td>", cells) for *_, cells in rows] == [
        ["1", "", "", "", "", ""],
        ["", "", "", "", "2", ""],
    ]
    assert (await browser.get(rows[1][0].replace("&amp;", "&")))[1].count("data-row") == 2


async def test_a_link_that_reads_less_is_told_that_there_is_more_to_do(desk):
    await log(desk, "q1", days_ago=1, kind="no_answer")

    _, page = await shown_overview(desk, role="reader", collections=frozenset({"payroll"}))

    assert "1 question not answered well in channels that your link does not read" in page
    assert "Nothing: no source failed" not in page


async def test_a_file_that_could_not_be_read_is_something_to_do(desk, tmp_path):
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs/broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    desk.footnote.library.ingest([tmp_path / "docs"], collection="default")

    _, page = await shown_overview(desk)

    assert '<a data-row href="/sources">1 file could not be read, or not wholly</a>' in page


async def test_without_questions_it_says_so_and_leads_on(desk):
    _, page = await shown_overview(desk)

    assert "Nobody asked anything" in page
    assert 'href="/ask"' in page
    assert Inspection(page).faults == []


async def test_what_there_is_to_do_is_listed_with_where_to_do_it(desk):
    for number in range(3):
        await log(
            desk, f"gap{number}", days_ago=1, kind="no_answer", text="Who may use the slipway in winter?"
        )
    await log(desk, "q", kind="answered")
    await desk.footnote.log.rate("q", "bob", is_positive=False, at=NOON)
    await desk.footnote.answers.correct(
        question="Who has the key?", text="Olga.", collection="default", name="Ann", message="page/1"
    )
    desk.footnote.answers.now = lambda: NOON + 1_000 * DAY
    browser, page = await shown_overview(desk)

    tasks = dict(re.findall(r'<li><a data-row href="([^"]+)">(.*?)</li>', page))
    told = {path: re.sub(r"<[^>]+>", "", words) for path, words in tasks.items()}
    assert "being grouped" not in page
    assert told["/answers?show=due"] == "1 kept answer to review"
    assert "1 answer rated down, to look at" in told.values()
    assert any("slipway in winter" in words and "3 questions" in words for words in told.values())
    assert all([(await browser.get(path.replace("&amp;", "&")))[0] == 200 for path in told])


async def test_what_there_is_to_do_is_told_to_who_may_read_it(desk):
    await desk.footnote.answers.correct(
        question="Who has the key?", text="Olga.", collection="secret", name="Ann", message="page/1"
    )
    desk.footnote.answers.now = lambda: NOON + 1_000 * DAY

    _, open_to = await shown_overview(desk)
    _, closed = await shown_overview(desk, role="reader", collections=frozenset({"default"}))

    assert ["to review" in page for page in (open_to, closed)] == [True, False]
