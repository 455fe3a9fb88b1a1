"""The page's view of what can be cited: only the session's collections, and changes by editors alone."""

from __future__ import annotations

import re
import time
from urllib.parse import quote, urlencode

import pytest
from fakes.desk import HANDBOOK, SECRET, Inspection, answered, asked, open_desk, traced
from fakes.git_server import Repository
from fakes.hostile import HOSTILE_HTML

from core.conversation import Outcome
from core.library.documents import Piece
from core.library.entries import NewDocument
from core.library.formats.read import parse_html

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
PIER = "https://tides.example/pier"
FERRY = "The ferry to Sark leaves pier three"


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        desk.ingest(tmp_path / "docs", "harbour.md", HANDBOOK, collection="default")
        desk.ingest(tmp_path / "closed", "payroll.md", SECRET, collection="payroll")
        yield desk


def addressed(file, collection="default", place="document"):
    return f"/sources/{place}?{urlencode({'collection': collection, 'address': str(file)})}"


def sources(desk):
    return [(each.collection, each.source) for each in desk.footnote.library.store.entries()]


async def test_collections_are_listed_with_who_reads_them_and_how_much_they_hold(desk):
    browser = await desk.browser("reader")

    status, page = await browser.get("/sources")
    _, payroll = await browser.get("/sources?collection=payroll")

    assert status == 200
    assert ("everyone" in page, "nobody" in page) == (True, True)
    assert ("payroll.md" in payroll, "harbour.md" in payroll) == (True, False)
    assert "<button name=" not in payroll


async def test_a_document_is_shown_as_it_was_cut(desk, tmp_path):
    browser = await desk.browser("reader")

    status, page = await browser.get(addressed(tmp_path / "docs" / "harbour.md"))

    (entry,) = desk.footnote.library.store.entries(collection="default")
    assert status == 200
    assert FERRY in page
    assert page.count("<blockquote>") == entry.passages


async def test_a_long_document_is_turned_over_page_by_page(desk, tmp_path):
    text = "".join(f"# Part {n}\n\n{'A sentence about the harbour. ' * 20}\n\n" for n in range(120))
    desk.ingest(tmp_path / "docs", "long.md", text, collection="default")
    browser, place = await desk.browser("reader"), addressed(tmp_path / "docs" / "long.md")

    _, first = await browser.get(place)
    _, second = await browser.get(f"{place}&from=51")
    _, nonsense = await browser.get(f"{place}&from=-1")

    assert ('id="passage-50"' in first, 'id="passage-51"' in first) == (True, False)
    assert "from=51" in first
    assert ('id="passage-50"' in second, 'id="passage-51"' in second) == (False, True)
    assert 'id="passage-1"' in nonsense


async def test_a_question_that_is_tried_shows_the_passages_with_their_scores(desk):
    browser = await desk.browser("reader")

    _, page = await browser.get("/sources?try=When+does+the+ferry+leave")
    _, elsewhere = await browser.get("/sources?collection=payroll&try=ferry+sark")

    (best, *_) = re.findall(
        r'<td class="words"><b>.*?</td><td class="number">([\d.]+)</td><td class="number">([\d.]+)</td>',
        page,
        re.DOTALL,
    )
    assert FERRY in page
    assert all(float(score) > 0 for score in best)
    assert FERRY not in elsewhere


async def test_a_file_that_cannot_be_read_is_listed_with_the_reason(desk, tmp_path):
    broken = tmp_path / "docs" / "broken.pdf"
    broken.write_bytes(b"no pdf")
    desk.footnote.library.ingest([tmp_path / "docs"])
    (failed,) = desk.footnote.library.store.roots.unreadable("default").values()
    browser = await desk.browser()

    _, page = await browser.get("/sources?collection=default")
    status, _, _ = await browser.post(addressed(broken, place="change"), change="forget", sure="yes")

    assert failed.source in page
    assert "Not read, or not wholly" in page
    assert status == 303
    assert desk.footnote.library.store.roots.unreadable("default") == {}


async def test_an_editor_has_a_document_and_a_collection_read_again(desk, tmp_path):
    file = tmp_path / "docs" / "harbour.md"
    browser, roots = await desk.browser(), desk.footnote.library.store.roots.all()

    file.write_text(HANDBOOK.replace("pier three", "pier four"))
    one = await browser.post(addressed(file, place="change"), change="read")
    _, changed = await browser.get(addressed(file))
    file.write_text(HANDBOOK.replace("pier three", "pier twelve"))
    whole = await browser.post("/sources/change?collection=default", change="read")
    _, again = await browser.get(addressed(file))

    assert (one[0], whole[0]) == (303, 303)
    assert ("pier four" in changed, "pier twelve" in again) == (True, True)
    assert desk.footnote.library.store.roots.all() == roots


async def test_what_an_editor_forgets_stays_in_other_collections(desk, tmp_path):
    file = tmp_path / "docs" / "harbour.md"
    desk.footnote.library.ingest([file], collection="payroll")
    browser = await desk.browser(collections=frozenset({"default"}))

    status, _, headers = await browser.post(addressed(file, place="change"), change="forget", sure="yes")

    assert (status, headers["Location"]) == (303, "/sources?collection=default&done=forgotten")
    assert sorted(sources(desk)) == [("payroll", "harbour.md"), ("payroll", "payroll.md")]


async def test_a_page_is_forgotten_with_its_copies_in_websites_of_which_the_button_tells(desk):
    library, site = desk.footnote.library, f"site+{PIER}"
    desk.footnote.sources.store.add("web", site, every=None, now=NOON)
    for address, source in ((f"{site}//", f"{PIER}/"), (f"{site}/fees", f"{PIER}/fees"), (PIER, PIER)):
        piece = Piece(path=(), location="", text=FERRY, start=0, end=len(FERRY))
        library.store.put(
            NewDocument(collection="web", address=address, root=address, source=source, title=source, url=source,
                        hash="", size=len(FERRY), modified=0, pieces=[piece])
        )  # fmt: skip
    library.ingest_page(f"{PIER}/fees", parse_html(f"<p>{FERRY}</p>", url=None), collection="web")
    browser = await desk.browser()

    _, fees = await browser.get(addressed(f"{PIER}/fees", "web"))
    _, first = await browser.get(addressed(PIER, "web"))
    await browser.post(addressed(f"{PIER}/fees", "web", "change"), change="forget", sure="yes")
    left = {each.address for each in library.store.entries(collection="web")}
    await browser.post(addressed(PIER, "web", "change"), change="forget", sure="yes")

    assert "Forget it and 1 more" in fees
    assert "Forget it and 3 more" in first
    assert left == {f"{site}//", PIER}
    assert library.store.entries(collection="web") == []
    assert desk.footnote.sources.store.all() == []


async def test_collections_of_others_are_neither_seen_nor_changed(desk, tmp_path):
    file = tmp_path / "closed" / "payroll.md"
    browser = await desk.browser(collections=frozenset({"default"}))
    places = ["/sources", "/sources?try=harbour+master+pay", "/sources?collection=payroll&try=pay"]

    pages = [await browser.get(place) for place in (*places, addressed(file, "payroll"))]
    changes = [
        await browser.post(addressed(file, name, "change"), change=kind)
        for kind in ("forget", "read")
        for name in ("payroll", "default")
    ]

    assert [status for status, _ in pages] == [200, 200, 404, 404]
    assert not [page for _, page in pages if "ninety thousand" in page or "payroll.md" in page]
    assert {status for status, _, _ in changes} == {404}
    assert ("payroll", "payroll.md") in sources(desk)


async def test_sources_are_listed_with_how_far_they_were_read_to_who_may_read_their_collection(
    desk, tmp_path
):
    wiki, closed = Repository.made(tmp_path / "wiki"), Repository.made(tmp_path / "closed-wiki")
    wiki.commit({"ferry.md": HANDBOOK, "empty.md": " "})
    closed.commit({"pay.md": SECRET})
    sources = desk.footnote.sources
    await sources.ingest(f"git+file://{wiki.folder}", collection="default", every=5400.0)
    await sources.ingest(f"git+file://{closed.folder}", collection="payroll")
    browser = await desk.browser("reader", collections=frozenset({"default"}))
    editor = await desk.browser()

    _, page = await browser.get("/sources")
    _, opened = await browser.get("/sources?collection=default")
    _, both = await editor.get("/sources")
    place = addressed(f"git+file://{wiki.folder}/ferry.md")
    _, document = await editor.get(place)
    again = await editor.post(place.replace("/document?", "/change?"), change="read")

    row = page[page.index("Read from elsewhere") :]
    assert "<td>default</td>" in row
    assert "every 90m" in row
    assert "wiki/empty.md" not in page
    assert "wiki/empty.md: is empty" in opened
    assert "closed-wiki" not in page + opened
    assert "closed-wiki" in both
    assert "when it is ingested" in both
    assert "Read it again" not in document
    assert "Its source was read" in document
    assert again[0] == 404
    assert [fault for each in (page, opened, both, document) for fault in Inspection(each).faults] == []


async def test_a_reader_changes_nothing(desk, tmp_path):
    browser = await desk.browser("reader")

    status, _, _ = await browser.post(
        addressed(tmp_path / "docs" / "harbour.md", place="change"), change="forget", sure="yes"
    )

    assert status == 403
    assert ("default", "harbour.md") in sources(desk)


async def test_words_and_names_of_documents_are_no_markup_and_the_documents_can_be_forgotten(desk):
    for number, text in enumerate(HOSTILE_HTML):
        piece = Piece(path=(text[:200],), location=text[:200], text=text, start=0, end=len(text))
        name = f"https://example.org/{number}/{text[:60]} "
        desk.footnote.library.store.put(
            NewDocument(collection="web", address=name, root=name, source=text[:300], title=text[:300], url=name,
                        hash="", size=len(text), modified=0, pieces=[piece])
        )  # fmt: skip
    browser = await desk.browser()
    names = [each.address for each in desk.footnote.library.store.entries(collection="web")]

    paths = ["/sources", "/sources?collection=web", *(addressed(name, "web") for name in names)]
    tried = [f"/sources?{urlencode({'try': text[:2_000]})}" for text in HOSTILE_HTML]
    pages = [await browser.get(path) for path in (*paths, *tried)]
    forgotten = [
        await browser.post(addressed(name, "web", "change"), change="forget", sure="yes") for name in names
    ]

    assert {status for status, _ in pages} == {200}
    assert [fault for _, page in pages for fault in Inspection(page).faults] == []
    assert {status for status, _, _ in forgotten} == {303}
    assert desk.footnote.library.store.entries(collection="web") == []


async def test_what_was_not_seen_at_its_source_for_too_long_is_marked(tmp_path):
    async with open_desk(tmp_path, stale_after=30) as desk:
        library = desk.footnote.library
        desk.ingest(
            tmp_path / "docs",
            "harbour.md",
            f"---\nupdated: 2026-02-01\n---\n{HANDBOOK}",
            collection="default",
        )
        library.ingest_page(PIER, parse_html("<h1>Tides</h1><p>High water is later every day.</p>", url=PIER))
        with library.store.transaction() as writing:
            writing.execute("UPDATE documents SET seen_at = ? WHERE address = ?", (NOON, PIER))
        browser = await desk.browser("reader")

        _, listed = await browser.get("/sources?collection=default")
        _, page = await browser.get(addressed(PIER))
        _, file = await browser.get(addressed(tmp_path / "docs" / "harbour.md"))

    sentence = "not seen at its source since 12 Mar 2026"
    assert (listed.count(sentence), sentence in page, sentence in file) == (1, True, False)
    assert "2026-02-01 00:00 UTC" in listed
    assert "2026-02-01 00:00 UTC" in file


async def test_documents_are_chosen_by_what_questions_made_of_them(desk, tmp_path):
    for name in ("cited.md", "found.md", "never.md"):
        desk.ingest(tmp_path / "docs", name, HANDBOOK, collection="default")
    named = {each.address.rpartition("/")[2]: each.source for each in desk.footnote.library.store.entries()}
    for turn, name in (("q1", "cited.md"), ("q2", "found.md"), ("q3", "found.md")):
        trace = traced("", source=named[name])
        is_cited = name == "cited.md"
        outcome = answered(turn, source=named[name]) if is_cited else Outcome(kind="no_answer", turn_id=turn)
        await desk.footnote.log.record(asked(turn, at=time.time()), outcome, trace)
    browser, other = (
        await desk.browser("reader"),
        await desk.browser("reader", collections=frozenset({"payroll"})),
    )
    path = "/sources?collection=default"

    pages = {
        use: (await browser.get(f"{path}&use={quote(use)}"))[1]
        for use in ("cited", "found, never cited", "never found", "stale", "nonsense")
    }

    shown = {use: {name for name in named if f">{named[name]}</a>" in page} for use, page in pages.items()}
    assert shown == {
        "cited": {"cited.md"}, "found, never cited": {"found.md"}, "never found": {"harbour.md", "never.md"},
        "stale": set(), "nonsense": {"cited.md", "found.md", "never.md", "harbour.md"},
    }  # fmt: skip
    assert '<td class="number">2</td><td class="number"></td>' in pages["found, never cited"]
    await desk.footnote.log.record(
        asked("q4", at=time.time() - 20 * 86_400),
        Outcome(kind="no_answer", turn_id="q4"),
        traced("", source=named["never.md"]),
    )
    week, month = [(await browser.get(f"{path}&use=never+found&days={days}"))[1] for days in (7, 30)]
    assert [f">{named['never.md']}</a>" in each for each in (week, month)] == [True, False]
    assert (await other.get(f"{path}&use=cited"))[0] == 404
    assert not Inspection(pages["cited"]).faults


async def test_what_a_channel_learned_is_called_by_its_name_and_a_change_says_that_it_was_made(
    desk, tmp_path
):
    await desk.footnote.log.names.note("channel", {"slack/T1/C1": "#help"})
    desk.ingest(tmp_path / "docs", "learned.md", HANDBOOK, collection="channel-slack-T1-C1")
    desk.ingest(tmp_path / "docs", "file.md", HANDBOOK, collection="channel-slack-T1-C1-thread-1.2")
    browser = await desk.browser()

    _, listed = await browser.get("/sources")
    _, opened = await browser.get("/sources?collection=channel-slack-T1-C1")
    _, done = await browser.get("/sources?done=read")
    _, nonsense = await browser.get("/sources?done=<b>")

    assert re.findall(r">([^<]*#help[^<]*)</a>", listed) == ["#help alone", "one thread of #help alone"]
    assert "<h1>#help alone</h1>" in opened
    assert [page.count('class="said"') for page in (done, nonsense)] == [1, 0]
    assert "It was read again." in done
