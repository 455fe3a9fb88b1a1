"""What a store needs of a database. SQLite and PostgreSQL both have it.

A query is written in the dialect that both understand: ``?`` for a value, ``ON CONFLICT`` for what may be
there already, ``RETURNING`` for an id that the database chose. Tables are declared with SQLite's types.
Where a statement must differ, a table by :data:`Dialect` says so next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

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
