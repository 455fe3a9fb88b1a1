"""What DBOS asks its database for each look at the queue and each step of a turn, made small.

Ten times a second DBOS reads the settings of its queue, looks for the newest version of the application,
and walks through all conversations for turns that may begin; every second it writes, to end delays and
deadlines. Here the settings are read once, and one small statement looks first whether there is anything.

Before each step it asks in a thread whether an earlier run recorded it, and takes another change of thread to
prepare the recording. The first run of a turn has no earlier one, and nothing is prepared. What is recorded,
and when, stays as it is: a run that was cancelled, or that another process took over, cannot record its step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

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


# Steps


#: Of the workflow that runs in this context: whether no earlier run can have recorded anything.
IS_FIRST: ContextVar[bool] = ContextVar("is_first", default=False)

Work = Callable[[], Coroutine[Any, Any, Any]]


@contextmanager
def few_threads() -> Iterator[None]:
    """Within, steps do so. DBOS has no setting for it."""
    from dbos._outcome import Pending

    replaced = {name: Pending.__dict__[name] for name in ("_intercept", "then")}
    look_up = Pending._intercept  # noqa: SLF001 - as above

    async def intercept(work: Work, interceptor: Callable[[], Any], **options: Any) -> Any:
        return await (work() if IS_FIRST.get() else look_up(work, interceptor, **options))

    def then(pending: Any, record: Callable[..., Any], **_: object) -> Any:
        return Pending(lambda: _recorded(pending._func, record))  # noqa: SLF001 - as above

    Pending._intercept = staticmethod(intercept)  # type: ignore[method-assign, assignment] # noqa: SLF001
    Pending.then = then  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        for name, original in replaced.items():
            setattr(Pending, name, original)


async def _recorded(work: Work, record: Callable[[Callable[[], Any]], Any]) -> Any:
    """What ``record`` returns, in a thread, for the result or the error of the work. A cancelled one has neither."""
    from dbos._outcome import DeferredResult

    try:
        result = await work()
        recorded = await asyncio.to_thread(record, lambda: result)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - it is recorded, and raised again by that
        # DBOS does the same for an error of the recording itself.
        recorded = await asyncio.to_thread(record, partial(_raise, error))
    return await recorded.resolve_async() if isinstance(recorded, DeferredResult) else recorded


def _raise(error: BaseException) -> NoReturn:
    raise error
