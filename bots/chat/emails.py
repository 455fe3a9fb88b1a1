"""The e-mail addresses of people, by which sources say who may read what.

A platform that knows its people's addresses is asked. Where it knows none, and where an operator knows better, an
operator says which address is whose; that goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bots.chat.platform import People
from core.conversation import Conversation
from core.errors import SettingsError
from core.library.readers import ReaderSets, base_of, is_restricted, whole_address
from core.storage.asynchronous import AsyncDatabase
from core.storage.database import Database

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
        """Of the ``known`` collections those beside the ``opened`` ones whose readers the author is among.

        Nobody is asked where there are none.
        """
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
