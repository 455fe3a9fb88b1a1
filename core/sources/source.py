"""The port of a source: a place outside the disk's folders where a team keeps its knowledge.

A source has an address. One thing in it, a file, a page or a thread, is an item, and becomes one document of the
library. What has to be done with items is written once, in :mod:`core.sources.sync`; a source only says what there
is, what changed, and what an item contains.

FootnoteError
├── SourceUnavailable   the source cannot be read now, or not with these credentials
│   └── SourceWithdrawn it may not be read any more: what was read of it is removed
├── SourceThrottled     it wants to be asked again later
├── CursorExpired       it no longer knows what changed since
├── ItemGone            what was listed is not there any more
├── ItemChanged         it is not as it was listed: others may read it now
└── ItemUnreadable      one item cannot be read; the sentence completes "ITEM: …"
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from core.conversation import value
from core.errors import FootnoteError
from core.library.documents import Document
from core.library.formats.read import parse_file
from core.settings import Settings
from core.sources.credentials import Credential


class SourceUnavailable(FootnoteError):
    """The source cannot be read now, or not with these credentials; the sentence says what to do."""


class SourceWithdrawn(SourceUnavailable):
    """The source may not be read any more, or not into this collection: what was read of it is removed."""


class SourceThrottled(FootnoteError):
    """The source wants to be asked again later."""

    def __init__(self, sentence: str, *, retry_after: float) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  #: seconds


class CursorExpired(FootnoteError):
    """The source no longer knows what changed since this cursor: everything is listed anew."""


class ItemGone(FootnoteError):
    """The item that was listed is not there any more."""


class ItemChanged(FootnoteError):
    """The item that was listed has changed since: others may read it now. ``item``: as it is; it is fetched once more."""

    def __init__(self, sentence: str, *, item: SourceItem) -> None:
        super().__init__(sentence)
        self.item = item


class ItemUnreadable(FootnoteError):
    """One item cannot be read; the sentence completes "ITEM: …"."""


@value
class SourceItem:
    """One thing in a source, as it is listed."""

    id: str  #: stable within the source; with a slash between what lies in one another
    version: str  #: equal means unchanged; nothing else is known of it
    name: str  #: whose suffix says how it is parsed
    source: str  #: how people name it, on one line
    title: str = ""  #: empty: as the document says, or its name
    url: str | None = None  #: opens the place in a browser
    changed_at: float | None = None  #: seconds since the epoch; None: unknown
    #: E-mail addresses, and ``@`` with a domain for all addresses there; empty: nobody. None: whoever may read the
    #: collection. What a source cannot map to addresses is left out.
    readers: frozenset[str] | None = None
    authors: frozenset[str] = frozenset()  #: ids of who wrote it, where they may ask not to be read


@value
class UnreadItem:
    """An item that is there, and cannot be looked at now. What is stored of it stays."""

    item: SourceItem
    reason: str  #: completes "ITEM: …"; told of one that was never read


@value
class SourceBatch:
    """A part of what there is, or of what changed."""

    items: Sequence[SourceItem] = ()  #: at most some hundreds
    gone: Sequence[str] = ()  #: ids
    unread: Sequence[UnreadItem] = ()
    note: str = ""  #: sentences about the whole source, as that a limit was reached; told with its last sync
    #: about how many items the whole source has, where its listing tells; for people alone
    total: int | None = None
    cursor: str | None = None  #: where to go on if it is cut off after this batch, or at the next sync


class KnowledgeSource(Protocol):
    """A source that is open. Raises the errors that are drawn above."""

    def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        """Everything there is without a cursor, what changed since otherwise; the cursor of the last batch is for the
        next sync, None if that lists everything again. Raises CursorExpired.
        """
        ...

    async def fetch(self, item: SourceItem) -> bytes:
        """The bytes of a file with the item's name. Raises ItemGone, ItemUnreadable, and ItemChanged where the source
        sees, after it has the bytes, that others may read the item than it was listed with.
        """
        ...


@runtime_checkable
class PreparedSource(Protocol):
    """A source that has many items at once more cheaply than one by one."""

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        """Have these items of a batch, which are fetched next."""
        ...


@runtime_checkable
class FollowedSource(Protocol):
    """A source whose place tells of each change: single items can be read again before the next sync."""

    async def look(self, ids: Sequence[str]) -> SourceBatch:
        """These items as they are now; those that are not there are gone."""
        ...


@value
class SourceContext:
    """The settings and the folder with which a source is opened."""

    settings: Settings  #: credentials are in it, and nowhere else
    folder: Path  #: of this source alone, for what need not be fetched twice; it may vanish, and may not exist yet
    collection: str = ""  #: into which it is read


def parse_as_file(item: SourceItem, data: bytes) -> Document:
    """The document of a file, by the suffix of the item's name. DocumentError."""
    return parse_file(Path(item.name), data)


def moment_of(text: object) -> float | None:
    """A time in ISO 8601 as seconds since the epoch, in UTC where it names no zone; None for anything else."""
    try:
        moment = datetime.fromisoformat(str(text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


async def as_it_is(address: str, _context: SourceContext) -> str:
    """The address unchanged: it means the same for ever."""
    return address


def _no_credentials(_address: str, _settings: Settings) -> Sequence[Credential]:
    return ()


@value
class SourceGuide:
    """Questions and hints for a person who adds a source of a kind."""

    title: str  #: "A repository"
    asks: str  #: what is to be typed
    example: str
    address: Callable[[str], str]  #: the address as it is kept, of what was typed; SettingsError
    credentials: Callable[[str, Settings], Sequence[Credential]] = _no_credentials  #: of a kept address
    every: str = "1h"  #: how often it is read unless a person says otherwise, as it is typed


def _no_options(_address: str) -> tuple[str, ...]:
    return ()


@value
class AddressKind:
    """The addresses of a kind of source. Whoever only reads addresses needs no more of it."""

    prefixes: tuple[str, ...]  #: how its addresses begin
    #: the address as it is kept; SettingsError, also for one with a password in it
    canonical: Callable[[str], str]
    #: how people name the source of a kept address: the sources of its items begin with it
    label: Callable[[str], str]
    typed: Callable[[str], str] = str  #: a kept address as a person types it, and reads it
    options: Callable[[str], tuple[str, ...]] = _no_options  #: that are typed behind it to have it ingested
    #: of a kept address, what it means however it was written: two sources of which one lies in the other share items
    place: Callable[[str], str] = str
    #: a kept address without what chooses one of several versions of the same place, as a branch does
    without_version: Callable[[str], str] = str


@value
class SourceKind(AddressKind):
    """A kind of source."""

    open: Callable[[str, SourceContext], AbstractAsyncContextManager[KnowledgeSource]]
    parse: Callable[[SourceItem, bytes], Document] = parse_as_file  #: what was fetched; DocumentError
    #: What a canonical address stands for now, where it holds a name that may be given to another; SourceUnavailable.
    resolve: Callable[[str, SourceContext], Awaitable[str]] = as_it_is
    #: whether it can be read now, by as few requests as that takes; None: by listing its first batch
    check: Callable[[str, SourceContext], Awaitable[None]] | None = None
    guide: SourceGuide | None = None  #: None: it is added by its address alone


K = TypeVar("K", bound=AddressKind)


def kind_of(address: str, kinds: Mapping[str, K]) -> K | None:
    """The kind whose addresses begin like this one; None for a path, or a page of the web."""
    return next((kind for kind in kinds.values() if address.startswith(kind.prefixes)), None)
