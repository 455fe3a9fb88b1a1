"""When a source is due, its sync goes into the queue: once for each moment, and never by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from fakes.source_desk import open_desk
from fakes.sources import ADDRESS, Shelf

from core.conversation import Command, Conversation
from core.sources.sources import SYNC_SOURCE, SourceSchedule

PLACE = Conversation(platform="cli", space="local", channel="terminal", thread="x")


@dataclass
class Recorded:
    """A queue that keeps what it was given."""

    commands: list[Command] = field(default_factory=list)

    async def enqueue(self, command: Command) -> None:
        self.commands.append(command)


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.write(a="One.", b="Two.")
    return shelf


@pytest.fixture
def desk(settings, clock, shelf):
    with open_desk(settings, clock, shelf.kinds) as desk:
        yield desk


def schedule_of(desk, clock) -> tuple[SourceSchedule, Recorded]:
    recorded = Recorded()
    schedule = SourceSchedule(
        store=desk.syncs.store, enqueue=recorded.enqueue, conversation=PLACE, prefix="cli-", now=clock.now
    )
    return schedule, recorded


async def test_a_source_is_due_when_its_span_is_over_and_is_named_after_that_moment(desk, clock):
    await desk.syncs.ingest(ADDRESS, collection="default", every=3_600.0)
    schedule, recorded = schedule_of(desk, clock)

    await schedule.enqueue_due()
    early = len(recorded.commands)
    clock.seconds += 3_600
    await schedule.enqueue_due()
    clock.seconds += 5
    await schedule.enqueue_due()
    first, second = recorded.commands
    await desk.syncs.sync(first.details["source"])
    await schedule.enqueue_due()
    clock.seconds += 3_600
    await schedule.enqueue_due()

    assert early == 0
    assert (first.id, first.name, first.conversation) == (second.id, SYNC_SOURCE, second.conversation)
    assert [command.id for command in recorded.commands].count(first.id) == 2
    assert len(recorded.commands) == 3


async def test_a_source_without_a_span_or_whose_span_was_taken_away_is_never_due(desk, clock):
    await desk.syncs.ingest(ADDRESS, collection="default")
    await desk.syncs.ingest("shelf://other", collection="default", every=60.0)
    schedule, recorded = schedule_of(desk, clock)

    await desk.syncs.ingest("shelf://other", collection="default", every=0.0)
    clock.seconds += 10_000_000
    await schedule.enqueue_due()

    assert recorded.commands == []


async def test_reading_it_again_leaves_its_span(desk, clock):
    await desk.syncs.ingest(ADDRESS, collection="default", every=60.0)
    await desk.syncs.ingest(ADDRESS, collection="default")

    (record,) = desk.syncs.store.all()

    assert (record.every, record.next_at) == (60.0, clock.now() + 60.0)
