"""Checkpoints of one saver as rows of the other one.

In SQLite a checkpoint is one value. In PostgreSQL its plain values are JSON in its row, and each of the others
has a row in ``checkpoint_blobs``, shared by all checkpoints in which it is the same. The values themselves are
never read: what their types are called is the graph's business, and a value that was only copied cannot change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from core.conversation import value
from core.storage.database import Row

if TYPE_CHECKING:
    import psycopg

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


@value
class Parts:
    """A checkpoint as PostgreSQL has it."""

    plain: Mapping[str, Any]  #: of JSON's types alone
    blobs: Mapping[str, tuple[str, bytes]]  #: type and value by channel


def split(checkpoint: bytes) -> Parts:
    """What :func:`join` puts together again."""
    plain = _unpack(checkpoint)
    versions = plain["channel_versions"]
    held = plain["channel_values"]
    blobs = {
        name: (BYTES, each) if isinstance(each, bytes) else (SERIALIZED, _pack(each))
        for name, each in held.items()
        if name in versions and not _is_plain(each)
    }
    values = {name: each for name, each in held.items() if name not in blobs}
    return Parts(plain={**plain, "channel_values": values}, blobs=blobs)


def join(parts: Parts) -> bytes:
    held = {name: _value_of(*blob) for name, blob in parts.blobs.items()}
    return _pack({**parts.plain, "channel_values": {**parts.plain["channel_values"], **held}})


def from_postgres(row: Row) -> Row:
    """A row of READ_CHECKPOINTS as SQLite has it."""
    from base64 import b64decode

    *names, plain, metadata, blobs = row
    held = {name: (kind, b64decode(blob)) for name, (kind, blob) in (blobs or {}).items()}
    checkpoint = join(Parts(plain=plain, blobs=held))
    return (*names, SERIALIZED, checkpoint, json.dumps(metadata, ensure_ascii=False).encode())


def put_checkpoints(connection: psycopg.Connection[Any], rows: list[Row]) -> None:
    """Rows of SQLite into PostgreSQL, in their order."""
    checkpoints, blobs = [], []
    for thread, namespace, name, parent, kind, checkpoint, metadata in rows:
        if kind != SERIALIZED:
            raise ValueError(f"a checkpoint is stored as {kind}")
        parts = split(checkpoint)
        versions = parts.plain["channel_versions"]
        blobs += [(thread, namespace, each, versions[each], *blob) for each, blob in parts.blobs.items()]
        checkpoints.append((thread, namespace, name, parent, json.dumps(parts.plain), _text(metadata)))
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
    """Whether PostgreSQL's JSON gives back the same: it turns some floats into integers and knows no NUL."""
    if isinstance(stored, str):
        return "\0" not in stored
    return stored is None or isinstance(stored, int)


def _value_of(kind: str, blob: bytes) -> Any:
    if kind == BYTES:
        return blob
    if kind != SERIALIZED:
        raise ValueError(f"a value of a checkpoint is stored as {kind}")
    return _unpack(blob)


def _text(metadata: bytes | str) -> str:
    text = metadata.decode() if isinstance(metadata, bytes) else metadata
    return text.replace("\\u0000", "")


def _unpack(packed: bytes) -> Any:
    import ormsgpack

    return ormsgpack.unpackb(packed, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)


def _pack(stored: Any) -> bytes:
    import ormsgpack

    return ormsgpack.packb(stored, option=ormsgpack.OPT_NON_STR_KEYS)
