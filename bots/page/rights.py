"""The rights of somebody who is in: what they read of what others asked, and who reads an answer that is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from bots.chat.access import CHANNEL, CLOSED, EVERYONE, PERSON, access_rules, readers
from bots.chat.channels import AccessRule, channel_of, own_collection, thread_collection
from bots.page.names import Speaker
from bots.page.sessions import PageSession
from bots.page.site import Site, Visit
from bots.page.threads import PLATFORM, SPACE, collections_of
from bots.terminal.session import PLATFORM as TERMINAL
from core.conversation import Conversation, value
from core.gaps.questions import GapQuestion
from core.library.library import DEFAULT_COLLECTION
from core.library.readers import ReaderSets, is_restricted
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
    """True if a document that a trace has words of may be read by others now. Blocks."""
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


@value
class Audience:
    """A collection, and who reads what is in it."""

    collection: str
    readers: str  #: as a person reads it
    is_of_channel: bool = False  #: it is what one channel learned, and read there alone
    turns: frozenset[str] = frozenset()  #: of a gap's questions, those whose askers read it


async def all_audiences(visit: Visit, *more: str) -> tuple[Audience, ...]:
    """The operator's collections that the session may read, and ``more``."""
    there = await asyncio.to_thread(visit.site.library.store.collections)
    named = {each for each in there if not channel_of(each)}
    return await _told(visit, {DEFAULT_COLLECTION, *named, *filter(None, more)}, {})


async def audiences_of(visit: Visit, questions: Sequence[GapQuestion]) -> tuple[Audience, ...]:
    """The audiences that people who asked one of these questions belong to: first that of what their channel
    learned, which is made when it is first used.
    """
    reads: dict[tuple[str, str], frozenset[str]] = {}
    turns: dict[str, set[str]] = {}
    for each in questions:
        where = each.channel, each.author
        if where not in reads:
            reads[where] = await _readable_in(visit, Conversation.parse(each.conversation), each.author)
        for collection in reads[where]:
            turns.setdefault(collection, set()).add(each.turn)
    return await _told(visit, turns, turns)


async def _readable_in(visit: Visit, conversation: Conversation, author: str) -> frozenset[str]:
    found = await reads_in(visit.site, conversation, author)
    if conversation.platform in (PLATFORM, TERMINAL):
        return found
    return (found | {own_collection(conversation)}) - {thread_collection(conversation)}


async def _told(
    visit: Visit, collections: Iterable[str], turns: Mapping[str, Iterable[str]]
) -> tuple[Audience, ...]:
    names = [each for each in collections if not is_restricted(each) and visit.session.may_read((each,))]
    database = visit.site.channels.database
    rules = await database.call(access_rules, database.database, names)
    channels = {each: channel for each in names if (channel := channel_of(each))}
    known = await visit.site.names.of(Speaker(conversation=f"{each}/-") for each in channels.values())
    called = await _names_in(visit, [rule for each in names for rule in rules.get(each, ())])
    made = [
        Audience(
            collection=each,
            readers=f"{known.channel(channels[each])} alone"
            if each in channels
            else readers(rules[each], called),
            is_of_channel=each in channels,
            turns=frozenset(turns.get(each, ())),
        )
        for each in names
    ]
    return tuple(sorted(made, key=lambda each: (*_breadth(rules.get(each.collection, ())), *_rank(each))))


async def _names_in(visit: Visit, rules: Sequence[AccessRule]) -> Mapping[str, str]:
    """The names of people and channels in these rules, by their ids as the rules have them."""
    ids = {kind: {rule.id for rule in rules if rule.kind == kind} for kind in (CHANNEL, PERSON)}
    stored = visit.site.names.stored
    known = await stored.known(ids[PERSON], ids[CHANNEL])
    bare = await stored.channels_called({each for each in ids[CHANNEL] if "/" not in each})
    return {**known.people, **known.channels, **bare}


def _breadth(rules: Sequence[AccessRule]) -> tuple[bool, int]:
    """How many read a collection, as far as its rules say; those of a channel have none."""
    kinds = [rule.kind for rule in rules]
    return EVERYONE in kinds, len(kinds) - kinds.count(CLOSED)


def _rank(audience: Audience) -> tuple[bool, int, str]:
    """The order of equally narrow audiences: first that of a channel, and where most asked."""
    return not audience.is_of_channel, -len(audience.turns), audience.collection
