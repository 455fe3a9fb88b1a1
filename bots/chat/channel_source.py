"""A channel as a source, on every platform: its messages as documents, walked through day by day from today to
its beginning.

The cursor of a listing says up to where it came. Each sync lists everything: platforms do not say what changed
since, so what an event told was missed is found by the next one. What an event tells is looked at by itself.

A thread is one document, with its first message as the title. What stands in the channel itself and has no thread
is one document a day, in UTC; a pause of half an hour begins another conversation in it. Each message is a section
with its author, its time and its own address, so that a footnote opens the very message.

Left out are people who asked not to be read, and what is said to the bot: a message that calls it is kept only as
the beginning of a thread in which another person answers.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Generic, Protocol, TypeVar

from bots.chat.addresses import ADDRESSES, channel_in
from bots.chat.channels import ChannelStore, channel_at, own_collection, source_of
from bots.chat.texts import clipped
from core.conversation import value
from core.sources import source
from core.sources.documents import AnchoredText, parse_item, to_bytes

PAUSE = 1_800.0  # seconds without a message, after which another conversation begins
TITLE = 100  # characters
DAY = "messages"  # the name of what was said on a day beside threads
THREAD_NAME, DAY_NAME = "thread.json", "day.json"  # names of items

_HEADING = re.compile(r"^(?=#{1,6}(?:\s|$)|[ ]{0,3}(?:=+|-+)[ ]*$)", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)")
_MARKS = re.compile(r"[*_~`>#]+|\[([^\]\n]*)\]\([^)\n]*\)")


@value
class ChannelMessage:
    """One message of a person in a channel."""

    id: str  #: in the platform's terms
    author: str  #: "platform/person"
    name: str  #: of the author, as it is shown
    said_at: float  #: seconds since the epoch
    text: str  #: Markdown
    url: str  #: opens it
    files: tuple[str, ...] = ()  #: names
    calls_bot: bool = False


@value
class ChannelEntry:
    """An entry of the channel itself: a message, or the first message of a thread."""

    id: str  #: in the platform's terms
    said_at: float  #: seconds since the epoch
    message: ChannelMessage | None = None  #: None: it is nothing that a person wrote
    thread: str = ""  #: the id of its thread, if it has one
    is_answered: bool = False  #: whether another person wrote in the thread


@value
class ChannelText:
    """The messages that make one document."""

    title: str
    messages: tuple[ChannelMessage, ...]  #: oldest first
    is_thread: bool


def person_of(platform: str, user: str) -> str:
    """The key of a person who wrote messages or opted out."""
    return f"{platform}/{user}"


def date_of(said_at: float) -> str:
    return datetime.fromtimestamp(said_at, UTC).date().isoformat()


def span_of_day(date: str) -> tuple[float, float]:
    """The beginning and the end of a day, in seconds since the epoch. ValueError for an invalid date."""
    begin = datetime.fromisoformat(date).replace(tzinfo=UTC)
    return begin.timestamp(), (begin + timedelta(days=1)).timestamp()


def thread_text(
    messages: Sequence[ChannelMessage], channel: str, opted_out: Collection[str]
) -> ChannelText | None:
    """The text that is kept of a thread, None if nothing is; ``channel`` is the channel's name."""
    kept = [each for each in messages if each.author not in opted_out]
    called = kept[0] if kept and kept[0].calls_bot and kept[0] is messages[0] else None
    others = [each for each in kept if not each.calls_bot]
    if called is not None:
        if all(each.author == called.author for each in others):
            return None
        others = [called, *others]
    if not others:
        return None
    lines = (_MARKS.sub(lambda found: found[1] or "", line).strip() for line in others[0].text.split("\n"))
    # The first line without marks.
    title = clipped(next(filter(None, lines), ""), TITLE) or f"{channel}, {date_of(others[0].said_at)}"
    return ChannelText(title=title, messages=tuple(others), is_thread=True)


def day_text(entries: Iterable[ChannelEntry], channel: str, opted_out: Collection[str]) -> ChannelText | None:
    """The text that is kept of one day in the channel itself; None if nothing is."""
    messages = (each.message for each in entries if each.message is not None and not each.thread)
    kept = [each for each in messages if each.author not in opted_out and not each.calls_bot]
    kept.sort(key=lambda each: (each.said_at, each.id))
    if not kept:
        return None
    return ChannelText(title=f"{channel}, {date_of(kept[0].said_at)}", messages=tuple(kept), is_thread=False)


def data_of(text: ChannelText) -> bytes:
    """The document: its Markdown, and where in it each message begins, with its address."""
    written = [f"# {text.title}\n"]
    anchors, length, before = [(0, text.messages[0].url)], len(written[0]), 0.0
    for message in text.messages:
        is_new = not text.is_thread and message.said_at - before > PAUSE
        said = datetime.fromtimestamp(message.said_at, UTC)
        hashes = "##" if text.is_thread or is_new else "###"
        files = f"({', '.join(message.files)})" if message.files else ""
        words = "\n\n".join(filter(None, (_guarded(message.text), files)))
        name = " ".join(message.name.split())
        section = f"\n{hashes} {name}, {said:%Y-%m-%d %H:%M}\n\n{words}\n"
        anchors.append((length + 1, message.url))
        written.append(section)
        length, before = length + len(section), message.said_at
    return to_bytes(AnchoredText(text="".join(written), anchors=tuple(anchors)))


def item_of(text: ChannelText, item_id: str, label: str) -> source.SourceItem:
    """The entry of a text in the list of a source; ``label`` is the channel's name."""
    return source.SourceItem(
        id=item_id, version=sha256(data_of(text)).hexdigest(),
        name=THREAD_NAME if text.is_thread else DAY_NAME, source=f"{label}/{item_id}", title=text.title,
        url=text.messages[0].url, changed_at=text.messages[-1].said_at,
        authors=frozenset(each.author for each in text.messages),
    )  # fmt: skip


def _guarded(text: str) -> str:
    """The text without headings of its own and with every code block closed."""
    lines, open_fence = [], ""
    for line in text.strip().split("\n"):
        if found := _FENCE.match(line):
            sign = found[0].strip()
            open_fence = "" if sign == open_fence else open_fence or sign
            lines.append(line)
        else:
            lines.append(line if open_fence else _HEADING.sub(r"\\", line))
    return "\n".join([*lines, open_fence] if open_fence else lines)


THREADS_AT_ONCE = 4  # whose items make a batch; each costs a request or more

OptedOut = Callable[[], Awaitable[frozenset[str]]]


@value
class EntryPage:
    """A part of a channel's entries."""

    entries: Sequence[ChannelEntry]  #: newest first
    is_last: bool


class ChannelReader(Protocol):
    """Reads one channel of a platform. Every method raises the errors of a source."""

    @property
    def name(self) -> str:
        """The name that people have for the channel, such as "#help"."""

    def mark(self, moment: float) -> str:
        """The id that a message of this moment would have."""

    async def page(self, until: str, since: float = 0.0) -> EntryPage:
        """The entries before the message with this id, and not before ``since``; empty: all."""

    async def thread(self, thread: str) -> Sequence[ChannelMessage]:
        """The messages of people in a thread, oldest first; nothing if there is no such thread."""


@dataclass(slots=True, kw_only=True)
class DayWalk:
    """The days of a channel, newest first. A page that could not be read is read again."""

    reader: ChannelReader
    until: str
    since: float = 0.0
    _entries: list[ChannelEntry] = field(default_factory=list)
    _is_last: bool = False

    async def day(self) -> list[ChannelEntry]:
        """All entries of the newest day that is left; none at the end."""
        while not self._is_last and (
            not self._entries or date_of(self._entries[0].said_at) == date_of(self._entries[-1].said_at)
        ):
            page = await self.reader.page(self.until, self.since)
            self._entries += page.entries
            self._is_last = page.is_last or not page.entries
            self.until = page.entries[-1].id if page.entries else self.until
        if not self._entries:
            return []
        date = date_of(self._entries[0].said_at)
        return [each for each in self._entries if date_of(each.said_at) == date]

    def leave(self, day: Sequence[ChannelEntry]) -> None:
        del self._entries[: len(day)]


@dataclass(slots=True, kw_only=True)
class ChannelSource:
    """One channel, open to be read."""

    reader: ChannelReader
    label: str  #: how people name the source
    opted_out: OptedOut  #: asked before each document is made
    _walk: DayWalk | None = None
    _walked_to: float | None = None  #: the end of the day that the walk is at
    _texts: dict[str, ChannelText] = field(default_factory=dict)  #: what was listed, until it is fetched
    _threads: dict[str, Sequence[ChannelMessage]] = field(default_factory=dict)  #: read for the next batch

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        before, done = _position(cursor)
        if self._walk is None or self._walked_to != before:
            self._walk = DayWalk(reader=self.reader, until="" if before is None else self.reader.mark(before))
            self._walked_to = before
        while day := await self._walk.day():
            threads = [each for each in day if each.thread and each.thread not in done]
            threads.sort(key=lambda each: not each.is_answered)
            for first in range(0, len(threads), THREADS_AT_ONCE):
                some = threads[first : first + THREADS_AT_ONCE]
                items = [await self._thread_item(each.thread, date_of(each.said_at)) for each in some]
                done |= {each.thread for each in some}
                self._threads.clear()
                yield source.SourceBatch(items=list(filter(None, items)), cursor=_cursor(before, done))
            item = await self._item(
                f"{date_of(day[0].said_at)}/{DAY}", day_text(day, self.reader.name, await self.opted_out())
            )
            self._walk.leave(day)
            before, done = span_of_day(date_of(day[0].said_at))[0], set()
            self._walked_to = before
            yield source.SourceBatch(items=[item] if item else [], cursor=_cursor(before, done))
        self._walk = None
        yield source.SourceBatch()

    async def look(self, ids: Sequence[str]) -> source.SourceBatch:
        items: dict[str, source.SourceItem | None] = {}
        for each in ids:
            items[each] = await self._item(each, await self._read(each))
        found = [item for item in items.values() if item is not None]
        return source.SourceBatch(items=found, gone=[each for each, item in items.items() if item is None])

    async def prepare(self, items: Sequence[source.SourceItem]) -> None:
        """Nothing to do: the listing brought the items already."""
        wanted = {item.id for item in items}
        self._texts = {name: text for name, text in self._texts.items() if name in wanted}

    async def fetch(self, item: source.SourceItem) -> bytes:
        """The text as it was listed, or read again if one of its authors has opted out since."""
        text, opted_out = self._texts.get(item.id), await self.opted_out()
        if text is None or opted_out & {each.author for each in text.messages}:
            text = await self._read(item.id)
        if text is None:
            raise source.ItemGone(f"{item.source} is gone.")
        return data_of(text)

    async def _thread_item(self, thread: str, date: str) -> source.SourceItem | None:
        if thread not in self._threads:
            self._threads[thread] = await self.reader.thread(thread)
        text = thread_text(self._threads[thread], self.reader.name, await self.opted_out())
        return await self._item(f"{date}/{thread}", text)

    async def _item(self, item_id: str, text: ChannelText | None) -> source.SourceItem | None:
        if text is None:
            return None
        self._texts[item_id] = text
        return item_of(text, item_id, self.label)

    async def _read(self, item_id: str) -> ChannelText | None:
        date, _, name = item_id.partition("/")
        if name != DAY:
            messages = await self.reader.thread(name)
            return thread_text(messages, self.reader.name, await self.opted_out())
        begin, end = span_of_day(date)
        walk = DayWalk(reader=self.reader, until=self.reader.mark(end), since=begin)
        day = [each for each in await walk.day() if date_of(each.said_at) == date]
        return day_text(day, self.reader.name, await self.opted_out())


def _cursor(before: float | None, done: set[str]) -> str:
    return json.dumps({"before": before, "done": sorted(done)})


def _position(cursor: str | None) -> tuple[float | None, set[str]]:
    """The end of the day that is listed next, and its threads that were. Raises CursorExpired."""
    if cursor is None:
        return None, set()
    try:
        position = json.loads(cursor)
        return position["before"], set(position["done"])
    except (ValueError, LookupError, TypeError) as fault:
        raise source.CursorExpired("The cursor is of another version.") from fault


Connection = TypeVar("Connection")
Found = Sequence[tuple[str, str]]  # workspaces or servers, and ids of channels in them


class KnownChannel(Protocol):
    """A channel as its platform describes it."""

    @property
    def trouble(self) -> str:
        """The reason why the channel cannot be read now; empty: it can."""

    def refusal(self, *, is_own: bool) -> str:
        """The reason why it may not be read into a collection; empty if it may. ``is_own``: the channel's own."""

    async def reader(self) -> ChannelReader: ...


@value
class ChannelSources(Generic[Connection]):
    """The channels of a platform as sources; without a store of who asked not to be read, none is read."""

    platform: str
    channel_store: ChannelStore | None
    connect: Callable[[ChannelStore | None], AbstractAsyncContextManager[Connection]]
    look_up: Callable[[Connection, str, str], Awaitable[KnownChannel]]  #: by space and id
    #: By space, which may be empty, and id or "#name".
    find: Callable[[Connection, str, str], Awaitable[Found]]

    def kind(self) -> source.SourceKind:
        addresses = ADDRESSES[self.platform]
        return source.SourceKind(
            prefixes=addresses.prefixes, canonical=addresses.canonical, label=addresses.label,
            open=self._open, parse=parse_item, resolve=self._resolve, check=self._check,
        )  # fmt: skip

    @asynccontextmanager
    async def _open(self, address: str, context: source.SourceContext) -> AsyncIterator[ChannelSource]:
        space, channel = channel_in(address)
        if self.channel_store is None:
            raise source.SourceUnavailable("Who asked not to be read is not known here.")
        is_own = context.collection == own_collection(channel_at(self.platform, space, channel))
        async with self.connect(self.channel_store) as connection:
            known = await self.look_up(connection, space, channel)
            if refusal := known.refusal(is_own=is_own):
                raise source.SourceWithdrawn(refusal)
            if known.trouble:
                raise source.SourceUnavailable(known.trouble)
            reader, opted_out = await known.reader(), self.channel_store.opted_out
            yield ChannelSource(reader=reader, label=f"{self.platform}:{reader.name}", opted_out=opted_out)

    async def _check(self, address: str, _context: source.SourceContext) -> None:
        """Raises if the channel may not be read at all; each sync checks its collection."""
        async with self.connect(self.channel_store) as connection:
            known = await self.look_up(connection, *channel_in(address))
            if refusal := known.refusal(is_own=True) or known.trouble:
                raise source.SourceUnavailable(refusal)

    async def _resolve(self, address: str, _context: source.SourceContext) -> str:
        """The id of a channel that is named, as another may have the name tomorrow."""
        space, channel = channel_in(address)
        async with self.connect(self.channel_store) as connection:
            found = await self.find(connection, space, channel)
        if not found:
            raise source.SourceUnavailable(f"The bot is in no channel {channel}: invite it there.")
        first, *others = [source_of(channel_at(self.platform, *each)) for each in found]
        if others:
            known = ", ".join((first, *others))
            raise source.SourceUnavailable(f"There are several channels {channel}: {known}.")
        return first
