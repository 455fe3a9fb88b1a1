"""What is stored of a source and of its items, as values."""

from __future__ import annotations

from typing import Literal

from core.conversation import value
from core.library.readers import collection_for
from core.sources.source import SourceItem

ItemState = Literal["due", "read", "failed"]


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
        """When all of it was last seen, in seconds since the epoch."""
        return self.added_at if self.synced_at is None else self.synced_at

    def place_of(self, item: str) -> str:
        """The address of an item's document."""
        return f"{self.address}/{item}"

    def collection_of(self, item: SourceItem) -> str:
        """Where an item's document is: with the source's others, or with those that the same people may read."""
        return collection_for(self.collection, item.readers)


@value
class KnownItem:
    """What is stored of an item, to be compared with what is listed."""

    item: SourceItem
    state: ItemState


@value
class SourceCounts:
    """How many items of a source are in which state."""

    read: int = 0
    due: int = 0
    failed: int = 0


@value
class FailedItem:
    """An item that could not be read."""

    label: str
    failure: str


@value
class ListedSource:
    """A source as an operator reads it."""

    record: SourceRecord
    counts: SourceCounts
    failed: tuple[FailedItem, ...] = ()  #: the first of them
