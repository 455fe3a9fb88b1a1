"""Steps of a workflow with fewer changes of thread.

Before each step, DBOS asks its database in a thread whether an earlier run recorded it, and takes another
change of thread to prepare the recording. The first run of a workflow has no earlier one, and nothing is
prepared. What is recorded, and when, stays as it is: a run that was cancelled, or that another process took
over, cannot record its step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn

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
