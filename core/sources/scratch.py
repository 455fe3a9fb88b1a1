"""A database in a source's folder, for what its reader remembers. It may vanish, and what is in it can be had again."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.errors import FootnoteError
from core.storage.database import Database
from core.storage.schema import Schema
from core.storage.sqlite import SqliteDatabase

logger = logging.getLogger(__name__)


@contextmanager
def open_scratch(folder: Path, file: str, schema: Schema) -> Iterator[Database]:
    """A damaged one, or one of another version of Footnote, is made anew. Only the owner may read the folder."""
    try:
        database = _open(folder, file, schema)
    except FootnoteError as damaged:
        logger.warning("%s; it is made anew", damaged)
        shutil.rmtree(folder, ignore_errors=True)
        database = _open(folder, file, schema)
    with closing(database):
        yield database


def _open(folder: Path, file: str, schema: Schema) -> Database:
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    return SqliteDatabase(folder / file, schema)
