"""Files that lie in pages of Notion are read beside their pages, and go when they go."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial

import pytest
from fakes.notion import TOKEN, FakeNotion
from fakes.notion_author import paragraph, select
from fakes.source_desk import Clock, open_desk

from core.library.sync import SyncReport
from core.settings import Settings
from core.sources import http
from core.sources.kinds import SOURCE_KINDS
from core.sources.notion.page import file_of_block, is_of_notion
from core.sources.notion.source import open_notion

DAY = 86_400


@pytest.fixture
async def notion():
    async with FakeNotion() as notion:
        yield notion


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1",), notion_token=TOKEN)


@pytest.fixture
def desk(settings, notion, clock):
    def serves(url: str) -> bool:
        return url.startswith(notion.media.url)

    opened = partial(open_notion, origin=notion.url, interval=0.0, serves=serves)
    with open_desk(
        settings, clock, {**SOURCE_KINDS, "notion": replace(SOURCE_KINDS["notion"], open=opened)}
    ) as desk:
        yield desk


async def ingest(desk) -> SyncReport:
    return await desk.syncs.ingest("notion:", collection="default")


def texts(desk) -> dict[str, str]:
    """What each document says, by how people name it; without the end of a page's ID."""
    rows = desk.library.store.database.rows(
        "SELECT d.source, p.text FROM documents d JOIN passages p ON p.document = d.id ORDER BY d.id, p.ordinal"
    )
    found: dict[str, str] = {}
    for source, text in rows:
        page, _, file = source.removeprefix("Notion/").partition(")/")
        name = " / ".join(filter(None, (page.partition(" (")[0], file)))
        found[name] = f"{found.get(name, '')}\n{text}".strip()
    return found


async def test_files_in_blocks_and_in_properties_are_read_as_items_of_their_page(desk, notion):
    home = notion.add_page("Home")
    notion.add_block(home, "paragraph", paragraph("Welcome aboard."))
    column = notion.add_block(notion.add_block(home, "column_list", {}), "column", {})
    block = notion.add_file(column, "crane.md", b"# Crane\n\nThe crane lifts nine tonnes.\n")
    notion.add_file(home, "berths.csv", b"ship,berth\nAurora,7\n", type="pdf")
    register = notion.add_database("Register", home)
    tide = notion.uploaded("tide table.txt", b"High water is at noon.\n")
    files = {"id": "f", "type": "files", "files": [tide]}
    notion.add_page("Row", register, properties={"Papers": files, "State": select("open")})
    notion.now += DAY

    report = await ingest(desk)

    found = texts(desk)
    assert report == SyncReport(added=5)
    assert found["Home / crane.md"].endswith("The crane lifts nine tonnes.")
    assert "Aurora" in found["Home / berths.csv"]
    assert found["Row / tide table.txt"] == "High water is at noon."
    (entry,) = [each for each in desk.library.store.entries() if each.source.endswith("crane.md")]
    assert entry.url == f"https://www.notion.so/Home-{home}#{block}"


async def test_an_unchanged_workspace_has_no_file_fetched_again(desk, notion):
    home = notion.add_page("Home")
    notion.add_file(home, "crane.md", b"# Crane\n\nIt lifts nine tonnes.\n")
    notion.now += DAY
    await ingest(desk)
    notion.forget_counts()
    before = len(notion.media.requests)
    notion.now += DAY

    report = await ingest(desk)

    assert report == SyncReport(skipped=2)
    assert notion.asked == {"search": 1}
    assert len(notion.media.requests) == before == 1


async def test_a_file_that_is_replaced_renamed_or_taken_out_is_followed(desk, notion):
    home = notion.add_page("Home")
    kept = notion.add_file(home, "kept.md", b"# Kept\n\nIt stays.\n")
    block = notion.add_file(home, "crane.md", b"# Crane\n\nIt lifts nine tonnes.\n")
    gone = notion.add_file(home, "gone.md", b"# Gone\n\nIt goes.\n")
    notion.now += DAY
    await ingest(desk)

    notion.things[block].content |= notion.uploaded("crane.md", b"# Crane\n\nIt lifts ten tonnes.\n")
    notion.things[home].children.remove(gone)
    notion.touch(block)
    notion.now += DAY
    first = len(notion.media.requests)
    await ingest(desk)
    changed = texts(desk)
    notion.trash(home)
    notion.add_page("Other")
    notion.now += DAY
    await ingest(desk)

    assert set(changed) == {"Home", "Home / kept.md", "Home / crane.md"}
    assert "ten tonnes" in changed["Home / crane.md"]
    assert len(notion.media.requests) == first + 1
    assert kept in notion.things
    assert not [name for name in texts(desk) if name.startswith("Home")]


async def test_what_is_of_another_kind_or_lies_elsewhere_is_named_and_not_fetched(desk, notion):
    home = notion.add_page("Home")
    notion.add_block(home, "paragraph", paragraph("Welcome aboard."))
    notion.add_file(home, "harbour.png", b"\x89PNG", type="image")
    notion.add_file(home, "horn.mp3", b"ID3", type="audio")
    url = "https://files.example.org/rules.pdf"
    notion.add_block(home, "pdf", {"caption": [], "type": "external", "external": {"url": url}})
    notion.now += DAY

    report = await ingest(desk)

    assert report == SyncReport(added=1)
    assert notion.media.requests == []
    assert "horn.mp3" in texts(desk)["Home"]


async def test_an_address_is_asked_for_right_before_its_file_and_stored_nowhere(
    desk, notion, settings, caplog
):
    caplog.set_level("DEBUG")
    home = notion.add_page("Home")
    for number in range(4):
        notion.add_file(home, f"log {number}.md", b"# Log\n\nAll is well, number %d.\n" % number)

    def pass_an_hour(path: str) -> None:
        if "/blocks/" in path and not path.endswith("/children"):
            notion.now += 1_100  # the addresses that came with the page end before the last file is fetched

    notion.before = pass_an_hour
    report = await ingest(desk)

    kept = [file for file in settings.data_dir.rglob("*") if file.is_file()]
    assert (report.added, report.failed) == (5, ())
    assert [file for file in kept if b"X-Amz-Signature" in file.read_bytes()] == []
    assert "X-Amz-Signature" not in caplog.text


async def test_a_file_that_is_not_given_out_or_is_too_large_fails_alone(desk, notion, monkeypatch):
    home = notion.add_page("Home")
    notion.add_file(home, "lost.md", b"# Lost\n")
    notion.add_file(home, "large.md", b"x" * 40_000)
    notion.add_file(home, "fine.md", b"# Fine\n\nIt is.\n")
    notion.media.files = {path: data for path, data in notion.media.files.items() if "lost" not in path}
    monkeypatch.setattr(http, "FILE_LIMIT", 30_000)

    report = await ingest(desk)

    assert sorted(each.reason for each in report.failed) == [
        "could not be read: 127.0.0.1 sent more than 0.03 MB.",
        "is not given out by Notion (HTTP 404)",
    ]
    assert set(texts(desk)) == {"Home", "Home / fine.md"}


async def test_a_host_of_files_that_is_out_of_order_is_waited_for(desk, notion, clock):
    home = notion.add_page("Home")
    notion.add_file(home, "crane.md", b"# Crane\n\nIt lifts nine tonnes.\n")
    notion.media.will_answer(503, headers={"Retry-After": "11"})

    await ingest(desk)

    assert clock.waited == [11.0]
    assert "Home / crane.md" in texts(desk)


async def test_the_files_of_a_page_that_cannot_be_looked_at_now_stay(desk, notion):
    home = notion.add_page("Home")
    notion.add_page("Other")
    notion.add_file(home, "crane.md", b"# Crane\n\nIt lifts nine tonnes.\n")
    notion.now += DAY
    await ingest(desk)
    notion.not_found_by_search = {home}
    notion.refused = {home: 403}
    notion.now += DAY

    await ingest(desk)

    assert "Home / crane.md" in texts(desk)


async def test_a_memory_that_is_lost_loses_no_files(desk, notion, settings):
    home = notion.add_page("Home")
    notion.add_file(home, "crane.md", b"# Crane\n\nIt lifts nine tonnes.\n")
    notion.now += DAY
    await ingest(desk)
    shutil.rmtree(settings.data_dir / "sources")
    notion.now += DAY

    await ingest(desk)
    await ingest(desk)

    assert "Home / crane.md" in texts(desk)


BUCKET = "https://prod-files-secure.s3.us-west-2.amazonaws.com"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"{BUCKET}/space/file/a.pdf?X-Amz-Signature=1", True),
        ("https://prod-files-secure-eu.s3.eu-central-1.amazonaws.com/space/file/a.pdf", True),
        ("https://s3.us-west-2.amazonaws.com/secure.notion-static.com/file/a.pdf", True),
        ("https://s3.us-west-2.amazonaws.com/other-bucket/file/a.pdf", False),
        ("https://file.notion.so/f/f/space/file/a.pdf", True),
        ("https://img.notionusercontent.com/s3/a.pdf", True),
        ("http://file.notion.so/f/a.pdf", False),
        ("https://file.notion.so:8443/f/a.pdf", False),
        ("https://ann@file.notion.so/f/a.pdf", False),
        ("https://file.notion.so.example.org/f/a.pdf", False),
        ("https://evil-notion.so/f/a.pdf", False),
        ("https://bucket.s3.us-west-2.amazonaws.com/prod-files-secure/a.pdf", False),
        ("https://prod-files-secure.s3.us-west-2.amazonaws.com.example.org/a.pdf", False),
        ("https://169.254.169.254/latest", False),
        ("https://[", False),
    ],
)
def test_files_are_fetched_from_hosts_of_notion_alone(url, expected):
    assert is_of_notion(url) is expected


def test_a_file_is_the_same_under_another_signature_and_has_the_name_of_its_path_without_one():
    def block(query: str, **more):
        held = {"type": "file", "file": {"url": f"{BUCKET}/space/file/a%20b.pdf?{query}"}, **more}
        return {"id": "1f2e", "type": "pdf", "pdf": held}

    first, second = file_of_block(block("X-Amz-Signature=1")), file_of_block(block("X-Amz-Signature=2"))

    assert first == second
    assert first.name == "a b.pdf"
    assert file_of_block(block("", name="Plan.docx")).name == "Plan.docx"
