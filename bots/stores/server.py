"""The stores of one PostgreSQL, read as of one moment in the form of the folder's tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bots.stores.folder import FolderSource, FolderUploads, make_stores, open_folder
from bots.stores.source import IN_POSTGRES, VECTORS
from core.errors import SettingsError
from core.library.fts5_terms import places_of, words_row
from core.storage.database import VERSIONS, AdvisoryLock, Row, Schema
from core.storage.postgres import SERVER, conninfo, translate_errors
from core.storage.sqlite_rows import SEQUENCES, StoredTable, StoredTables
from core.turns import checkpoints, checkpoints_postgres, leases
from core.turns.replicas import ALONE

DBOS_SCHEMA = "dbos"  # the schema of DBOS's tables
AT_ONCE = 500  # rows of one round trip

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSource:
    """One transaction. Uploads are not in it: they lie in the data folder of the process that took them."""

    connection: psycopg.Connection[Any]
    tables: Mapping[str, StoredTables]
    uploads: FolderUploads  #: on this machine

    @property
    def data_dir(self) -> str:
        return str(self.uploads.folder.resolve())

    def rows(self, store: str, table: StoredTable) -> Iterator[Row]:
        match store, table.name:
            case "conversations", "checkpoints":
                found = self._read(checkpoints.READ_CHECKPOINTS)
                return map(checkpoints.from_postgres, found)
            case "conversations", "writes":
                columns = ", ".join(f'"{each}"' for each in columns_of_writes(table))
                return self._read(f"SELECT {columns} FROM checkpoint_writes")
            case "library", "words":
                return self._words()
            case "library", name if name == SEQUENCES:
                return self._sequences()
            case "turns", "workflow_status":
                return self._workflows(table)
        return self._table(place_of(store, table.name), table)

    def vectors(self) -> Iterator[Row]:
        import numpy as np

        if not columns_of(self.connection, VECTORS):
            return
        for collection, passage, vector in self._read(_VECTORS):
            yield collection, passage, np.array(vector, "<f4").tobytes()

    def _table(self, name: str, table: StoredTable) -> Iterator[Row]:
        """Nothing of a table that nobody made yet."""
        types = columns_of(self.connection, name)
        if not types:
            return iter(())
        wanted = (_AS_SQLITE.get(types[each], "{0}").format(f'"{each}"') for each in table.columns)
        return self._read(f"SELECT {', '.join(wanted)} FROM {name}")

    def _words(self) -> Iterator[Row]:
        places = places_of(dict(self._read("SELECT name, number FROM collections")))
        for passage, language, title, body, collection, address in self._read(_WORDS):
            yield passage, *words_row((language, title, body), places[collection], address)

    def _sequences(self) -> Iterator[Row]:
        """The last ids of the tables that never give one twice."""
        for name in ("documents", "passages"):
            query = "SELECT last_value, is_called FROM {}".format(sequence_of(self.connection, name, "id"))
            for last, is_called in self.connection.execute(query).fetchall():
                if is_called:
                    yield name, last

    def _workflows(self, table: StoredTable) -> Iterator[Row]:
        """The rows of workflows: what runs belongs to the one process of a folder, which takes it up when it
        starts.
        """
        status, executor = table.columns.index("status"), table.columns.index("executor_id")
        for row in self._table(place_of("turns", table.name), table):
            if row[status] == "PENDING":
                row = (*row[:executor], ALONE.executor, *row[executor + 1 :])  # noqa: PLW2901 - the same row
            yield row

    def _read(self, query: str) -> Iterator[Row]:
        with self.connection.cursor(name="copy") as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(query)
            yield from cursor


def place_of(store: str, table: str) -> str:
    return f'{DBOS_SCHEMA}."{table}"' if store == "turns" else f'"{table}"'


def columns_of_writes(table: StoredTable) -> tuple[str, ...]:
    """The names here of the folder's columns of pending writes, in their order there."""
    return tuple("blob" if each == "value" else each for each in table.columns)


def columns_of(connection: psycopg.Connection[Any], name: str) -> dict[str, str]:
    """Types by column; empty for a table that is not there."""
    return dict(connection.execute(_COLUMNS, (name,)).fetchall())


def sequence_of(connection: psycopg.Connection[Any], name: str, column: str) -> str | None:
    """The sequence that gives a column its numbers; None for another column."""
    found = connection.execute("SELECT pg_get_serial_sequence(%s, %s)", (name, column)).fetchone()
    return None if found is None else found[0]


@contextmanager
def _form_of_folder() -> Iterator[FolderSource]:
    """Empty stores, with the tables that there are in a folder."""
    with tempfile.TemporaryDirectory(prefix="footnote-") as folder:
        make_stores(Path(folder))
        with open_folder(Path(folder)) as made:
            yield made


@contextmanager
def open_snapshot(url: str, data_dir: Path, *, is_moving: bool = False) -> Iterator[ServerSource]:
    """Everything as of one moment, whoever writes meanwhile; ``data_dir`` has the uploads.

    SettingsError where a store has another version, or there is none. With ``is_moving`` also where a process
    serves or another one moves; none begins meanwhile.
    """
    with (
        _form_of_folder() as form,
        translate_errors(),
        psycopg.connect(conninfo(url), autocommit=True, prepare_threshold=None) as connection,
        connection.transaction(),
    ):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if is_moving:
            refuse_company(connection, url)
        check_versions(connection)
        ((version,),) = form.databases["turns"].execute("SELECT max(version) FROM dbos_migrations")
        check_queue(connection, version)
        yield ServerSource(connection=connection, tables=form.tables, uploads=FolderUploads(data_dir))
        if is_moving:
            refuse_served(url)


def refuse_company(connection: psycopg.Connection[Any], url: str) -> None:
    """SettingsError where another process moves or serves. Until the transaction of this connection ends, none
    begins to: a session's lock would stay with a connection that a PgBouncer hands to others.
    """
    taken = connection.execute(f"SELECT WHERE pg_try_advisory_xact_lock({AdvisoryLock.COPY})").rowcount
    if not taken:
        raise SettingsError(
            f"{SERVER} is being copied by another `footnote move` or `footnote restore`. Wait until it has ended."
        )
    if leases.is_any_serving(url):
        raise SettingsError(f"{SERVER} is served by a process. Stop every `footnote run` first.")


def refuse_served(url: str) -> None:
    """SettingsError where a process that had connected before the copy began serves by now."""
    if leases.is_any_serving(url):
        raise SettingsError(f"{SERVER} was served meanwhile. Stop that process, and run the command again.")


def check_versions(connection: psycopg.Connection[Any]) -> None:
    """SettingsError unless every store that there is has the version of this Footnote."""
    if not columns_of(connection, VERSIONS):
        raise SettingsError(f"{SERVER} holds no stores of Footnote.")
    stored = dict(connection.execute(f"SELECT store, version FROM {VERSIONS}").fetchall())
    for store, schema in _all_stores().items():
        version = stored.get(store, schema.version)
        if version != schema.version:
            cure = "Run `footnote migrate` first." if version < schema.version else "Install that version."
            raise SettingsError(
                f"{SERVER} holds version {version} of the {store}, and this Footnote has {schema.version}. {cure}"
            )


def check_queue(connection: psycopg.Connection[Any], version: int) -> None:
    """SettingsError unless the queue was made by the DBOS that made another one, which has this version."""
    there = f"{DBOS_SCHEMA}.dbos_migrations"
    found = (
        columns_of(connection, there) and connection.execute(f"SELECT max(version) FROM {there}").fetchone()
    )
    if not found or found[0] != version:
        raise SettingsError(
            "The queue was last served by another version of Footnote. Run `footnote migrate`, start and stop"
            " `footnote run`, and then run the command again."
        )


def _all_stores() -> dict[str, Schema]:
    return {
        **IN_POSTGRES,
        "conversations": checkpoints_postgres.SCHEMA,
        "turns": leases.SCHEMA,
    }
