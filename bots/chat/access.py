"""The rules of who may read the operator's collections, and how they are changed.

Which of them a question may read is decided in :meth:`bots.chat.channels.ChannelStore.reads`. ``default`` is open
until a rule says otherwise, every other collection is closed until one opens it.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType

from bots.chat.addresses import ADDRESSES
from bots.chat.channels import OWN, SCHEMA, STORE, AccessRule, ChannelStore
from bots.chat.incoming import ChatCommand, queued
from bots.chat.platform import Approver, People
from bots.chat.texts import language_of_turn
from bots.chat.uploads import discard
from core.bootstrap import Footnote
from core.conversation import Command, Conversation, Turn, value
from core.errors import FootnoteError, NotFound, SettingsError
from core.library.entries import Entry
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.readers import base_of
from core.sources.kinds import name_as_kept, only_version, source_labels, sources_at
from core.sources.sources import forget_in_sources, open_source_store
from core.storage.database import Database
from core.storage.storage import Storage
from core.turns.archive import is_stored, turn_and_route
from core.turns.messenger import ReplyRoute, Unreachable

EVERYONE, CLOSED, CHANNEL, PERSON, GROUP = RULE_KINDS = ("everyone", "closed", "channel", "person", "group")


@value
class AccessChange:
    """A change of one collection's rules, in this order: close it, open it to some, close it to others."""

    closes: bool = False
    opens_to_everyone: bool = False
    opens: tuple[tuple[str, str], ...] = ()  #: kind and id
    removes: tuple[str, ...] = ()  #: ids

    @property
    def is_empty(self) -> bool:
        return self == AccessChange()


def changed(
    collection: str, rules: Iterable[AccessRule], change: AccessChange
) -> tuple[frozenset[AccessRule], tuple[str, ...]]:
    """The rules of a collection after a change, and the ids to remove that had no rule."""
    kept = {rule for rule in rules if not change.closes and rule.kind != CLOSED}
    kept |= {AccessRule(collection=collection, kind=kind, id=name) for kind, name in change.opens}
    if change.opens_to_everyone:
        kept.add(AccessRule(collection=collection, kind=EVERYONE))
    unknown = tuple(name for name in change.removes if all(rule.id != name for rule in kept))
    kept = {rule for rule in kept if not rule.id or rule.id not in change.removes}
    if collection == DEFAULT_COLLECTION and all(rule.kind != EVERYONE for rule in kept):
        kept.add(AccessRule(collection=collection, kind=CLOSED))
    return frozenset(kept), unknown


def check_name(collection: str) -> None:
    """Raises SettingsError for a name that no collection of the operator's may have."""
    if collection.startswith(OWN):
        raise SettingsError(
            f"Names that begin with {OWN} are of what channels learn: what you put there would be read in one channel "
            f"alone, or nowhere. Choose another name than {collection}."
        )
    if not collection.strip() or collection != collection.strip() or not collection.isprintable():
        raise SettingsError(
            f"{collection!r} is no name of a collection: it needs signs that can be seen, with no space around them."
        )


def change_access(
    database: Database, collection: str, change: AccessChange, *, known: Iterable[str]
) -> tuple[str, ...]:
    """Change the rules of a collection; returns the ids to remove that had no rule.

    Raises SettingsError for a collection that is not the operator's, or not among the ``known``: rules that wait
    for a name would open what is called so later.
    """
    if collection.startswith(OWN):
        raise SettingsError(
            f"{collection} is what a channel learned, or would be: it is read there alone. Names that begin with "
            f"{OWN} are no collections of yours."
        )
    bases = (base_of(name) for name in known)
    there_are = sorted({DEFAULT_COLLECTION, *(name for name in bases if not name.startswith(OWN))})
    if collection not in there_are:
        raise SettingsError(f"There is no collection {collection}. There are: {', '.join(there_are)}.")
    with database.transaction() as writing:
        rows = writing.execute("SELECT kind, id FROM access WHERE collection = ?", (collection,)).fetchall()
        rules = (AccessRule(collection=collection, kind=kind, id=name) for kind, name in rows)
        kept, unknown = changed(collection, rules, change)
        writing.execute("DELETE FROM access WHERE collection = ?", (collection,))
        rows = sorted((rule.collection, rule.kind, rule.id) for rule in kept)
        writing.executemany("INSERT INTO access VALUES (?, ?, ?)", rows)
    return unknown


def access_rules(database: Database, known: Iterable[str]) -> Mapping[str, tuple[AccessRule, ...]]:
    """The rules of each of the operator's collections, in a fixed order; none: it is closed."""
    found: dict[str, list[AccessRule]] = {
        name: [] for name in sorted({DEFAULT_COLLECTION, *map(base_of, known)}) if not name.startswith(OWN)
    }
    for collection, kind, name in database.rows("SELECT collection, kind, id FROM access"):
        if collection in found:
            found[collection].append(AccessRule(collection=collection, kind=kind, id=name))
    if not found[DEFAULT_COLLECTION]:
        found[DEFAULT_COLLECTION] = [AccessRule(collection=DEFAULT_COLLECTION, kind=EVERYONE)]
    return {
        name: tuple(sorted(rules, key=lambda rule: (RULE_KINDS.index(rule.kind), rule.id)))
        for name, rules in found.items()
    }


def open_to_all(rules: Mapping[str, Iterable[AccessRule]]) -> frozenset[str]:
    """The collections that everybody may read."""
    return frozenset(name for name, those in rules.items() if any(rule.kind == EVERYONE for rule in those))


def readers(rules: Iterable[AccessRule], names: Mapping[str, str] = MappingProxyType({})) -> str:
    """The readers of a collection in words; an id is replaced by its name in ``names``."""
    parts = [f"{rule.kind} {names.get(rule.id, rule.id)}".strip() for rule in rules if rule.kind != CLOSED]
    return ", ".join(parts) or "nobody"


def forget_documents(
    library: Library, storage: Storage, source: str, *, collection: str | None = None
) -> list[Entry]:
    """Remove documents, their uploads, and the rules of collections that are empty then."""
    entries = _forget(library, storage, source, collection)
    discard(storage.data_dir, (Path(entry.address) for entry in entries))
    left = {DEFAULT_COLLECTION, *(base_of(entry.collection) for entry in library.store.entries())}
    if gone := {base_of(entry.collection) for entry in entries} - left:
        # Those that were forgotten wholly are closed: none of the same name inherits their readers.
        with closing(storage.database(STORE, SCHEMA)) as database, database.transaction() as writing:
            writing.executemany("DELETE FROM access WHERE collection = ?", [(name,) for name in gone])
    return entries


def _forget(library: Library, storage: Storage, name: str, collection: str | None) -> list[Entry]:
    """Forget a source first, or the next sync would bring it back. NotFound when nothing has this name."""
    with open_source_store(storage) as sources:
        kept = name_as_kept(name, ADDRESSES)
        labels = source_labels(sources, collection=collection, kinds=ADDRESSES)
        for each in dict.fromkeys((name, kept, only_version(sources, kept, ADDRESSES) or kept)):
            forget_in_sources(
                sources, library, each, storage.data_dir, collection=collection, kinds=ADDRESSES
            )
            with suppress(NotFound):
                return library.forget(each, collection=collection, labels=labels)
        repository = name_as_kept(f"{name}#", ADDRESSES)  # a path may be that of a repository
        parts = sources_at(sources, kept, ADDRESSES) or sources_at(sources, repository, ADDRESSES)
        raise NotFound(_nothing_under(name, parts))


def _nothing_under(name: str, parts: Sequence[str]) -> str:
    """``parts``: the sources that may have been meant."""
    *others, last = parts or [""]
    if not last:
        return f"Nothing is indexed under “{name}”. `footnote sources` lists what is."
    if not others:
        return f"Nothing is indexed under “{name}”, but {last} is: name that."
    return f"Nothing is indexed under “{name}”, but {', '.join(others)} and {last} are: name one."


#: People, roles and user groups by the name of a collection or the id of a channel; "" is for all others.
Experts = Mapping[str, tuple[str, ...]]

ASKED_SUFFIX = "/experts"  # ends the id of the command that asks experts about a turn: it runs once, however often it is pressed

NO_EXPERTS = "EXPERTS names nobody, so there is nobody to ask."
ASKED_ALREADY = "A person was asked about this already."
NOT_STORED = "The message of this question is not known any more, so nobody can be asked in its thread."
NOT_SERVED = "It was asked where no expert can be asked: on a platform that is not served, or by an operator."
IN_PRIVATE = "It was asked in a direct message, where no expert can be asked."
NOBODY_THERE = "Of EXPERTS, nobody but who asked could be asked in that channel."
OUT_OF_REACH = "The platform cannot be reached now. Try again in a while."


def experts_for(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """The experts of the channel, else of the collections that it reads, else the general ones."""
    of_channel = experts.get(conversation.channel, ())
    of_collections = [one for name in sorted(reads) for one in experts.get(name, ())]
    return tuple(dict.fromkeys(of_channel or of_collections or experts.get("", ())))


def trusted_in(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """The experts whose replies may be kept there: those who are asked, and the general ones."""
    return tuple(dict.fromkeys((*experts_for(experts, conversation, reads), *experts.get("", ()))))


def asking_once(turn_id: str) -> str:
    """The id under which experts are asked about a turn."""
    return f"{turn_id}{ASKED_SUFFIX}"


async def experts_about(
    turn: Turn, route: ReplyRoute, *, presser: str, footnote: Footnote, channel_store: ChannelStore, people: People
) -> tuple[Approver, ...]:  # fmt: skip
    """The experts who are asked, without the author of the question. Raises Unreachable."""
    reads = await channel_store.reads(turn.conversation, presser, footnote.library)
    named = experts_for(footnote.settings.experts, turn.conversation, reads.collections)
    return tuple(one for one in await people.approvers(route, named) if one.id != turn.author)


async def request_about(
    turns: Sequence[str], footnote: Footnote, channel_store: ChannelStore
) -> tuple[Command, ReplyRoute]:
    """The command that asks experts about the newest of these turns that allows it, as a press does.

    FootnoteError with why nobody can be asked, or was asked already.
    """
    if not footnote.settings.experts:
        raise FootnoteError(NO_EXPERTS)
    for turn_id in turns:
        if await is_stored(asking_once(turn_id)):
            raise FootnoteError(ASKED_ALREADY)
    reason: FootnoteError | None = None
    for turn_id in turns:
        try:
            return await _request(turn_id, footnote, channel_store)
        except Unreachable:
            raise FootnoteError(OUT_OF_REACH) from None
        except NotFound as trouble:  # perhaps an older one can be asked about
            reason = reason or trouble
    raise reason or NotFound(NOT_STORED)


async def _request(
    turn_id: str, footnote: Footnote, channel_store: ChannelStore
) -> tuple[Command, ReplyRoute]:
    """NotFound with why nobody can be asked about this one. Raises Unreachable."""
    stored = await turn_and_route(turn_id)
    if stored is None:
        raise NotFound(NOT_STORED)
    turn, route = stored
    # Without what was valid for a moment, and what was posted then.
    gone = {"interaction", "trigger"} if "opens" in route else {"interaction", "trigger", "says"}
    route = {key: each for key, each in route.items() if key not in gone}
    people = channel_store.people.get(turn.conversation.platform)
    if people is None:
        raise NotFound(NOT_SERVED)
    if people.is_direct(route):
        raise NotFound(IN_PRIVATE)
    asked = await experts_about(
        turn, route, presser=turn.author, footnote=footnote, channel_store=channel_store, people=people
    )
    if not asked:
        raise NotFound(NOBODY_THERE)
    command = ChatCommand(
        name="consult", argument=turn.id, id=asking_once(turn.id), conversation=turn.conversation,
        author=turn.author, said_at=time.time(), language=language_of_turn(turn),
    )  # fmt: skip
    return queued(command), route
