"""The store of conversations: LangGraph's saver for SQLite, with the newest checkpoint of each.

The checkpoints of one database can be rows of the other, for a copy. The store holds all that a follow-up or a
restart needs. With the older ones, a long thread would grow quadratically.

In SQLite a checkpoint is one value. In PostgreSQL its plain values are JSON in its row, and each of the others
has a row in ``checkpoint_blobs``, shared by all checkpoints in which it is the same. The values themselves are
never read: what their types are called is the graph's business, and a value that was only copied cannot change.
"""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint import base
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg_pool import PoolTimeout

from core.errors import SettingsError, StoreTrouble
from core.graph.checkpoints import Checkpoints, Entry
from core.storage.database import Row, Schema, prepare
from core.turns.waiting import disk_trouble
from core.wording import Sentence

logger = logging.getLogger(__name__)

#: LangGraph makes the tables. A type of :class:`State` that gets another name, module or field needs a migration.
SCHEMA = Schema(cure="Move it away to begin new conversations; your documents are not affected.")
BUSY_TIMEOUT = 10.0  # seconds another writer may hold the file

#: Within a turn, a checkpoint does not wait for the disk. With a write-ahead log, a killed process loses nothing;
#: after a power failure the turn, which is in the queue's own file, continues from an earlier checkpoint.
#: The end of a turn waits for the disk, so nothing that was answered is lost.
NOT_WAITING = "PRAGMA synchronous = NORMAL"
WAITING = "PRAGMA synchronous = FULL"

OVERWRITING = "PRAGMA secure_delete = ON"  # what is forgotten is overwritten
EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"

#: SQLite gives a new row a number above all others. The library takes the greatest id, which is made from the
#: wall clock: wrong after that was set back.
_NEWEST = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1"
_PUT = """
INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class PrunedSqliteSaver(Checkpoints, SqliteSaver):
    """The library's blocking saver in a thread of its own, where each call is one hop. The library's other
    one, on aiosqlite, waits for its thread at each statement, each commit and each cursor."""

    def __init__(self, connection: sqlite3.Connection, durable: sqlite3.Connection, thread: Executor) -> None:
        """``durable``: a connection whose commits wait for the disk. Both are used in this one thread."""
        super().__init__(connection)
        self._durable = durable
        self._in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        try:
            return await self._in_thread(self.get_tuple, config)
        except (ValueError, NotImplementedError) as fault:
            raise unreadable(fault) from fault

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        wanted = {"checkpoint_ns": "", **config["configurable"]}
        if not wanted.get("checkpoint_id"):
            thread = (str(wanted["thread_id"]), wanted["checkpoint_ns"])
            newest = self.conn.execute(_NEWEST, thread).fetchall()
            if not newest:
                return None
            wanted["checkpoint_id"] = newest[0][0]
        return super().get_tuple({"configurable": wanted})

    async def aput(self, *given: Any) -> RunnableConfig:
        return await self._in_thread(self.put, *given)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._in_thread(self.put_writes, config, writes, task_id, task_path)

    async def put_last(self, entry: Entry, _: ChannelVersions, /) -> None:  # a row holds all channels
        await self._in_thread(self._put_last, *entry)

    def _put_last(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> None:
        own, described = config["configurable"], base.get_checkpoint_metadata(config, metadata)
        thread, last = str(own["thread_id"]), checkpoint["id"]
        content = (*self.serde.dumps_typed(checkpoint), json.dumps(described, ensure_ascii=False).encode())
        with self._durable as writing:  # one transaction
            writing.execute(_PUT, (thread, own["checkpoint_ns"], last, own.get("checkpoint_id"), *content))
            for table in ("checkpoints", "writes"):
                others = f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id <> ?"
                writing.execute(others, (thread, last))

    async def forget(self, thread: str) -> None:
        """Delete a thread from the file and from its write-ahead log."""
        await self._in_thread(self.delete_thread, thread)
        await self._in_thread(lambda: self.conn.execute(EMPTY_LOG).fetchall())

    async def threads(self) -> tuple[str, ...]:
        query = "SELECT DISTINCT thread_id FROM checkpoints"
        found = await self._in_thread(lambda: self.conn.execute(query).fetchall())
        return tuple(str(thread) for (thread,) in found)


def unreadable(fault: Exception) -> StoreTrouble:
    """The error for a checkpoint that the serializer does not take."""
    logger.warning("a checkpoint cannot be read: %s", type(fault).__name__)
    return StoreTrouble(Sentence("conversation_unreadable"))


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
async def open_checkpoints(file: Path) -> AsyncIterator[PrunedSqliteSaver]:
    """The saver over this file; open it inside the loop that will use it."""
    with ExitStack() as opened, ThreadPoolExecutor(1, thread_name_prefix="conversations") as thread:
        try:
            connection, durable = (opened.enter_context(closing(_connect(file))) for _ in range(2))
            prepare(connection, file, SCHEMA)
            saver = PrunedSqliteSaver(connection, durable, thread)
            saver.setup()
            connection.execute(NOT_WAITING)
            durable.execute(WAITING)
        except sqlite3.OperationalError as fault:
            raise SettingsError(
                f"{file} cannot be opened: {disk_trouble(fault) or 'the disk refused'}."
            ) from fault
        except sqlite3.DatabaseError as fault:
            raise SettingsError(f"{file} is damaged. {SCHEMA.cure}") from fault
        yield saver


def _connect(file: Path) -> sqlite3.Connection:
    # For any thread, but one at a time.
    connection = sqlite3.connect(file, timeout=BUSY_TIMEOUT, check_same_thread=False)
    connection.execute(OVERWRITING)
    return connection


SERIALIZED = "msgpack"  # what LangGraph's serializer calls its own form
BYTES = "bytes"  # and bytes, which it stores as they are

#: In the order in which they were written. A blob of the type "empty" stands for no value.
READ_CHECKPOINTS = """
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, (
    SELECT jsonb_object_agg(channel, jsonb_build_array(type, encode(blob, 'base64')))
    FROM jsonb_each_text(checkpoint -> 'channel_versions') AS used
    JOIN checkpoint_blobs AS held ON held.thread_id = checkpoints.thread_id
    AND held.checkpoint_ns = checkpoints.checkpoint_ns AND channel = used.key AND version = used.value
    WHERE type <> 'empty'
) FROM checkpoints ORDER BY written
"""
_PUT_CHECKPOINT = """
INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
VALUES (%s, %s, %s, %s, %s::jsonb, %s::jsonb)
"""
_PUT_BLOB = "INSERT INTO checkpoint_blobs VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"


def split_checkpoint(checkpoint: bytes) -> tuple[dict[str, Any], Mapping[str, tuple[str, bytes]]]:
    """A checkpoint as PostgreSQL has it: plain JSON, and type and value of the others by channel."""
    plain = _unpack(checkpoint)
    versions, held = plain["channel_versions"], plain["channel_values"]
    blobs = {
        name: (BYTES, each) if isinstance(each, bytes) else (SERIALIZED, _pack(each))
        for name, each in held.items()
        if name in versions and not _is_plain(each)
    }
    values = {name: each for name, each in held.items() if name not in blobs}
    return {**plain, "channel_values": values}, blobs


def from_postgres(row: Row) -> Row:
    """A row of READ_CHECKPOINTS as SQLite has it."""
    from base64 import b64decode

    *names, plain, metadata, blobs = row
    held = dict(plain["channel_values"])
    for name, (kind, blob) in (blobs or {}).items():
        if kind not in (BYTES, SERIALIZED):
            raise ValueError(f"a value of a checkpoint is stored as {kind}")
        held[name] = b64decode(blob) if kind == BYTES else _unpack(b64decode(blob))
    checkpoint = _pack({**plain, "channel_values": held})
    return (*names, SERIALIZED, checkpoint, json.dumps(metadata, ensure_ascii=False).encode())


def put_checkpoints(connection: psycopg.Connection[Any], rows: list[Row]) -> None:
    """Rows of SQLite into PostgreSQL, in their order."""
    checkpoints, blobs = [], []
    for thread, namespace, name, parent, kind, checkpoint, metadata in rows:
        if kind != SERIALIZED:
            raise ValueError(f"a checkpoint is stored as {kind}")
        plain, held = split_checkpoint(checkpoint)
        versions = plain["channel_versions"]
        blobs += [(thread, namespace, each, versions[each], *blob) for each, blob in held.items()]
        checkpoints.append((thread, namespace, name, parent, json.dumps(plain), _text(metadata)))
    with connection.cursor() as cursor:
        cursor.executemany(_PUT_CHECKPOINT, checkpoints)
        cursor.executemany(_PUT_BLOB, blobs)


def canonical(row: Row) -> Iterator[Any]:
    """A row of SQLite in a form that is the same after any way through either database."""
    *names, _, checkpoint, metadata = row
    plain = _unpack(checkpoint)
    held = plain.pop("channel_values")
    yield from names
    yield json.dumps(plain, sort_keys=True)
    yield sorted((name, _pack(each).hex()) for name, each in held.items())
    yield json.dumps(json.loads(_text(metadata)), sort_keys=True)


def _is_plain(stored: Any) -> bool:
    """True if PostgreSQL's JSON gives back the same: it turns some floats into integers and knows no NUL."""
    return "\0" not in stored if isinstance(stored, str) else stored is None or isinstance(stored, int)


def _text(metadata: bytes | str) -> str:
    text = metadata.decode() if isinstance(metadata, bytes) else metadata
    return text.replace("\\u0000", "")


def _unpack(packed: bytes) -> Any:
    import ormsgpack

    return ormsgpack.unpackb(packed, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)


def _pack(stored: Any) -> bytes:
    import ormsgpack

    return ormsgpack.packb(stored, option=ormsgpack.OPT_NON_STR_KEYS)
