"""Where conversations are kept: LangGraph's SQLite saver, settled after every turn.

A thread's newest checkpoint holds all that a follow-up or a restart needs; the older ones
would make a long thread grow with its square.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from core.errors import SettingsError, StoreTrouble

logger = logging.getLogger(__name__)

# What SQLite says, and what a person can do with it.
_TROUBLES = {
    "database is locked": "another program holds it; close that one",
    "attempt to write a readonly database": "it cannot be written",
    "database or disk is full": "the disk is full",
}

BUSY_TIMEOUT = 10.0  # seconds another writer may hold the file

#: Within a turn a checkpoint does not wait for the disk. Under WAL a killed process loses nothing by that;
#: where the power fails, the turn, which is in the queue's own file, goes on from an earlier checkpoint.
#: The end of a turn does wait, and all that was written before it with it: nothing that was told is lost.
NOT_WAITING = "PRAGMA synchronous = NORMAL"
WAITING = "PRAGMA synchronous = FULL"


class PrunedSqliteSaver(AsyncSqliteSaver):
    """Adds what the library leaves out: the end of a turn, and the threads there are."""

    async def settle(self, thread: str, values: Mapping[str, Any]) -> None:
        """Put values into the newest checkpoint of a thread, and delete the older ones.

        To be called on the graph's own copy of the saver: it knows which types may be read.
        """
        async with self.lock:
            ((newest, kind, stored),) = await self.conn.execute_fetchall(
                "SELECT checkpoint_id, type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
                " ORDER BY checkpoint_id DESC LIMIT 1",
                (thread,),
            )
            checkpoint = self.serde.loads_typed((kind, stored))
            checkpoint["channel_values"] |= values
            async with _on_the_disk(self.conn):
                await self.conn.execute(
                    "UPDATE checkpoints SET type = ?, checkpoint = ?"
                    " WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?",
                    (*self.serde.dumps_typed(checkpoint), thread, newest),
                )
                for table in ("checkpoints", "writes"):
                    await self.conn.execute(
                        f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id < ?", (thread, newest)
                    )
                await self.conn.commit()

    async def threads(self) -> tuple[str, ...]:
        """Ids of all conversations that are remembered."""
        async with self.lock, self.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as rows:
            return tuple([str(row[0]) async for row in rows])


@contextmanager
def troubles_told() -> Iterator[None]:
    """StoreTrouble in place of what SQLite raises."""
    try:
        yield
    except sqlite3.Error as fault:
        logger.exception("the conversations' file failed")
        reason = _TROUBLES.get(str(fault), "the disk refused")
        raise StoreTrouble(f"I cannot write down this conversation: {reason}.") from fault


@asynccontextmanager
async def _on_the_disk(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """What is committed within has reached the disk."""
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
            await connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            await connection.execute(NOT_WAITING)
            await saver.setup()
        except sqlite3.OperationalError as fault:
            raise SettingsError(
                f"{file} cannot be opened: {_TROUBLES.get(str(fault), 'the disk refused')}."
            ) from fault
        except sqlite3.DatabaseError as fault:
            raise SettingsError(
                f"{file} is damaged. Move it away to begin new conversations; your documents are not affected."
            ) from fault
        yield saver
