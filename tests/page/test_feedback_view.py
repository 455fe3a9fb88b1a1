"""The inbox of feedback: what people said is wrong with answers, until somebody is done with it."""

from __future__ import annotations

import pytest
from fakes.desk import NOON, Inspection, answered, asked, open_desk, traced
from fakes.hostile import HOSTILE_HTML

WORDS = "When does the ferry leave?"


@pytest.fixture(params=["folder", "postgresql"])
async def desk(tmp_path, request):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    async with open_desk(tmp_path, database_url=url) as desk:
        desk.footnote.log.now = lambda: NOON
        desk.ingest(tmp_path / "pay", "pay.md", "# Pay\n\nSecret.\n", collection="pay")
        yield desk


async def rate_down(desk, turn, remark="", *, by="ben", at=NOON):
    await desk.footnote.log.rate(turn, by, is_positive=False, at=at)
    await desk.footnote.log.explain(turn, by, "outdated", remark)


async def log(desk, turn, text=WORDS, **traces):
    await desk.footnote.log.record(asked(turn, text), answered(turn), traced(**traces))


async def test_what_people_said_is_wrong_waits_until_somebody_is_done(desk):
    await log(desk, "q1")
    await log(desk, "q2", "Where is the key?")
    await desk.footnote.log.rate("q2", "ben", is_positive=True, at=NOON)
    await rate_down(desk, "q1", "It leaves at ten since May.")
    editor = await desk.browser(name="Ann")

    _, waiting = await editor.get("/feedback")
    _, overview = await editor.get("/")
    status, _, headers = await editor.post("/feedback/q1", state="done")
    pages = [(await editor.get(f"/feedback?state={state}"))[1] for state in ("open", "done", "all")]
    _, changes = await editor.get("/changes")

    assert (WORDS in waiting, "Where is the key?" in waiting) == (True, False)
    assert "It leaves at ten since May." in waiting
    assert "it is outdated" in waiting
    assert 'href="/feedback">1 answer rated down' in overview
    assert (status, headers["Location"]) == (303, "/feedback?done=decided")
    assert [WORDS in page for page in pages] == [False, True, True]
    assert "done, Ann" in pages[1]
    assert "looked at feedback" in changes
    assert not Inspection(waiting).faults + Inspection(pages[1]).faults


async def test_what_is_rated_down_again_waits_again(desk):
    await log(desk, "q1")
    await rate_down(desk, "q1")
    editor = await desk.browser()
    await editor.post("/feedback/q1", state="done")

    _, before = await editor.get("/feedback")
    await rate_down(desk, "q1", by="eve", at=4e9)
    _, after = await editor.get("/feedback")
    await editor.post("/feedback/q1", state="done")
    await editor.post("/feedback/q1", state="open")
    _, reopened = await editor.get("/feedback")

    assert [WORDS in page for page in (before, after, reopened)] == [False, True, True]


async def test_a_reader_decides_nothing_and_sees_no_closed_words(desk):
    await log(desk, "q1", "What is the canary's pay?", collection="pay")
    await rate_down(desk, "q1", "canary")
    await log(desk, "q2")
    await rate_down(desk, "q2")
    some = frozenset({"default"})
    reader, editor = await desk.browser("reader", collections=some), await desk.browser(collections=some)

    _, page = await reader.get("/feedback?state=all")
    statuses = [
        (await browser.post(f"/feedback/{turn}", state="done"))[0]
        for browser, turn in ((reader, "q2"), (editor, "q1"), (editor, "nothing"), (editor, "q2"))
    ]

    nonsense, *_ = await editor.post("/feedback/q2", state="gone")

    assert nonsense == 422
    assert "canary" not in page
    assert "closed to you" in page
    assert WORDS in page
    assert statuses == [403, 404, 404, 303]


async def test_hostile_remarks_are_text(desk):
    for number, text in enumerate(HOSTILE_HTML):
        await log(desk, f"q{number}", text)
        await rate_down(desk, f"q{number}", text[:200], by=text[:40])
    editor = await desk.browser()

    status, page = await editor.get("/feedback")

    assert status == 200
    assert not Inspection(page).faults
