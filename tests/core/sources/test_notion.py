"""After each sync the library equals what is shared in Notion, exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from fakes.notion import TOKEN, FakeNotion, title_value
from fakes.notion_author import NotionAuthor, paragraph, select
from fakes.source_desk import open_desk

from core.conversation import Citation, Outcome
from core.library.links import SourceLinks
from core.library.sync import SyncReport
from core.sources.kinds import SOURCE_KINDS, source_address
from core.sources.notion.source import open_notion


@pytest.fixture
async def notion():
    async with FakeNotion() as notion:
        notion.page_size = 7
        yield notion


@pytest.fixture
def kinds(notion, clock):
    return {
        **SOURCE_KINDS,
        "notion": replace(SOURCE_KINDS["notion"], open=partial(open_notion, origin=notion.url, interval=0.0)),
    }


@pytest.fixture
def settings(settings):
    return replace(settings, notion_token=TOKEN)


@pytest.fixture
def desk(settings, clock, kinds):
    with open_desk(settings, clock, kinds) as desk:
        yield desk


async def ingest(desk, address="notion:") -> SyncReport:
    return await desk.syncs.ingest(address, collection="default")


def texts(desk, address="notion:") -> dict[str, str]:
    """The text of each document, by its ID."""
    rows = desk.library.store.database.rows(
        "SELECT d.address, p.text FROM documents d JOIN passages p ON p.document = d.id ORDER BY d.id, p.ordinal"
    )
    found: dict[str, str] = {}
    for place, text in rows:
        name = place.removeprefix(f"{address}/")
        found[name] = f"{found.get(name, '')}\n{text}"
    return found


def assert_equal(desk, author, address="notion:", pages=None) -> None:
    read = texts(desk, address)
    expected = author.hashes() if pages is None else {page: author.editions[page] for page in pages}
    assert set(read) == set(expected)
    assert [page for page, edition in expected.items() if edition not in read[page]] == []
    titles = {
        entry.address.removeprefix(f"{address}/"): entry.title for entry in desk.library.store.entries()
    }
    things = author.notion.things
    for page in expected:
        title, state = ((things[page].properties.get(name)) for name in ("title", "State"))
        assert title is None or titles[page] == title["title"][0]["plain_text"]
        assert state is None or f"| State | {state['select']['name']} |" in read[page]


async def test_the_index_equals_what_is_shared_after_each_sync(desk, notion):
    author = NotionAuthor(notion)
    author.begin(40)

    report = await ingest(desk)

    assert report == SyncReport(added=40)
    assert_equal(desk, author)
    for _ in range(6):
        author.go_on(6)
        assert (await ingest(desk)).failed == ()
        assert_equal(desk, author)


async def test_an_unchanged_workspace_is_only_listed(desk, notion):
    author = NotionAuthor(notion)
    author.begin(40)
    notion.page_size = 100
    await ingest(desk)
    first, requests = (notion.sent, notion.written), notion.asked.total()
    notion.forget_counts()

    report = await ingest(desk)

    assert report == SyncReport(skipped=40)
    assert notion.asked == {"search": 1, "data_sources/ID/query": 2}
    assert notion.asked.total() <= 0.04 * requests
    print(f"\n{first[0]:,} bytes, {requests} requests; then {notion.sent:,} and {notion.asked.total()}")
    assert notion.sent <= 0.06 * first[0]
    assert notion.written <= 0.08 * first[1]


async def test_a_change_within_the_minute_after_the_read_is_not_lost(desk, notion):
    page = notion.add_page("Fares")
    block = notion.add_block(page, "paragraph", paragraph("Four pounds."))
    await ingest(desk)
    notion.things[block].content = paragraph("Five pounds.")
    notion.now += 20
    notion.touch(block)
    same_minute = notion.things[page].edited // 60 == (notion.now - 20) // 60

    await ingest(desk)
    notion.now += 3_600
    await ingest(desk)
    notion.forget_counts()
    await ingest(desk)

    assert same_minute
    assert "Five pounds." in texts(desk)[page]
    assert notion.asked == {"search": 1}


async def test_a_page_that_the_search_leaves_out_stays_until_notion_says_that_it_is_gone(desk, notion):
    author = NotionAuthor(notion)
    author.begin(30)
    await ingest(desk)
    left_out = sorted(author.hashes())[:9]
    notion.not_found_by_search = set(left_out)
    gone = next(page for page in left_out if page != author.home)
    notion.trash(gone)
    there = [page for page in left_out if page in author.hashes() and page != author.home]
    other = next(page for page in there if "title" in notion.things[page].properties)
    notion.things[other].properties |= {"title": title_value("Seen nevertheless")}
    notion.now += 4_000
    notion.touch(other)

    await ingest(desk)

    assert gone not in texts(desk)
    assert_equal(desk, author)


async def test_pages_that_no_search_finds_are_found_where_others_name_them(desk, notion):
    author = NotionAuthor(notion)
    author.begin(30)
    notion.not_found_by_search = {page for page in author.hashes() if page != author.home} | {
        author.sources[0]
    }

    await ingest(desk)

    assert_equal(desk, author)


async def test_more_rows_than_notion_lists_at_once_are_read(desk, notion):
    home = notion.add_page("Home")
    register = notion.add_database("Register", home)
    rows = set()
    for number in range(30):
        notion.now += 100
        rows.add(notion.add_page(f"Row {number}", register, properties={"State": select("open")}))
    notion.result_limit = 12

    report = await ingest(desk)

    assert set(texts(desk)) == rows | {home}
    assert report.failed == ()
    assert [each.text for each in report.notes] == [
        "Notion does not list all that is shared. Narrower addresses, as notion:ID of a page, read the rest."
    ]


async def test_a_cursor_that_ends_begins_the_list_anew(desk, notion):
    author = NotionAuthor(notion)
    author.begin(40)
    notion.ending_cursors = 4

    report = await ingest(desk)

    assert (report.added, report.failed) == (40, ())
    assert_equal(desk, author)


async def test_what_lies_below_a_page_is_read_and_nothing_else(desk, notion):
    author = NotionAuthor(notion)
    author.begin(30)
    root = next(
        page for page in author.hashes() if page != author.home and "page_id" in notion.things[page].parent
    )
    column = notion.add_block(notion.add_block(root, "column_list", {}), "column", {})
    inside = author._write(notion.add_page("In a column", column))
    register = notion.add_database("Register of its own", root)
    row = author._write(notion.add_page("Row", register))
    address = f"notion:{root}"

    await ingest(desk, address)

    below = {root, inside, row} | {page for page in author.hashes() if is_below(notion, page, root)}
    assert_equal(desk, author, address, below)
    notion.move(inside, author.home)
    await ingest(desk, address)
    assert_equal(desk, author, address, below - {inside})


def is_below(notion, page, root) -> bool:
    while page != root:
        parent = notion.things[page].parent
        if "page_id" not in parent:
            return False
        page = parent["page_id"].replace("-", "")
    return True


async def test_a_page_that_changes_or_goes_between_list_and_fetch_is_read_right_in_the_end(desk, notion):
    author = NotionAuthor(notion)
    author.begin(20)
    pages = [page for page in sorted(author.hashes()) if page != author.home]
    changed, gone = pages[0], pages[1]

    def interfere(path: str) -> None:
        if path.endswith("/children") and notion.things[gone].is_shared:
            author._blocks = {changed: author._blocks[changed]}
            notion.now += 10
            notion.things[author._blocks[changed]].content = paragraph(author._edition(changed))
            notion.touch(author._blocks[changed])
            notion.things[gone].is_shared = False

    notion.before = interfere
    await ingest(desk)
    notion.before = lambda _path: None
    first = texts(desk)
    notion.now += 600
    await ingest(desk)

    assert gone not in first
    assert_equal(desk, author, pages=author.hashes().keys() - {gone})


async def test_a_limit_is_waited_for_and_what_is_out_of_order_is_tried_again(desk, notion, clock):
    author = NotionAuthor(notion)
    author.begin(12)
    notion.failing = [429, 503, 409, 429, 500]

    report = await ingest(desk)

    assert (report.added, report.failed) == (12, ())
    assert sorted(clock.waited) == [2.0, 7.0, 7.0, 30.0, 30.0]


async def test_a_token_that_is_refused_is_told_and_removes_nothing(settings, clock, kinds, notion):
    notion.add_page("Fares")
    with open_desk(settings, clock, kinds) as desk:
        await ingest(desk)
    with open_desk(replace(settings, notion_token="ntn_other"), clock, kinds) as desk:
        refused = await ingest(desk)
        kept = len(texts(desk))
    with open_desk(replace(settings, notion_token=""), clock, kinds) as desk:
        unset = await ingest(desk)

    assert [each.reason for each in refused.failed] == [
        "Notion does not take the token: set NOTION_TOKEN to that of an integration of your workspace."
    ]
    assert [each.reason for each in unset.failed] == [
        "Set NOTION_TOKEN to the token of an integration, and share pages with it in Notion."
    ]
    assert kept == 1
    files = [file for file in settings.data_dir.rglob("*") if file.is_file()]
    assert [file for file in files if b"ntn_" in file.read_bytes()] == []
    assert "ntn_" not in repr(settings)


async def test_nothing_that_is_shared_is_not_an_empty_source(desk, notion):
    page = notion.add_page("Fares")
    await ingest(desk)
    notion.things[page].is_shared = False

    report = await ingest(desk)
    other = await ingest(desk, f"notion:{page}")

    assert [each.reason for each in report.failed] == [
        "Nothing is shared with the integration of NOTION_TOKEN: add it to the connections of a page in Notion."
    ]
    assert [each.reason for each in other.failed] == [
        f"Notion has no page {page}, or it is not shared with the integration of NOTION_TOKEN."
    ]
    assert set(texts(desk)) == {page}


async def test_a_page_that_notion_does_not_send_fails_alone(desk, notion):
    author = NotionAuthor(notion)
    author.begin(8)
    page = next(each for each in author.hashes() if each != author.home)
    notion.refused = {page: 403}

    report = await ingest(desk)

    assert (report.added, len(report.failed)) == (7, 1)
    assert report.failed[0].reason == (
        "may not be read with NOTION_TOKEN: its integration needs the capability to read content"
    )


async def test_a_row_names_the_pages_that_it_is_related_to(desk, notion):
    home = notion.add_page("Home")
    register = notion.add_database("Register", home)
    owner = notion.add_page("Harbour office")
    relation = {"id": "r", "type": "relation", "relation": [{"id": owner}], "has_more": False}
    row = notion.add_page("Crane 7", register, properties={"Owner": relation})
    await ingest(desk)
    first = texts(desk)[row]
    notion.now += 4_000
    notion.things[owner].properties["title"] = title_value("Port authority")
    notion.touch(owner)

    await ingest(desk)

    assert "| Owner | Harbour office |" in first
    assert "| Owner | Port authority |" in texts(desk)[row]


async def test_a_quote_leads_to_its_block(desk, notion):
    page = notion.add_page("Ferry")
    notion.add_block(page, "heading_1", paragraph("Fares") | {"is_toggleable": False})
    block = notion.add_block(page, "paragraph", paragraph("A crossing costs four pounds."))
    await ingest(desk)
    links = SourceLinks(templates={}, store=desk.library.store, private=desk.storage.data_dir)
    (entry,) = desk.library.store.entries()
    (start,) = (
        begin + text.index("A crossing")
        for begin, text in desk.library.store.database.rows("SELECT start, text FROM passages")
        if "A crossing" in text
    )
    quote = "A crossing costs four pounds."
    cited = Citation(
        number=1, title="Ferry", location="", quote=quote, start=start, end=start + len(quote), url=entry.url,
        source=entry.source, collection="default",
    )  # fmt: skip

    (linked,) = links.add_links(Outcome(kind="answered", turn_id="t", closest=(cited,))).closest

    assert linked.url == f"https://www.notion.so/Ferry-{page}#{block}"
    assert entry.source == f"Notion/Ferry ({page[-6:]})"


ID = "1f2e3d4c5b6a79880123456789abcdef"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("notion:", "notion:"),
        (f"notion:{ID}", f"notion:{ID}"),
        (f"notion:{ID[:8]}-{ID[8:12]}-{ID[12:16]}-{ID[16:20]}-{ID[20:]}", f"notion:{ID}"),
        (f"https://www.notion.so/acme/Ferry-Fares-{ID}?pvs=4", f"notion:{ID}"),
        (f"https://acme.notion.site/{ID.upper()}", f"notion:{ID}"),
        (f"https://www.notion.so/acme/Board-{ID}?v={'0' * 32}", f"notion:{ID}"),
        (f"https://www.notion.so/acme?p={ID}", f"notion:{ID}"),
        (f"https://notion.so.example.org/{ID}", None),
        ("https://www.notion.so/product", None),
    ],
)
def test_pages_are_named_by_their_links(settings, typed, kept):
    assert source_address(typed, settings=settings) == kept
    if typed.startswith("https"):
        assert source_address(typed, settings=replace(settings, notion_token="")) is None


async def test_a_part_that_was_forgotten_stays_out(desk, notion, settings):
    from core.sources.sources import forget_in_sources

    author = NotionAuthor(notion)
    author.begin(8)
    await ingest(desk)
    page = next(each for each in author.hashes() if each != author.home)
    forget_in_sources(desk.syncs.store, desk.library, f"notion:/{page}", settings.data_dir)
    desk.library.forget(f"notion:/{page}")

    await ingest(desk)
    is_whole = forget_in_sources(desk.syncs.store, desk.library, "notion:", settings.data_dir)

    assert set(texts(desk)) == author.hashes().keys() - {page}
    assert is_whole
