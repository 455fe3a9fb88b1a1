"""Replies that one person sees and the others need not: why something is not shown or not done, and the like."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic

from bots.chat import proposals
from bots.chat.cards import Cards
from bots.chat.layout import reply_messages
from bots.chat.platform import (
    CardContext,
    CommandReply,
    Footnotes,
    Posts,
    Refused,
    Renderer,
    Shown,
)
from bots.chat.proposals import Approval
from bots.chat.texts import language_of_turn, say_in
from core.conversation import (
    Command,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    is_unaddressed,
    log_fields,
)
from core.text.language import language_of
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateReplies(Generic[Shown]):
    """Replies to one person. Where the platform has no private way, some become public messages near the place."""

    posts: Posts[Shown]
    renderer: Renderer[Shown]
    approval: Approval
    cards: Cards[Shown]

    async def tell(self, request_id: str, route: ReplyRoute, sentence: str) -> None:
        """Tell the author of a request why it does nothing."""
        await self.posts.send_direct(
            route, f"{request_id}/told", self.renderer.note(sentence), may_be_public=True
        )

    async def tell_stored(self, command: Command, route: ReplyRoute) -> None:
        """The same with the sentence of a stored command."""
        message = self.renderer.note(command.details["sentence"])
        try:
            if command.details.get("is_private"):  # stored by an earlier version without it
                await self.posts.send_direct(route, command.id, message, may_be_public=True)
            else:
                await self.posts.send_ephemeral(route, message)
        except Refused:
            await self.send_direct(command, route, message, may_be_public=True)

    async def send_direct(
        self, turn: Turn | Command, route: ReplyRoute, message: Shown,
        *, name: str = "told", may_be_public: bool,
    ) -> None:  # fmt: skip
        """Only what holds nothing private ``may_be_public``, where its reader takes no direct messages."""
        try:
            await self.posts.send_direct(route, f"{turn.id}/{name}", message, may_be_public=may_be_public)
        except Refused as refused:
            extra = {**log_fields(turn), "user": turn.author, "reason": refused.code}
            logger.warning("no place to explain a refusal", extra=extra)

    async def send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        """Show a sentence only to the person who wrote or pressed."""
        await self.posts.send_ephemeral(route, self.renderer.note(sentence))

    async def send_reply(self, route: ReplyRoute, reply: CommandReply) -> None:
        if isinstance(reply, Footnotes) and (window := self.renderer.window(reply)):
            try:
                await self.posts.open_editor(route, window)
                return
            except (Refused, Unreachable) as trouble:  # most often, the press was too long ago
                logger.info("no window could be opened", extra={"reason": str(trouble)})
        for message in reply_messages(self.renderer, reply):
            await self.posts.send_ephemeral(route, message)

    async def open_editor(self, command_id: str, route: ReplyRoute, proposal: Proposal) -> None:
        """Open the form in which the query is edited; a platform opens none that comes too late."""
        try:
            await self.posts.open_editor(route, self.renderer.editor(proposal, route))
        except (Refused, Unreachable) as trouble:
            logger.warning("a form could not be opened", extra={"reason": str(trouble)})
            await self.tell(command_id, route, say_in(language_of(proposal.question))("form_not_opened"))

    async def refuse(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who may not decide who may."""
        card_context = await self.approval.card_context(route, proposal)
        await self.tell(decision.id, route, proposals.refused(proposal, card_context))

    async def point_out_decision(self, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who decides too late who decided."""
        card_context = await self.approval.card_context(route, proposal)
        await self.posts.send_ephemeral(route, self.renderer.decided_already(proposal, card_context))

    async def refuse_reading(self, route: ReplyRoute, question: Question) -> None:
        """Tell a person who may not let files be read who may."""
        names = await self.approval.people.names(route, [question.author])
        say = say_in(language_of_turn(question))
        asker = CardContext(names=names).name(question.author) or say("somebody")
        await self.send_ephemeral(route, say("only_asker_lets_read", asker=asker))

    async def point_out_reading(self, route: ReplyRoute, question: Question) -> None:
        """Tell a person who presses too late who let the files be read."""
        card_context = await self.approval.reading_context(route, question)
        await self.posts.send_ephemeral(route, self.renderer.reading_allowed(question, card_context))

    async def deliver(self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome) -> None:
        """Show the outcome of a press that changed nothing: most often, somebody else was faster."""
        proposal = await self.cards.proposal_of(turn) if isinstance(turn, Decision) else None
        if proposal is not None and not proposal.is_open:
            card_context = await self.approval.card_context(route, proposal)
            message = self.renderer.decided_already(proposal, card_context)
        else:
            message = self.renderer.note(outcome.reason or say_in(outcome.language)("own_fault"))
        await self.send_direct(turn, route, message, may_be_public=False)

    async def explain(
        self, turn: Turn | Command, route: ReplyRoute, refused: Refused, language: str, *, sign: str = ""
    ) -> None:
        """Say why a message was refused: in place of the ``sign`` of work that stands, else in private."""
        logger.warning("cannot answer there", extra={**log_fields(turn), "reason": refused.code})
        if is_unaddressed(turn):
            return None  # nobody waits for it
        say = say_in(language)
        sentence = await self.posts.explain(route, refused, say) if refused.code else say("not_shown")
        proposal = await self.cards.proposal_of(turn) if isinstance(turn, Decision) else None
        if proposal is not None and proposal.is_open:
            sentence = f"{sentence}\n{say('can_be_allowed')}"
        message = self.renderer.note(sentence)
        if sign:
            with suppress(Refused):
                return await self.posts.finish(route, sign, turn.id, message, is_again=True, is_waiting=False)
            with suppress(Refused):
                await self.posts.delete(route, sign)
        await self.send_direct(turn, route, message, may_be_public=True)
        return None
