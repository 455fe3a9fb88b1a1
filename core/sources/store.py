"""The store of sources: which there are, how far each was read, and every item of theirs.

An item is written as due before the cursor goes on, so that a sync which is cut off anywhere knows what is left.
"""

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from core.conversation import value
from core.errors import SettingsError
from core.library.readers import collection_for
from core.library.roots import is_within, span_below
from core.library.sync import Failure
from core.sources.source import SourceItem
from core.storage.database import Row, Schema, Tables, column_names, rows_among, rows_as

#: "gone": its document is being removed, and it is not read meanwhile, however the removal is cut off.
ItemState = Literal["due", "read", "failed", "gone"]


@value
class SourceRecord:
    """A source, and how far it was read."""

    number: int
    collection: str
    address: str
    every: float | None  #: seconds
    cursor: str | None
    listing: int
    is_listing: bool
    added_at: float
    started_at: float | None
    synced_at: float | None
    next_at: float | None
    failure: str
    note: str = ""  #: what the source says of itself

    @property
    def seen_at(self) -> float:
        """The time at which all of it was last seen, in seconds since the epoch."""
        return self.added_at if self.synced_at is None else self.synced_at

    def address_of(self, item: str) -> str:
        """The address of an item's document."""
        return f"{self.address}/{item}"

    def collection_of(self, item: SourceItem) -> str:
        """The collection of an item's document: the source's own, or that of what the same people may read."""
        return collection_for(self.collection, item.readers)


@value
class KnownItem:
    """An item as it is stored, to be compared with what is listed."""

    item: SourceItem
    state: ItemState


@value
class SourceCounts:
    """The number of a source's items in each state."""

    read: int = 0
    due: int = 0
    failed: int = 0
    gone: int = 0


@value
class ListedSource:
    """A source as an operator reads it."""

    record: SourceRecord
    counts: SourceCounts
    failed: tuple[Failure, ...] = ()  #: the first of the items that could not be read


STORE = "sources"
NUMBER_BITS = 48  # of a source

_TABLES = """
CREATE TABLE IF NOT EXISTS sources (
    number INTEGER PRIMARY KEY, -- drawn, so that none is given twice
    collection TEXT NOT NULL,
    address TEXT NOT NULL,      -- canonical, without credentials
    every REAL,                 -- seconds between two syncs; NULL: only when an operator asks
    cursor TEXT,                -- of the source, where the next sync begins; NULL: it lists everything
    listing INTEGER NOT NULL DEFAULT 0,     -- the number of its last full listing
    is_listing INTEGER NOT NULL DEFAULT 0,  -- 1 while that has not ended
    added_at REAL NOT NULL,     -- this and the next: seconds since the epoch
    started_at REAL,            -- when the last sync began
    synced_at REAL,             -- when the last one ended that read everything
    next_at REAL,               -- when the next one is due
    failure TEXT NOT NULL DEFAULT '',  -- why the last one did not end well, a sentence
    note TEXT NOT NULL DEFAULT '',     -- what the source said of itself in the last one that ended, as a limit
    UNIQUE (collection, address)
);
CREATE TABLE IF NOT EXISTS source_items (
    source INTEGER NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL, name TEXT NOT NULL,
    label TEXT NOT NULL,        -- how people name it
    title TEXT NOT NULL, url TEXT, changed_at REAL,
    readers TEXT,               -- JSON list of e-mail addresses and domains; NULL: whoever may read the collection
    listed_in INTEGER NOT NULL, -- the number of the last full listing that had it
    state TEXT NOT NULL,        -- due, read or failed
    failure TEXT NOT NULL DEFAULT '',
    seen_at REAL,               -- when it was last seen, if it could not be looked at since; NULL: at the last sync
    authors TEXT NOT NULL DEFAULT '[]',  -- JSON list of ids of who wrote it, where they may ask not to be read
    PRIMARY KEY (source, id)
);
CREATE INDEX IF NOT EXISTS source_items_by_state ON source_items (source, state);
CREATE INDEX IF NOT EXISTS source_items_by_listing ON source_items (source, listed_in);
CREATE TABLE IF NOT EXISTS forgotten_source_items (
    source INTEGER NOT NULL, place TEXT NOT NULL,  -- an address in the source, not to be read again with what is below
    PRIMARY KEY (source, place)
);
"""


SCHEMA = Schema(
    tables=_TABLES,
    cure="Move it away, and ingest your sources again: their documents stay, and are compared.",
)
#: What forgetting deletes from.
ERASED = ("sources", "source_items", "forgotten_source_items")

_COLUMNS = column_names(SourceRecord)
_ITEM = ("id", "version", "name", "label", "title", "url", "changed_at", "readers", "authors")
_PUT = (
    f"INSERT INTO source_items (source, listed_in, state, {', '.join(_ITEM)}) VALUES ({', '.join('?' * (len(_ITEM) + 3))})"
    " ON CONFLICT (source, id) DO UPDATE SET listed_in = excluded.listed_in, state = excluded.state, failure = '', seen_at = NULL, "
    + ", ".join(f"{name} = excluded.{name}" for name in _ITEM[1:])
)


class SourceStore(Tables):
    """The sources, their items, and what of them was forgotten."""

    __slots__ = ()

    def add(
        self,
        collection: str,
        address: str,
        *,
        every: float | None,
        now: float,
        typed: Callable[[str], str] = str,
        identity: Callable[[str], str] = str,
    ) -> tuple[int, bool]:
        """The number of a source, and whether it is new; SettingsError if it overlaps another of its
        collection. ``every``: seconds between two syncs, 0 for none, None as before. ``typed``: an address as a
        person reads it; ``identity``: what it means, however it was written."""
        with self.database.transaction() as writing:
            found = writing.execute("SELECT address FROM sources WHERE collection = ?", (collection,))
            there = {str(each) for (each,) in found.fetchall()}
            for other in () if address in there else sorted(there):
                if overlap(identity(address), identity(other)):
                    raise SettingsError(
                        f"{typed(address)} and {typed(other)} share files, and the latter is a source of this collection already. "
                        "Forget it first, or choose another --collection."
                    )
            inserted = self.write(
                "INSERT INTO sources (number, collection, address, every, added_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (collection, address) DO NOTHING",
                secrets.randbits(NUMBER_BITS), collection, address, every or None, now,
            )  # fmt: skip
            (number,) = writing.execute(
                "SELECT number FROM sources WHERE collection = ? AND address = ?", (collection, address)
            ).fetchone()
            if every is not None:
                query = "UPDATE sources SET every = ?, next_at = ? WHERE number = ?"
                self.write(query, every or None, now + every if every else None, number)
        return int(number), inserted > 0

    def all(self) -> list[SourceRecord]:
        return self._records("TRUE")

    def get(self, number: int) -> SourceRecord | None:
        return next(iter(self._records("number = ?", number)), None)

    def at(self, address: str) -> list[SourceRecord]:
        """The sources with this address, each of another collection."""
        return self._records("address = ?", address)

    def has_below(self, prefix: str) -> bool:
        """True if an address begins so."""
        query = "SELECT 1 FROM sources WHERE substr(address, 1, ?) = ? LIMIT 1"
        return bool(self.database.rows(query, (len(prefix), prefix)))

    def due(self, now: float) -> list[SourceRecord]:
        """The sources whose next sync should have begun."""
        return self._records("every IS NOT NULL AND next_at <= ?", now)

    def _records(self, where: str, *values: object) -> list[SourceRecord]:
        query = f"SELECT {', '.join(_COLUMNS)} FROM sources WHERE {where} ORDER BY collection, address"
        found = rows_as(SourceRecord, self.rows(query, *values))
        return [replace(each, is_listing=bool(each.is_listing)) for each in found]

    def start(self, number: int, now: float) -> SourceRecord | None:
        """Note that a sync begins; None if the source is gone."""
        self.write(
            "UPDATE sources SET started_at = ?, next_at = ? + every WHERE number = ?", now, now, number
        )
        return self.get(number)

    def begin_listing(self, number: int) -> int:
        """The number of a new full listing."""
        with self.database.transaction() as writing:
            (listing,) = writing.execute(
                "UPDATE sources SET listing = listing + 1, is_listing = 1, cursor = NULL WHERE number = ?"
                " RETURNING listing",
                (number,),
            ).fetchone() or (0,)
        return int(listing)

    def advance(self, number: int, cursor: str | None) -> None:
        self.write("UPDATE sources SET cursor = ? WHERE number = ?", cursor, number)

    def finish(self, number: int, now: float, note: str = "") -> None:
        """Note that everything was read, and what a person should know of that."""
        self.write(
            "UPDATE sources SET is_listing = 0, synced_at = ?, next_at = ? + every, failure = '', note = ?"
            " WHERE number = ?",
            now, now, note, number,
        )  # fmt: skip

    def fail(self, number: int, failure: str, *, next_at: float | None = None) -> None:
        """Note why a sync did not end; ``next_at``: when it may be tried again, if the source said so."""
        self.write(
            "UPDATE sources SET failure = ?, next_at = CASE WHEN every IS NULL THEN NULL"
            " ELSE coalesce(?, next_at) END WHERE number = ?",
            failure, next_at, number,
        )  # fmt: skip

    def find(self, number: int, ids: Collection[str]) -> dict[str, KnownItem]:
        """The stored ones of these items, by id."""
        query = f"SELECT state, {', '.join(_ITEM)} FROM source_items WHERE source = ? AND id {{}}"
        rows = rows_among(self.database, query, ids, number)
        return {row[1]: KnownItem(item=_item(row[1:]), state=row[0]) for row in rows}

    def put(self, number: int, items: Iterable[SourceItem], *, listing: int, state: ItemState) -> None:
        """Write items as they are listed now."""
        rows = [
            (number, listing, state, item.id, item.version, item.name, item.source, item.title, item.url,
             item.changed_at, None if item.readers is None else json.dumps(sorted(item.readers)),
             json.dumps(sorted(item.authors)))
            for item in items
        ]  # fmt: skip
        self.write_all(_PUT, rows)

    def see(self, number: int, ids: Iterable[str], *, listing: int, seen_at: float | None = None) -> None:
        """Note that a listing has these items; ``seen_at``: when they were seen that could not be looked at now."""
        seen, values = ("NULL", ()) if seen_at is None else ("coalesce(seen_at, ?)", (seen_at,))
        query = f"UPDATE source_items SET listed_in = ?, seen_at = {seen} WHERE source = ? AND id = ?"
        self.write_all(query, ((listing, *values, number, each) for each in ids))

    def last_seen(self, number: int, ids: Iterable[str]) -> dict[str, float]:
        """The last sightings of those of these items that could not be looked at since."""
        query = "SELECT id, seen_at FROM source_items WHERE source = ? AND seen_at IS NOT NULL AND id {}"
        return {str(each): float(seen) for each, seen in rows_among(self.database, query, ids, number)}

    def mark(self, number: int, item: SourceItem, state: ItemState, failure: str = "") -> bool:
        """Note what became of an item. False if it is not stored in this version any more."""
        query = "UPDATE source_items SET state = ?, failure = ? WHERE source = ? AND id = ? AND version = ?"
        return self.write(query, state, failure, number, item.id, item.version) > 0

    def make(self, state: Literal["due", "gone"], number: int, ids: Iterable[str]) -> None:
        """Have items read again, or removed, whatever became of them."""
        query = "UPDATE source_items SET state = ? WHERE source = ? AND id = ?"
        self.write_all(query, ((state, number, each) for each in ids))

    def due_items(self, number: int, *, after: str = "", limit: int) -> list[SourceItem]:
        """Items that are to be read, in order of their ids."""
        query = f"SELECT {', '.join(_ITEM)} FROM source_items WHERE source = ? AND state = 'due' AND id > ? ORDER BY id LIMIT ?"
        return [_item(row) for row in self.rows(query, number, after, limit)]

    def read_soon(self, number: int, now: float) -> None:
        """Have the next sync of a source begin now; after it, as was chosen."""
        self.write("UPDATE sources SET next_at = ? WHERE number = ?", now, number)

    def reopen(self, author: str) -> list[tuple[SourceRecord, list[str]]]:
        """Have all that somebody wrote read again. What is being read now does not count."""
        named = f"%{json.dumps(author)}%"
        found: dict[int, list[str]] = {}
        with self.database.transaction() as writing:
            query = "SELECT source, id FROM source_items WHERE authors LIKE ?"
            for number, item in writing.execute(query, (named,)).fetchall():
                found.setdefault(int(number), []).append(str(item))
            self.write("UPDATE source_items SET state = 'due', version = '' WHERE authors LIKE ?", named)
        records = ((self.get(number), items) for number, items in found.items())
        return [(record, items) for record, items in records if record is not None]

    def empty(self, number: int, failure: str) -> None:
        """Delete the items of a source, and note why; the next sync lists everything."""
        with self.database.transaction():
            self.write("DELETE FROM source_items WHERE source = ?", number)
            query = (
                "UPDATE sources SET cursor = NULL, is_listing = 0, failure = ?, note = '' WHERE number = ?"
            )
            self.write(query, failure, number)
        self.database.erase_deleted(ERASED)

    def pages(self, number: int, where: str, *values: object, limit: int) -> Iterator[list[str]]:
        """Ids of the items that meet a condition, some at a time."""
        query = f"SELECT id FROM source_items WHERE source = ? AND id > ? AND {where} ORDER BY id LIMIT ?"
        after = ""
        while rows := self.rows(query, number, after, *values, limit):
            yield [str(each) for (each,) in rows]
            after = rows[-1][0]

    def drop(self, number: int, ids: Iterable[str]) -> None:
        query = "DELETE FROM source_items WHERE source = ? AND id = ?"
        self.write_all(query, ((number, each) for each in ids))

    def counts(self, number: int) -> SourceCounts:
        query = "SELECT state, count(*) FROM source_items WHERE source = ? GROUP BY state"
        return SourceCounts(**{state: int(count) for state, count in self.rows(query, number)})

    def list_failures(self, number: int, *, limit: int, of_few: bool = True) -> tuple[Failure, ...]:
        """Items that failed. ``of_few``: also those that only some people may read."""
        where = "source = ? AND state = 'failed'" + ("" if of_few else " AND readers IS NULL")
        query = f"SELECT label, failure FROM source_items WHERE {where} ORDER BY label LIMIT ?"
        rows = self.rows(query, number, limit)
        return tuple(Failure(source=label, reason=failure) for label, failure in rows)

    def list_sources(self, *, failures: int, of_few: bool = True) -> list[ListedSource]:
        """All sources, each with at most so many of the items that failed."""
        found = (
            (each, self.counts(each.number), self.list_failures(each.number, limit=failures, of_few=of_few))
            for each in self.all()
        )
        return [ListedSource(record=each, counts=counts, failed=failed) for each, counts, failed in found]

    def forgotten(self, number: int) -> frozenset[str] | None:
        """Addresses in the source that are not to be read; None if the source itself was forgotten."""
        rows = self.rows(
            "SELECT f.place FROM sources s LEFT JOIN forgotten_source_items f ON f.source = s.number"
            " WHERE s.number = ?",
            number,
        )
        return frozenset(address for (address,) in rows if address is not None) if rows else None

    def keeps(self, number: int, address: str) -> bool:
        """True if the document at this address is still wanted: its source is there, and it was not forgotten."""
        forgotten = self.forgotten(number)
        return forgotten is not None and not any(is_within(address, gone) for gone in forgotten)

    def forget(self, number: int) -> None:
        """Delete all that is stored of a source."""
        with self.database.transaction():
            self.write("DELETE FROM sources WHERE number = ?", number)
            for table in ("source_items", "forgotten_source_items"):
                self.write(f"DELETE FROM {table} WHERE source = ?", number)
        self.database.erase_deleted(ERASED)

    def forget_below(self, record: SourceRecord, address: str) -> None:
        """Delete the items at or below an address in a source, and note that they stay forgotten."""
        number, below = record.number, span_below(address.removeprefix(f"{record.address}/"))
        with self.database.transaction():
            query = "DELETE FROM source_items WHERE source = ? AND (id = ? OR (id >= ? AND id < ?))"
            self.write(query, number, *below)
            query = "INSERT INTO forgotten_source_items VALUES (?, ?) ON CONFLICT DO NOTHING"
            self.write(query, number, address)
        self.database.erase_deleted(ERASED)


def overlap(address: str, other: str) -> bool:
    return is_within(address, other) or is_within(other, address)


def _item(row: Row) -> SourceItem:
    item, version, name, label, title, url, changed_at, readers, authors = row
    return SourceItem(
        id=item, version=version, name=name, source=label, title=title, url=url, changed_at=changed_at,
        readers=None if readers is None else frozenset(json.loads(readers)),
        authors=frozenset(json.loads(authors)),
    )  # fmt: skip
