"""The rights of a session: which questions of others it reads, and who reads a kept answer."""

import asyncio
from collections.abc import Hashable, Iterable, Mapping, Sequence

from bots.chat.access import CHANNEL, CLOSED, EVERYONE, PERSON, access_rules, readers
from bots.chat.channels import AccessRule, channel_of, own_collection, thread_collection
from bots.page.sessions import PageSession
from bots.page.site import Asker, Site, Visit, nobody_in
from bots.page.threads import PAGE, SPACE, collections_of
from bots.terminal.session import TERMINAL
from core.conversation import Conversation, value
from core.gaps.questions import GapQuestion
from core.library.library import DEFAULT_COLLECTION
from core.library.readers import ReaderSets, base_of, is_restricted
from core.traces.figures import LoggedQuestion
from core.traces.trace import Trace


async def reads_in(site: Site, askers: Iterable[Asker]) -> dict[Asker, frozenset[str]]:
    """The collections that questions of these people in these conversations read."""
    everything = site.library.store.collections()
    reads: dict[Asker, frozenset[str]] = {}
    for asker in dict.fromkeys(askers):
        conversation, author = Conversation.parse(asker[0]), asker[1]
        if conversation.platform == TERMINAL:
            reads[asker] = everything
        elif conversation.platform == PAGE:
            named = collections_of(conversation.channel)
            reads[asker] = everything if named is None else everything & named
        else:
            found = await site.channels.reads(conversation, author, site.library, known=everything)
            reads[asker] = found.collections
    return reads


async def state_of_rights(site: Site) -> Hashable:
    """Another value after a document went elsewhere, a rule changed, or a channel chose what it reads."""
    query = "SELECT collection, kind, id FROM access UNION ALL SELECT channel, reads, '' FROM channels ORDER BY 1, 2, 3"
    rows = await site.channels.database.rows(query)
    return await asyncio.to_thread(site.library.store.state), tuple(map(tuple, rows))


async def readable(site: Site, session: PageSession, questions: Iterable[LoggedQuestion]) -> set[str]:
    """The turns whose words the session may read."""
    questions = list(questions)
    if session.collections is None:
        return {question.turn for question in questions}
    traces = await site.log.traces([question.turn for question in questions])
    # A question may have read more when it was asked, as its author's groups did.
    read_then = {turn: {*collections_in(trace), *trace.collections} for turn, trace in traces.items()}
    asked = [each for each in questions if session.may_read(read_then.get(each.turn, ()))]
    reads = await reads_in(site, ((each.conversation, each.author) for each in asked))
    asked = [each for each in asked if session.may_read(reads[each.conversation, each.author])]
    traced = {each.turn: traces[each.turn] for each in asked if each.turn in traces}
    closed = await asyncio.to_thread(_closed_since, site, session.collections, traced)
    return {each.turn for each in asked} - closed


def _closed_since(site: Site, readable: frozenset[str], traces: Mapping[str, Trace]) -> set[str]:
    """The turns with words of a document that only others may read now. Blocks."""
    alike: dict[frozenset[str], list[str]] = {}  # the turns by the collections behind them
    sources: dict[str, set[str]] = {}
    for turn, trace in traces.items():
        alike.setdefault(frozenset(collections_in(trace)), []).append(turn)
        sources[turn] = {source for _, source in _of_documents(trace)}.union(trace.documents)
    closed: set[str] = set()
    for behind, turns in alike.items():
        asked = set().union(*(sources[turn] for turn in turns))
        gone = ReaderSets(site.library.store.database).withdrawn(asked, behind, readable)
        closed |= {turn for turn in turns if sources[turn] & gone}
    return closed


def shown_channel(session: PageSession, channel: str) -> str:
    """A channel as the session may see it; another session's is named without its collections."""
    space, _, name = channel.rpartition("/")
    if space != f"{PAGE}/{SPACE}" or session.may_read(collections_of(name) or ()):
        return channel
    return space


def collections_in(trace: Trace | None) -> set[str]:
    """The collections whose words may stand in the texts of a trace."""
    return {collection for collection, _ in _of_documents(trace)} - {""} if trace else set()


def _of_documents(trace: Trace) -> set[tuple[str, str]]:
    """The collections and sources of its passages and citations that are not of the web."""
    found = {(each.collection, each.source) for each in trace.passages if each.origin == "documents"}
    return found | {(each.collection, each.source) for each in trace.citations if each.origin == "documents"}


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
    return await _audiences(visit, {DEFAULT_COLLECTION, *named, *filter(None, more)}, {})


async def audiences_of(visit: Visit, questions: Sequence[GapQuestion]) -> tuple[Audience, ...]:
    """The audiences of those who asked these; first their channel's collection, made at first use."""
    reads = await reads_in(visit.site, ((each.conversation, each.author) for each in questions))
    turns: dict[str, set[str]] = {}
    for each in questions:
        conversation, own = Conversation.parse(each.conversation), reads[each.conversation, each.author]
        if conversation.platform not in (PAGE, TERMINAL):
            own = (own | {own_collection(conversation)}) - {thread_collection(conversation)}
        for collection in own:
            turns.setdefault(collection, set()).add(each.turn)
    return await _audiences(visit, turns, turns)


async def _audiences(
    visit: Visit, collections: Iterable[str], turns: Mapping[str, Iterable[str]]
) -> tuple[Audience, ...]:
    names = [each for each in collections if not is_restricted(each) and visit.session.may_read((each,))]
    database = visit.site.channels.database
    rules = await database.call(access_rules, database.database, names)
    channels = {each: channel for each in names if (channel := channel_of(each))}
    known = await visit.site.names.of(map(nobody_in, channels.values()))
    called = await names_in(visit, [rule for each in names for rule in rules.get(each, ())])
    by_collection = {
        each: f"{known.channel(channels[each])} alone" if each in channels else readers(rules[each], called)
        for each in names
    }
    made = [
        Audience(
            collection=each, readers=by_collection[each], is_of_channel=each in channels, turns=frozenset(turns.get(each, ()))
        )
        for each in names
    ]  # fmt: skip
    return tuple(sorted(made, key=lambda each: _breadth(each, rules.get(each.collection, ()))))


async def collections_called(visit: Visit, collections: Iterable[str]) -> dict[str, str]:
    """The readable names of collections among these that a channel or thread learned."""
    own = {each: channel for each in collections if (channel := channel_of(base_of(each)))}
    known = await visit.site.names.of(map(nobody_in, own.values()))
    scope = {each: "one thread of " if "-thread-" in each else "" for each in own}
    return {each: f"{scope[each]}{known.channel(channel)} alone" for each, channel in own.items()}


async def names_in(visit: Visit, rules: Sequence[AccessRule]) -> Mapping[str, str]:
    """The names of people and channels in these rules, by their ids as the rules have them."""
    ids = {kind: {rule.id for rule in rules if rule.kind == kind} for kind in (CHANNEL, PERSON)}
    stored = visit.site.names.stored
    known = await stored.find(ids[PERSON], ids[CHANNEL])
    bare = await stored.channels_called({each for each in ids[CHANNEL] if "/" not in each})
    return {**known.people, **known.channels, **bare}


def _breadth(audience: Audience, rules: Sequence[AccessRule]) -> tuple[bool, int, bool, int, str]:
    """The sort key of an audience: how many read it, a channel's first, then the most asked."""
    kinds = [rule.kind for rule in rules]
    named = len(kinds) - kinds.count(CLOSED)
    return EVERYONE in kinds, named, not audience.is_of_channel, -len(audience.turns), audience.collection
