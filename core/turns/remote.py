"""The durable queue as a command uses it whose work another process does.

The command stores a turn or a command like a platform does, follows what is streamed while it runs, and
deletes it when it has ended, so that no text stays behind. Where the other process ends meanwhile, the work
waits in the queue for the next one.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.conversation import Command, Turn
from core.errors import FootnoteError, SettingsError, VersionMismatch
from core.storage.database import check, version_in
from core.storage.storage import SQLITE
from core.turns import queue
from core.turns.archive import Record, count_unfinished, enqueueing, plain
from core.turns.dbos_patches import check_patched, refuse_pickles

if TYPE_CHECKING:
    from dbos import DBOSClient

PROGRESS = "progress"  # the stream of a workflow that a command follows
OPERATOR = "cli-"  # begins the id of a turn or a command of an operator
POLLING = 0.1  # seconds between two looks at the stream
SILENCE = 2.0  # seconds without anything new before it is looked whether anybody serves
PATIENCE = 60.0  # seconds that a command waits for somebody who serves
CANCEL_TIMEOUT = 5.0  # seconds that cancelled work gets to end

OLDER = "The Footnote that runs is of another version and does not know this work. Start it again with this version."

logger = logging.getLogger(__name__)


class ServerGone(FootnoteError):
    """The process that did the work has ended, and no other took over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteQueue:
    """Work that a process which serves does for this one."""

    client: "DBOSClient"
    is_served: Callable[[], bool]
    on_wait: Callable[[], None] = lambda: None  #: called when nobody serves any more, once for each wait
    patience: float = PATIENCE  #: seconds

    async def carry_out(
        self, work: Turn | Command, route: Record, on_item: Callable[[Record], None]
    ) -> Record | None:
        """The result of the workflow in the end; ``on_item`` gets what it streamed meanwhile. If this is
        cancelled, the work is ended. ServerGone if nobody does it; VersionMismatch if whoever serves does not
        know it."""
        await self.enqueue(work, route)
        try:
            return await self._follow(work.id, on_item)
        except BaseException:
            await self._end(work.id)
            raise
        finally:
            await self.client.delete_workflows_async([work.id])

    async def enqueue(self, work: Turn | Command, route: Record) -> None:
        """Store it: once this returns, whoever serves does it, now or later."""
        await self.client.enqueue_async(enqueueing(work), plain(work), route)

    async def count_unfinished(self) -> int:
        """The number of turns and commands that have not ended. Raises StoreUnavailable."""
        return await asyncio.to_thread(count_unfinished, self.client._sys_db)  # noqa: SLF001 - the file is DBOS's

    async def _follow(self, workflow_id: str, on_item: Callable[[Record], None]) -> Record | None:
        from dbos._error import DBOSNonExistentWorkflowError, DBOSStreamTimeoutError

        seen, loop = 0, asyncio.get_running_loop()
        gone_since: float | None = None
        while True:
            try:
                async for item in self.client.read_stream_async(
                    workflow_id, PROGRESS, offset=seen, polling_interval_sec=POLLING, timeout_seconds=SILENCE
                ):
                    seen, gone_since = seen + 1, None
                    on_item(item)
                return await self._result(workflow_id)
            except DBOSStreamTimeoutError:
                if await self._is_served():
                    gone_since = None
                    continue
            except DBOSNonExistentWorkflowError:
                raise FootnoteError("Somebody else ended this work.") from None
            if gone_since is None:
                gone_since = loop.time()
                self.on_wait()
            if loop.time() - gone_since > self.patience:
                raise ServerGone(
                    f"The Footnote that did this work has ended, and none came back within {self.patience:.0f} "
                    "seconds. The work is not queued any more: run the command again, and it does it itself."
                )

    async def _is_served(self) -> bool:
        """False also while it cannot be asked: PostgreSQL may be away."""
        with suppress(FootnoteError):
            return await asyncio.to_thread(self.is_served)
        return False

    async def _result(self, workflow_id: str) -> Record | None:
        status = await self._status(workflow_id, load_output=True)
        if status is None or status.status == "CANCELLED":
            raise FootnoteError("Somebody else ended this work.")
        if status.status != "SUCCESS":
            logger.info("the work was not known", extra={"work": workflow_id, "error": str(status.error)})
            raise VersionMismatch(OLDER)
        output: Record | None = status.output
        return output

    async def _status(self, workflow_id: str, *, load_output: bool = False) -> Any:
        found: list[Any] = await self.client.list_workflows_async(
            workflow_ids=[workflow_id], load_input=False, load_output=load_output
        )
        return found[0] if found else None

    async def _end(self, workflow_id: str) -> None:
        """Cancel the work, and wait until whoever does it has left it: they delete it then."""
        status = await self._status(workflow_id)
        if status is None or status.status not in ("PENDING", "ENQUEUED"):
            return
        await self.client.cancel_workflow_async(workflow_id)
        if status.status == "ENQUEUED":
            return
        for _ in range(int(CANCEL_TIMEOUT / POLLING)):
            if not await self._is_served() or await self._status(workflow_id) is None:
                return
            await asyncio.sleep(POLLING)


@asynccontextmanager
async def open_remote_queue(
    database_url: str, *, is_served: Callable[[], bool], on_wait: Callable[[], None]
) -> AsyncIterator[RemoteQueue]:
    """The queue of whoever serves. Waits for one that is just starting; SettingsError if it cannot be used."""
    from sqlalchemy.exc import SQLAlchemyError

    check_patched()
    refuse_pickles()
    queue.configure_connections()
    logging.getLogger("dbos").handlers.clear()
    try:
        async with asyncio.timeout(PATIENCE):
            client = await _until_ready(database_url, is_served)
    except TimeoutError:
        raise ServerGone(f"The Footnote that runs is not ready after {PATIENCE:.0f} seconds.") from None
    except (sqlite3.Error, SQLAlchemyError) as fault:
        raise SettingsError("The queue of the Footnote that runs cannot be opened.") from fault
    try:
        yield RemoteQueue(client=client, is_served=is_served, on_wait=on_wait)
    finally:
        engine = client._sys_db.engine  # noqa: SLF001 - the file is DBOS's
        await asyncio.to_thread(queue.empty_log, engine)
        await asyncio.to_thread(client.destroy)
        engine.dispose()


def _open_client(database_url: str) -> "DBOSClient":
    from dbos import DBOSClient
    from dbos._serialization import DBOSPortableJSON
    from sqlalchemy import create_engine, make_url

    engine = None
    if not database_url.startswith("sqlite"):  # DBOS's own would prepare statements
        url = make_url(database_url).set(drivername="postgresql+psycopg")
        engine = create_engine(url, **queue.DISCREET, **queue.POSTGRES_ENGINE)
    client = DBOSClient(
        system_database_url=database_url,
        system_database_engine=engine,
        serializer=DBOSPortableJSON,
        application_name=queue.APPLICATION,
    )
    client._sys_db.engine.hide_parameters = True  # noqa: SLF001 - errors are logged with them
    return client


async def _until_ready(database_url: str, is_served: Callable[[], bool]) -> "DBOSClient":
    """Wait until whoever serves has made the queue's file, in its own version, and the queue after it."""
    from sqlalchemy.exc import DBAPIError

    if (name := database_url.removeprefix(SQLITE)) != database_url:
        while (version := version_in(Path(name))) != queue.SCHEMA.version:
            check(Path(name), version, queue.SCHEMA)
            await _look_again(is_served)
    client = _open_client(database_url)
    while True:
        try:
            if await client.retrieve_queue_async(queue.QUEUE) is not None:
                return client
        except DBAPIError:
            logger.debug("the queue has no tables yet", exc_info=True)
        await _look_again(is_served)


async def _look_again(is_served: Callable[[], bool]) -> None:
    await asyncio.sleep(POLLING)
    if not await asyncio.to_thread(is_served):
        raise ServerGone("The Footnote that ran has just ended: run the command again.")
