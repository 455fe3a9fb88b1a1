"""Replacements of parts of DBOS that have no settings, and checks that DBOS still works as they expect."""

import inspect
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any, NoReturn

from core.conversation import value
from core.errors import SettingsError
from core.turns.replicas import Replicas
from core.turns.waiting import DiskWatch

FULL = 1.0  # seconds between two looks of a process without a free seat; others look ten times a second


@value
class Patch:
    """A private part of DBOS that is replaced by one of ours."""

    name: str  #: below ``dbos``
    takes: str  #: the names of its parameters, with spaces between; empty for what is no function
    why: str  #: what is different
    test: str  #: the file in tests/core/turns and the test that fails if it has no effect any more


PATCHES = (
    Patch(
        name="_sys_db:SystemDatabase.start_queued_partitioned_workflows",
        takes="self queue executor_id app_version max_tasks owner_xid is_latest_version",
        why="beside other processes, one takes no more than it has seats for; it looks first whether anything waits",
        test="test_share.py::test_a_process_without_a_free_seat_leaves_the_others_what_it_cannot_think_about",
    ),
    Patch(
        name="_sys_db:retriable_sqlite_exception", takes="e",
        why="a write that a full disk refuses is tried again",
        test="test_dbos_patches.py::test_a_write_that_a_full_disk_refuses_is_tried_again",
    ),
    Patch(
        name="_sys_db:retriable_postgres_exception", takes="e",
        why="it is noted why writes wait for the server",
        test="test_dbos_patches.py::test_it_is_known_that_writes_wait_for_the_server",
    ),
    Patch(
        name="_serialization:DefaultSerializer.deserialize", takes="cls serialized_data",
        why="no pickle is opened",
        test="test_turns.py::test_a_pickle_that_somebody_put_into_the_database_is_never_unpickled",
    ),
    Patch(
        name="_utils:GlobalParams.executor_id", takes="",
        why="a process that slept past its lease takes turns under another name",
        test="test_dbos_patches.py::test_turns_are_taken_under_the_newest_name",
    ),
)  # fmt: skip


@cache
def check_patched() -> None:
    """Look once, before anything is replaced. SettingsError if a DBOS is installed in which something that is replaced has another form."""
    strange = [patch.name for patch in PATCHES if _parameters(patch.name) != patch.takes.split()]
    if strange:
        raise SettingsError(
            f"The installed dbos is not one that Footnote knows ({', '.join(strange)} changed)."
            " Install what pyproject.toml names: uv sync."
        )


def _parameters(name: str) -> list[str] | None:
    """Names of its parameters; None if there is no such thing."""
    try:
        found = resolve_name(f"dbos.{name}")
    except (ImportError, AttributeError):
        return None
    return [*inspect.signature(found).parameters] if callable(found) else []


@dataclass(slots=True)
class Share:
    """The number of turns that one process takes at a look beside others. So a burst is shared by all that
    have room. DBOS lets a process take everything that waits. Most of it would then wait for a seat here,
    while other processes have seats that are free."""

    seats: int
    _took_at: float = -math.inf  #: when it might last take any, by the monotonic clock

    def take(self, running: int, now: float) -> int:
        """The number of turns to take now; slowly also without a seat, to show who asked that it waits."""
        if running >= self.seats and now - self._took_at < FULL:
            return 0
        self._took_at = now
        return self.seats - running if running < self.seats else self.seats


def share_claims(replicas: Replicas, seats: int, most: int) -> None:
    """Have this process take no more than its share beside others. ``most`` is how many it would run at once."""
    from dbos._dbos import _get_dbos_instance
    from sqlalchemy import bindparam, literal, select

    system = _get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS limits what runs, and not what is taken at a look
    claim, share = system.start_queued_partitioned_workflows, Share(seats)
    table = system.tables.workflow_status
    # The statement that claims takes a millisecond to put together, ten times a second; mostly, nothing waits.
    waits = (
        select(literal(1))
        .where(table.c.queue_name == bindparam("queue"), table.c.status == "ENQUEUED")
        .limit(1)
    )

    def is_waiting(queue: str) -> bool:
        with system.engine.connect() as connection:
            return connection.execute(waits, {"queue": queue}).first() is not None

    def claim_share(queue: Any, executor: str, version: str, room: int, **options: Any) -> list[str]:
        if replicas.are_several:
            room = min(room, share.take(most - room, time.monotonic()))
        # The newest version of the application takes workflows that name none; ours all name theirs.
        options["is_latest_version"] = False
        return claim(queue, executor, version, room, **options) if room and is_waiting(queue.name) else []

    system.start_queued_partitioned_workflows = claim_share  # type: ignore[method-assign, assignment]


@contextmanager
def retrying_writes(disk: DiskWatch) -> Iterator[None]:
    """Retry writes that a full disk refuses: an unrecorded step would wait for the next start."""
    from dbos import _sys_db

    of_files = _sys_db.retriable_sqlite_exception  # type: ignore[attr-defined]
    of_servers = _sys_db.retriable_postgres_exception  # type: ignore[attr-defined]

    def is_retriable(error: Exception) -> bool:
        """True if DBOS may try again, as it decides for a server; the watch learns why writes wait."""
        disk.is_passing(error)
        return of_servers(error)

    _sys_db.retriable_sqlite_exception = disk.is_passing  # type: ignore[attr-defined, assignment]
    _sys_db.retriable_postgres_exception = is_retriable  # type: ignore[attr-defined, assignment]
    try:
        yield
    finally:
        _sys_db.retriable_sqlite_exception = of_files  # type: ignore[attr-defined]
        _sys_db.retriable_postgres_exception = of_servers  # type: ignore[attr-defined]


def refuse_pickles() -> None:
    """Never unpickle a row: whoever can write to the database could run code here."""
    from dbos._serialization import DefaultSerializer

    def refuse(cls: object, serialized_data: str) -> NoReturn:  # noqa: ARG001 - as DBOS has them
        raise ValueError("pickled rows are not read")

    DefaultSerializer.deserialize = refuse  # type: ignore[method-assign]


def run_as(executor: str) -> None:
    """The name under which this process takes turns from now on; DBOS reads it each time."""
    from dbos._utils import GlobalParams

    GlobalParams.executor_id = executor
