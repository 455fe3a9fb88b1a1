"""Several processes on one PostgreSQL: who lives, who leads, who thinks where."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import nullcontext, suppress
from types import SimpleNamespace

import psycopg
import pytest
from dbos._dbos import _get_dbos_instance
from fakes.leased import RecordingRunner, process
from fakes.patience import PATIENCE
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import DBAPIError

from core.errors import SettingsError
from core.settings import Settings
from core.storage.postgres import conninfo
from core.storage.storage import open_storage
from core.turns import leases
from core.turns.leases import _HOLD, BEAT, LEASE, Leases
from core.turns.queue import LAUNCHES, launch, requeue_left
from core.turns.waiting import DiskWatch

HERE = "test/space/channel/thread"


@pytest.fixture
def store(tmp_path, postgres_url):
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        yield storage


@pytest.fixture
def quick(monkeypatch):
    """Leases that expire sooner."""
    monkeypatch.setattr(leases, "BEAT", 0.1)
    monkeypatch.setattr(leases, "LEASE", 0.6)


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what changes is in a database
            await asyncio.sleep(0.01)


def rows(url, query):
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def expire(url, lease):
    """As if the process had slept past it."""
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM replicas WHERE id = %s", (lease.executor,))


async def test_a_conversation_that_one_process_holds_waits_in_the_others(store):
    order = []

    async with process(store) as one, process(store) as other:

        async def think(lease, name):
            async with lease.hold(HERE):
                order.append(f"{name} begins")
                await asyncio.sleep(0.05)
                order.append(f"{name} ends")

        await asyncio.gather(*(think(lease, name) for lease, name in ((one, "one"), (other, "other"))))

    assert order in (
        ["one begins", "one ends", "other begins", "other ends"],
        ["other begins", "other ends", "one begins", "one ends"],
    )


async def test_a_hold_ends_when_its_thought_is_cancelled(store, postgres_url):
    async with process(store) as lease:

        async def think():
            async with lease.hold(HERE):
                await asyncio.Event().wait()

        thinking = asyncio.create_task(think())
        await until(lambda: rows(postgres_url, "SELECT 1 FROM conversation_holds"))
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking

        assert rows(postgres_url, "SELECT 1 FROM conversation_holds") == []


async def test_a_hold_ends_that_is_cancelled_after_the_database_gave_it_and_before_its_thought(
    store, postgres_url, monkeypatch
):
    execute = Leases._execute

    async def execute_and_linger(lease, query, *values):
        rows_changed = await execute(lease, query, *values)
        if query == _HOLD:
            await asyncio.Event().wait()
        return rows_changed

    monkeypatch.setattr(Leases, "_execute", execute_and_linger)
    async with process(store) as lease:

        async def think():
            async with lease.hold(HERE):
                pytest.fail("it was cancelled before")

        thinking = asyncio.create_task(think())
        await until(lambda: rows(postgres_url, "SELECT 1 FROM conversation_holds"))
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking

        assert rows(postgres_url, "SELECT 1 FROM conversation_holds") == []


async def test_what_a_dead_process_held_is_free_once_its_lease_has_expired(store, quick):
    async with process(store) as dead, process(store) as living, dead.hold(HERE):
        dead.end()  # its thread renews no more, as after a kill

        async with asyncio.timeout(PATIENCE), living.hold(HERE):
            leased = rows(store.url, "SELECT id FROM replicas")
            held = rows(store.url, "SELECT replica FROM conversation_holds")

        assert leased == held == [(living.executor,)]


async def test_a_role_passes_to_another_process_when_its_holder_stops_and_when_it_dies(store, quick):
    at_work: list[str] = []

    async def lead(lease, name):
        async def work():
            at_work.append(name)
            await asyncio.Event().wait()

        await lease.lead("gateway", work)

    async with process(store) as first, process(store) as second, process(store) as third:
        leading = asyncio.create_task(lead(first, "first"))
        await until(lambda: at_work == ["first"])
        next_ = asyncio.create_task(lead(second, "second"))
        leading.cancel()
        await until(lambda: at_work == ["first", "second"])
        last = asyncio.create_task(lead(third, "third"))
        second.end()
        await until(lambda: at_work[2:])
        for task in (next_, last):
            task.cancel()
        await asyncio.wait([leading, next_, last])

    assert at_work == ["first", "second", "third"]


async def test_what_a_dead_process_ran_and_led_passes_on_after_a_lease_and_two_looks(store, quick):
    """Looks are counted, since seconds pass as the machine likes; as they are set, that is within ten."""
    looks: list[set[str]] = []
    leads = asyncio.Event()

    class CountingRunner(RecordingRunner):
        def take_over(self, living):
            looks.append(set(living))

    async def work():
        leads.set()
        await asyncio.Event().wait()

    async with process(store) as dead, process(store) as living, living.serving(CountingRunner()):
        leading = asyncio.create_task(dead.lead("gateway", asyncio.Event().wait))
        await until(lambda: rows(store.url, "SELECT 1 FROM replica_roles"))
        following = asyncio.create_task(living.lead("gateway", work))
        await until(lambda: len(looks) > leases.LEASE / leases.BEAT + 1)  # it may judge others by now
        name, before = dead.executor, len(looks)
        dead.end()  # its thread renews no more, as after a kill
        await until(lambda: name not in looks[-1])
        needed = len(looks) - before
        await asyncio.wait_for(leads.wait(), PATIENCE)
        for task in (leading, following):
            task.cancel()
        await asyncio.wait([leading, following])

    assert needed <= leases.LEASE / leases.BEAT + 2
    assert LEASE + 2 * BEAT <= 10.0


async def test_work_of_a_role_that_breaks_says_so(store):
    async def work():
        raise ValueError("refused")

    async with process(store) as lease:
        with pytest.raises(ValueError, match="refused"):
            await lease.lead("gateway", work)


async def test_a_stop_reaches_the_process_that_thinks_there(store):
    runner, other = RecordingRunner(), RecordingRunner()

    async with process(store) as one, process(store) as two, one.serving(runner), two.serving(other):
        async with one.hold(HERE):
            was_running = await two.ask_to_stop(HERE)
            await asyncio.wait_for(runner.changed.wait(), PATIENCE)
        is_running = await two.ask_to_stop(HERE)

    assert (was_running, is_running) == (True, False)
    assert (runner.stopped, other.stopped) == ([HERE], [])


async def test_a_process_that_slept_past_its_lease_abandons_its_runs_and_takes_another_name(
    store, postgres_url
):
    runner = RecordingRunner()

    async with process(store) as lease, lease.serving(runner):
        before = lease.executor
        expire(postgres_url, lease)
        await asyncio.wait_for(runner.changed.wait(), PATIENCE)
        await until(lambda: rows(postgres_url, "SELECT 1 FROM replicas"))

        assert lease.executor != before
        await until(lambda: runner.names == [before, lease.executor])
        async with asyncio.timeout(PATIENCE), lease.hold(HERE):
            pass

    assert runner.abandoned == 1


async def test_what_a_process_began_is_no_longer_its_own_once_it_slept_past_its_lease(store, postgres_url):
    async with process(store) as lease, lease.serving(RecordingRunner()):
        is_ours = lease.ownership(lease.executor).is_certain
        await until(is_ours)
        expire(postgres_url, lease)
        await until(lambda: not is_ours())

        await until(
            lambda: (
                rows(postgres_url, "SELECT 1 FROM replicas") and lease.ownership(lease.executor).is_certain()
            )
        )
        assert not is_ours()


async def test_what_a_process_began_is_in_doubt_before_others_declare_it_dead(store, quick):
    async with process(store) as sleeper:
        is_ours = sleeper.ownership(sleeper.executor).is_certain
        await until(is_ours)
        sleeper.end()  # its thread renews no more
        await until(lambda: not is_ours())
        was_in_doubt_first = bool(rows(store.url, "SELECT 1 FROM replicas"))

    assert was_in_doubt_first


async def test_a_transaction_that_its_process_sleeps_in_holds_up_nobody_for_longer_than_a_lease(
    postgres_url, quick
):
    async def nothing_runs():
        pass

    async with launch(postgres_url, disk=DiskWatch(), close=nothing_runs):
        system = _get_dbos_instance()._sys_db
        locks = "LOCK TABLE dbos.workflow_status IN ACCESS EXCLUSIVE MODE"
        with suppress(DBAPIError), system.engine.connect() as asleep:
            asleep.exec_driver_sql(locks)

            with psycopg.connect(postgres_url) as other:
                other.execute("SET lock_timeout = '5s'")
                await asyncio.to_thread(other.execute, locks)
                has_the_lock = other.info.transaction_status == TransactionStatus.INTRANS

    assert has_the_lock


@pytest.mark.parametrize("ended", [0, LAUNCHES - 1, LAUNCHES])
async def test_a_start_whose_session_the_server_ends_tries_again(postgres_url, ended):
    """As it does with one that slept in a transaction while it made the tables."""

    async def nothing_runs():
        pass

    def end_waiting_sessions():
        waiting = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        with (
            psycopg.connect(postgres_url) as holding,
            psycopg.connect(postgres_url, autocommit=True) as looking,
        ):
            holding.execute("LOCK TABLE dbos.dbos_migrations IN ACCESS EXCLUSIVE MODE")
            is_locked.set()
            for _ in range(ended):
                until = time.monotonic() + PATIENCE
                while not (found := looking.execute(waiting).fetchone()) and time.monotonic() < until:
                    time.sleep(0.01)
                assert found
                looking.execute("SELECT pg_terminate_backend(%s, 5000)", found)

    async with launch(postgres_url, disk=DiskWatch(), close=nothing_runs):
        pass
    is_locked = threading.Event()
    ending = asyncio.create_task(asyncio.to_thread(end_waiting_sessions))
    await asyncio.to_thread(is_locked.wait, PATIENCE)

    with pytest.raises(SettingsError) if ended == LAUNCHES else nullcontext() as refused:
        async with launch(postgres_url, disk=DiskWatch(), close=nothing_runs):
            pass
    await ending

    if refused:
        assert str(refused.value) == "DATABASE_URL names a database that cannot be opened."


async def test_nobody_is_declared_dead_for_the_time_in_which_the_database_was_away(store, quick, postgres):
    """Every lease has expired by then; whoever is back first waits for the others."""
    async with process(store) as one, process(store) as other:
        names = {one.executor, other.executor}
        postgres.stop()
        await asyncio.sleep(1.0)  # longer than a lease
        postgres.start()
        await until(
            lambda: (
                len(rows(store.url, "SELECT 1 FROM replicas WHERE renewed > now() - interval '0.3 s'")) == 2
            )
        )

        assert {one.executor, other.executor} == names


async def test_a_process_judges_others_only_after_it_renewed_its_own_lease_for_as_long_as_one_lasts(
    store, monkeypatch
):
    clock = SimpleNamespace(monotonic=lambda: moment)
    monkeypatch.setattr(leases, "time", clock)
    store.database("turns", leases.SCHEMA).close()
    lease, start, after_outage = Leases(conninfo(store.url), "footnote run", None), 1_000, 2_000
    expired = "INSERT INTO replicas VALUES (%s, 'footnote run', TRUE, now() - interval '1 h') ON CONFLICT DO NOTHING"
    spared = []

    with psycopg.connect(store.url, autocommit=True) as connection:
        lease.stand(connection)
        for began in (start, after_outage):
            connection.execute(expired, (f"since {began}",))
            for moment in range(began, began + int(LEASE) + 1):  # noqa: B007 - which the clock shows
                lease._beat(connection)
                spared.append(len(connection.execute("SELECT id FROM replicas").fetchall()) - 1)

    assert spared == ([1] * int(LEASE) + [0]) * 2


async def test_while_the_database_is_away_that_is_told_once_and_no_fault(store, quick, postgres, caplog):
    async with process(store) as lease, lease.serving(RecordingRunner()):
        postgres.stop()
        await asyncio.sleep(3 * leases.RECONNECT)  # an outage of several tries
        postgres.start()
        await until(
            lambda: rows(store.url, "SELECT 1 FROM replicas WHERE renewed > now() - interval '0.3 s'")
        )

    told = [each.levelname for each in caplog.records if each.name == "core.turns.leases"]
    assert (told.count("WARNING"), told.count("ERROR")) == (1, 0)


async def test_a_look_for_turns_of_the_dead_says_that_the_database_is_away_as_the_lease_does(
    postgres_url, postgres
):
    async def nothing_runs():
        pass

    async with launch(postgres_url, disk=DiskWatch(), close=nothing_runs):
        postgres.stop()
        try:
            with pytest.raises(psycopg.OperationalError):
                await asyncio.to_thread(requeue_left, ["somebody"])
        finally:
            postgres.start()


async def test_each_knows_whether_others_take_turns(store, quick):
    async with process(store) as one, one.serving(RecordingRunner()):
        await asyncio.sleep(0.3)
        was_alone = not one.are_several
        async with process(store) as other, other.serving(RecordingRunner()):
            await until(lambda: one.are_several)
        await until(lambda: not one.are_several)

    assert was_alone


async def test_an_orderly_end_leaves_no_lease(store, postgres_url):
    async with process(store):
        pass

    assert rows(postgres_url, "SELECT * FROM replicas") == []
