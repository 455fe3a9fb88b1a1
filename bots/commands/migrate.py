"""``footnote migrate``: make every store, or bring it to the version of this Footnote, before processes serve it."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing

from bots.stores.schemas import IN_FOLDER, files_in, make_postgres_stores
from core.errors import IndexInUse
from core.library.data_lock import lock_data_dir, refuse_incomplete
from core.settings import Settings
from core.storage.schema import VERSIONS, Schema, prepare, version_in
from core.storage.sqlite import translate_errors
from core.storage.storage import Storage, open_storage

Versions = Mapping[str, int]  # by the name of a store; none for one that does not exist


def run(_arguments: Namespace, settings: Settings) -> int:
    if settings.postgres_url is None:
        refuse_incomplete(settings.data_dir)
        lines = _migrate_files(settings)
    else:
        with open_storage(settings) as storage:
            lines = asyncio.run(_migrate_postgres(storage))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _migrate_files(settings: Settings) -> list[str]:
    """Those that exist; the others are made when they are needed."""
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


async def _migrate_postgres(storage: Storage) -> list[str]:
    before = _versions(storage)
    await make_postgres_stores(storage)
    return list(_changes(before, _versions(storage)))


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
