"""People by what a platform says of them: names in place of ids, who may decide a proposal, and the e-mail addresses by
which sources say who may read what.

A platform that knows its people's addresses is asked. Where it knows none, and where an operator knows better, an
operator says which address is whose; that goes first.

An event has ids alone. Their names are looked up once the turn is stored, and before it is thought about: an id is
for neither a model nor the web. Those of authors and channels are looked up when an operator looks at them.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from bots.chat.platform import Approver, CardContext, People, Refused
from bots.chat.texts import ENGINE_NAMES, say_in
from core.characters import one_line
from core.conversation import Conversation, Decision, Proposal, Question, ThreadMessage, WebApproval
from core.errors import SettingsError
from core.graph.approval import may_allow_reading, may_decide
from core.library.readers import whole_address
from core.settings import Settings
from core.storage.database import AsyncDatabase, Database
from core.text.language import language_of
from core.traces.names import ShownNames
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

EMAILS = """
CREATE TABLE IF NOT EXISTS emails (  -- of people, as an operator says
    person TEXT PRIMARY KEY,  -- an id of the platform, or platform/space/id
    email TEXT NOT NULL       -- in small letters
);
"""


async def emails_of(
    conversation: Conversation, author: str, database: AsyncDatabase, people: Mapping[str, People]
) -> frozenset[str]:
    """The e-mail addresses of a person. Raises StoreUnavailable, Refused and Unreachable."""
    behind = f"{conversation.platform}/{conversation.space}/{author}"
    rows = await database.rows("SELECT email FROM emails WHERE person IN (?, ?)", (author, behind))
    if rows:
        return frozenset(email for (email,) in rows)
    platform = people.get(conversation.platform)
    known = await platform.email_of(conversation.space, author) if platform else ""
    return frozenset({known} - {""})


def stated_emails(database: Database) -> list[tuple[str, str]]:
    """Persons and their addresses, as operators said."""
    rows = database.rows("SELECT person, email FROM emails ORDER BY person")
    return [(person, email) for person, email in rows]


def state_email(database: Database, person: str, email: str) -> None:
    """Store the e-mail address of a person; an empty one deletes it. SettingsError for what is no address."""
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
    """Note the names of channels and people; ``people`` by platform."""
    names: dict[str, str] = {}
    for conversation, author in said:
        known = people.get(conversation.platform)
        if known is None:
            continue
        route, channel = known.route_in(conversation), conversation.channel_id
        try:
            if channel not in names:
                is_direct = known.is_direct_message(conversation)
                name = DIRECT_MESSAGE if is_direct else await known.channel_name(route)
                names[channel] = name.removeprefix("#")
            await noted.note("person", await known.names(route, [author]))
        except (Refused, Unreachable) as trouble:
            logger.warning("names could not be looked up", extra={"channel": channel, "reason": str(trouble)})
    await noted.note("channel", names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The operator's rule of who may decide, applied to the platform's people and groups."""

    people: People
    rule: WebApproval = "asker"
    approvers: tuple[str, ...] = ()  #: people, roles or user groups who may decide
    notifies_approvers: bool = False  #: whether a message calls them to a card
    engine: str  #: the search engine, as people know it
    has_experts: bool = False  #: whether a person can have somebody asked

    @classmethod
    def of(cls, settings: Settings, people: People) -> Self:
        return cls(
            people=people, rule=settings.web_approval, approvers=settings.web_approvers,
            notifies_approvers=settings.notify_approvers, engine=ENGINE_NAMES[settings.web_search],
            has_experts=bool(settings.experts),
        )  # fmt: skip

    def may_decide(self, decision: Decision, proposal: Proposal) -> bool:
        return may_decide(proposal, decision, approval=self.rule, approvers=self.approvers)

    async def with_groups(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> Decision:
        """The decision with its author's groups, as far as they matter. Raises Unreachable."""
        if self.may_decide(decision, proposal):  # in whatever groups the author is
            return decision
        return replace(decision, groups=await self._groups_of(route, decision.author))

    async def may_allow_reading(self, question: Question, author: str, route: ReplyRoute) -> bool:
        """True if the author may let the files of a question be read. Raises Unreachable."""
        groups = await self._groups_of(route, author)
        return may_allow_reading(question, author, groups, approval=self.rule, approvers=self.approvers)

    async def card_context(self, route: ReplyRoute, proposal: Proposal | None = None) -> CardContext:
        """The facts that the layout depends on, with the names of those who may decide or did."""
        people = (proposal.asker, proposal.decided_by) if proposal else ()
        card_context = CardContext(
            engine=self.engine, approval=self.rule, has_approvers=bool(self.approvers),
            names=await self.people.names(route, people),
            can_consult=self.has_experts and not self.people.is_direct(route),
        )  # fmt: skip
        if proposal is None or not proposal.is_open:
            return card_context
        is_direct = self.people.is_direct(route)
        # Who asked may decide the search too, by name or in a group.
        is_theirs = self.rule != "approvers" or proposal.asker in self.approvers
        if is_direct and (is_theirs or await self._groups_of(route, proposal.asker)):
            return replace(card_context, approval="asker", has_approvers=False)
        known = tuple(one.name for one in await self._known_approvers(route))
        return replace(card_context, approvers=known, is_hidden=is_direct)

    async def reading_context(self, route: ReplyRoute, question: Question) -> CardContext:
        """The same for attached files, with the name of who let them be read."""
        names = await self.people.names(route, [question.reading_allowed_by])
        return replace(await self.card_context(route), names=names, reading=question)

    async def to_notify(self, route: ReplyRoute, proposal: Proposal) -> list[Approver]:
        """The approvers to notify of a search that waits; none in a direct message, which they do not see."""
        if not self.notifies_approvers or self.people.is_direct(route):
            return []
        return [one for one in await self._known_approvers(route) if one.id != proposal.asker]

    async def _known_approvers(self, route: ReplyRoute) -> tuple[Approver, ...]:
        is_theirs = self.approvers and self.rule in ("asker", "approvers")
        return await self.people.approvers(route, self.approvers) if is_theirs else ()

    async def _groups_of(self, route: ReplyRoute, user: str) -> tuple[str, ...]:
        return await self.people.groups_of(route, user, self.approvers)
