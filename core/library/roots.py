"""Roots: the files and folders that were ingested, each kept in step with the disk.

Below a root lie files that a person had forgotten, or that could not be read; both are
remembered, so that the one stays away and the other is not tried again at every question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.library.addresses import ancestors, span_below
from core.library.database import Database

_WITHIN = "(address = ? OR (address >= ? AND address < ?))"  # bound to span_below


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What one collection reads from the disk. The nearest place above a file decides on it."""

    roots: frozenset[str]
    forgotten: frozenset[str] = frozenset()

    def wants(self, address: str) -> bool:
        places = (place for place in ancestors(address) if place in self.roots or place in self.forgotten)
        nearest = next(places, None)
        return nearest is not None and nearest not in self.forgotten

    def root_of(self, address: str) -> str:
        """The outermost root above a file, which names it whatever the order of ingestion was."""
        return [place for place in ancestors(address) if place in self.roots][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that could not be read, as it was then."""

    address: str
    source: str  #: how people name it
    size: int  #: bytes
    modified: int  #: nanoseconds
    reason: str


@dataclass(frozen=True, slots=True)
class Roots:
    """The roots of all collections, in the catalogue's file."""

    database: Database

    def all(self) -> list[tuple[str, str]]:
        """(collection, address) of every root."""
        return [
            (str(c), str(a))
            for c, a in self.database.rows("SELECT collection, address FROM roots ORDER BY 1, 2")
        ]

    def kept(self, collection: str) -> Kept:
        return Kept(
            roots=self._addresses("roots", collection), forgotten=self._addresses("forgotten", collection)
        )

    def add(self, collection: str, addresses: Iterable[str]) -> None:
        """Keep these in step from now on, also where they were forgotten before."""
        rows = [(collection, address) for address in addresses]
        with self.database.transaction() as writing:
            writing.executemany("INSERT OR IGNORE INTO roots VALUES (?, ?)", rows)
            writing.executemany("DELETE FROM forgotten WHERE collection = ? AND address = ?", rows)

    def drop(self, collection: str, address: str) -> None:
        with self.database.transaction() as writing:
            for table in ("roots", "unreadable"):
                writing.execute(
                    f"DELETE FROM {table} WHERE collection = ? AND address = ?", (collection, address)
                )

    def forget(self, collection: str, place: str) -> None:
        """Keep nothing at or below this address; a root above it will not bring it back."""
        above = {address for address in ancestors(place) if address != place}
        has_root_above = bool(above & self.kept(collection).roots)
        with self.database.transaction() as writing:
            for table in ("roots", "forgotten", "unreadable"):
                writing.execute(
                    f"DELETE FROM {table} WHERE collection = ? AND {_WITHIN}",
                    (collection, *span_below(place)),
                )
            if has_root_above:
                writing.execute("INSERT INTO forgotten VALUES (?, ?)", (collection, place))

    def unreadable(self, collection: str) -> dict[str, Unreadable]:
        """By address, the files that could not be read."""
        names = ("address", "source", "size", "modified", "reason")
        rows = self.database.rows(
            f"SELECT {', '.join(names)} FROM unreadable WHERE collection = ?", (collection,)
        )
        return {row[0]: Unreadable(**dict(zip(names, row, strict=True))) for row in rows}

    def note_unreadable(self, collection: str, file: Unreadable) -> None:
        with self.database.transaction() as writing:
            writing.execute(
                "INSERT OR REPLACE INTO unreadable VALUES (?, ?, ?, ?, ?, ?)",
                (collection, file.address, file.source, file.size, file.modified, file.reason),
            )

    def clear_unreadable(self, collection: str, addresses: Iterable[str]) -> None:
        with self.database.transaction() as writing:
            writing.executemany(
                "DELETE FROM unreadable WHERE collection = ? AND address = ?",
                ((collection, address) for address in addresses),
            )

    def _addresses(self, table: str, collection: str) -> frozenset[str]:
        rows = self.database.rows(f"SELECT address FROM {table} WHERE collection = ?", (collection,))
        return frozenset(str(address) for (address,) in rows)
