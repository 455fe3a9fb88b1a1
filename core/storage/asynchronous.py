"""A database for the code of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from core.storage.database import Database, Row

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
