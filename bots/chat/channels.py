"""The store of channels and threads: preferences, and which collections may be read where.

One small store. What is learned in a channel goes into its own collection, which can be
read in that channel only; files that are read for one thread go into the thread's. The operator's
other collections are closed but for :mod:`bots.chat.access`.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from bots.chat.incoming import Follow, ThreadState
from bots.chat.people import EMAILS, emails_of
from bots.chat.platform import People, Refused
from core.conversation import Conversation, value
from core.library.documents import Readable
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.readers import ReaderSets, base_of, is_restricted
from core.storage.database import AsyncDatabase, Schema
from core.storage.storage import Storage
from core.turns.messenger import Unreachable
from core.wording import Sentence

logger = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS channels (
    channel TEXT PRIMARY KEY,  -- platform/space/channel
    follow TEXT NOT NULL DEFAULT 'asker',
    reads TEXT NOT NULL DEFAULT 'default'  -- the one collection beside its own; default: all that are open to it
);
CREATE TABLE IF NOT EXISTS threads (conversation TEXT PRIMARY KEY, asker TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS places (conversation TEXT PRIMARY KEY, place TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS heard (platform TEXT PRIMARY KEY, message INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY);  -- commands, and turns that were forgotten
CREATE TABLE IF NOT EXISTS unasked (  -- answers to questions that nobody addressed to the bot
    turn TEXT PRIMARY KEY, channel TEXT NOT NULL, answered_at REAL NOT NULL, is_unwanted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS access (  -- who may read the operator's collections
    collection TEXT NOT NULL,
    kind TEXT NOT NULL,  -- everyone, channel, person or group; closed: what is open by default is not
    id TEXT NOT NULL,    -- of the platform, or platform/space/id; empty for everyone and for closed
    PRIMARY KEY (collection, kind, id)
);
CREATE TABLE IF NOT EXISTS parents (  -- of channels whose members all read another one too
    channel TEXT PRIMARY KEY, parent TEXT NOT NULL  -- platform/space/channel
);
CREATE TABLE IF NOT EXISTS opted_out (person TEXT PRIMARY KEY);  -- platform/person, whose messages are not read
"""

STORE = "rooms"
#: The space of all channels that the bot is not in, where a person brings it along. There it reads what everybody may.
ELSEWHERE = "elsewhere"
SCHEMA = Schema(
    tables=_TABLES + EMAILS,
    cure="Move it away: channels then have their defaults again, threads are followed up with a mention, "
    "collections other than default are closed, and documents and conversations are not affected.",
)

LOCKED = 0.05  # seconds that the event loop waits for another program; the inbox retries writes

UNASKED_COUNTED = 30 * 86_400.0  # seconds that an unasked answer counts in the channel's rate


@value
class AccessRule:
    """One line of who may read a collection."""

    collection: str
    kind: str  #: everyone, channel, person or group; closed: what is open by default is not
    id: str = ""


@value
class Rights:
    """The collections that may be read in a conversation, and the one that was chosen there."""

    chosen: str  #: the operator's collection that was; the default: all that are open
    readable: Readable
    known: frozenset[str]  #: every collection that there is


#: The choice of a channel, its parent, and the rules that may concern a question there.
_RIGHTS = """
SELECT (SELECT reads FROM channels WHERE channel = ?), (SELECT parent FROM parents WHERE channel = ?),
    collection, kind, id
FROM (SELECT 1) AS one LEFT JOIN access ON kind IN ('everyone', 'closed', 'group')
OR (kind = 'channel' AND (id IN (?, ?) OR (SELECT parent FROM parents WHERE channel = ?) IN (id, ? || id)))
OR (kind = 'person' AND id IN (?, ?))
"""
_KEEP_ID = "INSERT INTO handled VALUES (?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class ChannelStore:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase
    people: dict[str, People] = field(default_factory=dict)  #: of the platforms that are served

    async def thread_state(self, conversation: Conversation) -> ThreadState:
        """The facts that decide how a message of this thread is read."""
        ((follow, asker, since),) = await self.database.rows(
            "SELECT (SELECT follow FROM channels WHERE channel = ?), asker, since"
            " FROM (SELECT 1) AS one LEFT JOIN threads ON conversation = ?",
            (conversation.channel_id, conversation.id),
        )
        is_known = asker is not None
        return ThreadState(follow=follow or "asker", knows_thread=is_known, asker=asker, since=since or 0.0)

    async def remember_thread(self, conversation: Conversation, asker: str, since: float) -> None:
        """Make the bot part of this thread; the first asker stays the thread's asker."""
        row = conversation.id, asker, since
        await self._write("INSERT INTO threads VALUES (?, ?, ?) ON CONFLICT DO NOTHING", *row)

    async def forget_thread(self, conversation: Conversation) -> None:
        """The bot is no part of the thread any more, and does not read what was written there before."""
        await self._write("DELETE FROM threads WHERE conversation = ?", conversation.id)
        await self.remember_forgotten([f"{conversation.id}/forgotten"])

    async def move(self, conversation: Conversation, message: str) -> None:
        """Continue the conversation in the thread on this message, which its id does not name."""
        await self._write(
            "DELETE FROM places WHERE place = ? AND conversation <> ?", message, conversation.id
        )
        await self._write(
            "INSERT INTO places VALUES (?, ?) ON CONFLICT (conversation) DO UPDATE SET place = excluded.place",
            conversation.id, message,
        )  # fmt: skip

    async def first_message(self, conversation: Conversation) -> str | None:
        """The message on whose thread a moved conversation continues."""
        found = await self._one("SELECT place FROM places WHERE conversation = ?", conversation.id)
        return cast("str | None", found)

    async def moved_to(self, message: str) -> Conversation | None:
        """The conversation that continues in the thread on this message."""
        found = await self._one("SELECT conversation FROM places WHERE place = ?", message)
        return Conversation.parse(found) if found else None

    async def set_watermark(self, platform: str, message: int) -> None:
        """Remember the newest message that was accepted; ids grow with time."""
        await self._write(
            "INSERT INTO heard VALUES (?, ?) ON CONFLICT (platform) DO UPDATE SET message = excluded.message"
            " WHERE heard.message < excluded.message",
            platform, message,
        )  # fmt: skip

    async def watermark(self, platform: str) -> int | None:
        return cast("int | None", await self._one("SELECT message FROM heard WHERE platform = ?", platform))

    async def threads_of(self, platform: str, space: str) -> tuple[Conversation, ...]:
        begins = f"{platform}/{space}/"
        rows = await self.database.rows(
            "SELECT conversation FROM threads WHERE substr(conversation, 1, ?) = ?", (len(begins), begins)
        )
        return tuple(Conversation.parse(row[0]) for row in rows)

    async def set_follow(self, conversation: Conversation, follow: Follow) -> None:
        await self._write(
            "INSERT INTO channels (channel, follow) VALUES (?, ?) ON CONFLICT (channel)"
            " DO UPDATE SET follow = excluded.follow",
            conversation.channel_id, follow,
        )  # fmt: skip

    async def use(self, conversation: Conversation, author: str, collection: str, library: Library) -> bool:
        """Read this collection alone from now on, with the default all open ones; False if it is closed."""
        opened = await self.open_to(conversation, author, library)
        if collection not in opened | {DEFAULT_COLLECTION}:
            return False
        await self._write(
            "INSERT INTO channels (channel, reads) VALUES (?, ?) ON CONFLICT (channel)"
            " DO UPDATE SET reads = excluded.reads",
            conversation.channel_id, collection,
        )  # fmt: skip
        return True

    async def open_to(self, conversation: Conversation, author: str, library: Library) -> frozenset[str]:
        """The operator's collections that may be read there, chosen or not."""
        readable = (await self._rights(conversation, author, library)).readable
        return frozenset(base_of(name) for name in readable.collections if not name.startswith(OWN))

    async def reads(
        self, conversation: Conversation, author: str, library: Library,
        *, known: frozenset[str] | None = None,
    ) -> Readable:  # fmt: skip
        """The collections that a question may read; looked up for each. ``known``: all that there are.

        They are what was learned where it is asked, and of the operator's the one that was chosen there. Where
        none was, all that are open to the channel; in a direct message, to the person.
        """
        if conversation.space == ELSEWHERE:
            nowhere = replace(conversation, channel="", thread="")
            rights = await self._rights(nowhere, "", library, known)
            return replace(rights.readable, may_search=False)
        rights = await self._rights(conversation, author, library, known)
        readable, chosen = rights.readable, rights.chosen
        if chosen == DEFAULT_COLLECTION:
            return readable
        names = (name for name in readable.collections if base_of(name) == chosen or name.startswith(OWN))
        return replace(readable, collections=frozenset(names))

    async def _rights(
        self, conversation: Conversation, author: str, library: Library, known: frozenset[str] | None = None
    ) -> Rights:
        here = conversation.channel_id
        space = f"{conversation.platform}/{conversation.space}/"
        values = (here, here, conversation.channel, here, here, space, author, f"{space}{author}")
        rows = await self.database.rows(_RIGHTS, values)
        if known is None:
            known = await self.database.call(library.store.collections)
        rules = [
            AccessRule(collection=name, kind=kind, id=known_as)
            for *_, name, kind, known_as in rows
            if name in known and not name.startswith(OWN)
        ]
        opened = {rule.collection for rule in rules if rule.kind in ("everyone", "channel")}
        if not any(rule.kind == "closed" and rule.collection == DEFAULT_COLLECTION for rule in rules):
            opened.add(DEFAULT_COLLECTION)
        personal = [
            each for each in rules if each.kind in ("person", "group") and each.collection not in opened
        ]
        more = await self._opened_to_person(conversation, author, personal) if personal else Readable()
        chosen, parent = rows[0][:2]
        learned = own_collections(conversation)
        if parent:
            learned |= {OWN + parent.replace("/", "-")}
        readable = replace(more, collections=(learned | opened | more.collections) & known)
        rights = Rights(chosen=chosen or DEFAULT_COLLECTION, readable=readable, known=known)
        is_more = any(base_of(name) in readable.collections for name in known - readable.collections)
        if not is_more or not self._answers_directly(conversation):
            return rights
        restricted = await self._opened_by_source(conversation, author, rights, library)
        collections, remark = (
            readable.collections | restricted.collections,
            readable.remark or restricted.remark,
        )
        both = Readable(collections=collections, remark=remark)
        return replace(rights, readable=both)

    def _answers_directly(self, conversation: Conversation) -> bool:
        """True in a direct message, where a person's own rights count: others read a channel too."""
        people = self.people.get(conversation.platform)
        return people is not None and people.is_direct_message(conversation)

    async def has_more_directly(self, conversation: Conversation, author: str, library: Library) -> bool:
        """True if sources open more to this person in direct messages; only the person may learn that."""
        if conversation.platform not in self.people or self._answers_directly(conversation):
            return False
        rights = await self._rights(conversation, author, library)
        opened = await self._opened_by_source(conversation, author, rights, library)
        return bool(opened.collections)

    async def _opened_by_source(
        self, conversation: Conversation, author: str, rights: Rights, library: Library
    ) -> Readable:
        """The further collections that sources open to the author's e-mail address."""
        opened, sets = rights.readable.collections, ReaderSets(library.store.database)
        beside = frozenset(name for name in rights.known if is_restricted(name) and base_of(name) in opened)
        if not beside:
            return Readable()
        try:
            emails = await emails_of(conversation, author, self.database, self.people)
        except (Refused, Unreachable):
            extra = {"conversation": conversation.id}
            logger.warning("an e-mail address could not be looked up", extra=extra)
            return Readable(remark=Sentence("email_unknown"))
        opened = await self.database.call(sets.open_to, emails) if emails else frozenset()
        return Readable(collections=beside & opened)

    async def _opened_to_person(
        self, conversation: Conversation, author: str, rules: Sequence[AccessRule]
    ) -> Readable:
        """The collections that these rules open, in direct messages alone."""
        if not self._answers_directly(conversation):
            return Readable()
        people = self.people[conversation.platform]
        opened = {rule.collection for rule in rules if rule.kind == "person"}
        groups = {rule.id for rule in rules if rule.kind == "group" and rule.collection not in opened}
        try:
            member_of = await people.member_of(conversation.space, author, groups) if groups else frozenset()
        except (Refused, Unreachable):
            logger.warning("groups could not be looked up", extra={"conversation": conversation.id})
            return Readable(collections=frozenset(opened), remark=Sentence("groups_unknown"))
        opened |= {rule.collection for rule in rules if rule.id in member_of and rule.kind == "group"}
        return Readable(collections=frozenset(opened))

    async def note_parent(self, conversation: Conversation, parent: str) -> None:
        """All members of this channel read the parent too, so what is open there is open here; not vice versa."""
        if parent:
            parent_id = replace(conversation, channel=parent).channel_id
            await self._write(
                "INSERT INTO parents VALUES (?, ?) ON CONFLICT DO NOTHING",
                conversation.channel_id, parent_id,
            )  # fmt: skip

    async def opt_out(self, person: str) -> None:
        """Read no more of what this person writes in channels that are sources."""
        await self._write("INSERT INTO opted_out VALUES (?) ON CONFLICT DO NOTHING", person)

    async def opt_in(self, person: str) -> None:
        await self._write("DELETE FROM opted_out WHERE person = ?", person)

    async def opted_out(self) -> frozenset[str]:
        """The people who asked not to be read, as "platform/person"."""
        rows = await self.database.rows("SELECT person FROM opted_out")
        return frozenset(str(person) for (person,) in rows)

    async def is_first(self, request_id: str) -> bool:
        """True the first time; a command that is delivered again is not carried out again."""
        return await self.database.write(_KEEP_ID, (request_id,)) == 1

    async def remember_forgotten(self, turn_ids: Iterable[str]) -> None:
        """Keep the ids of forgotten turns, which may be delivered again."""
        await self.database.write_all(_KEEP_ID, [(turn,) for turn in turn_ids])

    async def has_forgotten(self, conversation: Conversation) -> bool:
        return await self.was_forgotten(f"{conversation.id}/forgotten")

    async def was_forgotten(self, turn_id: str) -> bool:
        return await self._one("SELECT 1 FROM handled WHERE id = ?", turn_id) is not None

    async def note_unasked(self, turn_id: str, conversation: Conversation, at: float) -> bool:
        """Note an answer that nobody asked the bot for; False if it was noted before."""
        await self._write("DELETE FROM unasked WHERE answered_at <= ?", at - UNASKED_COUNTED)
        noted = await self.database.write(
            "INSERT INTO unasked (turn, channel, answered_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (turn_id, conversation.channel_id, at),
        )
        return noted == 1

    async def withdraw(self, turn_id: str, conversation: Conversation) -> None:
        """Mark such an answer as unwanted, and follow its thread no more."""
        await self._write("UPDATE unasked SET is_unwanted = 1 WHERE turn = ?", turn_id)
        await self._write("DELETE FROM threads WHERE conversation = ?", conversation.id)

    async def unasked(self, conversation: Conversation, now: float) -> tuple[int, int]:
        """The number of such answers in the channel lately, and how many of them were unwanted."""
        ((count, unwanted),) = await self.database.rows(
            "SELECT count(*), coalesce(sum(is_unwanted), 0) FROM unasked WHERE channel = ? AND answered_at > ?",
            (conversation.channel_id, now - UNASKED_COUNTED),
        )
        return count, unwanted

    async def _one(self, query: str, *values: object) -> Any:
        rows = await self.database.rows(query, values)
        return rows[0][0] if rows else None

    async def _write(self, statement: str, *values: object) -> None:
        await self.database.write(statement, values)


OWN = "channel-"  # begins the names of collections that were learned, which no rule opens elsewhere


def own_collections(conversation: Conversation) -> frozenset[str]:
    """The channel's and the thread's; ids of channels have only letters and digits."""
    own = OWN + conversation.channel_id.replace("/", "-")
    return frozenset((own, f"{own}-thread-{conversation.thread.replace('/', '-')}"))


def channel_at(platform: str, space: str, channel: str) -> Conversation:
    """The conversation of a channel outside its threads."""
    return Conversation(platform=platform, space=space, channel=channel, thread="")


def source_of(conversation: Conversation) -> str:
    """The address of the channel as a source, as it is kept."""
    return f"{conversation.platform}://{conversation.space}/{conversation.channel}"


def own_collection(conversation: Conversation) -> str:
    """The collection of a channel's learned documents."""
    return min(own_collections(conversation), key=len)


def channel_of(collection: str) -> str:
    """The channel that learned a collection, as "platform/space/channel"; empty: it is an operator's."""
    if not collection.startswith(OWN):
        return ""
    return collection.removeprefix(OWN).partition("-thread-")[0].replace("-", "/")


def thread_collection(conversation: Conversation) -> str:
    """The collection of the files that were read for this thread alone."""
    return max(own_collections(conversation), key=len)


@contextmanager
def open_channel_store(storage: Storage) -> Iterator[ChannelStore]:
    """SettingsError when the store cannot be used."""
    with storage.asynchronous(STORE, SCHEMA, busy_timeout=LOCKED) as database:
        yield ChannelStore(database)
