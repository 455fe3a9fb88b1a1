"""What a word is answered, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import assert_never

from bots.delivery.markdown.safe import line
from bots.delivery.replies import Footnotes, Help, Note, Reply, Sources
from bots.messages import LISTED, clipped, counted, help_lines, nothing_here
from bots.slack import blocks
from bots.slack.blocks import Part
from bots.slack.footnotes import TITLE_SHOWN, all_footnotes
from bots.slack.message import Message, message_of, note, packed
from bots.slack.safe import escaped
from core.library.catalogue import Entry


def reply(reply: Reply) -> tuple[Message, ...]:
    match reply:
        case Note():
            return (note(reply.text),)
        case Help():
            lines = help_lines(collections=reply.collections, documents=reply.documents, age=reply.age)
            return (message_of([*blocks.lines(lines)]),)
        case Sources():
            return sources_text(reply.entries)
        case Footnotes():
            return all_footnotes(reply.outcome)
        case _:
            assert_never(reply)


def sources_text(entries: Sequence[Entry]) -> tuple[Message, ...]:
    """Documents by collection, each with its title and number of passages."""
    if not entries:
        return (note(nothing_here()),)
    return packed(
        part
        for name, members in groupby(entries, lambda entry: entry.collection)
        for part in _collection(name, list(members))
    )


def _collection(name: str, entries: Sequence[Entry]) -> Iterator[Part]:
    total = counted(sum(entry.passages for entry in entries), "passage")
    yield blocks.section(
        f"*{escaped(clipped(line(name), TITLE_SHOWN))}*: {counted(len(entries), 'document')}, {total}"
    )
    yield from blocks.lines(
        f"• {entry.source} · {entry.title} · {counted(entry.passages, 'passage')}"
        for entry in entries[:LISTED]
    )
    if len(entries) > LISTED:
        yield blocks.context(f"and {len(entries) - LISTED:,} more")
