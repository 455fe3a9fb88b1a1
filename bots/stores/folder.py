"""The embedded stores of a data folder, read as of one moment and written anew."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING

from bots.chat.uploads import UPLOADS
from bots.slack import settings as slack
from bots.slack.oauth import make_all_tables
from bots.stores import source as copies
from core.errors import FootnoteError, SettingsError, reason_of
from core.library.chroma import ChromaIndex
from core.library.data_lock import INCOMPLETE, lock_data_dir
from core.library.fts5 import from_words_row, partitions_of, words_row
from core.library.vacuum import DATABASE
from core.storage import sqlite
from core.storage.archive import decode_row, encode_row
from core.storage.database import Row
from core.storage.storage import SQLITE, Storage, file_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PART = ".part"  # of an upload that is still being written
TRIES = 3  # copies of the vectors, which may be written meanwhile
SPOOLED = 2  # bytes of temporary files for each byte of the vectors: a copy, and its lines
BATCH = 250  # vectors that are stored at a time
#: Codes of SQLite for what is no fault of the rows; an extended code has one of them in its last byte.
OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
OF_THE_LOCK = frozenset({"lock", "owner"})  # files that a folder has which holds nothing

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FolderUploads:
    """Files below a data folder, also of one beside PostgreSQL."""

    folder: Path

    def names(self) -> Iterator[str]:
        for each in sorted((self.folder / UPLOADS).rglob("*")):
            if each.is_file() and each.suffix != PART:
                yield each.relative_to(self.folder).as_posix()

    def copy(self, name: str, target: Path) -> None:
        shutil.copyfile(self.folder / name, target)

    def digest_of(self, name: str) -> str:
        return _digest(self.folder / name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource(FolderUploads):
    """Files of SQLite, Chroma's folder and the uploads."""

    data_dir: str  #: below which its uploads lie, or will lie
    tables: Mapping[str, sqlite.StoredTables]
    databases: Mapping[str, sqlite3.Connection]  #: each within a transaction that only reads

    def rows(self, store: str, table: sqlite.StoredTable) -> Iterator[Row]:
        with sqlite.translate_errors(file_of(self.folder, store), copies.IN_FOLDER[store]):
            # Not `yield from`: that would close the cursor, perhaps after its database.
            for row in sqlite.rows_of(self.databases[store], table):  # noqa: UP028 - as said above
                yield row

    def vectors(self) -> Iterator[Row]:
        """The vectors, from a copy of Chroma's files: only the serving process may open the originals."""
        passages = self.embedded()
        if not passages:
            return
        # SettingsError where a copy has no room: a full disk would look like vectors that are being written.
        folder = self.folder / copies.VECTORS
        temporary = tempfile.gettempdir()
        needed = 0
        for file in folder.rglob("*"):
            with suppress(FileNotFoundError):  # deleted just then
                needed += SPOOLED * file.lstat().st_size
        if needed > shutil.disk_usage(temporary).free:
            raise SettingsError(
                f"{temporary} has no room for a copy of the vectors, {needed / 1e6:,.0f} MB. Free some space there, or set "
                "TMPDIR to a folder on another disk."
            )
        for left in reversed(range(TRIES)):
            with tempfile.TemporaryDirectory(prefix="footnote-") as copy:
                try:
                    found = _spool(self.folder / copies.VECTORS, Path(copy), passages)
                except (SettingsError, OSError, sqlite3.Error) as fault:  # written just then
                    logger.info("the vectors could not be copied, tries left: %d (%s)", left, fault)
                    continue
                with found:
                    yield from map(decode_row, found)
                return

    def embedded(self) -> dict[str, list[str]]:
        """Ids of the passages that have vectors, by their collection."""
        found: dict[str, list[str]] = {}
        if "library" not in self.databases:
            return found
        for collection, passage in self.databases["library"].execute(
            "SELECT c.name, p.id FROM passages p JOIN documents d ON d.id = p.document"
            " JOIN collections c ON c.number = d.collection WHERE p.embedded = 1 ORDER BY p.id"
        ):
            found.setdefault(collection, []).append(str(passage))
        return found


@contextmanager
def open_folder(
    folder: Path, *, turns: Path | None = None, data_dir: Path | None = None
) -> Iterator[FolderSource]:
    """Open the stores of a folder. ``turns``: another path of the queue; ``data_dir``: where the folder will be."""
    with ExitStack() as opened:
        databases = {}
        for store in copies.IN_FOLDER:
            file = turns if turns and store == "turns" else file_of(folder, store)
            if file.is_file() and file.stat().st_size:
                with sqlite.translate_errors(file, copies.IN_FOLDER[store]):
                    databases[store] = opened.enter_context(sqlite.read_only(file))
        tables = {store: sqlite.describe(database) for store, database in databases.items()}
        path = str((data_dir or folder).resolve())
        yield FolderSource(folder=folder, data_dir=path, tables=tables, databases=databases)


def _spool(folder: Path, copy: Path, passages: Mapping[str, list[str]]) -> IO[bytes]:
    """All vectors as lines of a file, so that a fault shows before the first of them is used."""
    shutil.copytree(folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(f"{DATABASE}*"))
    with sqlite.read_only(folder / DATABASE) as source, closing(sqlite3.connect(copy / DATABASE)) as target:
        source.backup(target)
    with ExitStack() as opened:
        lines: IO[bytes] = opened.enter_context(tempfile.TemporaryFile())
        with closing(ChromaIndex(copy)) as index:
            for collection, ids in passages.items():
                for passage, vector in index.read(collection, ids):
                    lines.write(encode_row((collection, passage, vector.astype("<f4").tobytes())))
        lines.seek(0)
        opened.pop_all()
        return lines


def make_stores(folder: Path) -> None:
    """Empty stores of this version, all of them."""
    from dbos import DBOS

    from core.turns.checkpoints import open_checkpoints
    from core.turns.queue import prepare_file

    storage = Storage(data_dir=folder)
    for store, schema in copies.OURS.items():
        storage.database(store, schema).close()
    turns = f"{SQLITE}{file_of(folder, 'turns')}"
    prepare_file(turns)
    DBOS.migrate(turns)

    async def make_those_of_libraries() -> None:
        async with open_checkpoints(file_of(folder, "conversations")):
            pass
        await make_all_tables(storage, str(file_of(folder, slack.STORE)))

    asyncio.run(make_those_of_libraries())


@contextmanager
def empty_folder(data_dir: Path, purpose: str) -> Iterator[Path]:
    """A folder in which a copy is laid down that comes into its place at the end, whole. SettingsError where
    ``data_dir`` holds something, unless that is what is left of a copy that was cut off."""
    with lock_data_dir(data_dir, purpose, may_be_incomplete=True):
        mark = data_dir / INCOMPLETE
        held = sorted(each for each in data_dir.iterdir() if each.name not in OF_THE_LOCK)
        if held and not mark.is_file():
            raise SettingsError(
                f"{data_dir} holds something already ({held[0].name}). Move it away, or name another folder."
            )
        try:
            mark.touch(mode=0o600)
            _clear(data_dir)
            beside = Path(tempfile.mkdtemp(prefix="copy-", dir=data_dir))
            try:
                yield beside
                for each in beside.iterdir():
                    each.rename(data_dir / each.name)
            except BaseException:
                _clear(data_dir)
                mark.unlink()
                raise
            beside.rmdir()
            mark.unlink()
        except OSError as fault:
            raise SettingsError(f"{data_dir} cannot be written: {reason_of(fault)}.") from fault


def _clear(data_dir: Path) -> None:
    """Remove what an interrupted copy left there."""
    for each in data_dir.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name not in OF_THE_LOCK | {INCOMPLETE}:
            each.unlink()


def lay_down(
    source: copies.StoredContent, beside: Path, data_dir: Path, notify: copies.Progress
) -> tuple[copies.Tallies, int]:
    """The tallies of what was copied, and how many passages have no vector any more. ``data_dir``: where
    ``beside`` will be. FootnoteError if what was written is not what was read, ValueError if it cannot be,
    SettingsError if the disk takes nothing."""
    tallies, after = copies.Tallies(source.data_dir), str(data_dir.resolve())
    try:
        for store, held in source.tables.items():
            notify(store)
            sqlite.make_file(file_of(beside, store), held, tallies.parts(source, store, after=data_dir))
        notify(copies.VECTORS)
        stored: set[int] = set()  # passages that have a vector
        with closing(ChromaIndex(beside / copies.VECTORS)) as index:
            for collection, ids, vectors in vector_batches(tallies.vectors(source.vectors())):
                index.add(collection, ids, vectors)
                stored.update(map(int, ids))
        put_uploads(source, beside)
        if after != source.data_dir:
            _place_words(file_of(beside, "library"), after)
        notify(copies.COMPARING)
        with open_folder(beside, data_dir=data_dir) as copy:
            compare(tallies, copies.tally(copy))
    except sqlite3.Error as fault:
        if getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in OF_THE_DISK:
            raise SettingsError(f"{data_dir} cannot be written: {fault}.") from fault
        raise ValueError("the rows do not fit the tables") from fault
    return tallies, _mark_missing(file_of(beside, "library"), stored)


def compare(read: copies.Tallies, written: copies.Tallies) -> None:
    """Compare two copies; FootnoteError if counts or digests differ."""
    for store in read.by_store:
        before, after = read.by_store[store], written.by_store[store]
        if before != after:
            raise FootnoteError(
                f"The copy is not what was copied, and was dropped: of {store}, {before.count:,} rows were read"
                f" (digest {before.digest}), and {after.count:,} are in the copy (digest {after.digest})."
            )


def put_uploads(uploads: copies.StoredContent, folder: Path) -> None:
    """Copy uploads, each whole or not at all. SettingsError if a file of that name exists."""
    for name in uploads.names():
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise ValueError("a file lies outside of the folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            part = target.with_name(f"{target.name}{PART}")
            try:
                uploads.copy(name, part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        elif _digest(target) != uploads.digest_of(name):
            raise SettingsError(f"{target} is another file than the one that is copied there. Move it away.")


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _place_words(library: Path, data_dir: str) -> None:
    """Update the indexed words of uploads, which include their folder's path."""
    if not library.is_file():
        return
    below = f"{data_dir}{os.sep}{UPLOADS}{os.sep}"
    with closing(sqlite3.connect(library)) as database, database:
        uploaded = database.execute(
            "SELECT p.id, d.collection, d.address FROM passages p JOIN documents d ON d.id = p.document"
            " WHERE substr(d.address, 1, ?) = ?",
            (len(below), below),
        ).fetchall()

        partitions = partitions_of(dict(database.execute("SELECT name, number FROM collections")))

        def scopes() -> Iterator[tuple[str, int]]:
            for passage, collection, address in uploaded:
                held = "SELECT scope, title, body FROM words WHERE rowid = ?"
                for words in database.execute(held, (passage,)).fetchall():
                    yield words_row(from_words_row(*words), partitions[collection], address)[0], passage

        database.executemany("UPDATE words SET scope = ? WHERE rowid = ?", scopes())


def _mark_missing(library: Path, stored: set[int]) -> int:
    """Mark passages without a vector, which the next command embeds; returns how many."""
    if not library.is_file():
        return 0
    with closing(sqlite3.connect(library)) as database, database:
        embedded = {each for (each,) in database.execute("SELECT id FROM passages WHERE embedded = 1")}
        missing = embedded - stored
        database.executemany("UPDATE passages SET embedded = 0 WHERE id = ?", [(each,) for each in missing])
    return len(missing)


def vector_batches(rows: Iterable[Row]) -> Iterator[tuple[str, list[str], NDArray[np.float32]]]:
    """Batches of vectors, each of one collection."""
    import numpy as np

    for collection, held in groupby(rows, key=itemgetter(0)):
        while batch := list(islice(held, BATCH)):
            vectors = np.array([np.frombuffer(vector, "<f4") for *_, vector in batch])
            yield collection, [passage for _, passage, _ in batch], vectors
