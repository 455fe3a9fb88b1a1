"""Serves the commands beside a process that runs: their work comes through the durable queue, like a platform's.

Nothing of it is shown on a platform. A command follows what is streamed here, takes the result, and deletes
what is stored of it.
"""

# ruff: noqa: ARG002 - the port has the arguments that platforms need

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bots.chat.indexing import Watcher
from bots.terminal.operations import Operations, Record, error_record
from core.conversation import Command, Outcome, Progress, Turn
from core.errors import FootnoteError
from core.library.indexing import Phase
from core.priority import BackgroundTasks
from core.turns.messenger import Messenger, ReplyRoute
from core.turns.queue import FINISHED
from core.turns.remote import OPERATOR, PROGRESS

WRITE_EVERY = 0.2  # seconds between two notes of progress
SWEEP_EVERY = 300.0  # seconds
#: That the ended work of a command is kept which was killed before it took the result.
RETENTION = timedelta(minutes=10)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ProgressStream:
    """The stream to a running command: all sentences, the newest progress. Thread-safe."""

    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _sentences: list[Record] = field(default_factory=list)
    _progress: Record | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, sentence: str) -> None:
        self._loop.call_soon_threadsafe(self._hold, {"note": sentence})

    def notify(self, phase: Phase, done: int, total: int) -> None:
        self._loop.call_soon_threadsafe(self._hold, {"phase": phase, "done": done, "total": total})

    def report(self, progress: Progress) -> None:
        self._loop.call_soon_threadsafe(self._hold, asdict(progress))

    def _hold(self, item: Record) -> None:
        if "note" in item:
            self._sentences.append(item)
        else:
            self._progress = item
        self._changed.set()

    async def write(self) -> None:
        """Write what is new into the stream of the workflow that this runs in."""
        items, self._sentences = self._sentences, []
        progress, self._progress = self._progress, None
        for item in (*items, *([progress] if progress else ())):
            await _append(item)

    async def keep_writing(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.write()
            await asyncio.sleep(WRITE_EVERY)


async def _append(item: Record) -> None:
    from dbos import DBOS

    await DBOS.write_stream_async(PROGRESS, item)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalMessenger(Messenger):
    """The Messenger of an operator's commands."""

    operations: Operations
    _background: BackgroundTasks = field(default_factory=BackgroundTasks)

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        return turn.id

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        stream, thinking = ProgressStream(), asyncio.current_task()
        assert thinking is not None
        writing = self._start(stream.keep_writing)
        thinking.add_done_callback(lambda _: writing.cancel())
        thinking.add_done_callback(lambda ended: self._clear_up(turn.id) if ended.cancelled() else None)
        return stream.report

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        """The workflow returns the outcome; of a command that was tried too often, nothing came."""
        if isinstance(turn, Command):
            await _append({"error": error_record(FootnoteError(outcome.reason or ""))})

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        stream = ProgressStream()
        writing = self._start(stream.keep_writing)
        try:
            ended = await self._result(command, stream, is_again=is_again)
        except asyncio.CancelledError:
            self._clear_up(command.id)
            raise
        finally:
            writing.cancel()
            await asyncio.wait([writing])
        await stream.write()
        await _append(ended)

    async def _result(self, command: Command, stream: ProgressStream, *, is_again: bool) -> Record:
        name, details = command.name, command.details
        try:
            watcher = Watcher(notify=stream.notify, announce=stream.note)
            return {"result": await self.operations.carry_out(name, details, watcher, is_again=is_again)}
        except FootnoteError as error:
            return {"error": error_record(error)}
        except Exception as fault:
            # The boundary of an operation: the operator learns of every failure.
            logger.exception("%s failed", name)
            own = f"Footnote has a fault of its own ({type(fault).__name__}); its log says more."
            return {"error": error_record(FootnoteError(own))}

    def _start(
        self, work: Callable[[], Awaitable[None]], context: Context | None = None
    ) -> asyncio.Task[None]:
        return self._background.start(_without_command(work), context)

    def _clear_up(self, workflow_id: str) -> None:
        """Delete what was cancelled; outside its context, in which the work is over."""
        self._start(partial(_delete_if_cancelled, workflow_id), Context())


async def _without_command(work: Callable[[], Awaitable[None]]) -> None:
    """Writes for a command that may have gone; nothing depends on it."""
    from dbos._error import DBOSException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        await work()
    except (DBOSException, SQLAlchemyError):
        logger.info("a command went before its work had ended", exc_info=True)


async def _delete_if_cancelled(workflow_id: str) -> None:
    """Otherwise this process stops, and the next one goes on with it."""
    from dbos import DBOS

    status = await DBOS.get_workflow_status_async(workflow_id)
    if status is not None and status.status == "CANCELLED":
        await DBOS.delete_workflows_async([workflow_id])


async def sweep(older_than: timedelta = RETENTION) -> int:
    """Delete the ended work of commands that did not do it themselves; returns how many."""
    from dbos import DBOS

    before = (datetime.now(UTC) - older_than).isoformat()
    left: list[Any] = await DBOS.list_workflows_async(
        workflow_id_prefix=OPERATOR, status=FINISHED, completed_before=before, load_input=False, load_output=False
    )  # fmt: skip
    await DBOS.delete_workflows_async([work.workflow_id for work in left])
    return len(left)


@asynccontextmanager
async def sweeping() -> AsyncIterator[None]:
    """While the queue is open, delete what killed commands left."""

    async def keep_sweeping() -> None:
        while True:
            try:
                await sweep()
            except Exception:
                # The next sweep deletes it; no work waits for it.
                logger.exception("could not delete the work of killed commands")
            await asyncio.sleep(SWEEP_EVERY)

    task = asyncio.create_task(keep_sweeping())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
