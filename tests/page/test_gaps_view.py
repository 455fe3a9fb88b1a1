"""Gaps on the page: groups as an operator reads and decides about them, and nothing that a reader may not see."""

from __future__ import annotations

import csv
import io
import threading
from contextlib import closing

import pytest
from fakes.desk import NOON, Inspection, asked, open_desk, traced
from fakes.hostile import BIDI, HOSTILE_HTML
from fakes.shelf import write
from fakes.tiny_network import write_tiny_network

from bots.commands.page import embedder_of_page
from bots.page.gap_reports import FRESH, GapReports
from bots.page.views import gaps as gaps_view
from core.bootstrap import open_library
from core.conversation import Citation, Outcome
from core.gaps.groups import GapFinder, everything
from core.gaps.questions import GapMark
from core.library.embedding.network import OnnxEmbedder
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.log import DAY

PERMITS = ("How do I renew my parking permit?", "Where can parking permits be renewed?")


def unanswered(turn, *, title="Parking", collection="default"):
    near = Citation(
        number=1, title=title, location="", source="parking.md", quote="", start=0, end=1, collection=collection
    )  # fmt: skip
    return Outcome(kind="no_answer", turn_id=turn, closest=(near,))


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.footnote.log.now = desk.gaps.now = lambda: NOON + 3600
        desk.ingest(tmp_path / "docs", "secret.md", "# Payroll\n\nPay is secret.\n", collection="payroll")
        desk.ingest(tmp_path / "docs", "open.md", "# Harbour\n\nThe ferry leaves.\n", collection="default")
        yield desk


async def log_gap(desk, turn, text, **outcome):
    await desk.footnote.log.record(
        asked(turn, text), unanswered(turn, **outcome), traced("", title="Parking")
    )


async def test_questions_that_mean_the_same_are_one_line(desk):
    for number, text in enumerate(PERMITS):
        await log_gap(desk, f"q{number}", text)
    browser = await desk.browser()

    status, page = await browser.get("/gaps")
    _, group = await browser.get("/gaps/q1?days=7")

    assert status == 200
    assert page.count('<a data-row href="/gaps/') == 1
    assert "Parking" in page
    assert all(text in group for text in PERMITS)
    assert not Inspection(page).faults + Inspection(group).faults


async def test_an_ignored_group_is_gone_until_it_is_opened_again(desk):
    await log_gap(desk, "q0", PERMITS[0])
    browser = await desk.browser(name="ann")

    status, _, headers = await browser.post("/gaps/q0?days=7", state="ignored")
    _, after = await browser.get("/gaps")
    _, ignored = await browser.get("/gaps?state=ignored")
    marks = await desk.gaps.store.marks()
    await browser.post("/gaps/q0", state="open")
    _, reopened = await browser.get("/gaps")

    assert (status, headers["Location"]) == (303, "/gaps?days=7&done=decided")
    assert marks == {"q0": GapMark(state="ignored", set_at=NOON + 3600, author="ann")}
    assert [PERMITS[0] in page for page in (after, ignored, reopened)] == [False, True, True]


async def test_an_answer_that_an_editor_writes_is_kept_and_closes_the_group(desk):
    await log_gap(desk, "q0", PERMITS[0])
    editor = await desk.browser(name="ann")
    written = {"question": PERMITS[0], "text": "At the town hall, room 3.", "collection": "default"}

    without_text, *_ = await editor.post("/gaps/q0", state="written", **{**written, "text": " "})
    before = await desk.footnote.answers.list_answers()
    status, *_ = await editor.post("/gaps/q0", state="written", **written)
    (kept,) = await desk.footnote.answers.list_answers()
    marks = await desk.gaps.store.marks()

    assert (without_text, before, status) == (422, [], 303)
    assert (kept.answer.question, kept.answer.text, kept.answer.name) == (PERMITS[0], written["text"], "ann")
    assert marks["q0"].state == "answered"


async def test_who_only_reads_decides_nothing(desk):
    await log_gap(desk, "q0", PERMITS[0])
    reader, editor = await desk.browser("reader"), await desk.browser()

    refused, *_ = await reader.post("/gaps/q0", state="ignored")
    nonsense, *_ = await editor.post("/gaps/q0", state="gone")
    unknown, *_ = await editor.post("/gaps/nothing", state="ignored")
    _, page = await reader.get("/gaps/q0")

    assert (refused, nonsense, unknown) == (403, 422, 404)
    assert await desk.gaps.store.marks() == {}
    assert "<button name=" not in page


async def test_what_a_session_may_not_read_is_a_count(desk):
    await log_gap(desk, "q0", "Where is the canary kept?", title="canary", collection="payroll")
    await log_gap(desk, "q1", PERMITS[0])
    browser = await desk.browser("reader", collections=frozenset({"default"}))

    pages = [(await browser.get(path))[1] for path in ("/gaps", "/gaps.csv", "/gaps/q0", "/gaps?state=all")]

    assert "1 more question in channels that may not be read here." in pages[0]
    assert PERMITS[0] in pages[0]
    assert "canary" not in "".join(pages)


async def test_what_is_forgotten_is_gone_from_the_groups_at_once(desk):
    await log_gap(desk, "q0", PERMITS[0])
    browser = await desk.browser()
    _, before = await browser.get("/gaps")

    await desk.footnote.log.forget_conversation(asked("q0", PERMITS[0]).conversation)

    pages = [(await browser.get(path))[1] for path in ("/gaps", "/gaps/q0", "/gaps.csv")]
    assert PERMITS[0] in before
    assert PERMITS[0] not in "".join(pages)


async def test_an_older_report_is_not_shown_to_whom_its_questions_were_closed_since(desk):
    await log_gap(desk, "q0", PERMITS[0])
    now = [0.0]
    reports, key = GapReports(desk.gaps, clock=lambda: now[0]), (7 * DAY, frozenset({"default"}))

    async def nothing(_questions):
        return frozenset()

    before = await reports.whole(key, everything)
    now[0] = FRESH + 1
    after = await reports.whole(key, nothing)

    assert [group.name for group in before.groups] == [PERMITS[0]]
    assert (after.groups, after.closed) == ((), 1)


async def test_a_decision_shows_at_once_and_groups_nothing_anew(desk, monkeypatch):
    await log_gap(desk, "q0", PERMITS[0])
    reports, key = GapReports(desk.gaps), (7 * DAY, None)
    grouped = []
    group = type(desk.gaps)._group

    def counted(finder, questions, span):
        grouped.append(len(questions))
        return group(finder, questions, span)

    monkeypatch.setattr(type(desk.gaps), "_group", counted)
    before = await reports.whole(key, everything)
    await desk.gaps.store.mark(["q0"], "ignored", author="ann", at=NOON)
    after = await reports.whole(key, everything)

    assert (before.groups[0].state, after.groups[0].state) == (None, "ignored")
    assert grouped == [1]


async def test_the_first_list_does_not_wait_until_everything_is_grouped(tmp_path, monkeypatch):
    may_end = threading.Event()
    group = GapFinder._group

    def slow(finder, questions, span):
        may_end.wait(60)
        return group(finder, questions, span)

    monkeypatch.setattr(GapFinder, "_group", slow)
    async with open_desk(tmp_path, patience=0) as desk:
        desk.footnote.log.now = desk.gaps.now = lambda: NOON + 3600
        for number, text in enumerate((*PERMITS, PERMITS[0].upper())):
            await log_gap(desk, f"q{number}", text)
        browser = await desk.browser()
        try:
            _, rough = await browser.get("/gaps")
            _, overview = await browser.get("/")
            _, group_of_one = await browser.get("/gaps/q1")
        finally:
            may_end.set()
        await browser.get("/gaps.csv")  # waits for the whole
        _, whole = await browser.get("/gaps")

    assert (rough.count('<a data-row href="/gaps/'), whole.count('<a data-row href="/gaps/')) == (2, 1)
    assert ["Look again" in page for page in (rough, whole)] == [True, False]
    assert "being grouped" in overview
    assert PERMITS[1] in group_of_one
    assert not Inspection(rough).faults


async def test_groups_are_found_by_the_words_of_their_questions_and_shown_a_page_at_a_time(desk, monkeypatch):
    monkeypatch.setattr(gaps_view, "SHOWN", 1)
    for turn, text in (
        ("q0", PERMITS[0]),
        ("q1", PERMITS[0]),
        ("q2", "Who fixes the broken coffee machine?"),
    ):
        await log_gap(desk, turn, text)
    browser = await desk.browser()

    _, found = await browser.get("/gaps?text=COFFEE+broken")
    _, first = await browser.get("/gaps")
    _, second = await browser.get("/gaps?days=7&from=1")

    assert "coffee machine" in found
    assert PERMITS[0] not in found
    assert [PERMITS[0] in page for page in (first, second)] == [True, False]
    assert ["Next page" in page for page in (first, second)] == [True, False]
    assert 'href="/gaps?days=7">First page' in second


async def test_a_report_that_another_visit_drops_meanwhile_is_no_fault(desk):
    await log_gap(desk, "q0", PERMITS[0])
    now = [0.0]
    reports, key = GapReports(desk.gaps, clock=lambda: now[0]), (7 * DAY, frozenset({"default"}))

    async def everything_but_dropped(questions):
        reports._made.clear()
        return await everything(questions)

    await reports.whole(key, everything)
    now[0] = FRESH + 1
    found = [await each(key, everything_but_dropped) for each in (reports.whole, reports.soon)]

    assert [[group.name for group in report.groups] for report in found] == [[PERMITS[0]]] * 2


async def test_hostile_questions_are_text(desk):
    for number, text in enumerate(HOSTILE_HTML):
        await log_gap(desk, f"q{number}", text, title=text)
        await desk.footnote.log.rate(f"q{number}", "ben", is_positive=False, at=NOON)
        await desk.footnote.log.explain(f"q{number}", "ben", "wrong", text)
    browser = await desk.browser()

    paths = ["/gaps?state=all", *(f"/gaps/q{number}" for number in range(len(HOSTILE_HTML)))]
    pages = [await browser.get(path) for path in paths]

    assert {status for status, _ in pages} == {200}
    assert [fault for _, page in pages for fault in Inspection(page).faults] == []
    assert not any(BIDI.search(page) for _, page in pages)
    assert max(len(page) for _, page in pages) < 1_000_000


async def test_the_table_has_a_line_for_each_question(desk):
    for number, text in enumerate(PERMITS):
        await log_gap(desk, f"q{number}", text)
    browser = await desk.browser()

    _, text, headers = await browser.send("GET", "/gaps.csv")

    assert [row["turn"] for row in csv.DictReader(io.StringIO(text))] == ["q0", "q1"]
    assert headers["Content-Type"].startswith("text/csv")


@pytest.mark.parametrize("has_vectors", [True, False])
def test_a_page_beside_the_bot_groups_with_the_network_of_the_index_if_it_has_vectors(tmp_path, has_vectors):
    network = write_tiny_network(tmp_path / "network")
    settings = Settings(data_dir=tmp_path / "data", embedding_model=str(network))
    with closing(open_library(settings, embedder=OnnxEmbedder(network) if has_vectors else None)) as library:
        library.ingest([write(tmp_path / "docs/ferry.md", "The cats purr at night.")])
        library.embed_pending()

    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        embedder = embedder_of_page(library, settings)

        assert (embedder is not None) == has_vectors
        assert library.embedder is embedder
