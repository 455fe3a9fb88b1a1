"""The stores of a process: files of its data folder, or in the PostgreSQL of ``DATABASE_URL``."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.storage.database import AsyncDatabase, Database, Schema
from core.storage.sqlite import BUSY_TIMEOUT, SqliteDatabase

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

    from core.storage.database import Row

SQLITE = "sqlite:///"  # begins the URL of a file


class DataSettings(Protocol):
    """The operator's choice of where the data lies."""

    @property
    def data_dir(self) -> Path: ...
    @property
    def database_url(self) -> str: ...
    @property
    def postgres_url(self) -> str | None: ...


def file_of(data_dir: Path, store: str) -> Path:
    """The file of a store that is not in PostgreSQL."""
    return data_dir / f"{store}.sqlite"


def queue_file(settings: DataSettings) -> Path | None:
    """The file of the queue of turns; None if it is in PostgreSQL."""
    if not settings.database_url:
        return file_of(settings.data_dir, "turns")
    is_file = settings.database_url.startswith(SQLITE)
    return Path(settings.database_url.removeprefix(SQLITE)) if is_file else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Opens the database of each store."""

    data_dir: Path
    pool: "ConnectionPool[psycopg.Connection[Row]] | None" = None  #: of PostgreSQL; None: files of SQLite
    threads: Executor | None = None  #: in which an event loop waits for PostgreSQL
    #: of PostgreSQL, for those that need connections of their own
    url: str | None = field(default=None, repr=False)

    def database(self, store: str, schema: Schema, *, busy_timeout: float = BUSY_TIMEOUT) -> Database:
        """A store, made or migrated; the caller closes it. SettingsError. ``busy_timeout``: in seconds."""
        if self.pool is None:
            return SqliteDatabase(file_of(self.data_dir, store), schema, busy_timeout=busy_timeout)
        from core.storage.postgres import PostgresDatabase

        return PostgresDatabase(self.pool, store, schema)

    @contextmanager
    def asynchronous(
        self, store: str, schema: Schema, *, busy_timeout: float = BUSY_TIMEOUT
    ) -> Iterator[AsyncDatabase]:
        """The same for the event loop, open meanwhile."""
        with closing(self.database(store, schema, busy_timeout=busy_timeout)) as database:
            yield AsyncDatabase(database, self.threads)


@contextmanager
def open_storage(settings: DataSettings, *, may_be_incomplete: bool = False) -> Iterator[Storage]:
    """Raises SettingsError when PostgreSQL cannot be reached, or a copy into it was cut off."""
    url = settings.postgres_url
    if url is None:
        yield Storage(data_dir=settings.data_dir)
        return
    from core.storage.postgres import POOL_SIZE, open_pool

    with (
        open_pool(url, may_be_incomplete=may_be_incomplete) as pool,
        ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="store") as threads,
    ):
        yield Storage(data_dir=settings.data_dir, pool=pool, threads=threads, url=url)
