"""What was changed on the page: who did it, when, and how it was before; and that forgetting asks first."""

from __future__ import annotations

import csv
import io
import re
import time
from datetime import datetime
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from fakes.desk import HANDBOOK, NOON, SECRET, answered, asked, open_desk, traced

from bots.page.sessions import PageChanges
from bots.page.site import Visit
from bots.page.views.changes import SHOWN
from core.conversation import Conversation, Outcome, Question
from core.errors import StoreUnavailable

THREAD = Conversation(platform="page", space="local", channel="everything", thread="0123456789ab")
WORDS = "When does the ferry leave?"


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.ingest(tmp_path / "docs", "harbour.md", HANDBOOK, collection="default")
        desk.ingest(tmp_path / "pay", "pay.md", SECRET, collection="pay")
        yield desk


async def changes(browser):
    """Each as it is exported."""
    status, text = await browser.get("/changes.csv")
    assert status == 200
    return list(csv.DictReader(io.StringIO(text)))


def change_path(file, collection="default"):
    return f"/sources/change?{urlencode({'collection': collection, 'address': str(file)})}"


async def kept(browser, desk, text="The key hangs in the shed."):
    await browser.post("/answers", question="Where is the key?", text=text, collection="default")
    (listed,) = await desk.footnote.answers.list_answers()
    return listed.answer


async def test_every_change_is_shown_and_exported_with_who_did_it_and_how_it_was_before(desk, tmp_path):
    ann, bob = await desk.browser(name="Ann"), await desk.browser(name="Bob")
    answer = await kept(ann, desk)
    path = f"/answers/{answer.id}"
    await bob.post(
        path, change="edit", question=answer.question, text="It hangs in the office.", collection="default"
    )
    for change in ("retire", "extend"):
        await bob.post(path, change=change)
    await ann.post(path, change="forget", sure="yes")
    await ann.post(change_path(tmp_path / "docs" / "harbour.md"), change="read")
    await ann.post(change_path(tmp_path / "docs" / "harbour.md"), change="forget", sure="yes")
    await ann.post("/sessions", session="others")

    told = await changes(ann)
    status, shown = await ann.get("/changes")

    assert [(each["who"], each["did"], each["before"], each["after"]) for each in reversed(told)] == [
        ("Ann", "kept an answer", "", "used"),
        ("Bob", "edited an answer", "version 1", "version 2"),
        ("Bob", "retired an answer", "used", "retired"),
        ("Bob", "extended an answer", "retired", "used"),
        ("Ann", "forgot an answer", "used", "gone"),
        ("Ann", "had it read again", "", ""),
        ("Ann", "forgot a document", "1 passage", "gone"),
        ("Ann", "ended a session", "another program, 127.0.0.1", "ended"),
    ]
    assert status == 200
    assert all(abs(datetime.fromisoformat(each["time"]).timestamp() - time.time()) < 60 for each in told)
    assert all(each["did"] in shown for each in told)
    assert not any(word in shown for word in ("hangs", "shed", "office", "ferry"))


async def test_a_decision_about_a_gap_tells_how_it_stood_before(desk):
    ann = await desk.browser(name="Ann")
    outcome = Outcome(kind="no_answer", turn_id="q1")
    await desk.footnote.log.record(asked("q1", WORDS, at=time.time()), outcome, traced(""))

    for state in ("ignored", "open"):
        await ann.post("/gaps/q1", state=state)

    told = [(each["about"], each["before"], each["after"]) for each in await changes(ann)]
    assert told == [("1 question", "ignored", "open"), ("1 question", "open", "ignored")]


async def test_a_change_is_told_to_who_reads_what_it_concerns_and_to_who_made_it(desk, tmp_path):
    ann = await desk.browser(name="Ann")
    limited = await desk.browser(name="Lim", collections=frozenset({"default"}))
    await ann.post(change_path(tmp_path / "pay" / "pay.md", "pay"), change="forget", sure="yes")
    await limited.post(change_path(tmp_path / "docs" / "harbour.md"), change="forget", sure="yes")

    assert [each["who"] for each in await changes(ann)] == ["Lim", "Ann"]
    assert [each["who"] for each in await changes(limited)] == ["Lim"]
    assert "pay" not in (await limited.get("/changes"))[1].replace("/pay", "")


async def test_older_changes_stand_on_the_next_page_and_none_is_left_out(desk):
    ann = await desk.browser()
    for number in range(2 * SHOWN + 1):
        written = PageChanges(database=desk.sessions.database, now=lambda number=number: NOON + number // 3)
        await written.record("tried", f"thing {number}", who="Ann", session="s")

    seen, path = [], "/changes"
    while path:
        _, page = await ann.get(path)
        seen += re.findall(r"thing (\d+)<", page)
        path = (re.findall(r'rel="next" href="([^"]+)"', page) or [""])[0].replace("&amp;", "&")

    assert sorted(map(int, seen)) == list(range(2 * SHOWN + 1))
    assert len(seen) == 2 * SHOWN + 1
    assert (await ann.get("/changes?before=nonsense"))[0] == 200


async def test_a_change_that_cannot_be_recorded_is_logged_and_no_fault(desk, caplog):
    class Away:
        async def record(self, *_told, **_more):
            raise StoreUnavailable("The disk is full.")

    cookie = (await desk.browser()).cookie.partition("=")[2]
    session = await desk.sessions.find(cookie)

    await Visit(site=SimpleNamespace(changes=Away()), session=session, request=None).record("tried", "it")

    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "a change on the page could not be recorded"
    ]


async def test_forgetting_asks_first_and_says_what_will_be_gone(desk, tmp_path):
    ann = await desk.browser(name="Ann")
    answer = await kept(ann, desk)
    question = Question(id="page-1", conversation=THREAD, author="Ann", text=WORDS, asked_at=NOON)
    await desk.threads.put(question)
    await desk.threads.end(question.id, answered("page-1"))
    document = tmp_path / "docs" / "harbour.md"
    forms = (
        (f"/threads/{THREAD.thread}/forget", {}, "1 turn of this thread"),
        (f"/answers/{answer.id}", {"change": "forget"}, "What Ann wrote, in all its versions: 1"),
        (change_path(document), {"change": "forget"}, "Harbour, 1 passage"),
    )

    first = [await ann.post(path, **fields) for path, fields, _ in forms]
    there = await is_there(desk, answer, document)
    # What the page offers, pressed as a browser would.
    offered = [
        re.search(r'<form class="row" method="post" action="([^"]+)"', page)[1].replace("&amp;", "&")
        for _, page, _ in first
    ]
    again = [
        await ann.post(path, **fields, sure="yes")
        for path, (_, fields, _) in zip(offered, forms, strict=True)
    ]

    assert [status for status, _, _ in first] == [200] * 3
    assert all(gone in page for (_, _, gone), (_, page, _) in zip(forms, first, strict=True))
    assert there == [True, True, True]
    assert [status for status, _, _ in again] == [303] * 3
    assert await is_there(desk, answer, document) == [False, False, False]


async def is_there(desk, answer, document):
    """The thread, the answer and the document."""
    listed = await desk.footnote.answers.list_answers()
    entry = desk.footnote.library.store.entry("default", str(document))
    return [
        bool(await desk.threads.turns(THREAD)),
        any(each.answer.id == answer.id for each in listed),
        entry is not None,
    ]
