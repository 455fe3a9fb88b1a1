"""What somebody who is in may read of what others asked: words only where the session may read all that they rest on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from bots.page.receive import PLATFORM, SPACE, collections_of
from bots.page.sessions import PageSession
from bots.page.site import Site
from bots.terminal.session import PLATFORM as TERMINAL
from core.conversation import Conversation
from core.library.readers import ReaderSets
from core.traces.log import LoggedQuestion
from core.traces.trace import Trace


async def reads_in(site: Site, conversation: Conversation, author: str) -> frozenset[str]:
    """The collections that this author's question in this conversation reads."""
    everything = site.library.store.collections()
    if conversation.platform == TERMINAL:
        return everything
    if conversation.platform == PLATFORM:
        named = collections_of(conversation.channel)
        return everything if named is None else everything & named
    return (await site.channels.reads(conversation, author, site.library)).collections


async def readable(site: Site, session: PageSession, questions: Iterable[LoggedQuestion]) -> set[str]:
    """The turns whose words the session may read."""
    questions = list(questions)
    if session.collections is None:
        return {question.turn for question in questions}
    by_channel: dict[str, bool] = {}
    allowed: set[str] = set()
    for question in questions:
        if question.conversation not in by_channel:
            reads = await reads_in(site, Conversation.parse(question.conversation), question.author)
            by_channel[question.conversation] = session.may_read(reads)
        if by_channel[question.conversation]:
            trace = await site.log.trace(question.turn)
            then = (
                trace.collections if trace else ()
            )  # it may have read more then, as its author's groups did
            is_open = session.may_read({*collections_in(trace), *then})
            if is_open and not await asyncio.to_thread(_closed_since, site, session.collections, trace):
                allowed.add(question.turn)
    return allowed


def _closed_since(site: Site, readable: frozenset[str], trace: Trace | None) -> bool:
    """Whether a document that a trace has words of may be read by others now. Blocks."""
    if trace is None:
        return False
    sources = {each.source for each in trace.passages if each.origin == "documents"}
    sources |= {each.source for each in trace.citations if each.origin == "documents"}
    return bool(ReaderSets(site.library.store.database).closed(sources, collections_in(trace), readable))


def channel_told(session: PageSession, channel: str) -> str:
    """A channel as the session may know it: that of another session is named after the collections that it reads."""
    place, _, name = channel.rpartition("/")
    if place != f"{PLATFORM}/{SPACE}" or session.may_read(collections_of(name) or ()):
        return channel
    return place


def collections_in(trace: Trace | None) -> set[str]:
    """The collections whose words may stand in the texts of a trace."""
    if trace is None:
        return set()
    passages = {each.collection for each in trace.passages if each.origin == "documents"}
    cited = {each.collection for each in trace.citations if each.origin == "documents"}
    return (passages | cited) - {""}
