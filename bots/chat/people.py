"""People by what a platform says of them: names in place of ids, and the e-mail addresses by which sources say
who may read what.

A platform that knows its people's addresses is asked. Where it knows none, and where an operator knows better, an
operator says which address is whose; that goes first.

An event has ids alone. Their names are looked up once the turn is stored, and before it is thought about: an id is
for neither a model nor the web. Those of authors and channels are looked up when an operator looks at them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bots.chat.platform import People, Refused
from bots.chat.texts import say_in
from core.characters import one_line
from core.conversation import Conversation, Decision, Question, ThreadMessage
from core.errors import SettingsError
from core.library.readers import ReaderSets, base_of, is_restricted, whole_address
from core.storage.database import AsyncDatabase, Database
from core.text.language import language_of
from core.traces.names import ShownNames
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)


TABLE = """
CREATE TABLE IF NOT EXISTS emails (  -- of people, as an operator says
    person TEXT PRIMARY KEY,  -- an id of the platform, or platform/space/id
    email TEXT NOT NULL       -- in small letters
);
"""


@dataclass(frozen=True, slots=True)
class Emails:
    """Whose address is which. Raises StoreUnavailable, and what the platform raises that does not say."""

    database: AsyncDatabase
    people: Mapping[str, People] = field(default_factory=dict)  #: by platform

    async def of(self, conversation: Conversation, author: str) -> frozenset[str]:
        """The addresses of a person; none where nobody says."""
        behind = f"{conversation.platform}/{conversation.space}/{author}"
        rows = await self.database.rows("SELECT email FROM emails WHERE person IN (?, ?)", (author, behind))
        if rows:
            return frozenset(email for (email,) in rows)
        people = self.people.get(conversation.platform)
        known = await people.email_of(conversation.space, author) if people else ""
        return frozenset({known} - {""})

    async def opened(
        self,
        conversation: Conversation,
        author: str,
        known: Iterable[str],
        opened: frozenset[str],
        sets: ReaderSets,
    ) -> frozenset[str]:
        """The ``known`` collections beside the ``opened`` ones whose readers the author is among."""
        beside = frozenset(name for name in known if is_restricted(name) and base_of(name) in opened)
        if not beside or not (addresses := await self.of(conversation, author)):
            return frozenset()
        return beside & await self.database.call(sets.open_to, addresses)


def stated_emails(database: Database) -> list[tuple[str, str]]:
    """Persons and their addresses, as operators said."""
    return [
        (person, email) for person, email in database.rows("SELECT person, email FROM emails ORDER BY person")
    ]


def state_email(database: Database, person: str, email: str) -> None:
    """Whose address this is from now on; an empty one takes back what was said. SettingsError for what is none."""
    whole = whole_address(email)
    if email and not whole:
        raise SettingsError(f"{email} is no e-mail address.")
    with database.transaction() as writing:
        writing.execute("DELETE FROM emails WHERE person = ?", (person,))
        if whole:
            writing.execute("INSERT INTO emails VALUES (?, ?)", (person, whole))


NAME = 80  # characters, as many as Slack takes for a display name; Discord takes 32
DIRECT_MESSAGE = "direct message"  # in place of a channel's name, for operators


async def named_question(question: Question, route: ReplyRoute, people: People) -> Question:
    """The question, and what it quotes, with names in place of ids."""
    language = language_of(question.text)
    (text,) = await _named([question.text], route, people, language)
    quoted = await named_messages(question.quoted, route, people, language)
    return replace(question, text=text, quoted=quoted)


async def named_decision(decision: Decision, route: ReplyRoute, people: People) -> Decision:
    """The decision with names in place of ids in a query that a person wrote."""
    if decision.query is None:
        return decision
    (query,) = await _named([decision.query], route, people, language_of(decision.query))
    return replace(decision, query=query)


async def named_messages(
    messages: Iterable[ThreadMessage], route: ReplyRoute, people: People, language: str
) -> tuple[ThreadMessage, ...]:
    """The messages with names in place of ids, also of their authors."""
    known = tuple(messages)
    authors = await _named([f"@{one.author}" for one in known], route, people, language)
    texts = await _named([one.text for one in known], route, people, language)
    return tuple(
        ThreadMessage(author=author.removeprefix("@"), text=text)
        for author, text in zip(authors, texts, strict=True)
    )


async def _named(texts: Sequence[str], route: ReplyRoute, people: People, language: str) -> list[str]:
    ids = dict.fromkeys(found[1] for text in texts for found in people.mention.finditer(text))
    names = await people.names(route, ids)

    def name_of(person: str) -> str:
        is_known = names[person] != person  # without a name a person is called by the id
        return one_line(names[person], NAME) if is_known else say_in(language)("somebody")

    return [people.mention.sub(lambda found: f"@{name_of(found[1])}", text) for text in texts]


async def note_names(
    said: Iterable[tuple[Conversation, str]], people: Mapping[str, People], noted: ShownNames
) -> None:
    """Note what the channels and the people are called who said something; ``people`` by platform."""
    places: dict[str, str] = {}
    for conversation, author in said:
        known = people.get(conversation.platform)
        if known is None:
            continue
        route, channel = known.route_in(conversation), conversation.channel_id
        try:
            if channel not in places:
                is_direct = known.is_direct_message(conversation)
                places[channel] = (
                    DIRECT_MESSAGE if is_direct else (await known.place(route)).removeprefix("#")
                )
            await noted.note("person", await known.names(route, [author]))
        except (Refused, Unreachable) as trouble:
            logger.warning("names could not be looked up", extra={"channel": channel, "reason": str(trouble)})
    await noted.note("channel", places)
