"""How often documents were found and cited: counted once a turn, forgotten with a document, kept as long as texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.desk import NOON, answered, asked, traced

from core.traces.figures import DocumentUse, day_of, document_uses
from core.traces.log import DAY, open_question_log
from core.traces.trace import TracedPassage

HARBOUR, PAY = ("default", "harbour.md"), ("pay", "pay.md")


@pytest.fixture
def log(storage):
    with open_question_log(storage, days=14) as log:
        log.now = lambda: NOON
        yield log


def looked_at(*sources, cited=False):
    """A trace that found a passage of each, and cites the harbour or nothing."""
    passages = tuple(
        TracedPassage(
            id=str(number), collection=collection, source=source, title="", location="", start=0, end=1
        )
        for number, (collection, source) in enumerate(sources)
    )
    return replace(traced() if cited else traced(""), passages=passages, citations=(), drafts=())


async def test_a_document_counts_once_for_each_question_that_found_or_cited_it(log):
    await log.record(asked("q1"), answered("q1"), looked_at(HARBOUR, HARBOUR, PAY))
    await log.record(asked("q1"), answered("q1"), looked_at(HARBOUR, HARBOUR, PAY))  # told again
    await log.record(asked("q2", at=NOON - 3 * DAY), replace(answered("q2"), answer=None), looked_at(HARBOUR))

    assert document_uses(log.database.database, "") == {
        HARBOUR: DocumentUse(found=2, cited=1), PAY: DocumentUse(found=1, cited=0),
    }  # fmt: skip
    assert document_uses(log.database.database, day_of(NOON - DAY))[HARBOUR] == DocumentUse(found=1, cited=1)


async def test_the_sums_of_a_forgotten_document_and_of_days_long_gone_are_deleted(log):
    await log.record(asked("q1"), answered("q1"), looked_at(HARBOUR, PAY))
    await log.record(asked("old", at=NOON - 20 * DAY), answered("old"), looked_at(PAY))

    await log.expire()
    kept = document_uses(log.database.database, "")
    await log.forget_sources(["harbour.md"])

    assert kept[PAY] == DocumentUse(found=1, cited=0)
    assert document_uses(log.database.database, "") == {PAY: DocumentUse(found=1, cited=0)}


async def test_nothing_is_counted_where_no_texts_are_kept(storage):
    with open_question_log(storage, days=0) as log:
        await log.record(asked("q1"), answered("q1"), looked_at(HARBOUR))

        assert document_uses(log.database.database, "") == {}
