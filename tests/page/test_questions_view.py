"""The list of questions: its pages are full and reach everything, for who reads some collections alone too; and its file."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from fakes.desk import NOON, Inspection, answered, asked, open_desk, traced

from bots.page.drawing import END, POSITIONS, draw_graph
from bots.page.templating import question_path
from bots.page.views.questions import SHOWN, message_of
from core.conversation import ModelExchange, Outcome
from core.graph.graph import build_graph

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


async def test_a_channel_is_found_by_its_id_and_none_whose_id_begins_with_it(desk):
    for turn, channel in (("q1", "C1"), ("q2", "C10"), ("q3", "C2")):
        await desk.footnote.log.record(asked(turn, channel=channel), answered(turn), traced())
    browser = await desk.browser()

    found = [
        (await walk(browser, f"/questions?channel={quote(sought)}"))[0]
        for sought in ("slack/T1/C1", "C10", "C")
    ]

    assert found == [["q1"], ["q2"], []]


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


async def test_a_trace_leads_to_an_answer_for_it_and_tells_of_the_one_that_was_kept_since(desk):
    turn = "discord/101/102/103"
    unanswered = Outcome(kind="no_answer", turn_id=turn)
    await desk.footnote.log.record(
        asked(turn, "Who has the key & the flag?", at=NOON), unanswered, traced("")
    )
    ann, reader = await desk.browser(name="Ann"), await desk.browser("reader")
    path = question_path(turn)

    _, before = await ann.get(path)
    answering = re.search(r'href="(/answers\?question=[^"]+)"', before)[1]
    _, form = await ann.get(answering.partition("#")[0].replace("&amp;", "&"))
    await ann.post(
        f"/gaps/{turn}?days=90", state="written", question="Who has the key?", text="Olga.", collection=OPEN
    )
    _, after = await ann.get(path)
    kept = re.search(r'href="(/answers/[^"]+)"', after)[1]
    _, read_only = await reader.get(path)

    assert "Who has the key &amp; the flag?</textarea>" in form
    assert "As a gap" not in before
    assert "As a gap answered by Ann" in after
    assert "Olga." in (await ann.get(kept))[1]
    assert 'href="https://discord.com/channels/101/102/103"' in after
    assert "Answer this" not in read_only


@pytest.mark.parametrize(
    ("turn", "url"),
    [
        ("discord/1/2/3", "https://discord.com/channels/1/2/3"),
        ("slack/T1/C2/1795733996.654312", "https://slack.com/app_redirect?team=T1&channel=C2"),
        ("discord/@me/2/3", None),
        ("slack/T1/C&x/1", "https://slack.com/app_redirect?team=T1&channel=C%26x"),
        ("page-0123", None),
        ("discord/1/2", None),
    ],
)
def test_a_question_leads_to_its_message(turn, url):
    found = message_of(turn)
    assert (found and found[1]) == url


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [
        ("crème", True),
        ("CREME ferry", True),
        ("ferry creme", True),
        ("fer rème", True),
        ('"takes creme"', True),
        ('"creme takes"', False),
        ("„takes Crème“ ferry", True),
        ("ferry pontoon", False),
        ("Straße", True),
        ("STRASSE", True),
        ("кофе", True),
        ("50%", True),
        ("5_%", False),
        ('"', True),
        ("ＦＥＲＲＹ", True),
    ],
)
async def test_questions_are_found_by_their_words_in_any_order_without_case_and_accents(
    desk, typed, is_found
):
    await log(desk, 1, "The Ferry at the straße takes Crème brûlée and КОФЕ, 50% off?", collection=OPEN)
    await log(desk, 2, "Another thing", collection=OPEN)
    browser = await desk.browser()

    turns, _ = await walk(browser, f"/questions?text={quote(typed)}")

    assert ("q0001" in turns, "q0002" in turns) == (is_found, typed == '"')


async def test_a_question_whose_words_are_forgotten_is_not_found_by_them(desk):
    await log(desk, 1, "The ferry to Sark", collection=OPEN)
    await desk.footnote.log.forget_conversation(asked("q0001").conversation)
    held = await desk.footnote.log.database.rows("SELECT words FROM questions")

    assert (await walk(await desk.browser(), "/questions?text=ferry"))[0] == []
    assert held == [("",)]


async def test_a_trace_leads_to_its_gap_and_to_the_documents_that_it_read(desk, tmp_path):
    source = str(tmp_path / "docs" / "open.md")
    named = next(each for each in desk.footnote.library.store.entries() if each.address == source).source
    turn = "slack/T1/C1/1.2"
    unanswered = Outcome(kind="no_answer", turn_id=turn)
    await desk.footnote.log.record(asked(turn, at=NOON), unanswered, traced("", source=named))
    await log(desk, 1, "When does it leave?", collection=OPEN)
    ann, other = await desk.browser(), await desk.browser("reader", collections=frozenset({CLOSED}))
    desk.gaps.now = lambda: NOON + 3600

    _, trace = await ann.get(question_path(turn))
    _, answered_trace = await ann.get(question_path("q0001"))
    gap = re.search(r'href="(/gaps/[^"]+)"', trace)[1]
    document = re.search(r'href="(/sources/document[^"]+)"', trace)[1].replace("&amp;", "&")

    assert "When does the ferry leave?" in (await ann.get(gap))[1]
    assert "The ferry leaves." in (await ann.get(document))[1]
    assert (await other.get(document))[0] == 404
    assert 'href="/gaps/' not in answered_trace


async def test_days_are_those_of_the_zone_in_the_address(desk):
    late = NOON - 53_000  # 20 September 2026, 23:30 UTC, which is the 21st in Tokyo
    desk.footnote.log.now = lambda: NOON
    await desk.footnote.log.record(asked("late", "Who was up late?", at=late), answered("late"), traced())
    browser = await desk.browser()
    path = "/questions?since=2026-09-21&until=2026-09-21"

    pages = [
        (await browser.get(f"{path}&zone={zone}"))[1]
        for zone in ("", "Asia/Tokyo", "UTC", "../etc/passwd", "Nowhere/None")
    ]

    assert ["Who was up late?" in page for page in pages] == [False, True, False, False, False]
    assert ["Days of <span data-zone>Asia/Tokyo</span>" in page for page in pages] == [
        False,
        True,
        *[False] * 3,
    ]


async def test_the_menu_keeps_the_range_of_the_address(desk):
    for number, days_ago in enumerate((0, 10, 40)):
        await desk.footnote.log.record(
            asked(f"q{number}", f"From day {days_ago}?", at=NOON - days_ago * 86_400),
            answered(f"q{number}"),
            traced(),
        )
    browser = await desk.browser()

    _, overview = await browser.get("/?days=30")
    led = re.search(r'href="(/questions[^"]*)" data-key', overview)[1]
    _, questions = await browser.get(led)
    _, usual = await browser.get("/?days=12")

    assert led == "/questions?days=30"
    assert [f"From day {each}?" in questions for each in (0, 10, 40)] == [True, True, False]
    assert all(f'href="{path}?days=30"' in overview for path in ("/", "/gaps", "/spend"))
    assert 'href="/answers"' in overview
    assert "?days=" not in re.search(r"<nav.*?</nav>", usual, re.DOTALL)[0]


async def test_what_models_were_sent_and_said_stands_in_the_trace_whole(desk):
    prompt = f"Answer from this: <script>{'a' * 20_000}</script> the end"
    exchange = ModelExchange(
        model="gemini", messages=(("system", "Be brief."), ("human", prompt)), reply="At ten."
    )
    await desk.footnote.log.record(
        asked("q1", at=NOON), answered("q1"), replace(traced(), exchanges=(exchange,))
    )
    closed = replace(traced(collection=CLOSED), exchanges=(exchange,))
    await desk.footnote.log.record(asked("q2", at=NOON), answered("q2", collection=CLOSED), closed)
    editor, limited = await desk.browser(), await desk.browser("reader", collections=frozenset({OPEN}))

    _, page = await editor.get("/questions/q1")
    _, hidden = await limited.get("/questions/q2")

    assert "Be brief." in page
    assert "the end</pre>" in page
    assert "At ten.</pre>" in page
    assert "Be brief." not in hidden
    assert not Inspection(page).faults


def test_every_node_of_the_graph_has_its_place_in_the_drawing_and_every_way_is_drawn():
    graph = build_graph().get_graph()

    drawn = draw_graph(())

    assert set(graph.nodes) == set(POSITIONS) == {node.name for node in drawn.nodes}
    assert len(drawn.edges) == sum(edge.target != END for edge in graph.edges)


async def test_a_question_that_is_closed_tells_nobody_who_asked_it(desk):
    """Neither on its page nor by a filter, which would find those of one person."""
    for number, (author, collection) in enumerate([("U0ANN", CLOSED), ("U0BOB", OPEN)]):
        outcome = answered(f"q{number}", collection=collection)
        question = asked(f"q{number}", author=author, at=NOON + number)
        await desk.footnote.log.record(question, outcome, traced(collection=collection))
        await desk.footnote.log.rate(f"q{number}", author, is_positive=False, at=NOON)
    limited = await desk.browser("reader", collections=frozenset({OPEN}))

    closed, opened = [(await limited.get(question_path(f"q{number}")))[1] for number in range(2)]
    found = [(await limited.get(f"/questions?author={author}"))[1] for author in ("U0ANN", "U0BOB")]
    rows = [(await limited.get(f"/questions.csv?author={author}"))[1] for author in ("U0ANN", "U0BOB")]

    assert "U0ANN" not in closed
    assert "U0BOB" in opened
    assert [question_path(f"q{number}") in page for number, page in enumerate(found)] == [False, True]
    assert [len(each.splitlines()) for each in rows] == [1, 2]
