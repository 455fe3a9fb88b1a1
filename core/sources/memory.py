"""A file in which a source remembers what makes its next look cheap. It may vanish, and is made anew."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.errors import FootnoteError
from core.storage.schema import Schema
from core.storage.sqlite import SqliteDatabase

logger = logging.getLogger(__name__)


@contextmanager
def open_memory_file(file: Path, schema: Schema) -> Iterator[SqliteDatabase]:
    """A damaged one, or one of another version of Footnote, is made anew, with all that lies in its folder."""
    folder = file.parent
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        database = SqliteDatabase(file, schema)
    except FootnoteError as damaged:
        logger.warning("%s; it is made anew", damaged)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        database = SqliteDatabase(file, schema)
    with closing(database):
        yield database
