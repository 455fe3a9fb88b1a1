"""Recovering the readable rest of a library that cannot be opened into a new one.

Files are read again from the disk. What the disk does not have is recovered here: the roots,
what was forgotten below them, and pages from the web. The new file replaces the old one in one
step, when it is complete: if the process is killed earlier, both remain, and the next rebuild continues.
"""

import json
import logging
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from core.conversation import value
from core.library.documents import Piece
from core.library.entries import NewDocument
from core.library.store import DocumentStore
from core.library.tables import SCHEMA
from core.storage.sqlite import BUSY_TIMEOUT, DAMAGE, translate_errors

logger = logging.getLogger(__name__)

BESIDE = ".new"  # added to the name of the file that is being built
OLD = ".old"  # added to the name of the file that was replaced; the next one overwrites it
LOGS = ("-wal", "-shm")  # of SQLite's files next to a database

Row = tuple[Any, ...]


@value
class Recovery:
    """The documents and passages recovered from a damaged library."""

    has_roots: bool = False  #: whether all roots could be read
    has_forgotten: bool = False  #: whether everything that was forgotten below them could
    has_pages: bool = False  #: whether the addresses of all pages from the web could
    pages: int = 0  #: pages from the web that were recovered completely
    lost: tuple[str, ...] = ()  #: addresses of pages that were not


def is_damaged(file: Path) -> bool:
    """True if SQLite finds a damaged page in the file; reads all of it."""
    if not _has_bytes(file):
        return False
    with translate_errors(file, SCHEMA):
        try:
            with closing(_open_read_only(file)) as connection:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except sqlite3.Error as trouble:
            if getattr(trouble, "sqlite_errorcode", 0) & 0xFF in DAMAGE:
                return True
            raise


def recover(file: Path, into: DocumentStore) -> Recovery:
    """Copy what can be read of each table into the new store; what it contains already stays."""
    if not _has_bytes(file):
        return Recovery()
    try:
        with closing(_open_read_only(file)) as damaged:
            damaged.text_factory = _text
            damaged.execute("PRAGMA writable_schema = ON")  # SQLite refuses a truncated file otherwise
            return _copy_rows(damaged, into)
    except sqlite3.Error as trouble:
        logger.warning("nothing can be read of %s: %s", file, trouble)
        return Recovery()


def replace_file(new: Path, file: Path) -> Path:
    """Replace the old file by the new one, which must not be open. The old one's new path."""
    old = keep_old(file)
    new.replace(file)
    return old


def keep_old(file: Path) -> Path:
    """Give a file, which must not be open, a second name, so that another can replace it. The second name."""
    old = _with_ending(file, OLD)
    remove(old)
    for log in LOGS:  # first, or SQLite would use them for the new file
        if (found := _with_ending(file, log)).exists():
            found.replace(_with_ending(old, log))
    if _has_bytes(file):
        try:
            os.link(file, old)  # so that the file always exists under its first name
        except OSError:  # where links are not possible
            file.replace(old)
    for each in (old, *(_with_ending(old, log) for log in LOGS)):
        if each.exists():
            each.chmod(0o600)
    return old


def remove(file: Path) -> None:
    """Delete a database with its logs."""
    for ending in ("", *LOGS):
        _with_ending(file, ending).unlink(missing_ok=True)


def _copy_rows(damaged: sqlite3.Connection, into: DocumentStore) -> Recovery:
    roots, has_roots = _rows(damaged, "roots", "*", (str, str))
    forgotten, has_forgotten = _rows(damaged, "forgotten", "*", (str, str))
    with into.transaction() as writing:
        writing.executemany("INSERT INTO roots VALUES (?, ?) ON CONFLICT DO NOTHING", roots)
        writing.executemany("INSERT INTO forgotten VALUES (?, ?) ON CONFLICT DO NOTHING", forgotten)
    pages, has_pages = _pages(damaged)
    whole = [page for page in pages if page.pieces]
    for page in whole:
        if into.entry(page.collection, page.address) is None:
            into.put(page)
    lost = tuple(sorted(page.address for page in pages if not page.pieces))
    return Recovery(
        has_roots=has_roots, has_forgotten=has_forgotten, has_pages=has_pages, pages=len(whole), lost=lost
    )


def _pages(damaged: sqlite3.Connection) -> tuple[list[NewDocument], bool]:
    """Documents that are not files, and whether that is all. One with a missing piece has none."""
    collections, _ = _rows(damaged, "collections", "number, name", (int, str))
    columns = "id, collection, address, root, source, title, coalesce(url, ''), hash, size, passages"
    kinds = (int, int, str, str, str, str, str, str, int, int)
    documents, has_all = _rows(damaged, "documents", columns, kinds, where="address LIKE '%://%'")
    names: dict[int, str] = dict(collections)
    pieces = _pieces(damaged, [row[0] for row in documents])
    pages: list[NewDocument] = []
    for number, collection, address, root, source, title, url, digest, size, passages in documents:
        found: Sequence[Piece] = pieces.get(number, ())
        if collection in names:
            page = NewDocument(
                collection=names[collection], address=address, root=root, source=source, title=title,
                url=url or None, hash=digest, size=size, modified=0,
                pieces=found if len(found) == passages else (),
            )  # fmt: skip
            pages.append(page)
    return pages, has_all and len(pages) == len(documents)


def _pieces(damaged: sqlite3.Connection, documents: Sequence[int]) -> dict[int, list[Piece]]:
    """The pieces that are left of these documents, in order."""
    columns, kinds = (
        'document, ordinal, path, location, text, start, "end"',
        (int, int, str, str, str, int, int),
    )
    where = "document IN (SELECT value FROM json_each(?))"
    rows, _ = _rows(damaged, "passages", columns, kinds, where=where, values=(json.dumps(documents),))
    pieces: dict[int, list[Piece]] = {}
    for document, _, path, location, text, start, end in sorted(rows):
        with suppress(ValueError, TypeError):  # of headings that are damaged
            headings = tuple(map(str, json.loads(path)))
            if len(text) == end - start:
                piece = Piece(path=headings, location=location, text=text, start=start, end=end)
                pieces.setdefault(document, []).append(piece)
    return pieces


def _rows(
    damaged: sqlite3.Connection,
    table: str,
    columns: str,
    kinds: Sequence[type],
    *,
    where: str = "TRUE",
    values: Sequence[object] = (),
) -> tuple[list[Row], bool]:
    """The rows of a damaged table, and whether these are all. They are read from the first up to the damage
    and from the last down to it."""
    found: dict[int, Row] = {}
    is_whole = False
    for order in ("ASC", "DESC"):
        query = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE {where} ORDER BY rowid {order}"
        try:
            for number, *row in damaged.execute(query, values):
                found[number] = tuple(row)
        except sqlite3.Error as trouble:
            logger.info("not all of the table %s can be read: %s", table, trouble)
        else:
            is_whole = True
            break
    sound = [row for row in found.values() if all(map(isinstance, row, kinds))]
    return sound, is_whole and len(sound) == len(found)


def _text(data: bytes) -> str | None:
    """The text of a value; None for what was not written as text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _open_read_only(file: Path) -> sqlite3.Connection:
    """Read-only, so that looking does not change the file."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT)


def _has_bytes(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _with_ending(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)
