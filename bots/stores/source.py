"""All stores with their schemas, the interface of what is copied, and the comparison of two copies.

Whichever database the rows are from, they have the form of the tables in the data folder: the other one has
the same tables but for the words, the conversations and the vectors.
"""

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bots.chat import channels
from bots.chat.uploads import UPLOADS
from bots.mcp import tokens
from bots.page import sessions
from bots.slack import settings as slack
from core.answers import store as answers
from core.errors import SettingsError
from core.gaps import questions as gaps
from core.library import tables
from core.library.fts5 import from_words_row
from core.reasoning import limits
from core.settings import Settings
from core.sources import store as sources
from core.storage.database import Row, Schema
from core.storage.sqlite import StoredTable, StoredTables
from core.storage.storage import Storage, file_of, queue_file
from core.traces import log
from core.turns import checkpoints, queue, rate_limits

VECTORS = "vectors"  # the folder of the data folder and of the archive, as UPLOADS is

#: What DBOS writes about itself when it starts.
OF_DBOS = frozenset({"dbos_migrations", "queues", "application_versions"})
#: Where the library names files, which lie elsewhere when the folder does.
PATHS = frozenset({"address", "root"})
JSON = frozenset({"attributes"})  # columns whose text PostgreSQL writes in its own way

COMPARING = "comparing the copy with what was copied"
Progress = Callable[[str], None]  # is called with what is done next


class StoredContent(Protocol):
    """All stores as of one moment, with the files that people gave to channels."""

    @property
    def tables(self) -> Mapping[str, StoredTables]: ...  #: by store

    @property
    def data_dir(self) -> str: ...  #: the absolute path below which its uploads lay

    def rows(self, store: str, table: StoredTable) -> Iterator[Row]:
        """The rows of a table, in the order they were written where that matters."""

    def vectors(self) -> Iterator[Row]:
        """A collection's name, and an id and its vector of little-endian floats; sorted by collection."""

    def names(self) -> Iterable[str]:
        """The names of the files, as paths below the data folder."""

    def copy(self, name: str, target: Path) -> None: ...

    def digest_of(self, name: str) -> str:
        """SHA-256, in hexadecimal."""


@dataclass(slots=True)
class Tally:
    """Counts rows and sums their digests, so their order does not matter."""

    count: int = 0
    total: int = 0

    def add(self, content: Sequence[Any]) -> None:
        line = json.dumps(content, ensure_ascii=False, default=bytes.hex).replace(
            "\\u0000", "\N{REPLACEMENT CHARACTER}"
        )
        self.total += int.from_bytes(hashlib.sha256(line.encode()).digest())
        self.count += 1

    @property
    def digest(self) -> str:
        """The first 16 of 64 hexadecimal digits."""
        return f"{self.total % 2**256:064x}"[:16]


@dataclass(slots=True)
class Tallies:
    """The tally of each store in a copy."""

    data_dir: str
    by_store: dict[str, Tally] = field(default_factory=dict)

    def rows(self, store: str, table: StoredTable, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, counted as they go by."""
        tally = self.by_store.setdefault(store, Tally())
        if table.name in OF_DBOS:
            yield from rows
            return
        made = _canonical(store, table, self.data_dir)
        for row in rows:
            tally.add([table.name, *made(row)])
            yield row

    def parts(
        self, source: StoredContent, store: str, *, after: Path
    ) -> Iterator[tuple[StoredTable, Iterator[Row]]]:
        """The tables of a store for a copy in this data folder, counted as they go by."""
        for table in source.tables[store].tables:
            rows = self.rows(store, table, source.rows(store, table))
            is_moved = store == "library"
            yield table, moved(table, rows, source.data_dir, str(after.resolve())) if is_moved else rows

    def vectors(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The vectors in half precision, which PostgreSQL stores, counted as they go by."""
        import numpy as np

        tally = self.by_store.setdefault(VECTORS, Tally())
        for collection, passage, vector in rows:
            half = np.frombuffer(vector, "<f4").astype("<f2")
            tally.add([collection, passage, half.tobytes()])
            yield collection, passage, vector


def tally(source: StoredContent) -> Tallies:
    """The tallies of all of a source; reads everything."""
    tallies = Tallies(source.data_dir)
    for store, held in source.tables.items():
        for table in held.tables:
            for _ in tallies.rows(store, table, source.rows(store, table)):
                pass
    for _ in tallies.vectors(source.vectors()):
        pass
    return tallies


def moved(table: StoredTable, rows: Iterable[Row], before: str, after: str) -> Iterator[Row]:
    """The rows with the paths of uploads, which lie in the data folder, below the other one."""
    paths = {number for number, column in enumerate(table.columns) if column in PATHS}
    for row in rows:
        yield tuple(
            f"{after}{os.sep}{each.removeprefix(f'{before}{os.sep}')}"
            if number in paths and str(each).startswith(f"{before}{os.sep}{UPLOADS}")
            else each
            for number, each in enumerate(row)
        )


def _canonical(store: str, table: StoredTable, data_dir: str) -> Callable[[Row], Iterable[Any]]:
    """A function that maps a row to a form that is equal in both databases."""
    if (store, table.name) == ("library", "words"):
        return lambda row: (row[0], *from_words_row(*row[1:]))
    if (store, table.name) == ("conversations", "checkpoints"):
        written: Counter[str] = Counter()

        def numbered(row: Row) -> Iterable[Any]:
            written[row[0]] += 1
            return (written[row[0]], *checkpoints.canonical(row))

        return numbered
    texts = {number for number, column in enumerate(table.columns) if column in JSON}
    if texts:
        return lambda row: (_sorted(each) if number in texts else each for number, each in enumerate(row))
    if store == "library":
        return lambda row: next(moved(table, [row], data_dir, ""))
    return lambda row: row


def _sorted(text: str | None) -> str | None:
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)


#: Those that a folder and a PostgreSQL have, with the same tables.
OURS: Mapping[str, Schema] = {
    channels.STORE: channels.SCHEMA, slack.STORE: slack.SCHEMA, limits.STORE: limits.SCHEMA,
    log.STORE: log.SCHEMA, answers.STORE: answers.SCHEMA, gaps.STORE: gaps.SCHEMA,
    sessions.STORE: sessions.SCHEMA, tokens.STORE: tokens.SCHEMA, sources.STORE: sources.SCHEMA,
    "library": tables.SCHEMA,
}  # fmt: skip
#: Files whose tables DBOS and LangGraph make. In PostgreSQL they make others.
_OF_LIBRARIES: Mapping[str, Schema] = {
    "turns": queue.SCHEMA,
    "conversations": checkpoints.SCHEMA,
}

#: The files of a folder, in the order in which they are read. The queue comes first: what a turn did after
#: that moment is done once more when it goes on, as after a process that was killed.
IN_FOLDER: Mapping[str, Schema] = {**_OF_LIBRARIES, **OURS}
#: What PostgreSQL has besides the tables of the libraries; a folder counts questions in its queue.
IN_POSTGRES: Mapping[str, Schema] = {**OURS, rate_limits.STORE: rate_limits.SCHEMA}


def files_in(settings: Settings) -> dict[str, Path]:
    """The databases of a folder by store, which need not exist; none beside a PostgreSQL."""
    queue_at = queue_file(settings)
    if queue_at is None:
        return {}
    return {store: file_of(settings.data_dir, store) for store in IN_FOLDER} | {"turns": queue_at}


async def make_postgres_stores(storage: Storage) -> None:
    """Make every missing store, and migrate those of an older version."""
    from core.turns.checkpoints_postgres import open_postgres_checkpoints
    from core.turns.leases import open_leases

    for store, schema in IN_POSTGRES.items():
        storage.database(store, schema).close()
    async with open_leases(storage, "footnote migrate") as leases:
        await open_postgres_checkpoints(storage, leases)
    await asyncio.to_thread(_migrate_queue, str(storage.url))


def _migrate_queue(url: str) -> None:
    """Migrate the tables of DBOS, which has versions of its own."""
    from dbos import DBOS
    from sqlalchemy.exc import SQLAlchemyError

    from core.storage.postgres import making_tables

    try:
        with making_tables(url):
            DBOS.migrate(url)
    except SQLAlchemyError as fault:
        raise SettingsError("The queue's tables could not be made; LOG_LEVEL=info shows why.") from fault
