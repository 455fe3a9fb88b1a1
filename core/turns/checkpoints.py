"""Where conversations are stored: LangGraph's saver for SQLite, compacted after every turn.

A thread's newest checkpoint holds all that a follow-up or a restart needs. With the older ones,
a long thread would grow quadratically.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import aiosqlite
import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg_pool import PoolTimeout

from core.errors import SettingsError, StoreTrouble
from core.storage.schema import Schema, add_fields, prepare
from core.turns.disk_watch import disk_trouble
from core.wording import Sentence

logger = logging.getLogger(__name__)

#: LangGraph makes the tables. A type of :class:`State` that gets another name, module or field needs a migration.
SCHEMA = Schema(migrations=(add_fields,))
BUSY_TIMEOUT = 10.0  # seconds another writer may hold the file

#: Within a turn, a checkpoint does not wait for the disk. With a write-ahead log, a killed process loses nothing;
#: after a power failure the turn, which is in the queue's own file, continues from an earlier checkpoint.
#: The end of a turn waits for the disk, so nothing that was answered is lost.
NOT_WAITING = "PRAGMA synchronous = NORMAL"
WAITING = "PRAGMA synchronous = FULL"

EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"


#: SQLite gives a new row a number above all others.
_NEWEST = "SELECT {} FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1"


_NAMESPACE = {"checkpoint_ns": ""}  # of a thread's own checkpoints; subgraphs have others


class Checkpoints(Protocol):
    """What LangGraph's savers lack; ours add it for either database."""

    async def compact(self, thread: str, values: Mapping[str, Any]) -> None:
        """Put values into the newest checkpoint of a thread, and delete the older ones.

        Call it on the graph's own copy of the saver, which knows the types that may be read.
        """
        ...

    async def forget(self, thread: str) -> None:
        """Delete a thread."""
        ...

    async def threads(self) -> tuple[str, ...]:
        """Ids of all conversations that are remembered."""
        ...


class PrunedSqliteSaver(AsyncSqliteSaver):
    """Adds what the library lacks: compaction, the list of threads, and an error for unreadable checkpoints."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that is named, or the one written last. StoreTrouble if it cannot be read.

        The library takes the greatest id, which is made from the wall clock: wrong after that was set back.
        """
        if (last := await self._written_last(config)) is not None:
            config = {"configurable": _NAMESPACE | config["configurable"] | {"checkpoint_id": last}}
        try:
            return await super().aget_tuple(config)
        except (ValueError, NotImplementedError) as fault:
            logger.warning("a checkpoint cannot be read: %s", type(fault).__name__)
            raise StoreTrouble(Sentence("conversation_unreadable")) from fault

    async def _written_last(self, config: RunnableConfig) -> str | None:
        """The id of a thread's newest checkpoint; None if one is named, or none exists."""
        wanted = config["configurable"]
        if wanted.get("checkpoint_id"):
            return None
        await self.setup()
        async with self.lock:
            rows = await self.conn.execute_fetchall(
                _NEWEST.format("checkpoint_id"), (str(wanted["thread_id"]), wanted.get("checkpoint_ns", ""))
            )
        return next((str(newest) for (newest,) in rows), None)

    async def compact(self, thread: str, values: Mapping[str, Any]) -> None:
        async with self.lock:
            ((newest, kind, stored),) = await self.conn.execute_fetchall(
                _NEWEST.format("checkpoint_id, type, checkpoint"), (thread, "")
            )
            checkpoint = self.serde.loads_typed((kind, stored))
            checkpoint["channel_values"] |= values
            async with _synchronous(self.conn):
                await self.conn.execute(
                    "UPDATE checkpoints SET type = ?, checkpoint = ?"
                    " WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?",
                    (*self.serde.dumps_typed(checkpoint), thread, newest),
                )
                for table in ("checkpoints", "writes"):
                    await self.conn.execute(
                        f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id <> ?", (thread, newest)
                    )
                await self.conn.commit()

    async def forget(self, thread: str) -> None:
        """Delete a thread from the file and from its write-ahead log."""
        await self.adelete_thread(thread)
        async with self.lock:
            await self.conn.execute_fetchall(EMPTY_LOG)

    async def threads(self) -> tuple[str, ...]:
        async with self.lock, self.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as rows:
            return tuple([str(row[0]) async for row in rows])


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise StoreTrouble in place of the errors of SQLite and PostgreSQL."""
    try:
        yield
    except (sqlite3.Error, psycopg.Error, PoolTimeout) as fault:
        logger.exception("the store of the conversations failed")
        reason = disk_trouble(fault) or Sentence("disk_refused")
        raise StoreTrouble(Sentence("conversation_unwritable", trouble=reason)) from fault


@asynccontextmanager
async def _synchronous(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """A commit within waits until it is on the disk."""
    await connection.execute(WAITING)
    try:
        yield
    finally:
        await connection.execute(NOT_WAITING)


@asynccontextmanager
async def open_checkpoints(file: Path) -> AsyncIterator[PrunedSqliteSaver]:
    """The saver over this file; open it inside the loop that will use it."""
    async with aiosqlite.connect(file, timeout=BUSY_TIMEOUT) as connection:
        saver = PrunedSqliteSaver(connection)
        try:
            with closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT)) as database:
                prepare(database, file, SCHEMA)
            await connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            await connection.execute(NOT_WAITING)
            await saver.setup()
        except sqlite3.OperationalError as fault:
            raise SettingsError(
                f"{file} cannot be opened: {disk_trouble(fault) or 'the disk refused'}."
            ) from fault
        except sqlite3.DatabaseError as fault:
            raise SettingsError(
                f"{file} is damaged. Move it away to begin new conversations; your documents are not affected."
            ) from fault
        yield saver
