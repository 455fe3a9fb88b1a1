"""Roots: the files and folders that were ingested and are synced with the disk from then on.

Files below a root may have been forgotten, or may be unreadable. Both are recorded, so that
forgotten files stay away and unreadable ones are not tried again at every question.

An address is an absolute path or a URL. It lies in every prefix that ends before a slash.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from core.storage.database import Database, Tables


def ancestors(address: str) -> Iterator[str]:
    """The address and everything it lies in, innermost first: "/a/b", "/a", "/"."""
    yield address
    while (cut := address.rfind("/")) > 0:
        address = address[:cut]
        yield address
    if cut == 0 and address != "/":
        yield "/"


def is_within(address: str, other: str) -> bool:
    """True if an address is the other or below it; a slash at the end does not matter."""
    bare = other.rstrip("/")
    return address.rstrip("/") == bare or address.startswith(bare + "/")


def span_below(address: str) -> tuple[str, str, str]:
    """The address, and the bounds of those below it, for SQL that can use an index."""
    bare = address.rstrip("/")
    return bare, bare + "/", bare + "0"  # "0" follows "/" in ASCII


def resolve_name(name: str, known: Sequence[tuple[str, str, str]]) -> set[tuple[str, str]]:
    """(collection, address) of the files, folders and pages that a person means by this name.

    ``known`` is (collection, address, source) of all there are. Addresses are compared before sources; a URL is
    compared with both, as the page of a website has it for its source, and may have been read alone too.
    """
    if not name.strip():
        return set()
    addresses = {name.rstrip("/")}
    if "://" not in name:  # addresses of sources need not look like a URL
        with suppress(OSError, RuntimeError, ValueError):  # a cycle of links, an unknown user, a NUL
            addresses.add(str(Path(name).expanduser().resolve()))
    by_address = {
        (collection, above)
        for collection, address, _ in known
        for above in addresses
        if is_within(address, above)
    }
    if by_address and "://" not in name:
        return by_address
    return by_address | {
        (collection, address.removesuffix(source[len(name.rstrip("/")) :]))
        for collection, address, source in known
        if is_within(source, name)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRules:
    """Rules for the files that a collection reads: the nearest root or forgotten address above a file decides."""

    roots: frozenset[str]
    forgotten: frozenset[str] = frozenset()

    def includes(self, address: str) -> bool:
        above = (each for each in ancestors(address) if each in self.roots or each in self.forgotten)
        nearest = next(above, None)
        return nearest is not None and nearest not in self.forgotten

    def root_of(self, address: str) -> str:
        """The outermost root above a file, so that its source does not depend on the order of ingestion."""
        return [each for each in ancestors(address) if each in self.roots][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """A file that could not be read, or not wholly, with its size and date at that time."""

    address: str
    source: str  #: how people name it
    size: int  #: bytes
    modified: int  #: nanoseconds
    reason: str


@dataclass(frozen=True, slots=True)
class Roots:
    """The roots of all collections."""

    database: Database

    def all(self) -> list[tuple[str, str]]:
        """(collection, address) of every root."""
        rows = self.database.rows("SELECT collection, address FROM roots ORDER BY 1, 2")
        return [(str(collection), str(address)) for collection, address in rows]

    def rules(self, collection: str) -> PathRules:
        query = "SELECT address FROM {} WHERE collection = ?"
        roots, forgotten = (
            frozenset(str(address) for (address,) in self.database.rows(query.format(table), (collection,)))
            for table in ("roots", "forgotten")
        )
        return PathRules(roots=roots, forgotten=forgotten)

    def add(self, collection: str, addresses: Iterable[str]) -> None:
        """Sync these from now on, even if they were forgotten before."""
        rows = [(collection, address) for address in addresses]
        with self.database.transaction() as writing:
            writing.executemany("INSERT INTO roots VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
            writing.executemany("DELETE FROM forgotten WHERE collection = ? AND address = ?", rows)

    def drop(self, collection: str, address: str) -> None:
        below = "WHERE collection = ? AND address = ?"
        with self.database.transaction() as writing:
            for table in ("roots", "unreadable"):
                writing.execute(f"DELETE FROM {table} {below}", (collection, address))

    def forget(self, collection: str, address: str) -> None:
        """Drop everything at or below this address; a root above it does not bring it back."""
        above = {each for each in ancestors(address) if each != address}
        has_root_above = bool(above & self.rules(collection).roots)
        below = "collection = ? AND (address = ? OR (address >= ? AND address < ?))"
        with self.database.transaction() as writing:
            for table in ("roots", "forgotten", "unreadable"):
                writing.execute(f"DELETE FROM {table} WHERE {below}", (collection, *span_below(address)))
            if has_root_above:
                writing.execute("INSERT INTO forgotten VALUES (?, ?)", (collection, address))

    def unreadable(self, collection: str) -> dict[str, UnreadableFile]:
        """The files that could not be read, or not wholly, by address."""
        names = [each.name for each in fields(UnreadableFile)]
        query = f"SELECT {', '.join(names)} FROM unreadable WHERE collection = ?"
        rows = self.database.rows(query, (collection,))
        return {row[0]: UnreadableFile(**dict(zip(names, row, strict=True))) for row in rows}

    def note_unreadable(self, collection: str, file: UnreadableFile) -> None:
        Tables(self.database).write(
            "INSERT INTO unreadable VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (collection, address) DO UPDATE"
            " SET source = excluded.source, size = excluded.size, modified = excluded.modified,"
            " reason = excluded.reason",
            *(collection, *astuple(file)),
        )

    def clear_unreadable(self, collection: str, addresses: Iterable[str]) -> None:
        query = "DELETE FROM unreadable WHERE collection = ? AND address = ?"
        Tables(self.database).write_all(query, ((collection, address) for address in addresses))
