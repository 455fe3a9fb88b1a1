"""A wiki that refuses, limits, hides and changes while it is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.confluence import RefusedRequest
from fakes.confluence_reading import SERVERS, listed, opened, settings_for
from fakes.confluence_servers import FakeCloud, FakeDataCenter
from fakes.source_desk import Clock, open_desk

from core.library.sync import SyncReport
from core.settings import Settings
from core.sources import http
from core.sources.source import CursorExpired, ItemGone, ItemUnreadable, SourceUnavailable


@pytest.fixture(params=sorted(SERVERS))
async def wiki(request, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with SERVERS[request.param](certificate) as wiki:
        yield wiki


@pytest.fixture
async def cloud(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeCloud(certificate) as wiki:
        yield wiki


@pytest.fixture
async def data_center(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with FakeDataCenter(certificate) as wiki:
        yield wiki


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(tmp_path, clock, wiki):
    settings = Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1",))
    with open_desk(settings_for(wiki, settings), clock) as desk:
        yield desk


async def ingest(desk, wiki, path="/spaces/ENG", **more) -> SyncReport:
    return await desk.syncs.ingest(wiki.address(path), collection="default", **more)


def reason(report: SyncReport) -> str:
    (failure,) = report.failed
    return failure.reason


# Limits


async def test_a_limit_is_waited_for_and_a_list_goes_on_where_it_was(desk, wiki, clock):
    wiki.page_limit = 3
    for number in range(10):
        wiki.add(f"Page {number}", f"<p>Says {number}.</p>")
    limits = iter([2, 4, 5, 8, 11])

    def limit(_path):
        if len(wiki.asked) == limit.at:
            limit.at += next(limits, 1_000)
            wiki.refusals.append(RefusedRequest(429, {"Retry-After": "7"}))

    limit.at = 3
    wiki.before = limit

    report = await ingest(desk, wiki)

    assert report == SyncReport(added=10)
    assert len(clock.waited) >= 3
    assert set(clock.waited) == {7.0}
    lists = [path for path in wiki.asked if path.endswith(("/pages", "/scan"))]
    assert len(lists) <= 4 + len(clock.waited)  # nothing is listed again because of a limit


async def test_a_limit_that_is_too_long_ends_the_sync_and_says_when_it_goes_on(desk, wiki, clock):
    wiki.add("Page")
    wiki.refusals.append(RefusedRequest(429, {"Retry-After": "4000"}))

    report = await ingest(desk, wiki, every=3_600.0)

    assert reason(report) == "127.0.0.1 asks to be asked again later."
    assert clock.waited == []


# Tokens


async def test_a_token_that_is_not_taken_removes_nothing(desk, wiki):
    wiki.add("Page", "<p>Stays.</p>")
    await ingest(desk, wiki)
    desk.syncs.settings = replace(
        desk.syncs.settings, confluence_tokens={"127.0.0.1": "ann@acme.org:expired"}
    )

    for wiki.is_anonymous in (False, True):
        report = await ingest(desk, wiki)

        assert (
            reason(report)
            == "127.0.0.1 does not take the token that CONFLUENCE_TOKENS has for it: it may have expired."
        )
        assert len(desk.hashes()) == 1


async def test_without_a_token_it_is_said_how_to_set_one(desk, wiki):
    desk.syncs.settings = replace(desk.syncs.settings, confluence_tokens={})

    report = await ingest(desk, wiki)

    assert reason(report).startswith(
        "There is no token for 127.0.0.1: set CONFLUENCE_TOKENS=127.0.0.1=E-MAIL:TOKEN"
    )
    assert wiki.asked == []


async def test_a_private_host_that_is_not_named_gets_no_token(desk, wiki):
    desk.syncs.settings = replace(desk.syncs.settings, private_hosts=())

    assert "PRIVATE_HOSTS=127.0.0.1" in reason(await ingest(desk, wiki))
    assert wiki.asked == []


@pytest.mark.parametrize("status", [403, 404, 500, 302])
async def test_a_list_that_is_refused_removes_nothing(desk, wiki, status):
    wiki.add("Page", "<p>Stays.</p>")
    wiki.add("Post", "<p>Stays too.</p>", kind="blogpost")
    await ingest(desk, wiki)
    wiki.before = lambda path: (
        wiki.refusals.append(RefusedRequest(status, {"Location": "/login.action"}))
        if "search" in path
        else None
    )

    report = await ingest(desk, wiki)

    assert len(report.failed) == 1
    assert len(desk.hashes()) == 2


async def test_a_space_that_is_not_there_is_told_and_removes_nothing(desk, wiki):
    wiki.add("Page", "<p>Stays.</p>")
    await ingest(desk, wiki)
    wiki.spaces["ENG"] = "archived"

    assert (
        reason(await ingest(desk, wiki)) == "There is no space ENG on 127.0.0.1 that this account may read."
    )
    assert len(desk.hashes()) == 1


# Changes while it is read


async def test_what_goes_between_the_listing_and_its_reading_is_gone(wiki, tmp_path):
    kept, deleted, archived, moved = (wiki.add(title) for title in ("Kept", "Deleted", "Archived", "Moved"))
    detached = wiki.attach(kept, "note.md", b"# Note\n\nHere.\n")

    async with opened(wiki, tmp_path) as source:
        items = {item.id: item for item in (await listed(source))[0]}
        deleted.status, archived.status, moved.space = "trashed", "archived", "HR"
        wiki.spaces["HR"] = "current"
        del wiki.files[detached.id]

        assert b"Nothing yet." in await source.fetch(items[f"pages/{kept.id}"])
        for name in (deleted.id, archived.id, moved.id, f"{kept.id}/{detached.id}"):
            with pytest.raises(ItemGone):
                await source.fetch(items[f"pages/{name}"])


async def test_what_an_earlier_sync_left_is_not_read_for_others_than_now(wiki, tmp_path):
    page, open_page = wiki.add("Wages"), wiki.add("Menu")
    wiki.person("ben")
    async with opened(wiki, tmp_path) as source:
        items, _ = await listed(source)
    page.users = ["712020:ben"]

    async with opened(wiki, tmp_path) as source:
        assert await source.fetch(next(item for item in items if item.id.endswith(open_page.id)))
        with pytest.raises(ItemGone):
            await source.fetch(next(item for item in items if item.id.endswith(page.id)))


async def test_a_listing_that_was_cut_off_begins_anew(wiki, tmp_path):
    wiki.add("Page")
    async with opened(wiki, tmp_path) as source:
        cursors = [batch.cursor async for batch in source.changes(None)]

    assert cursors[-1] is None
    async with opened(wiki, tmp_path) as source:
        with pytest.raises(CursorExpired):
            await anext(source.changes(cursors[0]))


@pytest.mark.parametrize("kind", ["page", "blogpost"])
async def test_nothing_is_missing_when_something_is_deleted_between_two_pages_of_a_list(wiki, tmp_path, kind):
    wiki.page_limit = 3
    pages = [wiki.add(f"Page {number}", kind=kind) for number in range(11)]
    ending = {"page": ("/pages", "/scan"), "blogpost": ("/blogposts", "/content")}[kind]

    def delete(path):
        lists = [each for each in wiki.asked if each.endswith(ending)]
        if path.endswith(ending) and len(lists) == 3:
            pages[0].status = "trashed"

    wiki.before = delete
    found = {name.rpartition("/")[2] for name in await read_there(wiki, tmp_path)}

    assert found - {pages[0].id} == {page.id for page in pages[1:]}


async def read_there(wiki, tmp_path) -> list[str]:
    async with opened(wiki, tmp_path) as source:
        return [item.id for item in (await listed(source))[0]]


async def test_a_move_changes_its_name_and_not_its_version(wiki, tmp_path):
    guide, other = wiki.add("Guide"), wiki.add("Other")
    page = wiki.add("Install", parent=guide.id)
    async with opened(wiki, tmp_path) as source:
        (before,) = [item for item in (await listed(source))[0] if item.id.endswith(page.id)]
    page.parent = other.id
    async with opened(wiki, tmp_path) as source:
        (moved,) = [item for item in (await listed(source))[0] if item.id.endswith(page.id)]

    assert (before.source.rpartition("/ENG/")[2], moved.source.rpartition("/ENG/")[2]) == (
        "Guide/Install",
        "Other/Install",
    )
    assert (before.version, before.url) == (moved.version, moved.url)
    assert before.url == f"{wiki.base}/spaces/ENG/pages/{page.id}/Install"


# Who may read


async def readers(wiki, tmp_path) -> tuple[dict[str, frozenset[str] | None], str]:
    async with opened(wiki, tmp_path) as source:
        items, note = await listed(source)
    return {item.title: item.readers for item in items}, note


async def test_a_page_is_for_those_whom_it_and_everything_above_it_allow(wiki, tmp_path):
    for name in ("ann", "ben", "cleo"):
        wiki.person(name)
    wiki.teams["crew"] = ["712020:ben", "712020:cleo"]
    top = wiki.add("Top", groups=["crew"], users=["712020:ann"])
    middle = wiki.add("Middle", parent=top.id)
    wiki.add("Low", parent=middle.id, users=["712020:ben", "712020:dead"])
    wiki.people["712020:dead"] = wiki.people["712020:ann"]
    wiki.add("Beside")

    found, note = await readers(wiki, tmp_path)

    all_three = frozenset({"ann@acme.org", "ben@acme.org", "cleo@acme.org"})
    assert found == {
        "Top": all_three, "Middle": all_three, "Low": frozenset({"ann@acme.org", "ben@acme.org"}), "Beside": None,
    }  # fmt: skip
    assert note == ""


async def test_who_cannot_be_found_out_may_not_read(wiki, tmp_path):
    wiki.person("ann")
    wiki.person("hugo", is_hidden=True)
    wiki.teams["council"] = ["712020:ann"]
    wiki.secret_teams = {"council"}
    wiki.add("Hidden", users=["712020:hugo"])
    wiki.add("Mixed", users=["712020:hugo", "712020:ann"])
    wiki.add("Secret", groups=["council"])

    found, note = await readers(wiki, tmp_path)

    assert found == {"Hidden": frozenset(), "Mixed": frozenset({"ann@acme.org"}), "Secret": frozenset()}
    assert note.startswith("The e-mail addresses of 2 people or groups that spaces or restrictions name")


async def test_long_restrictions_and_large_groups_are_read_to_their_ends(wiki, tmp_path):
    wiki.page_limit = 4
    people = [wiki.person(f"sailor{number}").id for number in range(130)]
    wiki.teams["fleet"] = people[60:]
    wiki.add("Logs", users=people[:9])
    wiki.add("Orders", groups=["fleet"])

    found, _ = await readers(wiki, tmp_path)

    assert found["Logs"] == {f"sailor{number}@acme.org" for number in range(9)}
    assert found["Orders"] == {f"sailor{number}@acme.org" for number in range(60, 130)}


async def test_restrictions_are_found_of_pages_that_a_search_does_not_find_yet(cloud, tmp_path):
    cloud.person("ann")
    cloud.unindexed = {cloud.add("New").id, cloud.add("New and secret", users=["712020:ann"]).id}

    found, _ = await readers(cloud, tmp_path)

    assert found == {"New": None, "New and secret": frozenset({"ann@acme.org"})}


async def test_the_restrictions_of_folders_hold_for_the_pages_in_them(cloud, tmp_path):
    cloud.person("ann")
    outer = cloud.add("Outer", kind="folder", users=["712020:ann"])
    inner = cloud.add("Inner", kind="folder", parent=outer.id)
    cloud.add("Filed", parent=inner.id)

    assert (await readers(cloud, tmp_path))[0] == {"Filed": frozenset({"ann@acme.org"})}


async def test_a_page_below_something_that_may_not_be_looked_at_is_for_nobody(cloud, tmp_path):
    draft = cloud.add("Draft", status="purged")
    cloud.add("Below", parent=draft.id)

    found, note = await readers(cloud, tmp_path)

    assert found == {"Below": frozenset()}
    assert (
        note == "The restrictions of 1 pages or folders cannot be seen: what lies there is shown to nobody."
    )


# Files


async def test_a_file_larger_than_a_document_may_be_is_not_read(wiki, tmp_path, monkeypatch):
    page = wiki.add("Page")
    wiki.attach(page, "large.md", b"x" * 40_000)
    monkeypatch.setattr(http, "FILE_LIMIT", 30_000)

    async with opened(wiki, tmp_path) as source:
        (file,) = [item for item in (await listed(source))[0] if item.name == "large.md"]
        with pytest.raises(ItemUnreadable, match=r"sent more than 0\.03 MB"):
            await source.fetch(file)


async def test_a_file_on_a_private_host_that_is_not_named_is_not_asked_for(cloud, tmp_path):
    cloud.attach(cloud.add("Page"), "note.md", b"# Note\n\nHere.\n")
    cloud.media.host = "localhost"

    async with opened(cloud, tmp_path) as source:
        (file,) = [item for item in (await listed(source))[0] if item.name == "note.md"]
        with pytest.raises(SourceUnavailable, match="localhost is not a public address"):
            await source.fetch(file)
    assert cloud.media.requests == []


async def test_no_token_comes_into_an_error_or_a_log(desk, wiki, caplog):
    caplog.set_level("DEBUG")
    wiki.add("Page")
    wiki.refusals.append(RefusedRequest(500))

    report = await ingest(desk, wiki)
    await ingest(desk, wiki)

    assert "sesame" not in f"{report}{caplog.text}{desk.syncs.settings}"
    assert "Nothing yet." not in caplog.text
