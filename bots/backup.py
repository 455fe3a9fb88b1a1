"""The embedded stores of a data folder, in one archive and back.

Each file is read as of one moment, without waiting for a process that serves it. The queue comes first: what a turn
did after that moment is done once more when it goes on, as after a process that was killed.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bots.chat import channels
from bots.slack import oauth
from core.conversation import value
from core.errors import SettingsError, reason_of
from core.library import tables
from core.library.chroma import ChromaIndex
from core.library.data_lock import lock_data_dir
from core.library.vacuum import DATABASE
from core.reasoning import limits
from core.storage.archive import ArchiveReader, ArchiveWriter, Row, read_archive, write_archive
from core.storage.schema import Schema
from core.storage.sqlite_rows import Table, Tables, describe, make_file, read_only, rows_of
from core.turns import checkpoints, queue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Every store of the folder, in the order in which they are read.
STORES: Mapping[str, Schema] = {
    "turns": queue.SCHEMA,
    "conversations": checkpoints.SCHEMA,
    "rooms": channels.SCHEMA,
    "slack": oauth.SCHEMA,
    "spending": limits.SCHEMA,
    "library": tables.SCHEMA,
}
VECTORS, UPLOADS = "vectors", "learned"  # folders of the data folder, and of the archive
VECTOR_ROWS = f"{VECTORS}/passages.jsonl"
TRIES = 3  # copies of the vectors, which may be written meanwhile
BATCH = 250  # vectors that are stored at a time
#: Where the library names files, which lie elsewhere when the folder does.
PLACES = frozenset({"address", "root"})

logger = logging.getLogger(__name__)


@value
class Backup:
    """What an archive holds."""

    stores: int
    rows: int
    vectors: int
    missing: int  #: vectors that are made anew after a restore
    uploads: int


def back_up(data_dir: Path, file: Path) -> Backup:
    """SettingsError where there is nothing, or the archive cannot be written."""
    present = [store for store in STORES if (data_dir / f"{store}.sqlite").is_file()]
    if not present:
        raise SettingsError(f"There is nothing to back up in {data_dir}.")
    stores: dict[str, Any] = {}
    rows = vectors = wanted = 0
    with write_archive(file) as archive:
        for store in present:
            with read_only(data_dir / f"{store}.sqlite") as database:
                held = describe(database)
                stores[store] = _as_facts(held)
                rows += sum(
                    archive.add_rows(f"{store}/{table.name}.jsonl", rows_of(database, table))
                    for table in held.tables
                )
                if store == "library":
                    passages = _embedded_passages(database)
                    wanted = sum(map(len, passages.values()))
                    vectors = _add_vectors(archive, data_dir / VECTORS, passages)
        uploads = _add_uploads(archive, data_dir / UPLOADS)
        archive.finish({"stores": stores, "data_dir": str(data_dir.resolve())})
    return Backup(stores=len(present), rows=rows, vectors=vectors, missing=wanted - vectors, uploads=uploads)


def restore(file: Path, data_dir: Path) -> Backup:
    """Into a folder that holds nothing and that nobody serves; all of the archive or nothing."""
    with read_archive(file) as archive, lock_data_dir(data_dir, "footnote restore"):
        if held := sorted(each.name for each in data_dir.iterdir() if each.name not in ("lock", "owner")):
            raise SettingsError(
                f"{data_dir} holds something already ({held[0]}). Move it away, or set DATA_DIR to another folder."
            )
        _refuse_newer(archive, file)
        beside = Path(tempfile.mkdtemp(prefix="restore-", dir=data_dir))
        try:
            backup = _lay_down(archive, beside, data_dir)
            for each in beside.iterdir():
                each.rename(data_dir / each.name)
        except sqlite3.Error as fault:
            raise ValueError("the rows do not fit the tables") from fault
        except OSError as fault:
            raise SettingsError(f"{data_dir} cannot be written: {reason_of(fault)}.") from fault
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return backup


def _as_facts(held: Tables) -> dict[str, Any]:
    return {
        "version": held.version,
        "statements": list(held.statements),
        "tables": {table.name: list(table.columns) for table in held.tables},
    }


def _from_facts(facts: Mapping[str, Any]) -> Tables:
    return Tables(
        version=int(facts["version"]),
        statements=tuple(facts["statements"]),
        tables=tuple(Table(name=name, columns=tuple(columns)) for name, columns in facts["tables"].items()),
    )


def _refuse_newer(archive: ArchiveReader, file: Path) -> None:
    for store, facts in archive.manifest.facts["stores"].items():
        if store not in STORES or facts["version"] > STORES[store].version:
            raise SettingsError(
                f"{file} was written by a newer version of Footnote. Install that version to restore it."
            )


def _embedded_passages(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Ids of the passages that have vectors, by their collection."""
    found: dict[str, list[str]] = {}
    for collection, passage in database.execute(
        "SELECT c.name, p.id FROM passages p JOIN documents d ON d.id = p.document"
        " JOIN collections c ON c.number = d.collection WHERE p.embedded = 1 ORDER BY p.id"
    ):
        found.setdefault(collection, []).append(str(passage))
    return found


def _add_vectors(archive: ArchiveWriter, folder: Path, passages: Mapping[str, list[str]]) -> int:
    """Chroma's files are copied first: only the process that serves them may open them."""
    if not passages:
        return 0
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory(prefix="footnote-") as copy:
            try:
                _copy_chroma(folder, Path(copy))
                vectors = list(_vectors_in(Path(copy), passages))
            except (SettingsError, OSError, sqlite3.Error) as fault:  # written just then
                logger.info("the vectors could not be copied, tries left: %d (%s)", left, fault)
            else:
                return archive.add_rows(VECTOR_ROWS, vectors)
    return 0


def _copy_chroma(folder: Path, copy: Path) -> None:
    shutil.copytree(folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(f"{DATABASE}*"))
    with read_only(folder / DATABASE) as source, closing(sqlite3.connect(copy / DATABASE)) as target:
        source.backup(target)


def _vectors_in(folder: Path, passages: Mapping[str, list[str]]) -> Iterator[Row]:
    with closing(ChromaIndex(folder)) as index:
        for collection, ids in passages.items():
            for passage, vector in index.read(collection, ids):
                yield collection, passage, vector.astype("<f4").tobytes()


def _add_uploads(archive: ArchiveWriter, folder: Path) -> int:
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    for each in files:
        archive.add_file(f"{UPLOADS}/{each.relative_to(folder).as_posix()}", each)
    return len(files)


def _lay_down(archive: ArchiveReader, beside: Path, data_dir: Path) -> Backup:
    facts = archive.manifest.facts
    moved = (f"{facts['data_dir']}{os.sep}", f"{data_dir.resolve()}{os.sep}")
    rows = 0
    for store, told in facts["stores"].items():
        held = _from_facts(told)
        parts = ((table, archive.rows(f"{store}/{table.name}.jsonl")) for table in held.tables)
        if store == "library":
            parts = ((table, _moved(table, found, *moved)) for table, found in parts)
        make_file(beside / f"{store}.sqlite", held, parts)
        rows += sum(archive.manifest.members[f"{store}/{table.name}.jsonl"].count for table in held.tables)
    vectors, missing = _put_vectors(archive, beside) if "library" in facts["stores"] else (0, 0)
    uploads = archive.names(UPLOADS)
    for name in uploads:
        target = (beside / name).resolve()
        if not target.is_relative_to(beside.resolve()):
            raise ValueError("a file lies outside of the folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        archive.copy_file(name, target)
    return Backup(
        stores=len(facts["stores"]), rows=rows, vectors=vectors, missing=missing, uploads=len(uploads)
    )


def _moved(table: Table, rows: Iterable[Row], before: str, after: str) -> Iterator[Row]:
    """Uploads lie in the data folder: their places follow it."""
    places = {number for number, column in enumerate(table.columns) if column in PLACES}
    for row in rows:
        yield tuple(
            f"{after}{each.removeprefix(before)}"
            if number in places and str(each).startswith(f"{before}{UPLOADS}")
            else each
            for number, each in enumerate(row)
        )


def _put_vectors(archive: ArchiveReader, beside: Path) -> tuple[int, int]:
    """How many there were, and how many passages are left to be embedded anew."""
    import numpy as np

    stored: set[int] = set()
    if VECTOR_ROWS in archive.manifest.members:
        with closing(ChromaIndex(beside / VECTORS)) as index:
            for collection, ids, rows in _batches_of(archive.rows(VECTOR_ROWS)):
                vectors: NDArray[np.float32] = np.array([np.frombuffer(each, "<f4") for each in rows])
                index.add(collection, ids, vectors)
                stored.update(map(int, ids))
    with closing(sqlite3.connect(beside / "library.sqlite")) as library, library:
        embedded = {each for (each,) in library.execute("SELECT id FROM passages WHERE embedded = 1")}
        missing = embedded - stored
        library.executemany("UPDATE passages SET embedded = 0 WHERE id = ?", [(each,) for each in missing])
    return len(stored), len(missing)


def _batches_of(rows: Iterable[Row]) -> Iterator[tuple[str, list[str], list[bytes]]]:
    """Rows that follow one another in one collection, so many at a time."""
    collection = ""
    ids: list[str] = []
    vectors: list[bytes] = []
    for name, passage, vector in rows:
        if ids and (name != collection or len(ids) == BATCH):
            yield collection, ids, vectors
            ids, vectors = [], []
        collection = name
        ids.append(passage)
        vectors.append(vector)
    if ids:
        yield collection, ids, vectors
