"""A database as stores need it, with the version and the migrations of each store.

A query is written in the dialect that both understand: ``?`` for a value, ``ON CONFLICT`` for what may be
there already, ``RETURNING`` for an id that the database chose. Tables are declared with SQLite's types.
Where a statement must differ, a table by :data:`Dialect` says so next to it.

The first release has version 1. An older store is migrated to the newest version in one transaction, so that
a process that is killed in the middle leaves it as it was.

In a file of SQLite, ``PRAGMA application_id`` says that it is Footnote's, and ``PRAGMA user_version`` which
version it has. A newer file is refused.

In PostgreSQL a table says which version each store has. The first process migrates under a lock while others
wait. During a deploy the processes of the version before go on beside it, so **a migration only adds**: what
it replaces is dropped one version later. A store that is newer by one version is therefore served, and one
that is newer by more is refused.
"""

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, fields
from enum import IntEnum, unique
from functools import partial
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from core.conversation import value
from core.errors import SettingsError, VersionMismatch

logger = logging.getLogger(__name__)


Dialect = Literal["sqlite", "postgresql"]
Row = tuple[Any, ...]


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...  #: rows that were inserted, changed or deleted

    def fetchone(self) -> Any: ...  #: the next row; None if there is none

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Statements of one transaction."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Cursor: ...

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """Queries and transactions of one store; safe to share between threads.

    Raises StoreUnavailable when nothing can be read or written now: the disk or the network is at fault.
    """

    @property
    def dialect(self) -> Dialect: ...

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query, as of the last complete transaction."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """All or nothing; nested calls of the same thread join the outer one."""

    def erase_deleted(self, tables: Sequence[str]) -> None:
        """Leave nothing of what was deleted from these tables, as far as the database allows that."""

    def close(self) -> None: ...


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tables:
    """Reads and writes tables; safe to share between threads. Every method blocks."""

    database: Database

    def rows(self, query: str, *values: object) -> list[Row]:
        return self.database.rows(query, values)

    def write(self, query: str, *values: object) -> int:
        """The number of rows that a statement changed."""
        with self.database.transaction() as writing:
            return writing.execute(query, values).rowcount

    def write_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """The same statement with each row of values."""
        with self.database.transaction() as writing:
            writing.executemany(query, rows)


def among(
    dialect: Dialect, wanted: Iterable[str | int], kind: Literal["bigint", "text"] = "bigint"
) -> tuple[str, object]:
    """SQL after a column that is one of these numbers or texts, and its one value."""
    values = [int(number) for number in wanted] if kind == "bigint" else [*wanted]
    if dialect == "sqlite":
        return "IN (SELECT value FROM json_each(?))", json.dumps(values)
    return f"= ANY(CAST(? AS {kind}[]))", values


def rows_among(database: Database, query: str, wanted: Iterable[str], *values: object) -> list[Row]:
    """The rows of a query in which ``{}`` after a column, and after its ``values``, stands for the wanted texts."""
    condition, texts = among(database.dialect, wanted, "text")
    return database.rows(query.format(condition), (*values, texts))


def column_names(kind: Any) -> tuple[str, ...]:
    """The columns of a table whose rows are values of this kind: its fields."""
    return tuple(field.name for field in fields(kind))


def rows_as(kind: Callable[..., T], rows: Iterable[Row]) -> list[T]:
    """Values of rows, whose columns are their fields in the same order."""
    names = column_names(kind)
    return [kind(**dict(zip(names, row, strict=True))) for row in rows]


@dataclass(frozen=True, slots=True)
class AsyncDatabase:
    """SQLite answers in microseconds, so it is called at once. A server is waited for in a thread."""

    database: Database
    threads: Executor | None  #: None where no thread is needed

    async def call(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """The result of a function that reads or writes this database."""
        if self.threads is None:
            return function(*args, **named)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(function, *args, **named))

    async def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        return await self.call(self.database.rows, query, values)

    async def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one statement as a transaction; returns how many rows it changed."""
        return await self.call(Tables(self.database).write, statement, *values)

    async def write_all(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of these rows, as a transaction."""
        await self.call(Tables(self.database).write_all, statement, values)


APPLICATION_ID = 0x466F6F74  # "Foot"
FOREIGN = -1  # that of another program's file

VERSIONS = "footnote_versions"  # the table in PostgreSQL

_IF_NOT_EXISTS = re.compile(r"\b(CREATE (?:TABLE|INDEX)) IF NOT EXISTS ")

Migration = Callable[[Connection], object]


@unique
class AdvisoryLock(IntEnum):
    """The numbers of PostgreSQL's advisory locks, each held by one process at a time while it does this."""

    STORE = APPLICATION_ID  # makes or migrates the tables of a store
    LIBRARY = APPLICATION_ID + 1  # makes the tables of a library
    COPY = APPLICATION_ID + 2  # copies all stores into the database, or out of it


@value
class Schema:
    """The tables of one store."""

    tables: str = ""  #: SQL that makes the tables of the newest version; empty where a library makes its own
    postgresql: str = ""  #: the same for PostgreSQL where more than the names of types differs
    migrations: tuple[Migration, ...] = ()  #: append only; the first migrates version 1 to version 2
    is_serial: bool = False  #: whether PostgreSQL too runs its transactions one after the other
    cure: str = ""  #: what to do about a damaged file, as a sentence
    damage: type[SettingsError] = SettingsError  #: what is raised about a damaged file

    @property
    def version(self) -> int:
        return 1 + len(self.migrations)


def prepare(database: sqlite3.Connection, file: Path, schema: Schema) -> None:
    """Make the tables of a new file, or migrate an older one. VersionMismatch where it is neither.

    To migrate a file, the caller must own the data folder, so that no older process writes to it afterwards.
    """
    version = _version_of(database)
    check(file, version, schema)
    if version is None:
        database.execute("PRAGMA journal_mode = WAL")
        stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {schema.version};"
        database.executescript(f"BEGIN IMMEDIATE; {schema.tables}; {stamp} COMMIT;")
    elif version < schema.version:
        database.execute("BEGIN IMMEDIATE")
        current = _version_of(database) or 1  # read again: another process may have migrated it meanwhile
        for migration in schema.migrations[current - 1 :]:
            migration(database)
        database.execute(f"PRAGMA user_version = {schema.version}")
        database.execute("COMMIT")
        logger.info("%s was migrated from version %d to %d", file, version, schema.version)


def prepare_store(connection: Connection, store: str, schema: Schema) -> None:
    """The same in PostgreSQL, within a transaction; one newer version is served. VersionMismatch."""
    if _stored_version(connection, store) == schema.version:
        return
    connection.execute(f"SELECT pg_advisory_xact_lock({AdvisoryLock.STORE})")
    columns = "store TEXT PRIMARY KEY, version INTEGER NOT NULL"
    connection.execute(f"CREATE TABLE IF NOT EXISTS {VERSIONS} ({columns})")
    version = _stored_version(connection, store)  # read again: another process may have migrated it meanwhile
    if version is None:
        if schema.tables:
            # A table of this name that is there already is not ours.
            connection.execute(_IF_NOT_EXISTS.sub(r"\1 ", schema.postgresql or schema.tables))
        connection.execute(f"INSERT INTO {VERSIONS} VALUES (?, ?)", (store, schema.version))
        return
    if version > schema.version + 1:
        newer = f"The {store} in the PostgreSQL of DATABASE_URL was written by a newer version of Footnote."
        raise VersionMismatch(f"{newer} Install that version again.")
    for migration in schema.migrations[version - 1 :]:
        migration(connection)
    if version < schema.version:
        connection.execute(f"UPDATE {VERSIONS} SET version = ? WHERE store = ?", (schema.version, store))
        logger.info("the %s was migrated from version %d to %d", store, version, schema.version)


def _stored_version(connection: Connection, store: str) -> int | None:
    """The version of a store; None if it does not exist."""
    ((has_versions,),) = connection.execute("SELECT to_regclass(?) IS NOT NULL", (VERSIONS,)).fetchall()
    if not has_versions:
        return None
    found = connection.execute(f"SELECT version FROM {VERSIONS} WHERE store = ?", (store,)).fetchone()
    return None if found is None else int(found[0])


def check(file: Path, version: int | None, schema: Schema) -> None:
    """VersionMismatch for a version that cannot be opened."""
    if version == FOREIGN:
        raise VersionMismatch(f"{file} belongs to another program. Set DATA_DIR to another folder.")
    if version is not None and version > schema.version:
        raise VersionMismatch(
            f"{file} was written by a newer version of Footnote. "
            "Install that version again, or set DATA_DIR to another folder."
        )


def version_in(file: Path) -> int | None:
    """The version of a file; None if it is empty, or cannot be read: then opening it says why."""
    if not file.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return _version_of(database)
    except sqlite3.Error:
        return None


def _version_of(database: sqlite3.Connection) -> int | None:
    ((application,),) = database.execute("PRAGMA application_id")
    if application == APPLICATION_ID:
        ((version,),) = database.execute("PRAGMA user_version")
        return int(version)
    is_empty = not (application or database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone())
    return None if is_empty else FOREIGN
