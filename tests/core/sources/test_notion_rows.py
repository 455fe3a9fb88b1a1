"""Rows of data sources that the search leaves out, of which all are listed once a day."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from functools import partial

import pytest
from fakes.notion import TOKEN, FakeNotion
from fakes.source_desk import Clock, open_desk

from core.settings import Settings
from core.sources.kinds import SOURCE_KINDS
from core.sources.notion.source import open_notion
from core.sources.source import SourceContext

DAY = 86_400


@pytest.fixture
async def notion():
    async with FakeNotion() as notion:
        yield notion


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", private_hosts=("127.0.0.1",), notion_token=TOKEN)


@pytest.fixture
def desk(settings, notion):
    opened = partial(open_notion, origin=notion.url, interval=0.0)
    with open_desk(
        settings, Clock(), {**SOURCE_KINDS, "notion": replace(SOURCE_KINDS["notion"], open=opened)}
    ) as desk:
        yield desk


@pytest.fixture
def register(notion):
    """A data source with three rows."""
    register = notion.add_database("Register", notion.add_page("Home"))
    for number in range(3):
        notion.add_page(f"Row {number}", register)
    notion.now += DAY / 2
    return register


async def titles(desk) -> set[str]:
    """Of what is read after a sync."""
    await desk.syncs.ingest("notion:", collection="default")
    return {entry.title for entry in desk.library.store.entries()}


ALL = {"Home", "Row 0", "Row 1", "Row 2"}


async def test_between_two_days_only_rows_are_listed_that_were_added(desk, notion, register):
    await titles(desk)
    sent = []
    for hours in (1, 2, 30):
        notion.now += hours * 3_600
        notion.forget_counts()
        assert await titles(desk) == ALL
        sent.append(notion.written)

    assert notion.asked == {"search": 1, "data_sources/ID/query": 1}
    assert sent[0] == sent[1] < sent[2]  # after a day all rows are listed again


async def test_a_row_that_was_added_is_found_at_the_next_sync_although_no_search_finds_it(
    desk, notion, register
):
    await titles(desk)
    notion.now += 3_600
    notion.not_found_by_search = {notion.add_page("New", register)}
    notion.now += 3_600

    assert await titles(desk) == ALL | {"New"}


async def test_an_old_row_that_no_search_finds_is_found_within_a_day(desk, notion, register):
    old = notion.add_page("Old", register)
    notion.things[old].is_shared = False
    notion.now += DAY / 2
    await titles(desk)
    notion.things[old].is_shared = True
    notion.not_found_by_search = {old}

    notion.now += 3_600
    soon = await titles(desk)
    notion.now += DAY
    later = await titles(desk)

    assert (soon, later) == (ALL, ALL | {"Old"})


async def test_a_row_that_goes_is_gone_at_the_next_sync_and_one_that_no_search_finds_stays(
    desk, notion, register
):
    gone, hidden = notion.add_page("Gone", register), notion.add_page("Hidden", register)
    notion.now += DAY / 2
    before = await titles(desk)
    notion.not_found_by_search = {gone, hidden}
    notion.trash(gone)
    notion.now += 3_600

    assert before == ALL | {"Gone", "Hidden"}
    assert await titles(desk) == ALL | {"Hidden"}


async def test_rows_of_a_listing_that_was_cut_off_are_listed_again(
    desk, notion, register, settings, tmp_path
):
    notion.not_found_by_search = {notion.add_page("New", register)}
    context = SourceContext(settings=settings, folder=tmp_path / "source")

    async def listed(batches: int) -> set[str]:
        found: set[str] = set()
        async with (
            open_notion("notion:", context, origin=notion.url, interval=0.0) as source,
            aclosing(source.changes(None)) as changes,
        ):
            async for batch in changes:
                found |= {item.title for item in batch.items}
                if (batches := batches - 1) <= 0:
                    break
        return found

    notion.now += 3_600
    assert "New" in await listed(2)
    notion.now += 3_600

    assert "New" in await listed(1_000)
