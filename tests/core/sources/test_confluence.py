"""After each sync the library equals the wiki, exactly; and the wiki is asked for little."""

from __future__ import annotations

import pytest
from fakes.confluence_author import WikiAuthor, hashes_and_collections
from fakes.confluence_reading import SERVERS, listed, opened, read_all, settings_for
from fakes.source_desk import open_desk
from fakes.website import own_documents

from core.library.sync import SyncReport


@pytest.fixture(params=sorted(SERVERS))
async def wiki(request, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with SERVERS[request.param](certificate) as wiki:
        yield wiki


@pytest.fixture
def desk(settings, clock, wiki):
    with open_desk(settings_for(wiki, settings), clock) as desk:
        yield desk


async def ingest(desk, address, **more) -> SyncReport:
    return await desk.syncs.ingest(address, collection="default", **more)


async def test_what_is_listed_equals_the_wiki_after_each_change_with_its_readers(wiki, tmp_path):
    author = WikiAuthor(wiki, own_documents())
    author.begin(60)

    assert await read_all(wiki, tmp_path) == author.expected()
    for _ in range(12):
        author.go_on(8)
        author.change_space()
        assert await read_all(wiki, tmp_path) == author.expected()


async def test_all_spaces_are_read_but_not_archived_ones(wiki, tmp_path):
    author = WikiAuthor(wiki, own_documents())
    author.begin(40, spaces=("ENG", "HR", "~ann"))
    wiki.spaces["HR"] = "archived"

    found = await read_all(wiki, tmp_path, "")

    both = author.expected("spaces/ENG/", space="ENG") | author.expected("spaces/~ann/", space="~ann")
    assert found == both


async def test_the_address_of_a_page_means_it_and_what_lies_below(wiki, tmp_path):
    home = wiki.add("Home")
    guide = wiki.add("Guide", parent=home.id)
    install = wiki.add("Install", parent=guide.id)
    file = wiki.attach(install, "steps.md", b"# Steps\n\nPush the button.\n")
    wiki.add("Elsewhere", parent=home.id)

    async with opened(wiki, tmp_path, f"/spaces/ENG/pages/{guide.id}/Guide") as source:
        items, _ = await listed(source)

    assert [item.id for item in items] == [guide.id, install.id, f"{install.id}/{file.id}"]
    assert items[2].source.endswith(f"/spaces/ENG/pages/{guide.id}/Guide/Install/steps.md")


@pytest.mark.parametrize("path", ["/pages/viewpage.action?pageId={page}", "/display/ENG/A+Guide"])
async def test_a_page_is_found_by_its_number_and_by_its_title(wiki, tmp_path, path):
    wiki.add("Home")
    guide = wiki.add("A Guide")

    assert list(await read_all(wiki, tmp_path, path.format(page=guide.id))) == [guide.id]


async def test_an_unchanged_wiki_costs_little(desk, wiki):
    author = WikiAuthor(wiki, ["\n\n".join(own_documents())], hides=False)
    wiki.page_limit = 200
    author.begin(60)
    await ingest(desk, wiki.address("/spaces/ENG"))
    first, looks = wiki.sent, len(wiki.asked)
    wiki.forget_counts()

    report = await ingest(desk, wiki.address("/spaces/ENG"))

    assert report == SyncReport(skipped=len(author.expected()))
    print(f"\n{wiki.context}: {first:,} bytes, {looks} requests; then {wiki.sent:,} and {len(wiki.asked)}")
    assert wiki.sent <= 0.02 * first
    assert len(wiki.asked) <= 12


def found(desk, address) -> dict[str, str]:
    everything = hashes_and_collections(desk.library)
    return {place.removeprefix(f"{address}/"): held for place, held in everything.items()}


async def test_the_index_equals_the_wiki_after_each_sync(desk, wiki):
    address = wiki.address("/spaces/ENG")
    author = WikiAuthor(wiki, own_documents(), hides=False)
    author.begin(40)

    report = await ingest(desk, address)

    assert found(desk, address) == author.hashes()
    assert report == SyncReport(added=len(author.hashes()))
    for _ in range(4):
        author.go_on(6)
        report = await ingest(desk, address)
        assert found(desk, address) == author.hashes()
        assert report.failed == ()
