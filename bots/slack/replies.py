"""What a word is answered, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import assert_never

from bots.chat.markdown.safe import line
from bots.chat.replies import Footnotes, Note, Reply, Sources
from bots.chat.texts import LISTED, clipped, say_in
from bots.slack import blocks
from bots.slack.blocks import Part
from bots.slack.footnotes import TITLE_SHOWN, all_footnotes
from bots.slack.message import Message, note, packed
from bots.slack.safe import escaped
from core.library.catalogue import Entry
from core.wording import Wording


def reply(reply: Reply) -> tuple[Message, ...]:
    match reply:
        case Note():
            return (note(reply.text),)
        case Sources():
            return sources_text(reply.entries, say_in(reply.language))
        case Footnotes():
            return all_footnotes(reply.outcome)
        case _:
            assert_never(reply)


def sources_text(entries: Sequence[Entry], say: Wording) -> tuple[Message, ...]:
    """Documents by collection, each with its title and number of passages."""
    if not entries:
        return (note(say("no_documents")),)
    return packed(
        part
        for name, members in groupby(entries, lambda entry: entry.collection)
        for part in _collection(name, list(members), say)
    )


def _collection(name: str, entries: Sequence[Entry], say: Wording) -> Iterator[Part]:
    documents = say("documents", count=len(entries))
    passages = say("passages", count=sum(entry.passages for entry in entries))
    yield blocks.section(f"*{escaped(clipped(line(name), TITLE_SHOWN))}*: {documents}, {passages}")
    yield from blocks.lines(
        f"• {entry.source} · {entry.title} · {say('passages', count=entry.passages)}"
        for entry in entries[:LISTED]
    )
    if len(entries) > LISTED:
        yield blocks.context(say("and_more", count=len(entries) - LISTED))
