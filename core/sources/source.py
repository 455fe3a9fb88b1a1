"""The port of a source, its credentials, and the file of its memory.

A source is a system outside the disk where a team keeps its texts. Its memory makes the next look cheap; it may
vanish and is made again.

A source has an address. One thing in it, a file, a page or a thread, is an item, and becomes one document of the
library. What has to be done with items is written once, in :mod:`core.sources.sync`; a source only says what there
is, what changed, and what an item contains.

FootnoteError
├── SourceUnavailable   the source cannot be read now, or not with these credentials
│   └── SourceWithdrawn it may not be read any more: what was read of it is removed
├── SourceThrottled     it wants to be asked again later
├── CursorExpired       it cannot tell what changed since
├── ItemGone            what was listed is not there any more
├── ItemChanged         it is not as it was listed: others may read it now
└── ItemUnreadable      one item cannot be read; the sentence completes "ITEM: …"

No credential is stored in a database, a log or an address.
"""

import json
import logging
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from core.conversation import value
from core.errors import FootnoteError, SettingsError, reason_of
from core.library.data_lock import PRIVATE_UMASK
from core.library.documents import Document
from core.library.formats.read import parse_file
from core.settings import Settings
from core.storage.database import Schema, Tables, rows_among
from core.storage.sqlite import SqliteDatabase

logger = logging.getLogger(__name__)


FILE = "memory.db"  # in the folder of a source


class Memory(Tables):
    """Values of JSON that a source remembers, by their kind and their name. A kind of source may add tables."""

    __slots__ = ()
    TABLES: ClassVar[str] = """
CREATE TABLE IF NOT EXISTS kept (
    kind TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL,  -- JSON
    PRIMARY KEY (kind, name)
);
"""

    def all(self, kind: str) -> dict[str, Any]:
        """The values of a kind by name, in the order in which they were kept first."""
        rows = self.rows("SELECT name, value FROM kept WHERE kind = ? ORDER BY rowid", kind)
        return {name: json.loads(held) for name, held in rows}

    def some(self, kind: str, names: Iterable[str]) -> dict[str, Any]:
        """The same of these names alone."""
        rows = rows_among(
            self.database, "SELECT name, value FROM kept WHERE kind = ? AND name {}", names, kind
        )
        return {name: json.loads(held) for name, held in rows}

    def keep(self, kind: str, values: Mapping[str, Any]) -> None:
        """Remember these. Sets are kept as sorted lists."""
        self.write_all(
            "INSERT INTO kept VALUES (?, ?, ?) ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value",
            [(kind, name, json.dumps(held, default=sorted)) for name, held in values.items()],
        )

    def drop(self, kind: str, names: Iterable[str]) -> None:
        self.write_all("DELETE FROM kept WHERE kind = ? AND name = ?", ((kind, name) for name in names))

    def drop_all(self, *kinds: str) -> None:
        self.write_all("DELETE FROM kept WHERE kind = ?", ((kind,) for kind in kinds))


M = TypeVar("M", bound=Memory)


@contextmanager
def open_memory(kind: type[M], folder: Path) -> Iterator[M]:
    """The memory in the folder of a source. A damaged one is made again, with all that lies in the folder."""
    schema = Schema(tables=kind.TABLES, cure="Delete it: it is made anew.")
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        database = SqliteDatabase(folder / FILE, schema)
    except FootnoteError as damaged:
        logger.warning("%s; it is made anew", damaged)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        database = SqliteDatabase(folder / FILE, schema)
    with closing(database):
        yield kind(database)


SIZE_LIMIT = 1_000_000  # bytes of a file of credentials; a key of a service account has about 2,400


@value
class Credential:
    """A credential that the source of an address needs, or may need."""

    setting: str  #: its name in the environment
    entry: str  #: what is written there, with a word in capitals in place of the secret: "github.com=TOKEN"
    made_at: str  #: where one is made: an address of the web
    rights: str = ""  #: what it must allow, as it is called there
    is_set: bool  #: whether there is one for this address
    is_needed: bool = True  #: False: some sources of this kind are open to everybody
    file: Path | None = None  #: that the setting names, and only its owner may read


def is_exposed(path: Path) -> bool:
    """True if others than its owner may read a file; False for one that is not there."""
    try:
        return bool(path.stat().st_mode & PRIVATE_UMASK)
    except OSError:
        return False


def read_owner_only(path: Path) -> str:
    """The text of a file of credentials. SettingsError for one that others may read, or that is no text."""
    try:
        # It is looked at while it is open, so that no other file can take its place between the look and the read.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SettingsError(f"{path} is no file.")
            if status.st_uid not in (os.geteuid(), 0):
                raise SettingsError(
                    f"{path} belongs to another user. Run `sudo chown $(id -un) {quote(str(path))}`."
                )
            if status.st_mode & PRIVATE_UMASK:
                raise SettingsError(
                    f"{path} can be read by others on this machine. Run `chmod 600 {quote(str(path))}`."
                )
            content = os.read(descriptor, SIZE_LIMIT + 1)
        finally:
            os.close(descriptor)
    except OSError as fault:
        raise SettingsError(f"{path} cannot be read: {reason_of(fault)}.") from fault
    if len(content) > SIZE_LIMIT:
        raise SettingsError(f"{path} is too large for a file of credentials.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path} holds no text in UTF-8.") from None


class SourceUnavailable(FootnoteError):
    """The source cannot be read now, or not with these credentials; the sentence says what to do."""


class SourceWithdrawn(SourceUnavailable):
    """The source may not be read any more, or not into this collection. What was read of it is removed."""


class SourceThrottled(FootnoteError):
    """The source wants to be asked again later."""

    def __init__(self, sentence: str, *, retry_after: float) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  #: seconds


class CursorExpired(FootnoteError):
    """The source cannot tell what changed since this cursor, or only that something has: everything is listed again."""


class ItemGone(FootnoteError):
    """The item that was listed is not there any more."""


class ItemChanged(FootnoteError):
    """The item that was listed has changed since: others may read it now. ``item``: as it is; it is fetched once more."""

    def __init__(self, sentence: str, *, item: "SourceItem") -> None:
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
    url: str | None = None  #: opens it in a browser
    changed_at: float | None = None  #: seconds since the epoch; None: unknown
    #: E-mail addresses, and ``@`` with a domain for all addresses there; empty: nobody. None: whoever may read the
    #: collection. What a source cannot map to addresses is left out.
    readers: frozenset[str] | None = None
    authors: frozenset[str] = frozenset()  #: ids of who wrote it, where they may ask not to be read


@value
class UnreadItem:
    """An item that is there, and cannot be looked at now. What is stored of it stays."""

    item: SourceItem
    reason: str  #: completes "ITEM: …"; shown for one that was never read


@value
class SourceBatch:
    """A part of what there is, or of what changed."""

    items: Sequence[SourceItem] = ()  #: any number: the engine takes some at a time
    gone: Sequence[str] = ()  #: ids
    unread: Sequence[UnreadItem] = ()
    note: str = (
        ""  #: sentences about the whole source, such as that a limit was reached; shown with its last sync
    )
    #: about how many items the whole source has, where its listing tells; for people alone
    total: int | None = None
    cursor: str | None = None  #: where to go on if it is cut off after this batch, or at the next sync


class KnowledgeSource(Protocol):
    """A source that is open. Raises the errors above."""

    def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        """Batches of everything without a cursor, else of what changed since. The cursor of the last batch is
        for the next sync, None if that lists everything again. Raises CursorExpired."""

    async def fetch(self, item: SourceItem) -> bytes:
        """The bytes of a file with the item's name. ItemGone, ItemUnreadable, ItemChanged if others may read it now."""


@runtime_checkable
class PreparedSource(Protocol):
    """A source that has many items at once more cheaply than one by one."""

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        """Have these items of a batch, which are fetched next."""


@runtime_checkable
class FollowedSource(Protocol):
    """A source that reports each change: single items can be read again before the next sync."""

    async def look(self, ids: Sequence[str]) -> SourceBatch:
        """These items as they are now; those that are not there are gone."""


@runtime_checkable
class CheckedSource(Protocol):
    """A source that can say whether it can be read now with fewer requests than its first batch needs."""

    async def check(self) -> None: ...


@value
class SourceContext:
    """The settings and the folder with which a source is opened."""

    settings: Settings  #: credentials are in it, and nowhere else
    folder: Path  #: of this source alone, for what need not be fetched twice; it may vanish, and may not exist yet
    collection: str = ""  #: into which it is read


def parse_as_file(item: SourceItem, data: bytes) -> Document:
    """The document of a file, by the suffix of the item's name. DocumentError."""
    return parse_file(Path(item.name), data)


def parse_moment(text: object) -> float | None:
    """A time in ISO 8601 as seconds since the epoch; UTC where it names no zone. None for anything else."""
    try:
        moment = datetime.fromisoformat(str(text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


async def as_it_is(address: str, _context: SourceContext) -> str:
    """The address unchanged: it means the same for ever."""
    return address


def with_scheme(typed: str) -> str:
    """The address of the web that a person typed, with the scheme that may be left out."""
    return typed if "://" in typed else f"https://{typed}"


@value
class SourceGuide:
    """Questions and hints for a person who adds a source of a kind."""

    title: str  #: "A repository"
    asks: str  #: what is to be typed
    example: str
    address: Callable[[str], str]  #: the address as it is kept, of what was typed; SettingsError
    credentials: Callable[[str, Settings], Sequence[Credential]] = lambda *_: ()  #: of a kept address
    every: str = "1h"  #: how often it is read unless a person says otherwise, as it is typed


@value
class AddressKind:
    """The addresses of a kind of source. Whoever only reads addresses needs no more of it."""

    prefixes: tuple[str, ...]  #: how its addresses begin
    #: the address as it is kept; SettingsError, also for one with a password in it
    canonical: Callable[[str], str]
    #: how people name the source of a kept address: the sources of its items begin with it
    label: Callable[[str], str]
    typed: Callable[[str], str] = str  #: a kept address as a person types it, and reads it
    options: Callable[[str], tuple[str, ...]] = lambda _: ()  #: that are typed behind it to have it ingested
    #: what a kept address means however it was written: two sources, one within the other, share items
    identity: Callable[[str], str] = str
    #: a kept address without what chooses one of several versions of the same texts, as a branch does
    without_version: Callable[[str], str] = str


@value
class SourceKind(AddressKind):
    """A kind of source."""

    open: Callable[[str, SourceContext], AbstractAsyncContextManager[KnowledgeSource]]
    parse: Callable[[SourceItem, bytes], Document] = parse_as_file  #: what was fetched; DocumentError
    #: What a canonical address stands for now, where it holds a name that may be given to another; SourceUnavailable.
    resolve: Callable[[str, SourceContext], Awaitable[str]] = as_it_is
    #: whether it can be read now, without opening it; None: it is opened
    check: Callable[[str, SourceContext], Awaitable[None]] | None = None
    guide: SourceGuide | None = None  #: None: it is added by its address alone


AddressKinds = Mapping[str, AddressKind]  # by name
SourceKinds = Mapping[str, SourceKind]  # by name
K = TypeVar("K", bound=AddressKind)


def kind_of(address: str, kinds: Mapping[str, K]) -> K | None:
    """The kind whose addresses begin like this one; None for a path, or a page of the web."""
    return next((kind for kind in kinds.values() if address.startswith(kind.prefixes)), None)


def require_kind(address: str, kinds: Mapping[str, K]) -> K:
    """The kind of a source. SourceUnavailable for one that is not known here."""
    kind = kind_of(address, kinds)
    if kind is None:
        raise SourceUnavailable("This Footnote reads no sources of this kind.")
    return kind
