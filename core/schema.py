"""The version of each SQLite file in the data folder, and the migrations from one version to the next.

``PRAGMA application_id`` marks the file as Footnote's, ``PRAGMA user_version`` is its version. The first
release has version 1. An older file is migrated to the newest version in one transaction, so that a process
that is killed in the middle leaves it as it was. A newer file is refused, and so is one from before the
first release.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from core.conversation import value
from core.errors import VersionMismatch

APPLICATION_ID = 0x466F6F74  # "Foot"
UNRELEASED = 0  # the version of a file from before the first release
FOREIGN = -1  # that of another program's file
#: A file from before the first release has one of these tables, and no application id.
OUR_TABLES = frozenset({"documents", "channels", "checkpoints", "spent", "workflow_status"})

Migration = Callable[[sqlite3.Connection], object]

logger = logging.getLogger(__name__)


def add_fields(_database: sqlite3.Connection) -> None:
    """The migration for stored values that got fields with defaults: only an older version must not read them."""


@value
class Schema:
    """What one kind of file contains."""

    tables: str = ""  #: SQL that makes the tables of the newest version; empty where a library makes its own
    migrations: tuple[Migration, ...] = ()  #: append only; the first migrates version 1 to version 2

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


def check(file: Path, version: int | None, schema: Schema) -> None:
    """VersionMismatch for a version that cannot be opened."""
    if version == FOREIGN:
        raise VersionMismatch(f"{file} belongs to another program. Set DATA_DIR to another folder.")
    if version == UNRELEASED:
        raise VersionMismatch(
            f"{file} is from before the first release of Footnote. Run `footnote ingest --rebuild`: it indexes "
            "your documents, uploads and web pages again. Conversations, channel settings and waiting turns "
            "start empty; the old files are kept."
        )
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
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if not tables and not application:
        return None
    return UNRELEASED if not application and tables & OUR_TABLES else FOREIGN
