"""The one PostgreSQL, read only: whether it opens, what stands before it, who serves, and what its stores hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, from_error, ok, warning
from bots.stores.source import IN_POSTGRES
from core.errors import SettingsError
from core.storage.database import VERSIONS

if TYPE_CHECKING:
    import psycopg

MIGRATE = "`footnote migrate`"
NEEDED = 26  # connections of one process at most: its stores, its queue, its lease, installations

#: Of a PgBouncer in this mode. Only what is told by NOTIFY comes later: with the next look, after a second.
POOLED = (
    "A pooler with a connection for each transaction stands before PostgreSQL; Footnote works through it."
)


def examine(check: str, url: str) -> list[Finding]:
    """The findings, under the name of a check. Nothing is made or migrated."""
    import psycopg

    try:
        with _reading(url) as connection:
            around = [*_pooler(check, url, connection), *room(check, _limit(connection))]
            try:
                stored = connection.execute(f"SELECT store, version FROM {VERSIONS}").fetchall()
                (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone() or (0,)
                (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone() or (0,)
            except psycopg.errors.UndefinedTable:
                return [*around, warning(check, "DATABASE_URL opens, and nothing is stored yet.", MIGRATE)]
    except SettingsError as error:
        return [from_error(check, error, "Check its host, name, user and password, and that it runs.")]
    around += _other_versions(check, dict(stored))
    if not documents:
        return [*around, warning(check, "Nothing is indexed yet.", "`footnote ingest PATH`")]
    return [*around, ok(check, f"{counted(documents, 'document')} with {counted(passages, 'passage')}.")]


def rows(url: str, query: str, *values: object) -> list[Any]:
    """The rows of a table that need not exist, or may be of another version. SettingsError if PostgreSQL
    cannot be asked.
    """
    import psycopg

    with _reading(url) as connection:
        try:
            return connection.execute(query, values).fetchall()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            return []


@contextmanager
def _reading(url: str) -> Iterator[psycopg.Connection[Any]]:
    import psycopg

    from core.storage.postgres import check_state, conninfo, translate_errors

    with (
        translate_errors(),
        psycopg.connect(conninfo(url), prepare_threshold=None, autocommit=True) as connection,
    ):
        connection.read_only = True
        check_state(connection)
        yield connection


def _pooler(check: str, url: str, connection: psycopg.Connection[Any]) -> Iterator[Finding]:
    """A pooler gives the connection to the server that one client has left to the next: both then name the same
    process of the server, which cannot be where each has a connection of its own."""

    def process_of(client: psycopg.Connection[Any]) -> int:
        return int((client.execute("SELECT pg_backend_pid()").fetchone() or (0,))[0])

    with _reading(url) as other:
        before = process_of(connection)
        with other.transaction():
            if process_of(other) == before:
                yield ok(check, POOLED)


def _limit(connection: psycopg.Connection[Any]) -> int:
    return int((connection.execute("SHOW max_connections").fetchone() or (0,))[0])


def room(check: str, connections: int) -> Iterator[Finding]:
    """True if the server takes enough connections for two processes, as in every deploy."""
    if connections < 2 * NEEDED:
        yield warning(
            check,
            f"PostgreSQL takes {connections} connections at once, and each process of Footnote needs up to {NEEDED}.",
            "Raise its max_connections, or a deploy may find none left.",
        )


def _other_versions(check: str, stored: Mapping[str, int]) -> Iterator[Finding]:
    for store, schema in IN_POSTGRES.items():
        version = stored.get(store)
        if version is None or version < schema.version:
            yield warning(check, f"The {store} in PostgreSQL is of an older version.", MIGRATE)
        elif version > schema.version + 1:
            told = f"The {store} in PostgreSQL is of a newer version of Footnote."
            yield failed(check, told, "Install that version again.")
