"""The measuring of a large source: the sync is whole, and what is told of it is counted from what happened."""

from __future__ import annotations

import pytest
from benchmarks import sources
from benchmarks.sources import BATCH, Found, GeneratedSource, Window, item_of, section, text_of

FOUND = Found(
    documents=1_000,
    first_answer=2.0,
    first_documents=200,
    busy=Window(took=(0.1,) * 19 + (0.3,), seconds=8.0, cpu=12.0),
    held=Window(took=(0.1,) * 19 + (0.2,), seconds=4.0, cpu=4.0),
    idle=100_000_000,
    peak=130_000_000,
    resync=0.5,
)


def test_the_figures_are_those_of_the_sync_at_work():
    figures = section(FOUND).figures

    assert figures == pytest.approx(
        {
            "seconds to the first answer": 2.0,
            "p95 during, times that held": 1.0,
            "MB above idle": 30.0,
            "documents a second": 100.0,
        }
    )
    assert pytest.approx(8.0) == FOUND.cpu


async def test_the_source_lists_each_document_once_and_goes_on_where_it_was():
    source = GeneratedSource(documents=2 * BATCH + 50)

    batches = [batch async for batch in source.changes(None)]
    rest = [batch async for batch in source.changes(batches[0].cursor)]

    listed = [item.id for batch in batches for item in batch.items]
    assert len(set(listed)) == len(listed) == 2 * BATCH + 50
    assert [item.id for batch in rest for item in batch.items] == listed[BATCH:]
    assert batches[-1].cursor is None


def test_no_two_documents_say_the_same():
    facts = [line for number in range(40) for line in text_of(number).splitlines() if len(line) > 40]

    assert len(facts) == len(set(facts)) == 120
    assert item_of(7).id == "part-0/00007.md"


@pytest.mark.long
def test_the_quick_form_is_whole():
    section = sources.run(print, quick=True)

    assert all(figure > 0 for figure in section.figures.values())
