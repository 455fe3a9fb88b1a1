"""The stores of one PostgreSQL, read as of one moment in the form of the folder's tables; and a copy of all stores in an
empty one, written in one transaction.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg

from bots.slack.oauth import make_all_tables
from bots.stores import source as copies
from bots.stores.folder import FolderUploads, compare, make_stores, open_folder, put_uploads, vector_batches
from core.errors import SettingsError, reason_of
from core.library import tables
from core.library.fts5 import from_words_row, partitions_of, words_row
from core.library.lexical import Indexed
from core.library.pgvector import PgvectorIndex
from core.library.postings import PostingsIndex
from core.storage.database import VERSIONS, AdvisoryLock, Row
from core.storage.postgres import INCOMPLETE, SERVER, PostgresDatabase, Statements, conninfo, translate_errors
from core.storage.sqlite import SEQUENCES, StoredTable, StoredTables
from core.storage.storage import Storage
from core.turns import checkpoints, checkpoints_postgres, leases
from core.turns.archive import TURN, counted_question
from core.turns.rate_limits import PERIODS, asked_rows
from core.turns.replicas import ALONE

DBOS_SCHEMA = "dbos"  # the schema of DBOS's tables
AT_ONCE = 500  # rows of one round trip, or in memory

#: By type, how a column is read in the form that SQLite has of it. SQLAlchemy stores times there as text.
_AS_SQLITE: Mapping[str, str] = {
    "boolean": "{0}::int AS {0}",
    "jsonb": "{0}::text AS {0}",
    "timestamp without time zone": "to_char({0}, 'YYYY-MM-DD HH24:MI:SS.US') AS {0}",
}
_COLUMNS = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_WORDS = """
SELECT passage, w.language, w.title, w.body, w.collection, d.address
FROM passage_terms w JOIN documents d ON d.id = w.document ORDER BY passage
"""
_VECTORS = """
SELECT c.name, v.passage::text, v.embedding::real[] FROM vectors v JOIN collections c ON c.number = v.collection
JOIN passages p ON p.id = v.passage WHERE p.embedded = 1 ORDER BY v.collection, v.passage
"""

#: Tables of the folder that have another name or another form here.
NAMES = {("library", "words"): "passage_terms", ("conversations", "writes"): "checkpoint_writes"}
_DOCUMENTS = """
SELECT p.id, d.id, d.collection FROM passages p JOIN documents d ON d.id = p.document WHERE p.id = ANY(%s)
"""
_MISSING = """
UPDATE passages SET embedded = 0 WHERE embedded = 1 AND NOT EXISTS (SELECT FROM {vectors} WHERE passage = passages.id)
"""
_ASKED = f"""
SELECT coalesce(stored.inputs, turn.inputs), status FROM {DBOS_SCHEMA}.workflow_status AS turn
LEFT JOIN {DBOS_SCHEMA}.workflow_input AS stored USING (workflow_uuid) WHERE name = %s AND turn.created_at > %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSource(FolderUploads):
    """One transaction. Uploads are not in it: they lie in the data folder of the process that took them."""

    connection: psycopg.Connection[Any]
    tables: Mapping[str, StoredTables]

    @property
    def data_dir(self) -> str:
        return str(self.folder.resolve())

    def rows(self, store: str, table: StoredTable) -> Iterator[Row]:
        match store, table.name:
            case "conversations", "checkpoints":
                found = self._read(checkpoints.READ_CHECKPOINTS)
                return map(checkpoints.from_postgres, found)
            case "conversations", "writes":
                return self._read(f"SELECT {_quoted(_columns_of_writes(table))} FROM checkpoint_writes")
            case "library", "words":
                partitions = partitions_of(dict(self._read("SELECT name, number FROM collections")))
                return (
                    (passage, *words_row((language, title, body), partitions[collection], address))
                    for passage, language, title, body, collection, address in self._read(_WORDS)
                )
            case "library", name if name == SEQUENCES:
                return self._sequences()
            case "turns", "workflow_status":
                return self._workflows(table)
        return self._table(_table_name(store, table.name), table)

    def vectors(self) -> Iterator[Row]:
        import numpy as np

        if not _columns_of(self.connection, copies.VECTORS):
            return
        for collection, passage, vector in self._read(_VECTORS):
            yield collection, passage, np.array(vector, "<f4").tobytes()

    def _table(self, name: str, table: StoredTable) -> Iterator[Row]:
        """The rows of a table; none if it does not exist."""
        types = _columns_of(self.connection, name)
        if not types:
            return iter(())
        wanted = (_AS_SQLITE.get(types[each], "{0}").format(f'"{each}"') for each in table.columns)
        return self._read(f"SELECT {', '.join(wanted)} FROM {name}")

    def _sequences(self) -> Iterator[Row]:
        """The last ids of the tables that never give one twice."""
        for name in ("documents", "passages"):
            query = f"SELECT last_value, is_called FROM {_sequence_of(self.connection, name, 'id')}"
            for last, is_called in self.connection.execute(query.encode()).fetchall():
                if is_called:
                    yield name, last

    def _workflows(self, table: StoredTable) -> Iterator[Row]:
        """The workflows for a folder; running ones are given to its one process, which resumes them."""
        status, executor = table.columns.index("status"), table.columns.index("executor_id")
        for row in self._table(_table_name("turns", table.name), table):
            if row[status] == "PENDING":
                row = (*row[:executor], ALONE.executor, *row[executor + 1 :])  # noqa: PLW2901 - the same row
            yield row

    def _read(self, query: str) -> Iterator[Row]:
        with self.connection.cursor(name="copy") as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(query)
            yield from cursor


def _table_name(store: str, table: str) -> str:
    return f'{DBOS_SCHEMA}."{table}"' if store == "turns" else f'"{table}"'


def _quoted(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _columns_of_writes(table: StoredTable) -> tuple[str, ...]:
    """The names here of the folder's columns of pending writes, in their order there."""
    return tuple("blob" if each == "value" else each for each in table.columns)


def _columns_of(connection: psycopg.Connection[Any], name: str) -> dict[str, str]:
    """Types by column; empty for a missing table."""
    return dict(connection.execute(_COLUMNS, (name,)).fetchall())


def _sequence_of(connection: psycopg.Connection[Any], name: str, column: str) -> str | None:
    """The sequence that gives a column its numbers; None for another column."""
    found = connection.execute("SELECT pg_get_serial_sequence(%s, %s)", (name, column)).fetchone()
    return None if found is None else found[0]


@contextmanager
def open_snapshot(url: str, data_dir: Path, *, is_moving: bool = False) -> Iterator[ServerSource]:
    """Everything as of one moment, whoever writes meanwhile; ``data_dir`` has the uploads. SettingsError
    where a store has another version, or there is none; with ``is_moving`` also where a process serves or
    another one moves."""
    with (
        tempfile.TemporaryDirectory(prefix="footnote-") as empty,  # a folder's stores: the tables that it has
        translate_errors(),
        psycopg.connect(conninfo(url), autocommit=True, prepare_threshold=None) as connection,
        connection.transaction(),
    ):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if is_moving:
            refuse_company(connection, url)
        _check_versions(connection)
        make_stores(Path(empty))
        with open_folder(Path(empty)) as form:
            tables = form.tables
            ((version,),) = form.databases["turns"].execute("SELECT max(version) FROM dbos_migrations")
        _check_queue(connection, version)
        yield ServerSource(connection=connection, tables=tables, folder=data_dir)
        if is_moving:
            _refuse_served(url)


def refuse_company(connection: psycopg.Connection[Any], url: str) -> None:
    """SettingsError where another process moves or serves. Until the transaction of this connection ends,
    none begins to: a session's lock would stay with a connection that a PgBouncer hands to others."""
    taken = connection.execute(f"SELECT WHERE pg_try_advisory_xact_lock({AdvisoryLock.COPY})").rowcount
    if not taken:
        raise SettingsError(
            f"{SERVER} is being copied by another `footnote move` or `footnote restore`. Wait until it has ended."
        )
    if leases.is_any_serving(url):
        raise SettingsError(f"{SERVER} is served by a process. Stop every `footnote run` first.")


def _refuse_served(url: str) -> None:
    """Raise SettingsError if a process that had connected before the copy serves by now."""
    if leases.is_any_serving(url):
        raise SettingsError(f"{SERVER} was served meanwhile. Stop that process, and run the command again.")


def _check_versions(connection: psycopg.Connection[Any]) -> None:
    """Raise SettingsError unless every store has the version of this Footnote."""
    if not _columns_of(connection, VERSIONS):
        raise SettingsError(f"{SERVER} holds no stores of Footnote.")
    stored = dict(connection.execute(f"SELECT store, version FROM {VERSIONS}").fetchall())
    of_libraries = {"conversations": checkpoints_postgres.SCHEMA, "turns": leases.SCHEMA}
    for store, schema in {**copies.IN_POSTGRES, **of_libraries}.items():
        version = stored.get(store, schema.version)
        if version != schema.version:
            cure = "Run `footnote migrate` first." if version < schema.version else "Install that version."
            raise SettingsError(
                f"{SERVER} holds version {version} of the {store}, and this Footnote has {schema.version}. {cure}"
            )


def _check_queue(connection: psycopg.Connection[Any], version: int) -> None:
    """Raise SettingsError unless the queue is of the same version of DBOS."""
    there = f"{DBOS_SCHEMA}.dbos_migrations"
    query = f"SELECT max(version) FROM {there}"
    found = _columns_of(connection, there) and connection.execute(query).fetchone()
    if not found or found[0] != version:
        raise SettingsError(
            "The queue was last served by another version of Footnote. Run `footnote migrate`, start and stop"
            " `footnote run`, and then run the command again."
        )


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
        match store, table.name:
            case "turns", "dbos_migrations":
                _check_queue(self.connection, max(version for (version,) in rows))
            case "conversations", "checkpoints":
                for batch in _batches(rows):
                    checkpoints.put_checkpoints(self.connection, batch)
            case "conversations", "writes":
                self._copy(NAMES["conversations", "writes"], _columns_of_writes(table), rows)
            case "library", "words":
                self._put_words(rows)
            case "library", name if name == SEQUENCES:
                for of_table, last in rows:
                    self._go_on_above(of_table, "id", int(last))
            case _ if table.name not in copies.OF_DBOS:
                name = _table_name(store, table.name)
                self._copy(name, table.columns, rows)
                for column in table.columns:
                    self._go_on_above(name, column, f'(SELECT max("{column}") FROM {name})')

    def _put_words(self, rows: Iterator[Row]) -> None:
        """Write the words, and make the postings again from their terms."""
        for batch in _batches(rows):
            found = self.connection.execute(_DOCUMENTS, ([row[0] for row in batch],)).fetchall()
            keys = {passage: (document, collection) for passage, document, collection in found}
            by_document: dict[tuple[int, int], list[tuple[int, Indexed]]] = {}
            for passage, *words in batch:
                by_document.setdefault(keys[passage], []).append((passage, from_words_row(*words)))
            for (document, collection), indexed in by_document.items():
                self.postings.insert(
                    self.writing, indexed, collection=collection, document=document, address=""
                )

    def count_asked(self) -> None:
        """Fill the table of counts, which a folder takes from the queue when it is opened."""
        since = time.time() - max(PERIODS.values())
        found = self.connection.execute(_ASKED, (TURN, int(since * 1_000))).fetchall()
        # The arguments as DBOS gives them: it stores the positional ones under another name.
        given = ((json.loads(inputs or "{}").get("positionalArgs", []), status) for inputs, status in found)
        questions = (counted_question({"args": args}, status, since) for args, status in given)
        rows = [row for question in questions if question for row in asked_rows(question)]
        with self.connection.cursor() as cursor:
            cursor.executemany("INSERT INTO asked VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", rows)

    def _copy(self, name: str, columns: Iterable[str], rows: Iterable[Row]) -> None:
        into = f"COPY {name} ({_quoted(columns)}) FROM STDIN"
        with self.connection.cursor() as cursor, cursor.copy(into.encode()) as copy:
            for row in rows:
                # PostgreSQL stores no NUL; the sign in its place keeps all offsets.
                sign = "\N{REPLACEMENT CHARACTER}"
                copy.write_row([each.replace("\0", sign) if isinstance(each, str) else each for each in row])

    def _go_on_above(self, name: str, column: str, last: int | str) -> None:
        """Set a table's next id above its last; a column without a sequence, or an empty table, stays."""
        if sequence := _sequence_of(self.connection, name, column):
            # NULL sets nothing.
            setting = f"SELECT setval('{sequence}', nullif(greatest({last}, 0), 0))"
            self.connection.execute(setting.encode())


def copy_to_server(
    source: copies.StoredContent, storage: Storage, data_dir: Path, notify: copies.Progress
) -> tuple[copies.Tallies, int]:
    """The tallies of what was copied, and how many passages have no vector any more. ``data_dir`` gets the
    uploads. All or nothing. SettingsError where the stores hold something, or a process serves them;
    FootnoteError if what was written is not what was read, ValueError if it cannot be."""
    assert storage.url is not None
    with _reserved(storage.url, source):
        asyncio.run(_make_empty(storage))
        database = storage.database("library", tables.SCHEMA)
        assert isinstance(database, PostgresDatabase)
        vectors = PgvectorIndex(database)
        with database.transaction() as writing:
            assert isinstance(writing, Statements)
            connection = writing.connection
            _check_versions(connection)
            copy = ServerCopy(writing=writing, postings=PostingsIndex(database), vectors=vectors)
            try:
                tallies = _fill(copy, source, data_dir, notify)
            except (psycopg.DataError, psycopg.IntegrityError) as fault:
                raise ValueError("the rows do not fit the tables") from fault
            # Passages that are said to have a vector and have none are embedded anew.
            has_vectors = _columns_of(connection, copies.VECTORS)
            held = copies.VECTORS if has_vectors else "(SELECT 0 AS passage) AS none"
            missing = connection.execute(_MISSING.format(vectors=held).encode()).rowcount
            try:
                put_uploads(source, data_dir)
            except OSError as fault:
                raise SettingsError(f"{data_dir} cannot be written: {reason_of(fault)}.") from fault
            _refuse_served(storage.url)
            writing.execute(f"DROP TABLE {INCOMPLETE}")
    notify("Building what makes the search of large collections fast")
    vectors.build_graphs()
    return tallies, missing


def _fill(
    copy: ServerCopy, source: copies.StoredContent, data_dir: Path, notify: copies.Progress
) -> copies.Tallies:
    tallies = copies.Tallies(source.data_dir)
    for store in source.tables:
        notify(store)
        for table, rows in tallies.parts(source, store, after=data_dir):
            copy.put(store, table, rows)
    notify(copies.VECTORS)
    for collection, ids, vectors in vector_batches(tallies.vectors(source.vectors())):
        copy.vectors.add(collection, ids, vectors)
    copy.count_asked()
    notify(copies.COMPARING)
    written = ServerSource(connection=copy.connection, tables=source.tables, folder=data_dir)
    compare(tallies, copies.tally(written))
    return tallies


async def _make_empty(storage: Storage) -> None:
    await copies.make_postgres_stores(storage)
    await make_all_tables(storage, "")


@contextmanager
def _reserved(url: str, source: copies.StoredContent) -> Iterator[None]:
    """Keep all others from the database, after a kill too, until the copy was made again."""
    address = conninfo(url)
    with (
        translate_errors(),
        psycopg.connect(address, autocommit=True, prepare_threshold=None) as holding,
        holding.transaction(),
        psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection,
    ):
        holding.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        refuse_company(holding, url)
        for store, held in source.tables.items():
            for table in held.tables:
                name = _table_name(store, NAMES.get((store, table.name), table.name))
                if table.name in copies.OF_DBOS or not _columns_of(connection, name):
                    continue
                if connection.execute(f"SELECT FROM {name} LIMIT 1".encode()).rowcount:
                    raise SettingsError(
                        f"{SERVER} holds something already (in {name}). Name an empty database."
                    )
        connection.execute(f"CREATE TABLE IF NOT EXISTS {INCOMPLETE} ()")
        try:
            yield
        finally:  # it is there after a fault, when nothing else is
            with suppress(psycopg.Error):
                connection.execute(f"DROP TABLE IF EXISTS {INCOMPLETE}")


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, AT_ONCE)):
        yield batch
