"""A channel as a source, on every platform: it is walked through day by day, from today to its beginning.

The cursor of a listing says up to where it came. Each sync lists everything: platforms do not say what changed
since, so what an event told was missed is found by the next one. What an event tells is looked at by itself.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from bots.chat.channel_documents import (
    DAY,
    ChannelEntry,
    ChannelMessage,
    ChannelText,
    data_of,
    date_of,
    day_text,
    item_of,
    span_of_day,
    thread_text,
)
from core.conversation import value
from core.sources.documents import parse_item
from core.sources.source import (
    AddressKind,
    CursorExpired,
    ItemGone,
    KnowledgeSource,
    SourceBatch,
    SourceContext,
    SourceItem,
    SourceKind,
    SourceUnavailable,
)

THREADS_AT_ONCE = 4  # whose items make a batch; each costs a request or more

OptedOut = Callable[[], Awaitable[frozenset[str]]]


@value
class EntryPage:
    """A part of what stands in a channel."""

    entries: Sequence[ChannelEntry]  #: newest first
    is_last: bool


class ChannelReader(Protocol):
    """Reads one channel of a platform. Every method raises the errors of a source."""

    @property
    def place(self) -> str:
        """What people call the channel, such as "#help"."""
        ...

    def mark(self, moment: float) -> str:
        """The id that a message of this moment would have."""
        ...

    async def page(self, until: str, since: float = 0.0) -> EntryPage:
        """What was said before the message with this id, and not before ``since``; empty: all."""
        ...

    async def thread(self, thread: str) -> Sequence[ChannelMessage]:
        """What people wrote in a thread, oldest first; nothing if there is no such thread."""
        ...


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

    async def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        before, done = _position(cursor)
        if self._walk is None or self._walked_to != before:
            self._walk = DayWalk(reader=self.reader, until="" if before is None else self.reader.mark(before))
            self._walked_to = before
        while day := await self._walk.day():
            threads = sorted(
                (each for each in day if each.thread and each.thread not in done),
                key=lambda each: not each.is_answered,
            )
            for first in range(0, len(threads), THREADS_AT_ONCE):
                some = threads[first : first + THREADS_AT_ONCE]
                items = [await self._thread_item(each.thread, date_of(each.said_at)) for each in some]
                done |= {each.thread for each in some}
                self._threads.clear()
                yield SourceBatch(items=list(filter(None, items)), cursor=_cursor(before, done))
            item = await self._item(
                f"{date_of(day[0].said_at)}/{DAY}", day_text(day, self.reader.place, await self.opted_out())
            )
            self._walk.leave(day)
            before, done = span_of_day(date_of(day[0].said_at))[0], set()
            self._walked_to = before
            yield SourceBatch(items=[item] if item else [], cursor=_cursor(before, done))
        self._walk = None
        yield SourceBatch()

    async def look(self, ids: Sequence[str]) -> SourceBatch:
        items: dict[str, SourceItem | None] = {}
        for each in ids:
            items[each] = await self._item(each, await self._read(each))
        return SourceBatch(
            items=[item for item in items.values() if item is not None],
            gone=[each for each, item in items.items() if item is None],
        )

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        """What was listed is here already."""
        wanted = {item.id for item in items}
        self._texts = {name: text for name, text in self._texts.items() if name in wanted}

    async def fetch(self, item: SourceItem) -> bytes:
        """As it was listed, without those who asked since not to be read; else as it is now."""
        text, opted_out = self._texts.get(item.id), await self.opted_out()
        if text is None or opted_out & {each.author for each in text.messages}:
            text = await self._read(item.id)
        if text is None:
            raise ItemGone(f"{item.source} is gone.")
        return data_of(text)

    async def _thread_item(self, thread: str, date: str) -> SourceItem | None:
        if thread not in self._threads:
            self._threads[thread] = await self.reader.thread(thread)
        text = thread_text(self._threads[thread], self.reader.place, await self.opted_out())
        return await self._item(f"{date}/{thread}", text)

    async def _item(self, item_id: str, text: ChannelText | None) -> SourceItem | None:
        if text is None:
            return None
        self._texts[item_id] = text
        return item_of(text, item_id, self.label)

    async def _read(self, item_id: str) -> ChannelText | None:
        """What an item says now."""
        date, _, name = item_id.partition("/")
        if name != DAY:
            messages = await self.reader.thread(name)
            return thread_text(messages, self.reader.place, await self.opted_out())
        begin, end = span_of_day(date)
        walk = DayWalk(reader=self.reader, until=self.reader.mark(end), since=begin)
        day = [each for each in await walk.day() if date_of(each.said_at) == date]
        return day_text(day, self.reader.place, await self.opted_out())


def only_one(found: Sequence[str], channel: str) -> str:
    """The address of the channel that was meant. SourceUnavailable if there is none, or several."""
    if not found:
        raise SourceUnavailable(f"The bot is in no channel {channel}: invite it there.")
    if len(found) > 1:
        raise SourceUnavailable(f"There are several channels {channel}: {', '.join(found)}.")
    return found[0]


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
        raise CursorExpired("The cursor is of another version.") from fault


def channel_kind(
    addresses: AddressKind,
    *,
    open: Callable[[str, SourceContext], AbstractAsyncContextManager[KnowledgeSource]],  # noqa: A002 - as of a kind
    resolve: Callable[[str, SourceContext], Awaitable[str]],
    check: Callable[[str, SourceContext], Awaitable[None]],
) -> SourceKind:
    """The kind of a platform's channels."""
    return SourceKind(
        prefixes=addresses.prefixes, canonical=addresses.canonical, label=addresses.label,
        open=open, parse=parse_item, resolve=resolve, check=check,
    )  # fmt: skip
