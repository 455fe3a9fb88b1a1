"""Copies all stores into one archive, and back, between any two databases."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bots.chat.uploads import UPLOADS
from bots.stores.folder import empty_folder, lay_down, open_folder
from bots.stores.server import copy_to_server, open_snapshot
from bots.stores.source import IN_FOLDER, VECTORS, Progress, StoredContent
from core.conversation import value
from core.errors import SettingsError
from core.library.data_lock import refuse_incomplete, share_data_dir
from core.settings import Settings
from core.storage.archive import ArchiveReader, ArchiveWriter, read_archive, write_archive
from core.storage.database import Row
from core.storage.sqlite import StoredTable, StoredTables
from core.storage.storage import file_of, open_storage, queue_file

VECTOR_ROWS = f"{VECTORS}/passages.jsonl"


@value
class Backup:
    """The contents of an archive."""

    stores: int
    rows: int
    vectors: int
    missing: int  #: vectors that are made anew after a restore
    uploads: int


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """The stores and files in an archive."""

    archive: ArchiveReader

    @property
    def tables(self) -> Mapping[str, StoredTables]:
        return {
            store: StoredTables(
                version=int(facts["version"]),
                statements=tuple(facts["statements"]),
                tables=tuple(
                    StoredTable(name=name, columns=tuple(each)) for name, each in facts["tables"].items()
                ),
            )
            for store, facts in dict(self.archive.manifest.facts["stores"]).items()
        }

    @property
    def data_dir(self) -> str:
        return str(self.archive.manifest.facts["data_dir"])

    def rows(self, store: str, table: StoredTable) -> Iterator[Row]:
        return self.archive.rows(_name(store, table))

    def vectors(self) -> Iterator[Row]:
        return self.archive.rows(VECTOR_ROWS) if VECTOR_ROWS in self.archive.manifest.members else iter(())

    def names(self) -> list[str]:
        return self.archive.names(UPLOADS)

    def copy(self, name: str, target: Path) -> None:
        self.archive.copy_file(name, target)

    def digest_of(self, name: str) -> str:
        return self.archive.manifest.members[name].digest


def back_up(settings: Settings, file: Path) -> Backup:
    """Write an archive of all stores. SettingsError if there are none, or it cannot be written."""
    with _opened(settings) as source:
        if not source.tables:
            raise SettingsError(f"There is nothing to back up in {settings.data_dir}.")
        with write_archive(file) as archive:
            return _write(source, archive)


@contextmanager
def _opened(settings: Settings) -> Iterator[StoredContent]:
    refuse_incomplete(settings.data_dir)
    if settings.postgres_url is None:
        with open_folder(settings.data_dir, turns=queue_file(settings)) as folder:
            yield folder
        return
    with (
        open_storage(settings),  # refuses a copy that is not whole
        open_snapshot(settings.postgres_url, settings.data_dir) as snapshot,
    ):
        yield snapshot


def _write(source: StoredContent, archive: ArchiveWriter) -> Backup:
    rows = embedded = 0

    def counted(table: StoredTable, found: Iterator[Row]) -> Iterator[Row]:
        """The rows of passages, counting those said to have a vector."""
        nonlocal embedded
        column = table.columns.index("embedded")
        for row in found:
            embedded += row[column]
            yield row

    for store, held in source.tables.items():
        for table in held.tables:
            found = source.rows(store, table)
            if (store, table.name) == ("library", "passages"):
                found = counted(table, found)
            rows += archive.add_rows(_name(store, table), found)
    vectors = archive.add_rows(VECTOR_ROWS, source.vectors())
    uploads = list(source.names())
    for name in uploads:
        archive.add_file(name, Path(source.data_dir) / name)
    facts = {
        store: {
            "version": held.version,
            "statements": held.statements,
            "tables": {table.name: table.columns for table in held.tables},
        }
        for store, held in source.tables.items()
    }
    archive.finish({"stores": facts, "data_dir": source.data_dir})
    return Backup(
        stores=len(facts), rows=rows, vectors=vectors, missing=embedded - vectors, uploads=len(uploads)
    )


def restore(file: Path, settings: Settings, notify: Progress) -> Backup:
    """Restore an archive into empty stores that no process serves; all or nothing."""
    _refuse_queue_elsewhere(settings)
    with read_archive(file) as archive:
        source = ArchiveSource(archive)
        versions = {store: (held.version, IN_FOLDER.get(store)) for store, held in source.tables.items()}
        if any(schema is None or version > schema.version for version, schema in versions.values()):
            raise SettingsError(
                f"{file} was written by a newer version of Footnote. Install that version to restore it."
            )
        if settings.postgres_url is None:
            with empty_folder(settings.data_dir, "footnote restore") as beside:
                tallies, missing = lay_down(source, beside, settings.data_dir, notify)
        else:
            # A file of SQLite is migrated when it is opened; rows cannot be.
            if any(schema and version < schema.version for version, schema in versions.values()):
                raise SettingsError(
                    f"{file} was written by an older version of Footnote. Restore it into a data folder, without "
                    "DATABASE_URL, run `footnote migrate`, and then `footnote move`."
                )
            with (
                share_data_dir(settings.data_dir),
                open_storage(settings, may_be_incomplete=True) as storage,
            ):
                tallies, missing = copy_to_server(source, storage, settings.data_dir, notify)
        members = archive.manifest.members
        return Backup(
            stores=len(source.tables),
            rows=sum(
                members[_name(store, table)].count
                for store, held in source.tables.items()
                for table in held.tables
            ),
            vectors=tallies.by_store[VECTORS].count,
            missing=missing,
            uploads=len(archive.names(UPLOADS)),
        )


def _name(store: str, table: StoredTable) -> str:
    return f"{store}/{table.name}.jsonl"


def _refuse_queue_elsewhere(settings: Settings) -> None:
    """Raise SettingsError if the queue is outside the folder that an archive is restored into."""
    queue = queue_file(settings)
    if queue is not None and queue.resolve() != file_of(settings.data_dir, "turns").resolve():
        raise SettingsError(
            f"DATABASE_URL has the queue of turns in {queue}, and it is restored into {settings.data_dir}. "
            "Unset DATABASE_URL first."
        )
