"""What was not seen at its source for longer than the operator allows is marked, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.source_desk import Clock, Desk, open_desk
from fakes.sources import ADDRESS, Shelf

from core.conversation import Answer, Citation, Outcome, Proposal
from core.library.formats.read import parse_html
from core.sources.documents import DAY, Sightings
from core.sources.source import SourceBatch, SourceUnavailable, UnreadItem

PAGE = "https://tides.example/pier"


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.write(ferry="The ferry leaves pier three.", bus="The bus leaves every hour.")
    return shelf


@pytest.fixture
def desk(settings, clock, shelf):
    with open_desk(settings, clock, shelf.kinds) as desk:
        yield desk


def sightings(desk: Desk, clock: Clock, *, days: int = 30) -> Sightings:
    return Sightings(sources=desk.syncs.store, documents=desk.library.store, stale_after=days, now=clock.now)


def unseen(desk: Desk, clock: Clock, *, days: int = 30) -> dict[str, float]:
    """Since when documents were not seen, by their source."""
    entries = desk.library.store.entries()
    found = sightings(desk, clock, days=days).unseen(entries)
    return {entry.source: found[entry.id] for entry in entries if entry.id in found}


async def ingest(desk: Desk) -> None:
    await desk.syncs.ingest(ADDRESS, collection="default")


async def test_what_a_source_did_not_show_for_so_long_is_marked_until_it_is_seen_again(desk, shelf, clock):
    await ingest(desk)
    first = clock.now()
    clock.seconds += 29 * DAY
    early = unseen(desk, clock)
    shelf.forgets_before, shelf.page_faults = 100, {0: SourceUnavailable("It is down.")}
    clock.seconds += 2 * DAY
    await ingest(desk)
    late = unseen(desk, clock)
    is_stale = sightings(desk, clock).is_stale(desk.syncs.store.all()[0])
    await ingest(desk)

    assert early == {}
    assert late == {"harbour/bus.md": first, "harbour/ferry.md": first}
    assert is_stale
    assert unseen(desk, clock) == {}
    assert unseen(desk, clock, days=0) == {}


async def test_an_item_that_cannot_be_looked_at_gets_old_alone(desk, shelf, clock, monkeypatch):
    await ingest(desk)
    first, changes = clock.now(), Shelf.changes

    async def failing(self, cursor):
        async for batch in changes(self, None):
            kept = [each for each in batch.items if each.id != "bus.md"]
            left = [UnreadItem(item=each, reason="fails") for each in batch.items if each.id == "bus.md"]
            yield SourceBatch(items=kept, unread=left, cursor=None)

    monkeypatch.setattr(Shelf, "changes", failing)
    for _ in range(2):
        clock.seconds += 20 * DAY
        await ingest(desk)
    alone = unseen(desk, clock)
    monkeypatch.setattr(Shelf, "changes", lambda self, _cursor: changes(self, None))
    await ingest(desk)

    assert alone == {"harbour/bus.md": first}
    assert unseen(desk, clock) == {}


async def test_a_single_page_gets_old_from_when_it_was_read_and_a_file_never(
    desk, clock, tmp_path, monkeypatch
):
    monkeypatch.setattr("core.library.library.time.time", clock.now)
    html = "<h1>Tides</h1><p>High water comes fifty minutes later every day.</p>"
    (tmp_path / "notes.md").write_text("High water is at noon.")
    desk.library.ingest([tmp_path / "notes.md"])
    desk.library.ingest_page(PAGE, parse_html(html, url=PAGE))
    first = clock.now()
    clock.seconds += 31 * DAY
    old = unseen(desk, clock)
    desk.library.ingest_page(PAGE, parse_html(html, url=PAGE))  # the same

    assert old == {PAGE: first}
    assert unseen(desk, clock) == {}


async def test_every_citation_of_an_outcome_is_marked_but_those_of_the_web(desk, clock):
    await ingest(desk)
    first = clock.now()
    clock.seconds += 31 * DAY
    cited = Citation(
        number=1, title="Bus", location="", source="harbour/bus.md", quote="", start=0, end=0, collection="default"
    )  # fmt: skip
    web, elsewhere = replace(cited, origin="web"), replace(cited, collection="other")
    proposal = Proposal(
        id="p", turn_id="t", question="", asker="", query="", reason="", tried=(), closest=(cited,)
    )
    outcome = Outcome(
        kind="answered", turn_id="t", proposal=proposal, closest=(cited, web, elsewhere),
        answer=Answer(text="", citations=(cited,), grounding="documents", composed=False),
    )  # fmt: skip

    marked = sightings(desk, clock).mark_unseen(outcome)

    assert marked.answer.citations[0].unseen_since == first
    assert marked.proposal.closest[0].unseen_since == first
    assert [each.unseen_since for each in marked.closest] == [first, None, None]
    assert sightings(desk, clock, days=0).mark_unseen(outcome) == outcome
