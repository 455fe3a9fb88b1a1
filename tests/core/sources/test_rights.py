"""Who may read an item of a source may read its document, and nobody else, whatever changes when."""

from __future__ import annotations

import pytest
from fakes.shelf import found
from fakes.source_desk import Desk, open_desk
from fakes.sources import ADDRESS, Shelf

from bots.chat.access import AccessChange, access_rules, change_access, forget_documents
from bots.chat.channels import open_channel_store
from core.library.overview import as_listed, collection_sizes
from core.library.readers import READERS_MARK, ReaderSets, base_of, collection_for
from core.library.sync import SyncReport
from core.sources.source import ItemUnreadable

ANN, BOB = "ann@harbour.example", "bob@harbour.example"
PILOTS = frozenset({ANN, BOB})


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.write(**{f"p{number}": f"Page {number} is about the ferry." for number in range(8)})
    shelf.restrict(PILOTS, "p3", "p4")
    return shelf


@pytest.fixture
def desk(settings, clock, shelf):
    with open_desk(settings, clock, shelf.kinds) as desk:
        yield desk


async def ingest(desk: Desk) -> SyncReport:
    return await desk.syncs.ingest(ADDRESS, collection="default")


def sets(desk: Desk) -> ReaderSets:
    return ReaderSets(desk.library.store.database)


def read_by(desk: Desk, *emails: str) -> set[str]:
    """The pages that the owner of these addresses reads, who may read the collection."""
    readable = {"default"} | sets(desk).open_to(emails)
    return {
        entry.address.removeprefix(f"{ADDRESS}/").removesuffix(".md")
        for entry in desk.library.store.entries()
        if entry.collection in readable
    }


def everything(desk: Desk) -> list[str]:
    """All documents, which are in one collection each."""
    addresses = [entry.address for entry in desk.library.store.entries()]
    assert len(set(addresses)) == len(addresses)
    return addresses


OPEN = {"p0", "p1", "p2", "p5", "p6", "p7"}


async def test_a_document_is_read_by_those_whom_its_source_names(desk, shelf):
    shelf.restrict(frozenset({"@harbour.example"}), "p5")
    shelf.restrict(frozenset(), "p6")

    report = await ingest(desk)

    assert read_by(desk) == OPEN - {"p5", "p6"}
    assert read_by(desk, ANN) == OPEN - {"p6"} | {"p3", "p4"}
    assert read_by(desk, "eve@harbour.example") == OPEN - {"p6"}
    assert read_by(desk, "eve@elsewhere.example", "ann@harbour.example.elsewhere.example") == read_by(desk)
    assert (len(everything(desk)), report.added, report.failed) == (8, 8, ())


@pytest.mark.parametrize(
    "email",
    [
        "",
        "@harbour.example",
        "ann",
        "ann@",
        "x ann@harbour.example",
        "ann@harbour.example@harbour.example",
        "%",
    ],
)
async def test_what_is_no_address_reads_nothing(desk, shelf, email):
    shelf.restrict(frozenset({"@harbour.example", "@", "", "ann"}), "p5")

    await ingest(desk)

    assert read_by(desk, email) == OPEN - {"p5"}


async def test_an_address_counts_however_it_is_written(desk, shelf):
    shelf.restrict(frozenset({"Ann@Harbour.example"}), "p5")

    await ingest(desk)

    assert "p5" in read_by(desk, " ANN@harbour.EXAMPLE ")


async def test_other_readers_move_a_document_without_reading_it_again(desk, shelf):
    await ingest(desk)
    before = desk.library.store.entries()
    shelf.fetched.clear()
    shelf.restrict(frozenset({ANN}), "p3", "p0")
    shelf.restrict(None, "p4")

    report = await ingest(desk)

    assert (shelf.fetched, report.added, report.changed, report.removed) == ([], 0, 0, 0)
    assert read_by(desk, BOB) == OPEN - {"p0"} | {"p4"}
    assert read_by(desk, ANN) == OPEN | {"p3", "p4"}
    assert {(e.address, e.hash, e.title, e.passages) for e in before} == {
        (e.address, e.hash, e.title, e.passages) for e in desk.library.store.entries()
    }
    alone = sorted(sets(desk).open_to([ANN]))
    assert set(found(desk.library, "Which page is about the ferry?", collections=alone)) == {
        "harbour/p0.md", "harbour/p3.md",
    }  # fmt: skip
    assert sets(desk).open_to([BOB]) == frozenset()  # nothing is left of the readers before


async def test_a_page_that_changes_with_its_readers_is_closed_before_it_is_read(desk, shelf):
    await ingest(desk)
    shelf.write(p0="The pilots' wages.")
    shelf.restrict(PILOTS, "p0")
    seen = []
    shelf.before_fetch = lambda name: seen.append((name, read_by(desk), read_by(desk, ANN) >= {"p0"}))

    await ingest(desk)

    assert seen == [("p0", OPEN - {"p0"}, True)]
    assert read_by(desk) == OPEN - {"p0"}


async def test_readers_that_change_between_listing_and_fetching_count_from_the_first_moment(desk, shelf):
    def change(name: str) -> None:
        if name == "p0":
            shelf.before_fetch = lambda _: None
            shelf.write(p0="The pilots' wages.")
            shelf.restrict(PILOTS, "p0")

    shelf.before_fetch = change
    readable = []
    inner = desk.library.store.put
    desk.library.store.put = lambda document: (
        readable.append((document.address, document.collection)) or inner(document)
    )

    await ingest(desk)

    assert read_by(desk) == OPEN - {"p0"}
    assert [where for address, where in readable if address.endswith("/p0.md")] == [
        collection_for("default", PILOTS)
    ]


async def test_an_item_whose_readers_change_at_each_look_waits_for_the_next_sync(desk, shelf):
    changes = iter(range(100))

    def change(name: str) -> None:
        if name == "p0":
            shelf.restrict(frozenset({f"{next(changes)}@harbour.example"}), "p0")

    shelf.before_fetch = change
    await ingest(desk)
    between = read_by(desk, *(f"{number}@harbour.example" for number in range(100)))
    shelf.before_fetch = lambda _: None
    shelf.restrict(PILOTS, "p0")

    await ingest(desk)

    assert between == OPEN - {"p0"}
    assert read_by(desk, ANN) == OPEN | {"p3", "p4"}


async def test_a_document_that_was_moved_by_nobody_knows_whom_goes_back(desk, shelf):
    """As a process leaves it that was killed in between."""
    await ingest(desk)
    record = desk.syncs.store.all()[0]
    entry = desk.library.store.entry(collection_for("default", PILOTS), record.address_of("p3.md"))
    documents = desk.library.store
    assert entry is not None
    with documents.transaction() as writing:
        writing.execute(
            "UPDATE documents SET collection = (SELECT number FROM collections WHERE name = 'default') WHERE id = ?",
            (entry.id,),
        )

    await ingest(desk)

    assert "p3" not in read_by(desk)
    assert "p3" in read_by(desk, ANN)


async def test_a_page_that_is_gone_or_cannot_be_read_is_gone_wherever_it_was(desk, shelf):
    await ingest(desk)
    shelf.remove("p3")
    shelf.write(p4="Wages.")
    shelf.faults = {"p4": [ItemUnreadable("it is locked")]}

    report = await ingest(desk)
    after = read_by(desk, ANN)
    shelf.remove("p0")
    shelf.restrict(frozenset({BOB}), "p4")
    shelf.forgets_before = 100  # so that all is listed anew
    await ingest(desk)

    assert (after, [failure.reason for failure in report.failed]) == (OPEN, ["it is locked"])
    assert read_by(desk, ANN) == OPEN - {"p0"}
    assert read_by(desk, BOB) == OPEN - {"p0"} | {"p4"}


async def test_lists_name_the_collection_that_people_know(desk, shelf):
    await ingest(desk)

    listed = as_listed(desk.library.store.entries())
    (size,) = collection_sizes(desk.library.store.database)
    (open_size,) = collection_sizes(desk.library.store.database, with_restricted=False)

    assert {entry.collection for entry in listed} == {"default"}
    assert (size.name, size.documents, open_size.documents) == ("default", 8, 6)
    assert {base_of(name) for name in desk.library.store.collections()} == {"default"}
    assert any(READERS_MARK in name for name in desk.library.store.collections())


async def test_what_was_forgotten_stays_out_whoever_might_read_it(desk, shelf, settings):
    await ingest(desk)

    gone = forget_documents(desk.library, desk.storage, f"{ADDRESS}/p3.md", collection="default")
    shelf.restrict(frozenset({ANN}), "p3")
    await ingest(desk)
    part = read_by(desk, ANN)
    everywhere = forget_documents(desk.library, desk.storage, ADDRESS)

    assert ([entry.address for entry in gone], part) == ([f"{ADDRESS}/p3.md"], OPEN | {"p4"})
    assert (len(everywhere), everything(desk), desk.syncs.store.all()) == (7, [], [])


async def test_the_rules_of_a_collection_stay_while_some_may_read_a_part_of_it(desk, shelf, settings):
    with open_channel_store(desk.storage) as channels:
        database = channels.database.database
        await desk.syncs.ingest(ADDRESS, collection="wiki")
        known = desk.library.store.collections()
        change_access(database, "wiki", AccessChange(opens_to_everyone=True), known=known)

        for number in (0, 1, 2, 5, 6, 7):
            forget_documents(desk.library, desk.storage, f"{ADDRESS}/p{number}.md")
        while_some_is_left = access_rules(database, known)
        forget_documents(desk.library, desk.storage, ADDRESS)
        at_the_end = access_rules(database, known)

    assert [rule.kind for rule in while_some_is_left["wiki"]] == ["everyone"]
    assert at_the_end["wiki"] == ()
    assert set(at_the_end) == {"default", "wiki"}
