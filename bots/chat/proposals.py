"""Proposals, of a search or of reading files: who may decide, and the sentences about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bots.chat.markdown.blocks import plain_line
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import Approver, CardContext, People
from bots.chat.texts import ENGINE_NAMES, clipped, say_in
from core.conversation import QUERY_LIMIT, Decision, Outcome, Proposal, Question, WebApproval
from core.graph.approval import may_allow_reading, may_decide
from core.settings import Settings
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The operator's rule, applied to the people and groups whom the platform knows."""

    people: People
    rule: WebApproval = "asker"
    approvers: tuple[str, ...] = ()  #: people, roles or user groups who may decide
    notifies_approvers: bool = False  #: whether a message calls them to a card
    engine: str  #: the search engine, as people know it
    has_experts: bool = False  #: whether a person can have somebody asked

    @classmethod
    def of(cls, settings: Settings, people: People) -> Approval:
        return cls(
            people=people,
            rule=settings.web_approval,
            approvers=settings.web_approvers,
            notifies_approvers=settings.notify_approvers,
            engine=ENGINE_NAMES[settings.web_search],
            has_experts=bool(settings.experts),
        )

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
            engine=self.engine,
            approval=self.rule,
            has_approvers=bool(self.approvers),
            names=await self.people.names(route, people),
            can_consult=self.has_experts and not self.people.is_direct(route),
        )
        if proposal is None or not proposal.is_open:
            return card_context
        is_direct = self.people.is_direct(route)
        if is_direct and await self._decides_alone(route, proposal.asker):
            return replace(card_context, approval="asker", has_approvers=False)
        known = tuple(one.name for one in await self._known_approvers(route))
        return replace(card_context, approvers=known, is_hidden=is_direct)

    async def reading_context(self, route: ReplyRoute, question: Question) -> CardContext:
        """The same for attached files, with the name of who let them be read."""
        names = await self.people.names(route, [question.reading_allowed_by])
        return replace(await self.card_context(route), names=names, reading=question)

    async def to_notify(self, route: ReplyRoute, proposal: Proposal) -> list[Approver]:
        """Whom a message calls to a search that waits; in a direct message nobody else would see it."""
        if not self.notifies_approvers or self.people.is_direct(route):
            return []
        return [one for one in await self._known_approvers(route) if one.id != proposal.asker]

    async def _decides_alone(self, route: ReplyRoute, asker: str) -> bool:
        """True if who asked may decide the search too."""
        if self.rule != "approvers" or asker in self.approvers:
            return True
        return bool(await self._groups_of(route, asker))

    async def _known_approvers(self, route: ReplyRoute) -> tuple[Approver, ...]:
        is_theirs = self.approvers and self.rule in ("asker", "approvers")
        return await self.people.approvers(route, self.approvers) if is_theirs else ()

    async def _groups_of(self, route: ReplyRoute, user: str) -> tuple[str, ...]:
        return await self.people.groups_of(route, user, self.approvers)


TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters
APPROVERS_SHOWN = 5  # names of those who may decide beside the asker


def reason(proposal: Proposal) -> str:
    """Why the documents were not enough."""
    sentence = clipped(plain_line(proposal.reason), REASON_SHOWN)
    return say_in(language_of(proposal.question))("not_answered") if is_blank(sentence) else sentence


def looked_for(proposal: Proposal) -> str:
    """The queries that were tried; empty where there was none."""
    queries = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
    return say_in(language_of(proposal.question))("looked_for", queries=queries) if queries else ""


def would_search(proposal: Proposal, card_context: CardContext) -> str:
    """Above the query."""
    engine = clipped(line(card_context.engine))
    return say_in(language_of(proposal.question))("would_search", engine=engine)


def whole_query(query: str) -> str:
    """The query on one line. It is never longer than QUERY_LIMIT; if it were, "…" would show that."""
    words = line(query)
    return words if 0 < len(words) <= QUERY_LIMIT else f"{words[:QUERY_LIMIT]}…"


def waiting(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence below the buttons."""
    say = say_in(language_of(proposal.question))
    if card_context.approval == "anyone":
        return say("waiting_for_anyone")
    return _of_deciders("waiting_for", proposal, card_context, say)


def decision(
    proposal: Proposal, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The sentence that replaces the buttons; ``name`` and ``time`` write a name and a moment in the platform's markup."""
    return _decided(("allowed", "denied"), proposal, card_context, name, time)


def decided_already(
    proposal: Proposal, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The same for a person who decides too late."""
    return _decided(("already_allowed", "already_denied"), proposal, card_context, name, time)


def refused(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence for a person who may not decide: who may."""
    say = say_in(language_of(proposal.question))
    return _of_deciders("only_they_decide", proposal, card_context, say)


def unread_files(outcome: Outcome) -> str:
    """Which attached files were not read."""
    say = say_in(outcome.language)
    names = ", ".join(clipped(name) or say("unnamed_file") for name in outcome.unread)
    return say("files_unread", count=len(outcome.unread), names=names)


def reading_allowed(
    question: Question, card_context: CardContext, *, name: Callable[[str], str], time: Callable[[float], str]
) -> str:
    """The sentence that replaces the button which lets the files of a question be read."""
    say = say_in(language_of(question.text))
    who = card_context.name(question.reading_allowed_by or "") or say("somebody")
    return say(
        "reading_allowed", who=name(who), time=time(question.asked_at), count=len(question.attachments)
    )


def in_utc(seconds: float) -> str:
    """ "14:05 UTC", where a client cannot show the reader's own time; seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M UTC")


def call_approvers(proposal: Proposal, *, mentions: Sequence[str], name: Callable[[str], str]) -> str:
    """The sentence that notifies those who may decide; ``name`` writes the query in the platform's markup."""
    query = name(whole_query(proposal.query))
    return say_in(language_of(proposal.question))("call_approvers", who=" ".join(mentions), query=query)


def _of_deciders(key: str, proposal: Proposal, card_context: CardContext, say: Wording) -> str:
    sentence = say(key, who=_deciders(proposal, card_context, say))
    return f"{sentence} {say('ask_elsewhere')}" if card_context.is_hidden else sentence


def _deciders(proposal: Proposal, card_context: CardContext, say: Wording) -> str:
    """ "Ann, the librarians or another approver"."""
    is_askers = card_context.approval != "approvers"
    known = card_context.approvers[:APPROVERS_SHOWN]
    asker = card_context.name(proposal.asker) or say("somebody")
    names = dict.fromkeys(([asker] if is_askers else []) + [clipped(line(one)) for one in known])
    if not known and (card_context.has_approvers or not is_askers):
        names[say("an_approver")] = None
    elif len(card_context.approvers) > len(known):
        names[say("another_approver")] = None
    *others, last = names
    return say("either", names=", ".join(others), last=last) if others else last


def _decided(
    keys: tuple[str, str],
    proposal: Proposal,
    card_context: CardContext,
    name: Callable[[str], str],
    time: Callable[[float], str],
) -> str:
    say = say_in(language_of(proposal.question))
    who = card_context.name(proposal.decided_by or "") or say("somebody")
    key = keys[0] if proposal.verdict == "approve" else keys[1]
    return say(key, who=name(who), time=time(proposal.decided_at or 0.0))
