"""What a sync promises of every source: nothing is lost, nothing is there twice, and one fault stops nothing else."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from fakes.patience import PATIENCE
from fakes.shelf import found
from fakes.source_desk import Desk, open_desk
from fakes.sources import ADDRESS, Shelf

from bots.chat.access import forget_documents
from core import priority as at_work
from core.conversation import Answer, Citation, Outcome
from core.library.documents import Document
from core.library.formats import markdown, parser_process
from core.library.formats.parser_process import Worker, Workers
from core.library.links import SourceLinks
from core.library.source_documents import SourceDocuments
from core.library.sync import SyncReport
from core.priority import enable_throttling
from core.settings import Settings
from core.sources import sync
from core.sources.source import ItemUnreadable, SourceItem, SourceThrottled, SourceUnavailable, parse_as_file
from core.sources.sources import forget_in_sources
from core.sources.store import SourceStore
from core.sources.sync import IN_FLIGHT, LONGEST_WAIT

LOOKS = 50  # at the library during a turn: in that time a page would be written


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.write(**{f"p{number}": f"Page {number} is about the ferry." for number in range(8)})
    return shelf


@pytest.fixture
def desk(settings, clock, shelf):
    with open_desk(settings, clock, shelf.kinds) as desk:
        yield desk


async def ingest(desk: Desk, **more) -> SyncReport:
    return await desk.syncs.ingest(ADDRESS, collection="default", **more)


def texts(desk: Desk) -> dict[str, str]:
    """What is indexed of each document; every passage must belong to one, and be found by its words once."""
    rows = desk.library.store.database.rows(
        "SELECT d.address, p.text FROM passages p JOIN documents d ON d.id = p.document ORDER BY p.id"
    )
    assert len({address for address, _ in rows}) == len(rows)
    return {address.removeprefix(f"{ADDRESS}/").removesuffix(".md"): text for address, text in rows}


def the_source(desk: Desk):
    (record,) = desk.syncs.store.all()
    return record


def listing_without(shelf: Shelf, name: str):
    """The shelf's changes, of which one page is not part any more."""
    inner = shelf.changes

    async def changes(cursor):
        async for batch in inner(cursor):
            gone = [each.id for each in batch.items if each.id == f"{name}.md"]
            kept = [each for each in batch.items if each.id not in gone]
            yield replace(batch, items=kept, gone=[*batch.gone, *gone])

    return changes


async def test_a_document_is_as_old_as_its_source_or_it_itself_says(desk, shelf, clock):
    own = "---\nupdated: {}\n---\nThe ferry leaves at nine."
    shelf.write(
        earlier=own.format("2019-02-01"), later=own.format("2022-02-01"), alone=own.format("2019-02-01"),
        ahead=own.format("2024-02-01"), neither=own.format("2024-02-01"),
    )  # fmt: skip
    imported, to_come = 1_600_000_000.0, clock.now() + 2 * 86_400
    named = dict.fromkeys(("earlier", "later", "ahead"), imported)
    shelf.dates |= {**named, "alone": to_come, "neither": to_come}

    await ingest(desk)
    first = dates(desk, *shelf.dates)
    shelf.dates |= {**dict.fromkeys(named, imported + 5), "alone": to_come + 5, "neither": imported}
    shelf.feed += shelf.dates
    await ingest(desk)
    same_text = dates(desk, *shelf.dates)
    shelf.dates |= dict.fromkeys(shelf.dates, 1_500_000_000.0)
    shelf.feed += shelf.dates
    await ingest(desk)

    written = datetime(2019, 2, 1, tzinfo=UTC).timestamp()
    assert first == {**named, "earlier": written, "alone": written, "neither": None}
    assert same_text == {**first, "neither": imported}
    assert set(dates(desk, *shelf.dates).values()) == {1_500_000_000.0}
    assert len(shelf.fetched) == len(set(shelf.fetched))


def dates(desk: Desk, *names: str) -> dict[str, float | None]:
    known = {entry.source: entry.changed_at for entry in desk.library.store.entries()}
    return {name: known[f"harbour/{name}.md"] for name in names}


async def test_what_is_there_is_indexed_and_what_changes_follows(desk, shelf):
    first = await ingest(desk)
    shelf.write(p1="Changed.", new="New.")
    shelf.remove("p2")
    second = await ingest(desk)
    third = await ingest(desk)

    assert texts(desk) == shelf.texts
    assert (first.added, first.changed, first.removed) == (8, 0, 0)
    assert (second.added, second.changed, second.removed, second.skipped) == (1, 1, 1, 6)
    assert third == SyncReport(skipped=8)
    assert shelf.fetched.count("p3") == 1


async def test_a_listing_that_did_not_end_removes_nothing_and_goes_on_where_it_was(desk, shelf):
    await ingest(desk)
    shelf.remove("p0", "p7")
    shelf.forgets_before = 100
    shelf.page_faults = {1: SourceUnavailable("It is down.")}

    broken = await ingest(desk)
    kept = texts(desk)
    shelf.fetched.clear()
    mended = await ingest(desk)

    assert [failure.reason for failure in broken.failed] == ["It is down."]
    assert set(kept) == {f"p{number}" for number in range(8)}
    assert (texts(desk), mended.removed, shelf.fetched) == (shelf.texts, 2, [])


async def test_the_first_documents_can_be_asked_long_before_the_end(desk, shelf):
    async def ask_after(name: str) -> list[str]:
        return await asyncio.to_thread(found, desk.library, "ferry")

    seen: list[list[str]] = []
    shelf.before_fetch = lambda name: seen.append(list(texts(desk)) if name == "p6" else [])

    await ingest(desk)

    assert {"p0", "p1", "p2"} <= set(next(each for each in seen if each))
    assert len(await ask_after("p6")) == 8


async def test_few_items_are_fetched_at_once(desk, shelf):
    await ingest(desk)

    assert shelf.most_at_once == IN_FLIGHT


async def test_where_questions_are_served_documents_are_parsed_one_at_a_time(settings, clock, shelf):
    at_work, most, noting = 0, 0, threading.Lock()

    def parse(item, data):
        nonlocal at_work, most
        with noting:
            at_work += 1
            most = max(most, at_work)
        threading.Event().wait(0.001)  # others may come in
        with noting:
            at_work -= 1
        return parse_as_file(item, data)

    kinds = {"shelf": replace(shelf.kinds["shelf"], parse=parse)}
    with open_desk(settings, clock, kinds) as desk, enable_throttling():
        report = await ingest(desk)

    assert (report.added, most) == (8, 1)


async def test_progress_says_how_many_there_are_where_the_source_does(settings, clock, shelf):
    told = []
    shelf.total = 8
    with open_desk(settings, clock, shelf.kinds) as desk:
        await ingest(desk, notify=lambda *each: told.append(each))
        shelf.write(p3="Another page.")
        shelf.forgets_before = 99
        await ingest(desk, notify=lambda *each: told.append(each))

    first, again = told[:8], told[8:]
    assert first == [("reading", number, 8) for number in range(1, 9)]
    assert again == [("reading", 4, 8)]  # three were found to be unchanged before it


async def test_an_item_that_changes_between_listing_and_fetching_ends_as_it_is(desk, shelf):
    def change(name: str) -> None:
        if name == "p4" and shelf.versions["p4"] == 1:
            shelf.write(p4="It changed meanwhile.")

    shelf.before_fetch = change

    await ingest(desk)
    await ingest(desk)

    assert texts(desk) == shelf.texts


@pytest.mark.parametrize("cut_before", ["SourceDocuments.remove", "SourceStore.drop"])
async def test_what_left_a_source_is_never_fetched_again_however_its_removal_was_cut_off(
    desk, shelf, monkeypatch, cut_before
):
    await ingest(desk)
    text = shelf.texts["p3"]
    shelf.remove("p3")
    owner = {"SourceDocuments": SourceDocuments, "SourceStore": SourceStore}[cut_before.partition(".")[0]]

    def cut(*_: object) -> None:
        raise SourceUnavailable("The power is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(owner, cut_before.partition(".")[2], cut)
        broken = await ingest(desk)
    moved = dict(shelf.texts)
    shelf.texts["p3"] = text  # it lies elsewhere, where the account may read it too
    shelf.fetched.clear()
    shelf.changes = listing_without(shelf, "p3")
    mended = await ingest(desk)

    assert [failure.reason for failure in broken.failed] == ["The power is gone."]
    assert (texts(desk), mended.failed, shelf.fetched) == (moved, (), [])


async def test_an_item_that_goes_between_listing_and_fetching_is_gone(desk, shelf):
    shelf.before_fetch = lambda name: shelf.remove("p5") if name == "p5" and "p5" in shelf.texts else None

    report = await ingest(desk)

    assert (texts(desk), report.failed) == (shelf.texts, ())


async def test_one_item_fails_alone_is_told_and_is_tried_again_when_an_operator_asks(desk, shelf):
    await ingest(desk)
    shelf.write(p1="Changed.", p2="Changed.", p3="Changed.")
    shelf.faults = {"p1": [ItemUnreadable("is broken")], "p2": [ValueError("a bug")]}

    report = await ingest(desk)
    told = {
        each.source: each.reason for each in desk.syncs.store.list_failures(the_source(desk).number, limit=9)
    }
    older = texts(desk)
    await desk.syncs.sync(the_source(desk).number)
    still = texts(desk)
    mended = await ingest(desk)

    assert told == {each.source: each.reason for each in report.failed} == {
        "harbour/p1.md": "is broken",
        "harbour/p2.md": "could not be fetched; the log says more",
    }  # fmt: skip
    assert older == still == {name: text for name, text in shelf.texts.items() if name not in ("p1", "p2")}
    assert (texts(desk), mended.failed) == (shelf.texts, ())


async def test_it_waits_as_long_as_the_source_asks(desk, shelf, clock):
    shelf.faults = {"p1": [SourceThrottled("Slow down.", retry_after=7.0)]}
    shelf.page_faults = {1: SourceThrottled("Slow down.", retry_after=30.0)}

    report = await ingest(desk)

    assert (texts(desk), report.failed) == (shelf.texts, ())
    assert sorted(clock.waited) == [7.0, 30.0]


async def test_a_longer_wait_ends_the_sync_and_is_due_then(desk, shelf, clock):
    await ingest(desk, every=60.0)
    shelf.write(p1="Changed.")
    shelf.faults = {"p1": [SourceThrottled("Come back tomorrow.", retry_after=LONGEST_WAIT + 1)]}

    report = await ingest(desk)
    record = the_source(desk)
    await ingest(desk)

    assert [failure.reason for failure in report.failed] == ["Come back tomorrow."]
    assert (record.failure, record.next_at) == ("Come back tomorrow.", clock.now() + LONGEST_WAIT + 1)
    assert (texts(desk), the_source(desk).failure) == (shelf.texts, "")


async def test_what_was_listed_is_read_even_if_it_is_not_listed_again(desk, shelf):
    """The feed names a change once. The sync that saw it was cut off before it had read it."""
    await ingest(desk)
    shelf.write(p1="Changed.", p6="Changed.")
    shelf.faults = {name: [SourceUnavailable("It is down.")] for name in ("p1", "p6")}
    await ingest(desk)
    desk.syncs.store.advance(the_source(desk).number, str(len(shelf.feed)))

    for _ in range(2):
        await ingest(desk)

    assert texts(desk) == shelf.texts


async def test_a_cursor_that_expired_lists_everything_and_reads_only_what_changed(desk, shelf):
    await ingest(desk)
    shelf.write(p1="Changed.")
    shelf.remove("p2")
    shelf.forgets_before = 100
    shelf.fetched.clear()

    await ingest(desk)

    assert (texts(desk), shelf.fetched) == (shelf.texts, ["p1"])


async def test_a_document_that_the_library_lost_is_read_again(desk, shelf):
    await ingest(desk)
    desk.library.store.remove("default", f"{ADDRESS}/p4.md")

    await ingest(desk)

    assert texts(desk) == shelf.texts


async def test_a_part_that_was_forgotten_stays_out(desk, shelf):
    await ingest(desk)

    gone = forget_documents(desk.library, desk.storage, f"{ADDRESS}/p4.md")
    shelf.write(p4="Changed.")
    await ingest(desk)
    shelf.forgets_before = 100
    await ingest(desk)

    assert [entry.source for entry in gone] == ["harbour/p4.md"]
    assert set(texts(desk)) == set(shelf.texts) - {"p4"}


async def test_a_forgotten_source_leaves_nothing_even_while_it_is_read(desk, shelf, settings):
    await ingest(desk)
    number = the_source(desk).number

    def forget(name: str) -> None:
        if name == "p5":
            kinds = shelf.kinds
            forget_in_sources(desk.syncs.store, desk.library, ADDRESS, settings.data_dir, kinds=kinds)
            desk.library.forget(ADDRESS)

    shelf.before_fetch = forget
    shelf.write(p5="Changed.", p6="Changed.", p7="Changed.")
    report = await ingest(desk)

    assert (texts(desk), desk.syncs.store.all(), report) == ({}, [], SyncReport())
    assert desk.syncs.store.counts(number) == desk.syncs.store.counts(-1)


async def test_a_source_of_which_nothing_can_be_read_is_not_kept(desk, shelf):
    shelf.page_faults = {0: SourceUnavailable("There is no such shelf.")}

    report = await ingest(desk)

    assert [failure.reason for failure in report.failed] == ["There is no such shelf."]
    assert desk.syncs.store.all() == []


async def test_two_syncs_of_one_source_follow_one_another(desk, shelf):
    reports = await asyncio.gather(ingest(desk), ingest(desk), ingest(desk))

    assert sorted(report.added for report in reports) == [0, 0, 8]
    assert texts(desk) == shelf.texts
    assert sorted(shelf.fetched) == sorted(shelf.texts)


async def test_a_footnote_leads_to_the_lines_of_its_quote(desk, shelf):
    shelf.write(p1="# Ferries\n\nNothing here.\n\nThe ferry to Sark\nleaves at nine.\n\nIt takes bicycles.\n")
    await ingest(desk)
    ((start, text, path),) = desk.library.store.database.rows(
        "SELECT p.start, p.text, p.location FROM passages p WHERE p.text LIKE ?", ("%ferry to Sark%",)
    )
    quote = "The ferry to Sark\nleaves at nine."
    begin = start + text.index(quote)
    (entry,) = desk.library.store.find_named("default", "harbour/p1.md")
    cited = Citation(
        number=1, title="", location=path, source=entry.source, url=entry.url, quote=quote, start=begin,
        end=begin + len(quote), collection="default",
    )  # fmt: skip
    links = SourceLinks(templates={}, store=desk.library.store, private=desk.storage.data_dir)

    linked = links.add_links(
        Outcome(
            kind="answered",
            turn_id="t",
            answer=Answer(text="x", citations=(cited,), grounding="documents", composed=False),
        )
    )

    assert linked.answer is not None
    assert linked.answer.citations[0].url == f"{entry.url}?plain=1#L5-L6"
    assert entry.changed_at == 2.0


async def test_where_questions_are_served_a_worker_reads_texts_as_they_would_be_read_here(
    tmp_path, clock, shelf, monkeypatch
):
    """The same passages and terms, of a file and of what a source parses itself."""

    def parse(item: SourceItem, data: bytes) -> Document:
        return markdown.parse(data.decode()) if item.id == "p1.md" else parse_as_file(item, data)

    started = []
    workers = Workers(at_once=1, start=lambda: started.append(Worker.start()) or started[-1])
    monkeypatch.setitem(parser_process._WORKERS, "texts", workers)
    shelf.write(
        p1="# Hours\n\nThe ferry leaves at nine.\n\n## Sunday\n\nIt does not leave \U0001f6a2.\n\n" * 40
    )
    kinds = {"shelf": replace(shelf.kinds["shelf"], parse=parse)}

    with open_desk(Settings(data_dir=tmp_path / "here"), clock, kinds) as desk:
        await ingest(desk)
        here = indexed(desk)
    with open_desk(Settings(data_dir=tmp_path / "apart"), clock, kinds) as desk, enable_throttling():
        none_yet = [*started]
        report = await ingest(desk)
        apart = indexed(desk)
    workers.close()

    assert (report.added, none_yet, len(started)) == (8, [], 1)
    assert len(here) > 8
    assert apart == here


def indexed(desk: Desk) -> list[tuple[object, ...]]:
    """All that is indexed of each passage, in order."""
    return desk.library.store.database.rows(
        "SELECT d.source, d.title, p.path, p.location, p.text, p.start, p.line, w.scope, w.title, w.body FROM words w"
        " JOIN passages p ON p.id = w.rowid JOIN documents d ON d.id = p.document ORDER BY d.source, p.ordinal"
    )


async def test_nothing_is_written_while_a_turn_computes(desk, shelf, monkeypatch):
    """A turn begins when a page is fetched, and goes on until after the sync gives way to it."""
    monkeypatch.setattr(at_work, "LONGEST_WAY", 60.0)
    loop, fetch, during = asyncio.get_running_loop(), shelf.fetch, []
    is_asked, has_begun, gives_way = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def give_way() -> None:
        if at_work.is_anybody_computing():
            loop.call_soon_threadsafe(gives_way.set)
        at_work.give_way()

    async def fetch_meanwhile(item: SourceItem) -> bytes:
        is_asked.set()
        await has_begun.wait()
        return await fetch(item)

    async def turn() -> None:
        await is_asked.wait()
        with at_work.computing():
            has_begun.set()
            await asyncio.wait_for(gives_way.wait(), PATIENCE)
            during.extend([await asyncio.to_thread(texts, desk) for _ in range(LOOKS)])

    monkeypatch.setattr(sync, "give_way", give_way)
    shelf.remove(*(name for name in [*shelf.texts] if name != "p1"))
    shelf.fetch = fetch_meanwhile

    await asyncio.gather(ingest(desk), turn())

    assert during == [{}] * LOOKS
    assert texts(desk) == shelf.texts


async def test_a_sync_has_threads_of_its_own(desk, shelf):
    """Not those in which questions are answered, of which there are few."""
    names = set()
    put = desk.library.store.put
    desk.library.store.put = lambda document: (names.add(threading.current_thread().name), put(document))

    await ingest(desk)

    assert names
    assert all(name.startswith("sync") for name in names)
