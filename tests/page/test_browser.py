"""The operators' page in a real browser, without a window: what a person does with mouse and keyboard."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from fakes.chromium import CHROMIUM, PATIENCE, audited, entered, expect, opened
from fakes.desk import NOON, answered, asked, open_desk, plain_paths, traced
from fakes.served import CUP, FERRY, FRANCE, HANDBOOK
from fakes.web_servers import FakeSearXNG

from bots.page.sessions import PageChanges

TRIES = 500  # looks at a page that does not change by itself

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),  # the browser's
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium: apt-get install chromium-headless-shell"
    ),
]


@pytest_asyncio.fixture(loop_scope="module")
async def desk(tmp_path):
    """A handbook to ask about, and a search engine that knows who won the cup."""
    async with (
        FakeSearXNG([FRANCE]) as engine,
        open_desk(tmp_path, web_search="searxng", searxng_url=engine.url) as desk,
    ):
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK, collection="default")
        yield desk


async def test_by_the_link_a_person_asks_allows_a_search_and_opens_the_trace(chromium, desk):
    tab, faults = await entered(chromium, desk)

    await tab.get_by_label("Your question").fill(FERRY)
    await tab.get_by_role("button", name="Ask").click()
    await expect(tab.locator(".answer")).to_contain_text("half past nine", timeout=PATIENCE)
    await tab.locator(".answer .marker").first.click()
    await expect(tab.locator(".footnotes mark").first).to_contain_text("half past nine")

    await tab.get_by_label("Go on in this thread").fill(CUP)
    await tab.get_by_role("button", name="Ask").click()
    query = tab.locator(".card .query code")
    await expect(query).to_contain_text("1998 football world cup", timeout=PATIENCE)
    await tab.get_by_role("button", name="Search the web").click()
    await expect(tab.locator(".answer").last).to_contain_text("France", timeout=PATIENCE)
    await expect(tab.locator(".card")).to_contain_text("Ann allowed this search at")

    await tab.get_by_role("link", name="trace").last.click()
    await expect(tab.get_by_role("img", name="The nodes that this turn passed")).to_be_visible()
    assert "web search" in await tab.locator(".graph .lit text:first-of-type").all_text_contents()
    await expect(tab.locator("#related ~ ul")).to_contain_text("question: search proposed")
    assert faults == []


async def test_the_keyboard_is_enough(chromium, desk):
    await desk.footnote.log.record(asked(), answered(), traced())
    tab, faults = await opened(chromium)
    await tab.goto(f"{desk.url}/enter/{await desk.sessions.make_link('editor')}")

    await expect(tab.get_by_label("Your name")).to_be_focused()  # a moment after it was loaded
    await tab.keyboard.type("Ann")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url(f"{desk.url}/")
    await tab.keyboard.press("g")
    await tab.keyboard.press("q")
    await tab.wait_for_url("**/questions")
    await tab.keyboard.press("j")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url("**/questions/q1")
    await tab.keyboard.press("g")
    await tab.keyboard.press("a")
    await tab.wait_for_url(f"{desk.url}/ask")
    await tab.keyboard.press("/")
    await tab.keyboard.type(FERRY)
    await tab.keyboard.press("Control+Enter")
    await expect(tab.locator(".answer")).to_contain_text("half past nine", timeout=PATIENCE)
    assert faults == []


#: Where a person gets from a view's list: by Tab and Enter alone, from the first stop of the page on.
TOUR = (
    ("Questions", "How do I get a berth?", "**/questions/q1"),
    ("Gaps", "How do I get a berth?", "**/gaps/q1?*"),
    ("Answers", "Who has the key?", "**/answers/*"),
    ("Sources", "default", "**/sources?collection=default"),
    ("Spend", "not answered", "**/questions?kind=question&since=*&outcome=no_answer"),
    ("Changes", "handbook.md", "**/sources?collection=default"),
    ("Ask", "Questions", "**/questions"),
    ("Sessions", "Leave", "**/leave"),
)


async def noted(desk):
    """A change that was made on the page."""
    changes = PageChanges(database=desk.sessions.database)
    path = "/sources?collection=default"
    await changes.record(
        "forgot a document", "handbook.md", who="Ann", session="1", path=path, before="1 passage"
    )


async def tabbed_to(tab, name):
    """Press Tab until what has the focus is called so, as a person does who sees where the focus is."""
    called = "document.activeElement.textContent.trim()"
    for _ in range(TRIES):
        await tab.keyboard.press("Tab")
        if await tab.evaluate(called) == name:
            seen = "getComputedStyle(document.activeElement).outlineStyle"
            assert await tab.evaluate(seen) != "none", f"the focus on {name} cannot be seen"
            return
    raise AssertionError(f"Tab does not get to {name}")


async def test_tab_and_enter_lead_into_each_view_and_on_from_its_list(chromium, desk):
    desk.footnote.log.now = desk.gaps.now = lambda: NOON + 60
    unanswered = replace(answered(), kind="no_answer", answer=None)
    await desk.footnote.log.record(
        asked(text="How do I get a berth?"), unanswered, traced("How do I get a berth?")
    )
    await desk.footnote.answers.correct(
        question="Who has the key?", text="Olga.", collection="default", name="Ann", message="page/1"
    )
    await desk.browser(name="Ben")
    await noted(desk)
    tab, faults = await opened(chromium)
    await tab.goto(f"{desk.url}/enter/{await desk.sessions.make_link('editor')}")
    await expect(tab.get_by_label("Your name")).to_be_focused()  # a moment after it was loaded
    await tab.keyboard.type("Ann")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url(f"{desk.url}/")

    for view, entry, there in TOUR:
        await tabbed_to(tab, view)
        await tab.keyboard.press("Enter")
        await expect(tab.locator("nav [aria-current]")).to_have_text(view)
        await tabbed_to(tab, entry)
        await tab.keyboard.press("Enter")
        await tab.wait_for_url(there)

    await expect(tab.locator("h1")).to_contain_text("You are out")
    assert faults == []


async def test_an_editor_ends_a_session_and_forgets_a_thread_after_a_second_thought(chromium, desk):
    ann, faults = await entered(chromium, desk)
    ben, _ = await entered(chromium, desk, name="Ben")
    await ann.get_by_label("Your question").fill(FERRY)
    await ann.get_by_role("button", name="Ask").click()
    await expect(ann.locator(".answer")).to_contain_text("half past nine", timeout=PATIENCE)

    await ann.get_by_role("button", name="Forget this thread").click()
    await expect(ann.locator("main")).to_contain_text("1 turn of this thread")
    await ann.get_by_role("link", name="Keep it").click()
    await expect(ann.locator(".answer")).to_contain_text("half past nine")
    await ann.get_by_role("button", name="Forget this thread").click()
    await ann.get_by_role("button", name="Forget it for good").click()
    await expect(ann.locator(".empty")).to_be_visible()

    await ann.get_by_role("link", name="Sessions").click()
    await ann.get_by_role("button", name="End the session of Ben").click()
    await expect(ann.locator("tbody tr")).to_have_count(1)
    await ben.get_by_role("link", name="Questions").click()
    await expect(ben.locator("h1")).to_contain_text("You are not in")

    await ann.get_by_role("link", name="Changes").click()
    await expect(ann.locator("tbody tr")).to_have_count(2)
    await expect(ann.locator("tbody tr").first).to_contain_text("ended a session")
    assert faults == []


async def test_gaps_are_grouped_and_one_is_answered_where_it_is_read(chromium, desk):
    for number, text in enumerate(
        ("How do I renew my parking permit?", "Where can parking permits be renewed?")
    ):
        desk.footnote.log.now = desk.gaps.now = lambda: NOON + 60
        unanswered = replace(answered(f"q{number}"), kind="no_answer", answer=None)
        await desk.footnote.log.record(asked(f"q{number}", text), unanswered, traced(text))
    tab, faults = await entered(chromium, desk)

    await tab.get_by_role("link", name="Gaps").click()
    await expect(tab.locator("[data-row]")).to_have_count(1)
    await tab.locator("[data-row]").click()
    await expect(tab.locator("table.list tbody tr")).to_have_count(2)
    await tab.get_by_label("Answer", exact=True).fill("Parking permits are renewed at the town hall, room 3.")
    await tab.get_by_role("button", name="Keep this answer").click()
    await expect(tab.locator(".empty")).to_be_visible()
    await tab.get_by_role("link", name="Ask").click()
    await tab.get_by_label("Your question").fill("How do I renew my parking permit?")
    await tab.get_by_role("button", name="Ask").click()
    await expect(tab.locator(".answer")).to_contain_text("room 3", timeout=PATIENCE)
    await expect(tab.locator(".footnotes summary").first).to_contain_text("Ann")
    assert faults == []


async def test_without_scripts_everything_but_the_live_notes_works(chromium, desk):
    tab, _ = await entered(chromium, desk, java_script_enabled=False)

    await tab.get_by_label("Your question").fill(FERRY)
    await tab.get_by_role("button", name="Ask").click()

    for _ in range(TRIES):
        if await tab.locator(".answer").count():
            break
        await tab.get_by_role("link", name="Look again").click()
    await expect(tab.locator(".answer")).to_contain_text("half past nine")


async def test_an_audit_tells_what_is_wrong_in_one_look_alone(chromium):
    tab, _ = await opened(chromium)
    dark, narrow = (
        "(prefers-color-scheme: dark) { p { color: #ccc } }",
        "(max-width: 400px) { p { width: 900px } }",
    )

    await tab.set_content(
        f'<html lang="en"><title>A</title><style>@media {dark} @media {narrow}</style><main><p>A word.</main>'
    )
    found = await audited(tab, ("light", 1280), ("dark", 1280), ("light", 390))

    assert set(found) == {("dark", 1280, "color-contrast"), ("light", 390, "too wide")}


async def test_no_view_has_a_fault_that_axe_finds(chromium, desk):
    desk.footnote.log.now = lambda: NOON
    await desk.footnote.log.record(asked(), answered(), traced())
    await desk.footnote.log.rate("q1", "ann", is_positive=False, at=NOON)
    await desk.browser(name="Ben")
    await noted(desk)
    tab, faults = await entered(chromium, desk, bypass_csp=True)
    await tab.get_by_label("Your question").fill(CUP)
    await tab.get_by_role("button", name="Ask").click()
    await expect(tab.locator(".card")).to_be_visible(timeout=PATIENCE)
    thread = urlsplit(tab.url).path

    found = {}
    shown = [path for path in plain_paths() if not path.endswith(".csv")]
    own = (
        "/sources?collection=default&try=ferry",
        "/spend?days=90",
        "/questions?text=nothing",
        "/questions/q1",
    )
    for path in (*shown, *own, thread, "/nothing"):
        await tab.goto(f"{desk.url}{path}")
        found[path] = await audited(tab, ("light", 1280), ("dark", 1280), ("light", 390))

    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    assert [fault for fault in faults if "404" not in fault] == []


async def test_days_of_a_filter_are_those_of_the_browser_and_stay_so_in_its_address(chromium, desk):
    late = NOON - 53_000  # 20 September 2026, 23:30 UTC, which is the 21st in Tokyo
    desk.footnote.log.now = lambda: NOON
    await desk.footnote.log.record(asked("late", "Who was up late?", at=late), answered("late"), traced())
    tab, faults = await entered(chromium, desk, timezone_id="Asia/Tokyo")

    await tab.goto(f"{desk.url}/questions")
    await tab.get_by_text("More", exact=True).click()
    await expect(tab.locator("[data-zone]")).to_have_text("Asia/Tokyo")
    await tab.get_by_label("From").fill("2026-09-21")
    await tab.get_by_label("To", exact=True).fill("2026-09-21")
    await tab.get_by_role("button", name="Filter").click()
    await tab.wait_for_url("**zone=Asia%2FTokyo*")

    await expect(tab.locator("[data-row]")).to_have_text("Who was up late?")
    await expect(tab.locator("td.time time")).to_contain_text("21")
    assert faults == []


async def test_an_editor_looks_at_what_people_said_is_wrong_until_nobody_waits(chromium, desk):
    desk.footnote.log.now = lambda: NOON
    await desk.footnote.log.record(asked("q1", "When does it leave?"), answered("q1"), traced())
    await desk.footnote.log.rate("q1", "ben", is_positive=False, at=NOON)
    await desk.footnote.log.explain("q1", "ben", "outdated", "At ten since May.")
    tab, faults = await entered(chromium, desk)

    await tab.goto(desk.url)
    await tab.get_by_role("link", name="1 answer rated down").click()
    await expect(tab.locator("tbody tr")).to_contain_text("At ten since May.")
    await tab.get_by_role("button", name="Done").click()

    await expect(tab.get_by_role("status")).to_have_text("It is decided.")
    await expect(tab.locator("main")).to_contain_text("Nobody waits for you")
    await tab.get_by_role("link", name="Done").click()
    await expect(tab.locator("tbody tr")).to_contain_text("done, Ann")
    assert faults == []


async def test_an_editor_opens_a_collection_to_a_channel_and_sees_first_what_that_means(chromium, desk):
    desk.footnote.log.now = lambda: NOON
    await desk.footnote.log.record(asked("q1"), answered("q1"), traced())
    await desk.footnote.log.names.note("channel", {asked().conversation.channel_id: "#help"})
    tab, faults = await entered(chromium, desk)

    await tab.goto(f"{desk.url}/sources")
    await tab.get_by_role("link", name="everyone").click()
    await tab.get_by_label("Only who is named").check()
    await tab.get_by_label("#help").check()
    await tab.get_by_role("button", name="See what changes").click()
    await expect(tab.locator("main li")).to_have_text(
        ["Who is not named will not read 1 document any more.", "#help reads them as before."]
    )
    await tab.get_by_role("button", name="Change it").click()

    await expect(tab.get_by_role("status")).to_have_text("It is saved.")
    await expect(tab.get_by_label("#help")).to_be_checked()
    await tab.get_by_role("link", name="Changes").click()
    await expect(tab.locator("tbody tr").first).to_contain_text("changed who reads it")
    assert faults == []


async def test_an_operator_finds_the_documents_that_nobody_needed(chromium, desk):
    (entry,) = desk.footnote.library.store.entries()
    tab, faults = await entered(chromium, desk)

    await tab.goto(f"{desk.url}/sources?collection=default")
    await tab.get_by_label("Use").select_option("never found")
    await tab.get_by_role("button", name="Filter").click()
    await expect(tab.locator("[data-row]")).to_have_text(entry.source)
    await tab.get_by_label("Use").select_option("cited")
    await tab.get_by_role("button", name="Filter").click()

    await expect(tab.locator("main")).to_contain_text("There is no such document.")
    assert faults == []
