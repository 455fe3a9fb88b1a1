"""The page's view of what answers cost and how long they took, and of this process."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.desk import NOON, Inspection, answered, asked, open_desk, traced
from fakes.hostile import HOSTILE_HTML

from core.conversation import ModelTokens
from core.reasoning.limits import Price, Prices
from core.traces.log import DAY


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.footnote.log.now = lambda: NOON
        yield desk


async def log(desk, turn, *, at=NOON, model="gemini", seconds=3.0, kind="answered", **given):
    tokens = ModelTokens(name=model, input_tokens=2_000, output_tokens=100)
    outcome = answered(turn, model=model)
    usage = replace(outcome.usage, models=(tokens,), input_tokens=2_000, output_tokens=100)
    usage = Prices(of={"gemini": Price(1, 5)}, currency="USD").add_cost(usage)
    ended = replace(outcome, kind=kind, usage=usage, timing_ms={"total": 1000 * seconds})
    await desk.footnote.log.record(asked(turn, at=at, **given), ended, traced())


def rows_of(page, name):
    """The cells of a table's rows."""
    table = re.search(rf'aria-label="{name}">(.*?)</table>', page, re.DOTALL).group(1)
    rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    return [
        [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL)]
        for row in rows
    ]


async def test_tokens_money_and_times_are_summed_by_day_model_channel_and_ending(desk):
    desk.footnote.log.prices = Prices(of={"gemini": Price(1, 5)}, currency="USD")
    await log(desk, "q1", at=NOON - DAY)
    await log(desk, "q2", channel="C2", seconds=70, kind="no_answer")
    await log(desk, "q3", channel="C2")
    await log(desk, "q4", channel="C2")
    browser = await desk.browser("reader")

    status, page = await browser.get("/spend")

    assert status == 200
    assert rows_of(page, "Questions in numbers") == [["3"], ["1"]]
    assert rows_of(page, "Tokens in numbers") == [["6,000", "300"], ["2,000", "100"]]
    assert rows_of(page, "Money, USD in numbers") == [["0.0075"], ["0.0025"]]
    assert rows_of(page, "Time to the end, at most in numbers") == [
        ["5 s", "120 s"],
        ["5 s", "5 s"],
    ]
    assert rows_of(page, "By model") == [["gemini", "8,000", "400", "0.0100"]]
    assert [row[:2] for row in rows_of(page, "By channel")] == [["slack/T1/C2", "3"], ["slack/T1/C1", "1"]]
    assert [row[:3] for row in rows_of(page, "How they ended")] == [
        ["half answered", "3", "75%"],
        ["not answered", "1", "25%"],
    ]


async def test_the_plots_draw_each_day_and_say_in_words_what_they_show(desk):
    await log(desk, "q1", at=NOON - 2 * DAY)
    await log(desk, "q2")
    browser = await desk.browser("reader")

    _, page = await browser.get("/spend?days=7")
    questions = re.search(r'aria-labelledby="questions-title.*?</svg>', page, re.DOTALL).group()

    assert questions.count('<rect class="series-1"') == 2
    assert re.search(r"<desc[^>]*>[\d-]+ to [\d-]+: 2 in all, the most on [\d-]+: 1\.</desc>", questions)
    assert not Inspection(page).faults


async def test_days_before_the_span_are_left_out_and_any_other_span_is_the_usual_one(desk):
    await log(desk, "q1", at=NOON - 40 * DAY)
    browser = await desk.browser("reader")

    shown = {days: (await browser.get(f"/spend?days={days}"))[1] for days in ("7", "90", "<b>", "")}

    assert len(rows_of(shown["90"], "Questions in numbers")) == 1
    assert all("Nobody asked anything" in shown[days] for days in ("7", "<b>", ""))


async def test_what_waits_and_a_model_that_is_left_alone_is_told(desk):
    desk.footnote.meters.load = lambda: (7, 2)
    browser = await desk.browser("reader")

    _, page = await browser.get("/spend")

    assert "<dt>In the queue</dt><dd>7</dd>" in page
    assert "<dt>Worked on here</dt><dd>2</dd>" in page
    assert "GB free" in page


async def test_names_of_models_and_channels_are_no_markup(desk):
    for number, text in enumerate(HOSTILE_HTML):
        await log(desk, f"q{number}", model=text[:5_000], channel=f"C{number}")
    browser = await desk.browser("reader", collections=frozenset({"other"}))

    status, page = await browser.get("/spend")

    assert (status, Inspection(page).faults) == (200, [])


async def test_who_is_not_in_sees_no_figure(desk):
    await log(desk, "q1")
    browser = await desk.browser()
    browser.cookie = ""

    status, page = await browser.get("/spend")

    assert (status, "gemini" in page) == (401, False)
