"""``footnote backup``, ``restore``, ``move`` and ``migrate``: all stores in one file, in another database, and in
the version of this Footnote.
"""

import asyncio
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from bots.chat.texts import counted
from bots.process import clearing_up
from bots.stores import archives
from bots.stores.archives import Backup
from bots.stores.folder import empty_folder, lay_down, open_folder
from bots.stores.server import copy_to_server, open_snapshot
from bots.stores.source import IN_FOLDER, Progress, Tallies, files_in, make_postgres_stores
from bots.terminal.screen import Screen
from core.errors import FootnoteError, IndexInUse, SettingsError
from core.library.data_lock import lock_data_dir, refuse_incomplete
from core.settings import Settings
from core.storage.database import VERSIONS, Schema, check, prepare, version_in
from core.storage.postgres import SERVER
from core.storage.sqlite import translate_errors
from core.storage.storage import Storage, file_of, open_storage, queue_file


@clearing_up()
def back_up(arguments: Namespace, settings: Settings) -> int:
    """Back up all stores, also while processes serve them."""
    made = archives.back_up(settings, Path(arguments.file))
    screen = Screen()
    screen.write(f"{arguments.file} holds {_summary(made)}. Only you can read it.")
    if made.missing:
        screen.write(f"{counted(made.missing, 'vector')} could not be read and will be made anew.")
    return 0


@clearing_up()
def restore(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    found = archives.restore(Path(arguments.file), settings, notify=lambda _step: None)
    holder = settings.data_dir if settings.postgres_url is None else "The PostgreSQL of DATABASE_URL"
    screen.write(f"{holder} holds {_summary(found)} again.")
    if found.missing:
        screen.write(f"{counted(found.missing, 'vector')} will be made by the next command that reads.")
    return 0


def _summary(backup: Backup) -> str:
    parts = (
        counted(backup.stores, "store"), counted(backup.rows, "row"), counted(backup.vectors, "vector"),
        counted(backup.uploads, "upload"),
    )  # fmt: skip
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


PURPOSE = "footnote move"
URLS = ("postgresql://", "postgres://")


@clearing_up()
def move(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    to, is_url = arguments.to, arguments.to.startswith(URLS)
    if is_url == (settings.postgres_url is not None):
        raise SettingsError(
            "Both are a PostgreSQL: to leave it, name a folder; to move a data folder there, unset DATABASE_URL."
            if is_url
            else "To move a data folder, name the URL of a PostgreSQL; to leave one, set DATABASE_URL to it."
        )
    try:
        tallies, missing = (_to_server if is_url else _to_folder)(to, settings, screen)
    except ValueError as fault:
        raise FootnoteError(f"The copy is not what was copied, and was dropped: {fault}.") from fault
    for store, tally in tallies.by_store.items():
        screen.write(f"{store}: {counted(tally.count, 'row')}, digest {tally.digest}, the same on both sides")
    if missing:
        screen.write(f"{counted(missing, 'vector')} could not be read and will be made anew.")
    screen.write(
        "Set DATABASE_URL to it. The data folder is as it was: DATA_DIR still has the uploads."
        if is_url
        else f"Set DATA_DIR to {to} and unset DATABASE_URL. The PostgreSQL is as it was."
    )
    return 0


def _to_server(url: str, settings: Settings, screen: Screen) -> tuple[Tallies, int]:
    there = replace(settings, database_url=url.replace("postgres://", "postgresql://", 1))
    if not settings.data_dir.is_dir():
        raise SettingsError(f"There is nothing to move in {settings.data_dir}.")
    with (
        lock_data_dir(settings.data_dir, PURPOSE),
        _naming_the_option(SERVER, "The PostgreSQL of --to"),
        _naming_the_option("DATABASE_URL ", "--to "),
        open_folder(settings.data_dir, turns=queue_file(settings)) as folder,
        open_storage(there, may_be_incomplete=True) as storage,
    ):
        if not folder.tables:
            raise SettingsError(f"There is nothing to move in {folder.folder}.")
        for store, held in folder.tables.items():
            file = file_of(folder.folder, store)
            check(file, version_in(file), IN_FOLDER[store])
            if held.version < IN_FOLDER[store].version:
                raise SettingsError(f"{file} is of an older version. Run `footnote migrate` first.")
        return copy_to_server(folder, storage, settings.data_dir, notify=_notes(screen))


def _to_folder(name: str, settings: Settings, screen: Screen) -> tuple[Tallies, int]:
    target, url = Path(name).expanduser(), str(settings.postgres_url)
    with (
        _naming_the_option(f"DATA_DIR {target}", str(target)),
        empty_folder(target, PURPOSE) as beside,
        open_storage(settings),  # refuses a copy that is not whole
        open_snapshot(url, settings.data_dir, is_moving=True) as snapshot,
    ):
        return lay_down(snapshot, beside, target, notify=_notes(screen))


@contextmanager
def _naming_the_option(setting: str, option: str) -> Iterator[None]:
    """Names in sentences the setting that mostly holds the path or URL."""
    try:
        yield
    except SettingsError as error:
        raise type(error)(str(error).replace(setting, option)) from error


def _notes(screen: Screen) -> Progress:
    return lambda step: screen.note(f"{step[0].upper()}{step[1:]}…")


Versions = Mapping[str, int]  # by the name of a store; none for one that does not exist


def migrate(_arguments: Namespace, settings: Settings) -> int:
    if settings.postgres_url is None:
        refuse_incomplete(settings.data_dir)
        lines = _migrate_files(settings)
    else:
        with open_storage(settings) as storage:
            before = _versions(storage)
            asyncio.run(make_postgres_stores(storage))
            lines = list(_changes(before, _versions(storage)))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _migrate_files(settings: Settings) -> list[str]:
    """The files that exist; the others are made when they are needed."""
    schemas = {file: IN_FOLDER[store] for store, file in files_in(settings).items()}
    present = {file: schema for file, schema in schemas.items() if file.is_file() and file.stat().st_size}
    before = {file.name: version for file in present if (version := version_in(file)) is not None}
    if not present:
        return [f"There is nothing in {settings.data_dir} yet."]
    try:
        with lock_data_dir(settings.data_dir, "footnote migrate"):
            for file, schema in present.items():
                with translate_errors(file, schema), closing(sqlite3.connect(file)) as database:
                    prepare(database, file, schema)
    except IndexInUse:
        return [f"A process that uses {settings.data_dir} brought it up to date when it started."]
    return list(_changes(before, {file.name: schema.version for file, schema in present.items()}))


def _versions(storage: Storage) -> Versions:
    database = storage.database("footnote", Schema())  # makes the table of versions
    return dict(database.rows(f"SELECT store, version FROM {VERSIONS} WHERE store <> 'footnote'"))


def _changes(before: Versions, after: Versions) -> Iterator[str]:
    for store, version in sorted(after.items()):
        earlier = before.get(store)
        if earlier is None:
            yield f"{store}: made, version {version}"
        elif earlier < version:
            yield f"{store}: migrated from version {earlier} to {version}"
        else:
            yield f"{store}: version {earlier}, unchanged"
