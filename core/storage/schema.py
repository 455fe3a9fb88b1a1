"""The version of each store, and the migrations from one version to the next.

The first release has version 1. An older store is migrated to the newest version in one transaction, so that
a process that is killed in the middle leaves it as it was.

In a file of SQLite, ``PRAGMA application_id`` says that it is Footnote's, and ``PRAGMA user_version`` which
version it has. A newer file is refused.

In PostgreSQL a table says which version each store has. The first process migrates under a lock while others
wait. During a deploy the processes of the version before go on beside it, so **a migration only adds**: what
it replaces is dropped one version later. A store that is newer by one version is therefore served, and one
that is newer by more is refused.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from enum import IntEnum, unique
from pathlib import Path

from core.conversation import value
from core.errors import SettingsError, VersionMismatch
from core.storage.database import Connection

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


logger = logging.getLogger(__name__)


@value
class Schema:
    """What one store contains."""

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
        _migrate(database, schema)
        logger.info("%s was migrated from version %d to %d", file, version, schema.version)


def prepare_store(connection: Connection, store: str, schema: Schema) -> None:
    """The same for a store in PostgreSQL, within the transaction of this connection.

    VersionMismatch if the tables belong to another program, or to a version that is newer by more than one.
    """
    if _stored_version(connection, store) == schema.version:
        return
    connection.execute(f"SELECT pg_advisory_xact_lock({AdvisoryLock.STORE})")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {VERSIONS} (store TEXT PRIMARY KEY, version INTEGER NOT NULL)"
    )
    version = _stored_version(connection, store)  # read again: another process may have migrated it meanwhile
    if version is None:
        if schema.tables:
            # A table of this name that is there already is not ours.
            connection.execute(_IF_NOT_EXISTS.sub(r"\1 ", schema.postgresql or schema.tables))
        connection.execute(f"INSERT INTO {VERSIONS} VALUES (?, ?)", (store, schema.version))
        return
    if version > schema.version + 1:
        raise VersionMismatch(
            f"The {store} in the PostgreSQL of DATABASE_URL was written by a newer version of Footnote. "
            "Install that version again."
        )
    for migration in schema.migrations[version - 1 :]:
        migration(connection)
    if version < schema.version:
        connection.execute(f"UPDATE {VERSIONS} SET version = ? WHERE store = ?", (schema.version, store))
        logger.info("the %s was migrated from version %d to %d", store, version, schema.version)


def _stored_version(connection: Connection, store: str) -> int | None:
    """None for a store that does not exist."""
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


def _migrate(database: sqlite3.Connection, schema: Schema) -> None:
    database.execute("BEGIN IMMEDIATE")
    version = _version_of(database) or 1  # read again: another process may have migrated it meanwhile
    for migration in schema.migrations[version - 1 :]:
        migration(database)
    database.execute(f"PRAGMA user_version = {schema.version}")
    database.execute("COMMIT")


def _version_of(database: sqlite3.Connection) -> int | None:
    ((application,),) = database.execute("PRAGMA application_id")
    if application == APPLICATION_ID:
        ((version,),) = database.execute("PRAGMA user_version")
        return int(version)
    is_empty = not (application or database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone())
    return None if is_empty else FOREIGN
