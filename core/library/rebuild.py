"""Salvage: what can still be read of a library that cannot be opened, brought into a new one beside it.

Files are read again from the disk; here is what the disk does not know: which places are
kept in step, what was forgotten below them, and pages from the web. The new file takes the
place of the old one in one step, when it is complete: whatever is killed before leaves
both as they were, and the next attempt goes on.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from core.conversation import value
from core.library.database import BUSY_TIMEOUT, DAMAGE, translate_errors
from core.library.documents import Piece
from core.library.store import DocumentStore, NewDocument

logger = logging.getLogger(__name__)

BESIDE = ".new"  # added to the name of a file: the one that is being built
ASIDE = ".old"  # the one whose place was taken, until a later one comes
LOGS = ("-wal", "-shm")  # what SQLite keeps beside a file

Row = tuple[Any, ...]


@value
class Recovery:
    """What came of a damaged library."""

    has_roots: bool = False  #: whether all places that it kept in step could be read
    has_forgotten: bool = False  #: whether all that was forgotten below them could
    has_pages: bool = False  #: whether all pages from the web that it held could at least be named
    pages: int = 0  #: pages from the web that were brought over whole
    lost: tuple[str, ...] = ()  #: addresses of those that were not


def is_damaged(file: Path) -> bool:
    """Whether SQLite finds a page of the file that makes no sense; reads all of it."""
    if not _has_bytes(file):
        return False
    with translate_errors(file):
        try:
            with closing(_opened(file)) as connection:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except sqlite3.Error as trouble:
            if getattr(trouble, "sqlite_errorcode", 0) & 0xFF in DAMAGE:
                return True
            raise


def recover(file: Path, into: DocumentStore) -> Recovery:
    """Bring over what can be read, each table as far as it goes; what is there already stays."""
    if not _has_bytes(file):
        return Recovery()
    try:
        with closing(_opened(file)) as damaged:
            damaged.text_factory = _text
            damaged.execute("PRAGMA writable_schema = ON")  # else a file that was cut short is refused
            return _bring_over(damaged, into)
    except sqlite3.Error as trouble:
        logger.warning("nothing can be read of %s: %s", file, trouble)
        return Recovery()


def replace_file(new: Path, file: Path) -> Path:
    """Put the new file, which nobody has open, in place of the old one. Where that one lies now."""
    aside = keep_old(file)
    new.replace(file)
    return aside


def keep_old(file: Path) -> Path:
    """Give a file that nobody has open a second name; the first is for another to take."""
    aside = _beside(file, ASIDE)
    remove(aside)
    for log in LOGS:  # first: SQLite would take them for the new file's
        if (kept := _beside(file, log)).exists():
            kept.replace(_beside(aside, log))
    if _has_bytes(file):
        _name_too(file, aside)
    for kept in (aside, *(_beside(aside, log) for log in LOGS)):
        if kept.exists():
            kept.chmod(0o600)
    return aside


def remove(file: Path) -> None:
    """A database with its logs."""
    for ending in ("", *LOGS):
        _beside(file, ending).unlink(missing_ok=True)


def _name_too(file: Path, aside: Path) -> None:
    """Both names for one file, so that its own is never missing; where a disk cannot, the other alone."""
    try:
        os.link(file, aside)
    except OSError:
        file.replace(aside)


def _bring_over(damaged: sqlite3.Connection, into: DocumentStore) -> Recovery:
    roots, has_roots = _rows(damaged, "roots", "*", (str, str))
    forgotten, has_forgotten = _rows(damaged, "forgotten", "*", (str, str))
    with into.transaction() as writing:
        writing.executemany("INSERT OR IGNORE INTO roots VALUES (?, ?)", roots)
        writing.executemany("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", forgotten)
    pages, has_pages = _pages(damaged)
    whole = [page for page in pages if page.pieces]
    for page in whole:
        if into.entry(page.collection, page.address) is None:
            into.put(page)
    return Recovery(
        has_roots=has_roots,
        has_forgotten=has_forgotten,
        has_pages=has_pages,
        pages=len(whole),
        lost=tuple(sorted(page.address for page in pages if not page.pieces)),
    )


def _pages(damaged: sqlite3.Connection) -> tuple[list[NewDocument], bool]:
    """Documents that lie on no disk, without pieces where one of them is missing; and whether these are all."""
    collections, _ = _rows(damaged, "collections", "number, name", (int, str))
    documents, has_all = _rows(
        damaged,
        "documents",
        "id, collection, address, source, title, url, hash, size, passages",
        (int, int, str, str, str, str, str, int, int),
        where="address LIKE '%://%'",
    )
    names: dict[int, str] = dict(collections)
    pieces = _pieces(damaged, [row[0] for row in documents])
    pages = [
        NewDocument(
            collection=names[collection],
            address=address,
            root=address,
            source=source,
            title=title,
            url=url,
            hash=digest,
            size=size,
            modified=0,
            pieces=found if len(found := pieces.get(number, ())) == passages else (),
        )
        for number, collection, address, source, title, url, digest, size, passages in documents
        if collection in names
    ]
    return pages, has_all and len(pages) == len(documents)


def _pieces(damaged: sqlite3.Connection, documents: Sequence[int]) -> dict[int, list[Piece]]:
    """What is left of these documents, in order."""
    rows, _ = _rows(
        damaged,
        "passages",
        'document, ordinal, path, location, text, start, "end"',
        (int, int, str, str, str, int, int),
        where="document IN (SELECT value FROM json_each(?))",
        values=(json.dumps(documents),),
    )
    pieces: dict[int, list[Piece]] = {}
    for document, _, path, location, text, start, end in sorted(rows):
        if len(text) == end - start and (headings := _headings(path)) is not None:
            pieces.setdefault(document, []).append(
                Piece(path=headings, location=location, text=text, start=start, end=end)
            )
    return pieces


def _headings(path: str) -> tuple[str, ...] | None:
    try:
        return tuple(map(str, json.loads(path)))
    except (ValueError, TypeError):
        return None


def _rows(
    damaged: sqlite3.Connection,
    table: str,
    columns: str,
    kinds: Sequence[type],
    *,
    where: str = "TRUE",
    values: Sequence[object] = (),
) -> tuple[list[Row], bool]:
    """Rows of a table: from the first up to the damage, then from the last down to it; and whether these are all."""
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
    """None for what cannot have been written as text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _opened(file: Path) -> sqlite3.Connection:
    """To be read alone: nothing of it is mended, moved or emptied by looking."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT)


def _has_bytes(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)
