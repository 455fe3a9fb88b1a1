"""The stores: whether the data folder can be used, who may read it, who uses it now, and free space; the one PostgreSQL,
read only; the threads that began; and the turns that wait.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from bots.chat import channels
from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, from_error, ok, warning
from bots.doctor.settings import Configuration
from bots.stores.source import IN_FOLDER, IN_POSTGRES, files_in
from core.bootstrap import is_served
from core.errors import FootnoteError, SettingsError, reason_of
from core.library import data_lock
from core.settings import Settings
from core.storage.database import VERSIONS, check, version_in
from core.storage.sqlite import translate_errors
from core.storage.storage import file_of, queue_file

if TYPE_CHECKING:
    import psycopg

NAME, TURNS = "data folder", "turns"
CHOWN, OWN = "sudo chown -R $(id -un)", "Set DATA_DIR to a folder of your own."
LITTLE_SPACE = 600_000_000  # bytes; 100,000 passages take 133 MB, and their vectors about 450
NO_SPACE = 20_000_000  # bytes; a day of conversations may need more

#: Turns that are due and have no outcome, in the table of DBOS; on PostgreSQL it is in DBOS's own schema.
_PENDING = "SELECT count(*) FROM {table} WHERE status IN ('ENQUEUED', 'PENDING')"

logger = logging.getLogger(__name__)


def query(file: Path, sql: str) -> list[Any]:
    """Rows of a SQLite file, which is neither made nor changed. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def stored_rows(settings: Settings, store: str, sql: str) -> list[Any]:
    """The rows of a store, if it exists. SettingsError if PostgreSQL is away, sqlite3.Error if damaged."""
    if settings.postgres_url:
        return server_rows(settings.postgres_url, sql)
    file = file_of(settings.data_dir, store)
    return query(file, sql) if file.is_file() else []


def readable_rows(settings: Settings, store: str, sql: str) -> list[Any]:
    """The same; empty where they cannot be read, as a check of the stores says why."""
    with suppress(SettingsError, sqlite3.Error):
        return stored_rows(settings, store, sql)
    return []


def report_damage(check: str, file: Path, error: sqlite3.Error, fix: str) -> Finding:
    logger.info("%s: %s", file, error)
    return failed(check, f"{file} cannot be opened or is damaged.", fix)


def examine(configuration: Configuration) -> list[Finding]:
    folder, fix = configuration.settings.data_dir, "Move it away, or set DATA_DIR to another folder."
    try:
        is_there = folder.exists()
    except PermissionError as fault:
        return [failed(NAME, f"DATA_DIR {folder} cannot be looked at: {reason_of(fault)}.", OWN)]
    if not is_there:
        return [*_examine_parent(folder)]
    if not folder.is_dir():
        return [failed(NAME, f"DATA_DIR {folder} is a file.", fix)]
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        is_own = folder.stat().st_uid == os.geteuid()
        fix = f"`{'chmod -R u+rwX' if is_own else CHOWN} {quote(str(folder))}`"
        return [failed(NAME, f"You may not write in DATA_DIR {folder}.", fix)]
    return [*_examine_access(folder), *_examine_space(folder), *_examine_files(configuration.settings)]


def find_owner(data_dir: Path) -> str:
    """ "process 123, footnote run": the process that uses the folder now; empty when there is none."""
    if (owner := data_lock.find_owner(data_dir)) is None:
        return ""
    return owner.name if owner.is_named else "another Footnote, just starting"


def find_server(settings: Settings) -> str:
    """The process that answers now, in words; empty when there is none. SettingsError if PostgreSQL cannot be asked."""
    if settings.postgres_url is None:
        return find_owner(settings.data_dir)
    return "a running Footnote" if is_served(settings) else ""


def _examine_parent(folder: Path) -> Iterator[Finding]:
    """The findings about the parent, before the folder is made."""
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        yield ok(NAME, f"{folder} is not there yet; the first command that needs it makes it.")
        yield from _examine_space(above)
    else:
        yield failed(NAME, f"DATA_DIR {folder} cannot be made in {above}.", OWN)


def _examine_access(folder: Path) -> Iterator[Finding]:
    owner = find_owner(folder)
    yield ok(NAME, f"{folder} is used by {owner}." if owner else f"{folder} can be used; nobody uses it now.")
    status = folder.stat()
    if status.st_uid != os.geteuid():
        yield warning(NAME, f"{folder} belongs to another user.", f"`{CHOWN} {quote(str(folder))}`")
    if status.st_mode & data_lock.PRIVATE_UMASK:
        yield warning(
            NAME, f"Others on this machine may look into {folder}.", f"`chmod 700 {quote(str(folder))}`"
        )


def _examine_space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    space = f"{free / 1e6:,.0f} MB are free on the disk of {folder}."
    fix = "Free some space, or set DATA_DIR to a folder on another disk."
    if free < NO_SPACE:
        yield failed(NAME, space, fix)
    elif free < LITTLE_SPACE:
        yield warning(NAME, space, fix)


def _examine_files(settings: Settings) -> Iterator[Finding]:
    """Files that are damaged or of other versions; the index and the turns have checks of their own."""
    for store, file in files_in(settings).items():
        schema = IN_FOLDER[store]
        try:
            if store not in ("library", "turns") and file.is_file():
                with translate_errors(file, schema):
                    query(file, "SELECT 1 FROM sqlite_master LIMIT 1")
            if store != "library":
                check(file, version_in(file), schema)
        except FootnoteError as fault:
            yield from_error(NAME, fault)


# Threads: the one sign in the data folder that a platform's events arrive


def thread_ids(settings: Settings, prefix: str) -> list[str]:
    """The platform's own ids of the threads below a prefix ("slack/T1"); none where nothing was stored yet."""
    found = readable_rows(settings, channels.STORE, "SELECT conversation FROM threads")
    return [name.rpartition("/")[2] for (name,) in found if name.startswith(f"{prefix}/")]


def report_events(check: str, began: Collection[float]) -> Finding:
    """``began``: when each thread did, in seconds since the epoch."""
    newest = datetime.fromtimestamp(max(began), UTC).astimezone()
    return ok(check, f"They come: the newest thread began on {newest:%d %b %Y at %H:%M}.")


# Turns: whether their queue opens, and how many wait in it


def examine_turns(configuration: Configuration) -> list[Finding]:
    settings = configuration.settings
    file = queue_file(settings)
    return [_examine_queue_file(file, settings) if file else _examine_queue_server(settings)]


def _examine_queue_file(file: Path, settings: Settings) -> Finding:
    if not file.exists():
        if file.parent != settings.data_dir and not os.access(file.parent, os.W_OK | os.X_OK):
            fix = "Set DATABASE_URL to a file in a folder of your own."
            return failed(TURNS, f"{file} cannot be made.", fix)
        return ok(TURNS, "None yet; the first `footnote run` makes their database.")
    try:
        ((pending,),) = query(file, _PENDING.format(table="workflow_status"))
    except sqlite3.Error as error:
        fix = "Move it away: `footnote run` makes a new one, and what waited in it has to be asked again."
        return report_damage(TURNS, file, error, fix)
    return _report_pending(pending, str(file), settings)


def _examine_queue_server(settings: Settings) -> Finding:
    try:
        rows = server_rows(settings.database_url, _PENDING.format(table="dbos.workflow_status"))
    except SettingsError:
        fix = "Check its host, name, user and password, and that PostgreSQL runs."
        return failed(TURNS, "DATABASE_URL names a database that cannot be opened.", fix)
    if not rows:
        return ok(TURNS, "DATABASE_URL opens; the first `footnote run` makes its tables.")
    return _report_pending(rows[0][0], "DATABASE_URL", settings)


def _report_pending(pending: int, where: str, settings: Settings) -> Finding:
    if not pending:
        return ok(TURNS, f"{where} opens; nothing waits.")
    turns = f"{counted(pending, 'turn')} without an answer"
    if owner := find_server(settings):
        return ok(TURNS, f"{where} opens; {turns}, which {owner} works on.")
    return warning(TURNS, f"{where} opens; {turns}.", "`footnote run` answers them.")


# PostgreSQL: whether it opens, what stands before it, who serves, and what its stores hold

MIGRATE = "`footnote migrate`"
NEEDED = 26  # connections of one process at most: its stores, its queue, its lease, installations

#: Of a PgBouncer in this mode. Only what is told by NOTIFY comes later: with the next look, after a second.
POOLED = (
    "A pooler with a connection for each transaction stands before PostgreSQL; Footnote works through it."
)


def examine_server(check: str, url: str) -> list[Finding]:
    """The findings, under the name of a check. Nothing is made or migrated."""
    import psycopg

    try:
        with _reading(url) as connection:
            (limit,) = connection.execute("SHOW max_connections").fetchone() or (0,)
            around = [*_pooler(check, url, connection), *room(check, int(limit))]
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


def server_rows(url: str, query: str, *values: object) -> list[Any]:
    """The rows of a table that may be missing or older. SettingsError if PostgreSQL cannot be asked."""
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


def room(check: str, connections: int) -> Iterator[Finding]:
    """A finding if the server has too few connections for two processes, as in every deploy."""
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
            newer = f"The {store} in PostgreSQL is of a newer version of Footnote."
            yield failed(check, newer, "Install that version again.")
