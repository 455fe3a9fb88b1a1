"""What is said in a channel, as documents. Pure.

A thread is one document, with its first message as the title. What stands in the channel itself and has no thread
is one document a day, in UTC; a pause of half an hour begins another conversation in it. Each message is a section
with its author, its time and its own address, so that a footnote opens the very message.

Left out are people who asked not to be read, and what is said to the bot: a message that calls it is kept only as
the beginning of a thread in which another person answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from bots.chat.texts import clipped
from core.conversation import value
from core.sources.documents import AnchoredText, to_bytes
from core.sources.source import SourceItem

PAUSE = 1_800.0  # seconds without a message, after which another conversation begins
TITLE = 100  # characters
DAY = "messages"  # the name of what was said on a day beside threads
THREAD_NAME, DAY_NAME = "thread.json", "day.json"  # names of items

_HEADING = re.compile(r"^(?=#{1,6}(?:\s|$)|[ ]{0,3}(?:=+|-+)[ ]*$)", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)")
_MARKS = re.compile(r"[*_~`>#]+|\[([^\]\n]*)\]\([^)\n]*\)")


@value
class ChannelMessage:
    """What a person wrote in a channel."""

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
    """What stands in the channel itself: a message, or what a thread begins with."""

    id: str  #: in the platform's terms
    said_at: float  #: seconds since the epoch
    message: ChannelMessage | None = None  #: None: it is nothing that a person wrote
    thread: str = ""  #: the id of its thread, if it has one
    is_answered: bool = False  #: whether another person wrote in the thread


@value
class ChannelText:
    """Messages as a document is made of them."""

    title: str
    messages: tuple[ChannelMessage, ...]  #: oldest first
    is_thread: bool


def person_of(platform: str, user: str) -> str:
    """Who asks not to be read, and whose messages they are."""
    return f"{platform}/{user}"


def date_of(said_at: float) -> str:
    return datetime.fromtimestamp(said_at, UTC).date().isoformat()


def span_of_day(date: str) -> tuple[float, float]:
    """When a day begins and ends, in seconds since the epoch. ValueError for what is no date."""
    begin = datetime.fromisoformat(date).replace(tzinfo=UTC)
    return begin.timestamp(), (begin + timedelta(days=1)).timestamp()


def thread_text(
    messages: Sequence[ChannelMessage], place: str, opted_out: Collection[str]
) -> ChannelText | None:
    """What is kept of a thread; None if that is nothing."""
    kept = [each for each in messages if each.author not in opted_out]
    called = kept[0] if kept and kept[0].calls_bot and kept[0] is messages[0] else None
    others = [each for each in kept if not each.calls_bot]
    if called is not None:
        if all(each.author == called.author for each in others):
            return None
        others = [called, *others]
    if not others:
        return None
    title = _title(others[0].text) or f"{place}, {date_of(others[0].said_at)}"
    return ChannelText(title=title, messages=tuple(others), is_thread=True)


def day_text(entries: Iterable[ChannelEntry], place: str, opted_out: Collection[str]) -> ChannelText | None:
    """What is kept of what stands in the channel itself, of one day; None if that is nothing."""
    messages = (each.message for each in entries if each.message is not None and not each.thread)
    kept = [each for each in messages if each.author not in opted_out and not each.calls_bot]
    kept.sort(key=lambda each: (each.said_at, each.id))
    if not kept:
        return None
    return ChannelText(title=f"{place}, {date_of(kept[0].said_at)}", messages=tuple(kept), is_thread=False)


def data_of(text: ChannelText) -> bytes:
    """The document: its Markdown, and where in it each message begins, with its address."""
    written = [f"# {text.title}\n"]
    anchors, length, before = [(0, text.messages[0].url)], len(written[0]), 0.0
    for message in text.messages:
        is_new = not text.is_thread and message.said_at - before > PAUSE
        section = _section(message, "##" if text.is_thread or is_new else "###")
        anchors.append((length + 1, message.url))
        written.append(section)
        length, before = length + len(section), message.said_at
    return to_bytes(AnchoredText(text="".join(written), anchors=tuple(anchors)))


def item_of(text: ChannelText, item_id: str, label: str) -> SourceItem:
    """How a source lists it; ``label`` is how people name the channel."""
    return SourceItem(
        id=item_id,
        version=sha256(data_of(text)).hexdigest(),
        name=THREAD_NAME if text.is_thread else DAY_NAME,
        source=f"{label}/{item_id}",
        title=text.title,
        url=text.messages[0].url,
        changed_at=text.messages[-1].said_at,
        authors=frozenset(each.author for each in text.messages),
    )


def _section(message: ChannelMessage, hashes: str) -> str:
    said = datetime.fromtimestamp(message.said_at, UTC)
    files = f"({', '.join(message.files)})" if message.files else ""
    words = "\n\n".join(filter(None, (_guarded(message.text), files)))
    return f"\n{hashes} {' '.join(message.name.split())}, {said:%Y-%m-%d %H:%M}\n\n{words}\n"


def _guarded(text: str) -> str:
    """A message that begins no section of its own, and leaves no block open for the next one."""
    lines, open_fence = [], ""
    for line in text.strip().split("\n"):
        if found := _FENCE.match(line):
            sign = found[0].strip()
            open_fence = "" if sign == open_fence else open_fence or sign
            lines.append(line)
        else:
            lines.append(line if open_fence else _HEADING.sub(r"\\", line))
    return "\n".join([*lines, open_fence] if open_fence else lines)


def _title(text: str) -> str:
    """The first line of a message without marks."""
    lines = (_MARKS.sub(lambda found: found[1] or "", line).strip() for line in text.split("\n"))
    return clipped(next(filter(None, lines), ""), TITLE)
