"""What a store needs of a database, and a database for the code of an event loop.

A query is written in the dialect that both understand: ``?`` for a value, ``ON CONFLICT`` for what may be
there already, ``RETURNING`` for an id that the database chose. Tables are declared with SQLite's types.
Where a statement must differ, a table by :data:`Dialect` says so next to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

Dialect = Literal["sqlite", "postgresql"]
Row = tuple[Any, ...]


class Cursor(Protocol):
    """What a statement did and found."""

    @property
    def rowcount(self) -> int: ...  #: rows that were inserted, changed or deleted

    def fetchone(self) -> Any: ...  #: the next row; None if there is none

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Statements of one transaction."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Cursor: ...

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """Queries and transactions of one store; safe to share between threads.

    Raises StoreUnavailable when nothing can be read or written now: the disk or the network is at fault.
    """

    @property
    def dialect(self) -> Dialect: ...

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query, as of the last complete transaction."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """All or nothing; nested calls of the same thread join the outer one."""

    def erase_deleted(self, tables: Sequence[str]) -> None:
        """Leave nothing of what was deleted from these tables, as far as the database allows that."""

    def close(self) -> None: ...


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AsyncDatabase:
    """SQLite answers in microseconds, so it is called at once. A server is waited for in a thread."""

    database: Database
    threads: Executor | None  #: None where no thread is needed

    async def call(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """What a function returns that reads or writes this database."""
        if self.threads is None:
            return function(*args, **named)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, partial(function, *args, **named))

    async def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        return await self.call(self.database.rows, query, values)

    async def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """One statement as a transaction; how many rows it changed."""
        return await self.call(self._write, statement, values)

    async def write_all(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """One statement for each of these, as a transaction."""
        await self.call(self._write_all, statement, values)

    def _write(self, statement: str, values: Sequence[Any]) -> int:
        with self.database.transaction() as writing:
            return writing.execute(statement, values).rowcount

    def _write_all(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self.database.transaction() as writing:
            writing.executemany(statement, values)
