"""Rates that several processes count together."""

from __future__ import annotations

import asyncio

import pytest
from fakes.postgres import until_waiting

from core.conversation import Conversation, Question
from core.settings import Settings
from core.storage.storage import open_storage
from core.turns.rate_limits import Rate, Rates, open_admission

HERE = Conversation(platform="test", space="T1", channel="C1", thread="1.1")
NOW = 1_790_000_000.0


def asked(number, author="ann", at=NOW):
    return Question(id=f"q{number}", conversation=HERE, author=author, text="When?", asked_at=at)


@pytest.fixture
def processes(postgres_url, tmp_path):
    """Two processes on one PostgreSQL, with the limit of two questions an hour."""
    settings = Settings(data_dir=tmp_path, database_url=postgres_url)
    rates = Rates(per_person=Rate(count=2, period="hour"))
    with open_storage(settings) as first, open_storage(settings) as second:
        yield open_admission(rates, first), open_admission(rates, second)


async def test_a_question_counts_once_whichever_process_takes_it(processes):
    first, second = processes

    admitted = [await first.admit(asked(1)), await second.admit(asked(1)), await second.admit(asked(2))]
    refused = await first.admit(asked(3))

    assert admitted == [None, None, None]
    assert refused.until == NOW + 3_600.0
    assert await second.admit(asked(4, author="bob")) is None


async def test_an_hour_later_there_is_room_again(processes):
    first, second = processes
    for number in (1, 2):
        await first.count(asked(number))

    has_room = [await second.has_room(asked(3, at=NOW + seconds)) for seconds in (0.0, 3_599.0, 3_600.0)]

    assert has_room == [False, False, True]


async def test_the_last_question_within_the_rate_is_admitted_by_one_process_alone(processes, postgres_url):
    first, second = processes
    await first.count(asked(1))

    with first.shared.database.transaction():
        late = asyncio.create_task(second.admit(asked(3)))
        has_waited = await asyncio.to_thread(until_waiting, postgres_url, 1)
        admitted = first._admit(asked(2))  # in the transaction that is open
    refused = await late

    assert (has_waited, admitted) == (True, None)
    assert refused.until == NOW + 3_600.0


async def test_without_postgres_a_process_counts_for_itself(tmp_path):
    with open_storage(Settings(data_dir=tmp_path)) as storage:
        admission = open_admission(Rates(per_channel=Rate(count=1, period="day")), storage)

        told = [await admission.admit(asked(number)) for number in (1, 2)]

    assert told[0] is None
    assert told[1] is not None
    assert list(tmp_path.iterdir()) == []
