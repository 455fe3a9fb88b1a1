"""All that is replaced in DBOS, for which it has no settings, and the tests that notice if it works in another way.

Ten times a second DBOS walks through all conversations for turns that may begin. Here one small statement looks
first whether any waits; and beside other processes, one takes no more than it has seats for.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NoReturn

from core.conversation import value
from core.errors import SettingsError
from core.turns.disk_watch import DiskWatch
from core.turns.replicas import Replicas
from core.turns.waiting import TurnRun

if TYPE_CHECKING:
    from dbos._sys_db import SystemDatabase

FULL = 1.0  # seconds between two looks of a process without a free seat; others look ten times a second


@value
class Patch:
    """Something private of DBOS in whose place there is something of ours."""

    name: str  #: below ``dbos``
    takes: str  #: the names of its parameters, with spaces between; empty for what is no function
    why: str  #: what is different
    test: str  #: the file in tests/turns and the test that fails if it has no effect any more


_STATEMENTS = "test_statements.py"
PATCHES = (
    Patch(
        name="_queue:execute_dequeued_workflow", takes="dbos status owner_xid",
        why="it is noted which try of a turn begins",
        test="test_turn_steps.py::test_a_turn_is_written_down_in_two_steps_and_its_end",
    ),
    Patch(
        name="_sys_db:SystemDatabase.start_queued_partitioned_workflows",
        takes="self queue executor_id app_version max_tasks owner_xid is_latest_version",
        why="one statement looks first whether any turn waits, and a full process leaves them to others",
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
    strange = [patch.name for patch in PATCHES if _form_of(patch.name) != patch.takes.split()]
    if strange:
        raise SettingsError(
            f"The installed dbos is not one that Footnote knows ({', '.join(strange)} changed)."
            " Install what pyproject.toml names: uv sync."
        )


def _form_of(name: str) -> list[str] | None:
    """Names of its parameters; None if there is no such thing."""
    try:
        found = resolve_name(f"dbos.{name}")
    except (ImportError, AttributeError):
        return None
    return [*inspect.signature(found).parameters] if callable(found) else []


# Looks at the queue


@dataclass(slots=True)
class Claims:
    """The runs that begin with what this process takes from the queue, known until they do.

    DBOS reads all of it anyway when it takes them.
    """

    _runs: dict[str, TurnRun] = field(default_factory=dict)  #: by the workflow's id

    def take(self, workflow_id: str) -> TurnRun:
        """Every run begins with a claim, also after a kill. One that did not would count as a second one, which
        looks before it repeats anything.
        """
        return self._runs.pop(workflow_id, TurnRun(attempt=2))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note them within, as DBOS begins them."""
        from dbos import _queue

        begin = _queue.execute_dequeued_workflow  # type: ignore[attr-defined]

        def begin_noted(dbos: Any, status: Any, owner: str) -> Any:
            workflow_id, attributes = status["workflow_uuid"], status["attributes"] or {}
            attempt, executor = status["recovery_attempts"] or 1, status["executor_id"]
            self._runs[workflow_id] = TurnRun.claimed(attempt, executor, attributes)
            try:
                return begin(dbos, status, owner)
            except Exception:  # it does not begin, and nobody will ask
                self.take(workflow_id)
                raise

        _queue.execute_dequeued_workflow = begin_noted  # type: ignore[attr-defined, assignment]
        try:
            yield
        finally:
            _queue.execute_dequeued_workflow = begin  # type: ignore[attr-defined]


@dataclass(slots=True)
class Share:
    """How many turns one process beside others takes at a look, so that a burst is shared by all that have room.

    DBOS lets a process take everything that waits. Most of it would then wait for a seat here, while other
    processes have seats that are free.
    """

    seats: int
    _took_at: float = -math.inf  #: when it might last take any, by the monotonic clock

    def take(self, running: int, now: float) -> int:
        """How many turns to take now, with so many running or waiting for a seat here.

        What no process has a seat for is taken too, if more slowly: it shows who asked that it waits in line.
        """
        if running >= self.seats and now - self._took_at < FULL:
            return 0
        self._took_at = now
        return self.seats - running if running < self.seats else self.seats


def share_claims(replicas: Replicas, seats: int, most: int) -> None:
    """From now on DBOS looks whether a turn waits before it walks through the conversations, and takes no more than
    this process's share; ``most`` is how many it would run at once.
    """
    from dbos._dbos import _get_dbos_instance

    system = _get_dbos_instance()._sys_db  # noqa: SLF001 - DBOS limits what runs, and not what is taken at a look
    claim, is_any_waiting, share = system.start_queued_partitioned_workflows, _look(system), Share(seats)

    def claim_share(queue: Any, executor: str, version: str, room: int, **options: Any) -> list[str]:
        if not is_any_waiting(queue.name):
            return []
        if replicas.are_several:
            room = min(room, share.take(most - room, time.monotonic()))
        # The newest version of the application takes workflows that name none; ours all name theirs.
        options["is_latest_version"] = False
        return claim(queue, executor, version, room, **options) if room else []

    system.start_queued_partitioned_workflows = claim_share  # type: ignore[method-assign, assignment]


def _look(system: SystemDatabase) -> Callable[[str], bool]:
    """True if anything waits in a queue."""
    from sqlalchemy import bindparam, literal, literal_column, select

    table = system.tables.workflow_status
    # DBOS's partial indexes are used only where their conditions stand in the query as they are.
    is_waiting = (
        (table.c.status == literal_column("'ENQUEUED'")) & system._in_flight_status_prover()  # noqa: SLF001 - as its own queries do
    )
    found = select(literal(1)).select_from(table).limit(1)
    enqueued = found.where(table.c.queue_name == bindparam("queue"), is_waiting)
    engine = system.engine
    if engine.dialect.name == "postgresql":  # no transaction for one statement
        engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    def is_any_waiting(queue: str) -> bool:
        with engine.connect() as connection:
            return connection.execute(enqueued, {"queue": queue}).first() is not None

    return is_any_waiting


# Faults, rows and names


@contextmanager
def retrying_writes(disk: DiskWatch) -> Iterator[None]:
    """Retry writes that a full disk refuses, as DBOS does if another process locks the file.

    Otherwise a turn whose step cannot be recorded would silently wait for the next start.
    """
    from dbos import _sys_db

    of_files = _sys_db.retriable_sqlite_exception  # type: ignore[attr-defined]
    of_servers = _sys_db.retriable_postgres_exception  # type: ignore[attr-defined]

    def is_retriable(error: Exception) -> bool:
        """As DBOS has it for a server; the watch learns why writes wait."""
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
    """Never unpickle a row. With any serializer, DBOS unpickles rows that are marked as pickles, so
    somebody who can write to the database could run code here.
    """
    from dbos._serialization import DefaultSerializer

    DefaultSerializer.deserialize = _refuse  # type: ignore[method-assign]


def _refuse(cls: object, serialized_data: str) -> NoReturn:  # noqa: ARG001 - as DBOS has them
    raise ValueError("pickled rows are not read")


def run_as(executor: str) -> None:
    """The name under which this process takes turns from now on; DBOS reads it each time."""
    from dbos._utils import GlobalParams

    GlobalParams.executor_id = executor
