"""What the queue's own threads ask its database, made small: most of the time nothing waits.

Ten times a second DBOS reads the settings of its queue, looks for the newest version of the application,
and walks through all conversations for turns that may begin; every second it writes, to end delays and
deadlines. Here the settings are read once, and one small statement looks first whether there is anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbos._sys_db import SystemDatabase

STOPS = "stops"  # an attribute of a workflow: how often a stop of its process cut it off


@dataclass(slots=True)
class Claims:
    """Which try it is of the turns that this process takes from the queue, known until they begin.

    DBOS reads it anyway when it takes them.
    """

    _tries: dict[str, tuple[int, int]] = field(default_factory=dict)  #: by the workflow's id

    def take(self, workflow_id: str) -> tuple[int, int]:
        """The run, counted from 1, and how many earlier ones a stop cut off.

        Every run begins with a claim, also after a kill. One that did not would count as a second one, which
        looks before it repeats anything.
        """
        return self._tries.pop(workflow_id, (2, 0))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note them within, as DBOS begins them."""
        from dbos import _queue

        begin = _queue.execute_dequeued_workflow  # type: ignore[attr-defined]

        def begin_noted(dbos: Any, status: Any, owner: str) -> Any:
            stops = (status["attributes"] or {}).get(STOPS, 0)
            self._tries[status["workflow_uuid"]] = (status["recovery_attempts"] or 1, stops)
            try:
                return begin(dbos, status, owner)
            except Exception:  # it does not begin, and nobody will ask
                self.take(status["workflow_uuid"])
                raise

        _queue.execute_dequeued_workflow = begin_noted  # type: ignore[attr-defined, assignment]
        try:
            yield
        finally:
            _queue.execute_dequeued_workflow = begin  # type: ignore[attr-defined]


def poll_sparingly(system: SystemDatabase) -> None:
    """To be called once the queues are registered: from then on their settings stay as they are."""
    queues = {queue.name: queue for queue in system.list_queues(application_name=system.app_name)}
    read_queue, end_delays, end_late = (
        system.get_queue, system.transition_delayed_workflows, system.cancel_timed_out_workflows,
    )  # fmt: skip
    claim, claim_heads = system.start_queued_workflows, system.start_queued_partitioned_workflows
    waits, is_any_delayed, is_any_limited = _looks(system)

    def claim_if_any(queue: Any, *by: Any, **options: Any) -> Any:
        return claim(queue, *by, **options) if waits(queue.name) else ([], None)

    def claim_heads_if_any(queue: Any, *by: Any, **options: Any) -> list[str]:
        # The newest version of the application takes workflows that name none; ours all name theirs.
        options["is_latest_version"] = False
        return claim_heads(queue, *by, **options) if waits(queue.name) else []

    system.get_queue = lambda name, **options: queues.get(name) or read_queue(name, **options)  # type: ignore[method-assign]
    system.list_queues = lambda **_: [*queues.values()]  # type: ignore[method-assign]
    system.start_queued_workflows = claim_if_any  # type: ignore[method-assign]
    system.start_queued_partitioned_workflows = claim_heads_if_any  # type: ignore[method-assign]
    system.transition_delayed_workflows = lambda: end_delays() if is_any_delayed() else None  # type: ignore[method-assign]
    system.cancel_timed_out_workflows = lambda limit: end_late(limit) if is_any_limited() else []  # type: ignore[method-assign]


def _looks(
    system: SystemDatabase,
) -> tuple[Callable[[str], bool], Callable[[], bool], Callable[[], bool]]:
    """Whether anything waits in a queue, whether anything is delayed, and whether anything has a deadline."""
    from sqlalchemy import bindparam, literal, literal_column, select

    table = system.tables.workflow_status
    is_enqueued, is_delayed = (
        table.c.status == literal_column(f"'{each}'") for each in ("ENQUEUED", "DELAYED")
    )
    is_active = table.c.status.in_(
        [literal_column(f"'{each}'") for each in ("ENQUEUED", "PENDING", "DELAYED")]
    )  # fmt: skip
    found = select(literal(1)).select_from(table).limit(1)
    # DBOS's partial indexes are used only where their conditions stand in the query as they are.
    is_waiting = is_enqueued & system._in_flight_status_prover()  # noqa: SLF001 - as its own queries do
    enqueued = found.where(table.c.queue_name == bindparam("queue"), is_waiting)
    limited = found.where(table.c.workflow_deadline_epoch_ms.isnot(None), is_active)
    engine = system.engine
    if engine.dialect.name == "postgresql":  # no transaction for one statement
        engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    def is_any(query: Any, **values: str) -> bool:
        with engine.connect() as connection:
            return connection.execute(query, values).first() is not None

    return (
        lambda queue: is_any(enqueued, queue=queue),
        lambda: is_any(found.where(is_delayed)),
        lambda: is_any(limited),
    )
