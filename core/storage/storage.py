"""Where the stores of a process are: in files of its data folder, or in the PostgreSQL of ``DATABASE_URL``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from core.settings import Settings
from core.storage.database import Database
from core.storage.schema import Schema
from core.storage.sqlite import BUSY_TIMEOUT, SqliteDatabase

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

    from core.storage.database import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Opens the database of each store."""

    data_dir: Path
    pool: ConnectionPool[psycopg.Connection[Row]] | None = None  #: of PostgreSQL; None: files of SQLite
    url: str | None = field(
        default=None, repr=False
    )  #: of PostgreSQL, for those that need connections of their own

    def database(self, store: str, schema: Schema, *, busy_timeout: float = BUSY_TIMEOUT) -> Database:
        """A store, made or migrated if need be; the caller closes it. Raises SettingsError.

        ``busy_timeout``: seconds that SQLite waits for another program.
        """
        if self.pool is None:
            return SqliteDatabase(self.data_dir / f"{store}.sqlite", schema, busy_timeout=busy_timeout)
        from core.storage.postgres import PostgresDatabase

        return PostgresDatabase(self.pool, store, schema)


@contextmanager
def open_storage(settings: Settings) -> Iterator[Storage]:
    """Raises SettingsError when PostgreSQL cannot be reached."""
    url = settings.postgres_url
    if url is None:
        yield Storage(data_dir=settings.data_dir)
        return
    from core.storage.postgres import open_pool

    with open_pool(url) as pool:
        yield Storage(data_dir=settings.data_dir, pool=pool, url=url)
