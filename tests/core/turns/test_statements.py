"""How many statements the queue sends to its database, while nothing happens and for one turn."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest
from dbos._dbos import _get_dbos_instance
from fakes.messengers import RecordingMessenger
from fakes.scripted import question
from fakes.turns import TO_HERE, turns_over
from sqlalchemy import event

from core.turns.queue import APPLICATION_VERSION, QUEUE


@contextmanager
def statements_of(system):
    """Counted by the names of the threads that send them, without their numbers."""
    counted = Counter()

    def count(_connection, _cursor, statement, *_):
        thread = threading.current_thread().name.rstrip("-_0123456789")
        counted[thread, statement.split()[0]] += 1

    event.listen(system.engine, "before_cursor_execute", count)
    try:
        yield counted
    finally:
        event.remove(system.engine, "before_cursor_execute", count)


def of_test(sent):
    """Those that the test itself had sent; DBOS has threads of its own."""
    return {what: count for (thread, what), count in sent.items() if thread == "MainThread"}


@pytest.fixture
async def system(folder):
    async with turns_over(folder, RecordingMessenger()):
        yield _get_dbos_instance()._sys_db


async def test_a_look_at_an_empty_queue_is_one_statement(system):
    queue = system.get_queue(QUEUE)

    with statements_of(system) as sent:
        assert system.start_queued_partitioned_workflows(queue, "footnote", APPLICATION_VERSION, 10) == []

    assert sum(of_test(sent).values()) == 1


async def test_a_turn_is_recorded_in_two_steps_and_its_end(folder):
    messenger = RecordingMessenger()

    with ExitStack() as counting:
        async with turns_over(folder, messenger) as turns:  # whose end waits for the end of the turn
            sent = counting.enter_context(statements_of(_get_dbos_instance()._sys_db))
            await turns.accept(question(), TO_HERE)
            await messenger.until_delivered("q1")
            if turns._steps:
                await asyncio.wait(turns._steps)

    written = {
        what: n for (thread, what), n in sent.items() if thread == "dbos-executor" and what != "SELECT"
    }
    # The turn and its text; for each of two steps, whether it is still ours and its result; the end and the outcome.
    assert written == {"INSERT": 2 + 2 + 1, "UPDATE": 2 + 1}
