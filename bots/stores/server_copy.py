"""A copy of all stores in an empty PostgreSQL, written in one transaction."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from bots.slack.oauth_stores import make_all_tables
from bots.stores.folder import FolderUploads, batches_of, compare, put_uploads
from bots.stores.server import (
    DBOS_SCHEMA,
    ServerSource,
    check_queue,
    check_versions,
    columns_of,
    columns_of_writes,
    place_of,
    refuse_company,
    refuse_served,
    sequence_of,
)
from bots.stores.source import (
    COMPARING,
    OF_DBOS,
    VECTORS,
    Progress,
    StoredContent,
    Tallies,
    make_postgres_stores,
    moved,
    tally,
)
from core.errors import SettingsError, reason_of
from core.library import tables
from core.library.fts5_terms import indexed_from
from core.library.lexical import Indexed
from core.library.pgvector import PgvectorIndex
from core.library.postings import PostingsIndex
from core.storage.postgres import INCOMPLETE, SERVER, PostgresDatabase, Statements, conninfo, translate_errors
from core.storage.sqlite_rows import SEQUENCES, StoredTable
from core.turns import checkpoints
from core.turns.archive import TURN, counted_question
from core.turns.rate_limits import PERIODS, asked_rows

if TYPE_CHECKING:
    from core.storage.database import Row
    from core.storage.storage import Storage

BATCH = 500  # rows that are held in memory

#: Tables of the folder that have another name or another form here.
NAMES = {
    ("library", "words"): "passage_terms",
    ("conversations", "writes"): "checkpoint_writes",
}
_PLACES = """
SELECT p.id, d.id, d.collection FROM passages p JOIN documents d ON d.id = p.document WHERE p.id = ANY(%s)
"""
_MISSING = """
UPDATE passages SET embedded = 0 WHERE embedded = 1 AND NOT EXISTS (SELECT FROM {vectors} WHERE passage = passages.id)
"""
_ASKED = f"""
SELECT coalesce(stored.inputs, turn.inputs), status FROM {DBOS_SCHEMA}.workflow_status AS turn
LEFT JOIN {DBOS_SCHEMA}.workflow_input AS stored USING (workflow_uuid) WHERE name = %s AND turn.created_at > %s
"""
_NOTE_ASKED = "INSERT INTO asked VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCopy:
    """The empty stores, within the transaction that fills them."""

    writing: Statements
    postings: PostingsIndex
    vectors: PgvectorIndex

    @property
    def connection(self) -> psycopg.Connection[Any]:
        return self.writing.connection

    def put(self, store: str, table: StoredTable, rows: Iterator[Row]) -> None:
        put = {
            ("turns", "dbos_migrations"): self._check_queue,
            ("conversations", "checkpoints"): self._put_checkpoints,
            ("conversations", "writes"): self._put_writes,
            ("library", "words"): self._put_words,
            ("library", SEQUENCES): self._put_sequences,
        }.get((store, table.name))
        if put is not None:
            put(table, rows)
        elif table.name not in OF_DBOS:
            name = place_of(store, table.name)
            self._copy(name, table.columns, rows)
            for column in table.columns:
                self._go_on_above_all(name, column)

    def _check_queue(self, _table: StoredTable, rows: Iterator[Row]) -> None:
        check_queue(self.connection, max(version for (version,) in rows))

    def _put_checkpoints(self, _table: StoredTable, rows: Iterator[Row]) -> None:
        for batch in _batches(rows):
            checkpoints.put_checkpoints(self.connection, batch)

    def _put_writes(self, table: StoredTable, rows: Iterator[Row]) -> None:
        self._copy(NAMES["conversations", table.name], columns_of_writes(table), rows)

    def _put_sequences(self, _table: StoredTable, rows: Iterator[Row]) -> None:
        for name, last in rows:
            self._go_on_above(name, "id", last)

    def _put_words(self, _table: StoredTable, rows: Iterator[Row]) -> None:
        """The postings are made anew from the terms."""
        for batch in _batches(rows):
            found = self.connection.execute(_PLACES, ([row[0] for row in batch],)).fetchall()
            places = {passage: (document, collection) for passage, document, collection in found}
            by_document: dict[tuple[int, int], list[tuple[int, Indexed]]] = {}
            for passage, *words in batch:
                by_document.setdefault(places[passage], []).append((passage, indexed_from(*words)))
            for (document, collection), indexed in by_document.items():
                self.postings.insert(
                    self.writing, indexed, collection=collection, document=document, address=""
                )

    def put_vectors(self, rows: Iterator[Row]) -> None:
        import numpy as np

        for collection, ids, vectors in batches_of(rows):
            self.vectors.add(collection, ids, np.array([np.frombuffer(each, "<f4") for each in vectors]))

    def mark_missing(self) -> int:
        """Passages that are said to have a vector and have none are embedded anew; how many."""
        has_vectors = bool(columns_of(self.connection, VECTORS))
        missing = _MISSING.format(vectors=VECTORS if has_vectors else "(SELECT 0 AS passage) AS none")
        return int(self.connection.execute(missing).rowcount)

    def count_asked(self) -> None:
        """Fills the table in which PostgreSQL has what a folder counts from the queue when it is opened."""
        since = time.time() - max(PERIODS.values())
        found = self.connection.execute(_ASKED, (TURN, int(since * 1_000))).fetchall()
        questions = (counted_question(_arguments(inputs), status, since) for inputs, status in found)
        rows = [row for question in questions if question for row in asked_rows(question)]
        with self.connection.cursor() as cursor:
            cursor.executemany(_NOTE_ASKED, rows)

    def _copy(self, name: str, columns: Iterable[str], rows: Iterable[Row]) -> None:
        quoted = ", ".join(f'"{column}"' for column in columns)
        with (
            self.connection.cursor() as cursor,
            cursor.copy(f"COPY {name} ({quoted}) FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row([_storable(each) for each in row])

    def _go_on_above_all(self, name: str, column: str) -> None:
        """The next id of a table is one above its greatest."""
        if sequence_of(self.connection, name, column) is None:
            return
        greatest = self.connection.execute(f'SELECT max("{column}") FROM {name}'.encode()).fetchone()
        if greatest and greatest[0] is not None:
            self._go_on_above(name, column, greatest[0])

    def _go_on_above(self, name: str, column: str, last: int) -> None:
        sequence = sequence_of(self.connection, name, column)
        self.connection.execute("SELECT setval(%s::regclass, greatest(%s::bigint, 1))", (sequence, last))


def copy_to_server(
    source: StoredContent, storage: Storage, data_dir: Path, notify: Progress
) -> tuple[Tallies, int]:
    """The tallies of what was copied, and how many passages have no vector any more. ``data_dir`` gets the
    uploads.

    All or nothing. SettingsError where the stores hold something, or a process serves them; FootnoteError if what
    was written is not what was read, ValueError if it cannot be.
    """
    assert storage.url is not None
    with _reserved(storage.url, source):
        asyncio.run(_make_stores(storage))
        database = storage.database("library", tables.SCHEMA)
        assert isinstance(database, PostgresDatabase)
        vectors = PgvectorIndex(database)
        with database.transaction() as writing:
            assert isinstance(writing, Statements)
            check_versions(writing.connection)
            copy = ServerCopy(writing=writing, postings=PostingsIndex(database), vectors=vectors)
            try:
                tallies = _fill(copy, source, data_dir, notify)
            except (psycopg.DataError, psycopg.IntegrityError) as fault:
                raise ValueError("the rows do not fit the tables") from fault
            missing = copy.mark_missing()
            try:
                put_uploads(source.uploads, data_dir)
            except OSError as fault:
                raise SettingsError(f"{data_dir} cannot be written: {reason_of(fault)}.") from fault
            refuse_served(storage.url)
            writing.execute(f"DROP TABLE {INCOMPLETE}")
    notify("Building what makes the search of large collections fast")
    vectors.build_graphs()
    return tallies, missing


def _arguments(inputs: str | None) -> dict[str, Any]:
    """The arguments of a workflow, as DBOS gives them; it stores the positional ones under another name."""
    return {"args": json.loads(inputs or "{}").get("positionalArgs", [])}


def _fill(copy: ServerCopy, source: StoredContent, data_dir: Path, notify: Progress) -> Tallies:
    tallies, after = Tallies(source.data_dir), str(data_dir.resolve())
    for store, held in source.tables.items():
        notify(store)
        for table in held.tables:
            rows = tallies.rows(store, table, source.rows(store, table))
            copy.put(store, table, moved(table, rows, source.data_dir, after) if store == "library" else rows)
    notify(VECTORS)
    copy.put_vectors(tallies.vectors(source.vectors()))
    copy.count_asked()
    notify(COMPARING)
    written = ServerSource(connection=copy.connection, tables=source.tables, uploads=FolderUploads(data_dir))
    compare(tallies, tally(written))
    return tallies


async def _make_stores(storage: Storage) -> None:
    await make_postgres_stores(storage)
    await make_all_tables(storage, "")


@contextmanager
def _reserved(url: str, source: StoredContent) -> Iterator[None]:
    """Nobody else uses the database meanwhile, nor after a kill, until the copy was made anew."""
    address = conninfo(url)
    with (
        translate_errors(),
        psycopg.connect(address, autocommit=True, prepare_threshold=None) as holding,
        holding.transaction(),
        psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection,
    ):
        holding.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        refuse_company(holding, url)
        _refuse_full(connection, source)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {INCOMPLETE} ()")
        try:
            yield
        finally:  # it is there after a fault, when nothing else is
            with suppress(psycopg.Error):
                connection.execute(f"DROP TABLE IF EXISTS {INCOMPLETE}")


def _refuse_full(connection: psycopg.Connection[Any], source: StoredContent) -> None:
    for store, held in source.tables.items():
        for table in held.tables:
            name = place_of(store, NAMES.get((store, table.name), table.name))
            if table.name in OF_DBOS or not columns_of(connection, name):
                continue
            if connection.execute(f"SELECT FROM {name} LIMIT 1".encode()).rowcount:
                raise SettingsError(f"{SERVER} holds something already (in {name}). Name an empty database.")


def _storable(stored: Any) -> Any:
    """PostgreSQL stores no NUL; the sign in its place keeps all offsets."""
    return stored.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(stored, str) else stored


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
