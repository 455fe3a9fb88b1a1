"""Where conversations are kept: LangGraph's SQLite saver, pruned after every turn.

A thread's newest checkpoint holds all that a follow-up or a restart needs; the older ones
would make a long thread grow with its square.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from core.errors import SettingsError

# What SQLite says, and what a person can do with it.
_TROUBLES = {
    "database is locked": "another program holds it; close that one",
    "attempt to write a readonly database": "it cannot be written",
    "database or disk is full": "the disk is full",
}

BUSY_TIMEOUT = 10.0  # seconds another writer may hold the file


class PrunedSqliteSaver(AsyncSqliteSaver):
    """Adds what the library leaves out: pruning, and the threads there are."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of each thread, and its pending writes; or, with "delete", nothing."""
        newest = (
            "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = '')"
        )
        for thread in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread)
                continue
            async with self.lock:
                for table in ("checkpoints", "writes"):
                    await self.conn.execute(
                        f"DELETE FROM {table} WHERE thread_id = :thread AND checkpoint_id < {newest}",
                        {"thread": thread},
                    )
                await self.conn.commit()

    async def threads(self) -> tuple[str, ...]:
        """Ids of all conversations that are remembered."""
        async with self.lock, self.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as rows:
            return tuple([str(row[0]) async for row in rows])


@asynccontextmanager
async def open_checkpoints(file: Path) -> AsyncIterator[PrunedSqliteSaver]:
    """The saver over this file; open it inside the loop that will use it."""
    async with aiosqlite.connect(file, timeout=BUSY_TIMEOUT) as connection:
        saver = PrunedSqliteSaver(connection)
        try:
            await connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
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
