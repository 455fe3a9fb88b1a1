"""Who may decide about a search, or let files be read, in the place that a route leads to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bots.chat.platform import Approver, CardContext, People
from bots.chat.texts import ENGINE_NAMES
from core.conversation import Decision, Proposal, Question, WebApproval
from core.graph.approval import may_allow_reading, may_decide
from core.settings import Settings
from core.turns.messenger import ReplyRoute


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
        """Whether the author may let the files of a question be read. Raises Unreachable."""
        groups = await self._groups_of(route, author)
        return may_allow_reading(question, author, groups, approval=self.rule, approvers=self.approvers)

    async def card_context(self, route: ReplyRoute, proposal: Proposal | None = None) -> CardContext:
        """What the layout depends on, with the names of those who may decide or did."""
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
        """Whether who asked may decide the search too."""
        if self.rule != "approvers" or asker in self.approvers:
            return True
        return bool(await self._groups_of(route, asker))

    async def _known_approvers(self, route: ReplyRoute) -> tuple[Approver, ...]:
        is_theirs = self.approvers and self.rule in ("asker", "approvers")
        return await self.people.approvers(route, self.approvers) if is_theirs else ()

    async def _groups_of(self, route: ReplyRoute, user: str) -> tuple[str, ...]:
        return await self.people.groups_of(route, user, self.approvers)
