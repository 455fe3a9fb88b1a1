"""``footnote move``: all stores of a data folder into an empty PostgreSQL, or back into an empty folder."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bots.chat.texts import counted
from bots.process import clearing_up
from bots.stores.folder import FolderSource, empty_folder, lay_down, open_folder
from bots.stores.schemas import IN_FOLDER
from bots.stores.server import open_snapshot
from bots.stores.server_copy import copy_to_server
from bots.stores.source import Progress, Tallies
from bots.terminal.screen import Screen
from core.errors import FootnoteError, SettingsError
from core.library.data_lock import lock_data_dir
from core.settings import Settings
from core.storage.postgres import SERVER
from core.storage.schema import check, version_in
from core.storage.storage import file_of, open_storage, queue_file

PURPOSE = "footnote move"
URLS = ("postgresql://", "postgres://")


@clearing_up()
def run(arguments: Namespace, settings: Settings) -> int:
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
        _refuse_other_versions(folder)
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
    """Sentences about a place name the setting that mostly has it."""
    try:
        yield
    except SettingsError as error:
        raise type(error)(str(error).replace(setting, option)) from error


def _refuse_other_versions(folder: FolderSource) -> None:
    if not folder.tables:
        raise SettingsError(f"There is nothing to move in {folder.folder}.")
    for store, held in folder.tables.items():
        file = file_of(folder.folder, store)
        check(file, version_in(file), IN_FOLDER[store])
        if held.version < IN_FOLDER[store].version:
            raise SettingsError(f"{file} is of an older version. Run `footnote migrate` first.")


def _notes(screen: Screen) -> Progress:
    return lambda step: screen.note(f"{step[0].upper()}{step[1:]}…")
