"""The file in which a source remembers what makes its next look cheap. It may vanish, and is made anew."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from core.errors import FootnoteError
from core.storage.database import Database, Row
from core.storage.schema import Schema
from core.storage.sqlite import SqliteDatabase

AT_ONCE = 500  # values of a query

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Memory:
    """Reads and writes the tables of one kind of source. Every method blocks."""

    FILE: ClassVar[str]
    TABLES: ClassVar[str]

    database: Database

    def write(self, query: str, values: Sequence[object] = ()) -> None:
        with self.database.transaction() as writing:
            writing.execute(query, values)

    def write_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """The same statement with each row of values."""
        with self.database.transaction() as writing:
            writing.executemany(query, rows)

    def among(self, query: str, values: Iterable[str]) -> Iterator[Row]:
        """The rows of a query in which ``{}`` stands for these values, of which some are asked for at a time."""
        wanted = list(dict.fromkeys(values))
        for begin in range(0, len(wanted), AT_ONCE):
            part = wanted[begin : begin + AT_ONCE]
            yield from self.database.rows(query.format(f"({', '.join('?' * len(part))})"), part)


M = TypeVar("M", bound=Memory)


@contextmanager
def open_memory(kind: type[M], folder: Path) -> Iterator[M]:
    """The memory in the folder of a source. One that is damaged, or of another version of Footnote, is made anew with
    all that lies in the folder.
    """
    schema = Schema(tables=kind.TABLES, cure="Delete it: it is made anew.")
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        database = SqliteDatabase(folder / kind.FILE, schema)
    except FootnoteError as damaged:
        logger.warning("%s; it is made anew", damaged)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        database = SqliteDatabase(folder / kind.FILE, schema)
    with closing(database):
        yield kind(database)
