"""Crews whose collections hold canaries: words that one document alone says, and nobody who asks."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from benchmarks.evaluation_sets import add_paragraphs
from fakes.patience import PATIENCE

from bots.chat.access import AccessChange, change_access
from core.conversation import Conversation


class People:
    """Everybody is in the groups that begin with their own id."""

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        return frozenset(group for group in among if group.startswith(f"slack/{space}/S{user}-"))


def change(channel_store, collection, **what):
    change_access(channel_store.database.database, collection, AccessChange(**what), known=[collection])


def secret(*place):
    """What a document alone says, and nobody who asks."""
    return blake2b(repr(place).encode(), digest_size=6).hexdigest()


def name(*place):
    return f"Buoy{blake2b(repr(place).encode(), digest_size=5, person=b'name').hexdigest()}"


def fill(footnote, channel_store, workspaces, channels, documents):
    """A collection of the operator's for each channel, open to it, to one person, and to one person's group."""
    for w in range(workspaces):
        for c in range(channels):
            collection = f"crew-{w}-{c}"
            paragraphs = [
                f"The passphrase of the {name(w, c, d)} mooring is {secret(w, c, d)}."
                for d in range(documents)
            ]
            for number, text in enumerate(paragraphs):
                add_paragraphs(
                    footnote.library,
                    f"/{w}/{c}/{number}.md",
                    name(w, c, number),
                    [text],
                    collection=collection,
                )
            change(
                channel_store, collection,
                opens=(
                    ("channel", f"slack/T{w}/C{c}"), ("person", f"slack/T{w}/U{c}"),
                    ("group", f"slack/T{w}/SU{(c + 1) % channels}-crew"),
                ),
            )  # fmt: skip


def may_read(here, author, place, channels):
    """By the rules above: the same channel, and in direct messages the same person, or who is in the group."""
    (w, c), number = place[:2], int(author.lstrip("U"))
    if here.space != f"T{w}":
        return False
    if here.channel.startswith("C"):
        return here.channel == f"C{c}"
    return number in (c, (c + 1) % channels)


async def ask_on_page(desk, browser, text):
    """The page of the answer."""
    _, _, headers = await browser.post("/threads", text=text)
    place = headers["Location"].partition("#")[0]
    conversation = place.rpartition("/")[2]
    async with asyncio.timeout(PATIENCE):
        while (await turns_in(desk, conversation))[-1].outcome is None:  # noqa: ASYNC110 - no event says when
            await asyncio.sleep(0.02)
    return (await browser.get(place))[1]


async def is_direct(conversation):
    return conversation.channel.startswith("D")


async def is_shared(_conversation):
    return False


async def turns_in(desk, thread):
    (conversation,) = [
        row[0]
        for row in await desk.threads.database.rows(
            "SELECT DISTINCT conversation FROM page_turns WHERE conversation LIKE ?", (f"%/{thread}",)
        )
    ]
    return await desk.threads.turns(Conversation.parse(conversation))
