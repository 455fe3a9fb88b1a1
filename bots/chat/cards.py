"""Cards that wait for a press, shown anew when somebody pressed or when their thread is forgotten.

A card is the part of an outcome's last message that proposes a search, or the reading of attached files.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic

from bots.chat.approval import Approval
from bots.chat.platform import CardContext, Posts, Refused, Renderer, Shown
from bots.chat.unreadable import MALFORMED
from bots.chat.upload_index import READ, first_asked
from core.conversation import Command, Conversation, Decision, Outcome, Proposal, Question, Turn, log_fields
from core.errors import FootnoteError
from core.turns.archive import outcomes_in
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

CLOSING = 10.0  # seconds to take the buttons off a thread before it is forgotten in any case


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards(Generic[Shown]):
    """The cards that were shown."""

    posts: Posts[Shown]
    renderer: Renderer[Shown]
    approval: Approval
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    outcomes: Callable[[str], Awaitable[Outcome | None]]  #: by turn, as long as it is stored

    async def proposal_of(self, decision: Decision) -> Proposal | None:
        """The search that it is about."""
        proposals = await self.proposals(decision.conversation)
        return next((each for each in proposals if each.id == decision.proposal_id), None)

    async def settle(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Show who decides and when in place of the buttons, before the decision is carried out."""
        proposed = await self.outcomes(proposal.turn_id)
        if proposed is None:  # no longer stored: an answer above the buttons must not be lost
            return
        decided = proposal.with_decision(decision)
        card_context = await self.approval.card_context(route, decided)
        await self._replace(decision, route, replace(proposed, proposal=decided), card_context)

    async def close_offer(self, question: Question, route: ReplyRoute) -> None:
        """Show who let the files be read, and when, in place of the button."""
        asked = first_asked(question.id)
        offered = await self.outcomes(asked) if asked else None
        if offered is None:
            return
        card_context = await self.approval.reading_context(route, question)
        await self._replace(question, route, offered, card_context)

    async def close_all(self, forget: Command, route: ReplyRoute) -> None:
        """Take the buttons off what still waits in a thread. Nothing in the way of that keeps the thread."""
        waiting: list[Outcome] = []
        try:
            async with asyncio.timeout(CLOSING):
                waiting = await self._waiting(forget.conversation)
                card_context = replace(await self.approval.card_context(route), is_forgotten=True)
                for outcome in waiting:
                    await self._replace(forget, route, outcome, card_context)
        except (Refused, Unreachable, FootnoteError, TimeoutError, *MALFORMED) as trouble:
            extra = {**log_fields(forget), "reason": str(trouble)}
            logger.warning("cards of a forgotten thread keep their buttons", extra=extra)
        if waiting:
            await self.posts.rest(route)

    async def _waiting(self, conversation: Conversation) -> list[Outcome]:
        """Those beneath which a search or files wait for somebody to allow them."""
        is_open = {each.id for each in await self.proposals(conversation) if each.is_open}
        outcomes = await outcomes_in(conversation)
        turns = {outcome.turn_id for outcome in outcomes}
        return [
            one
            for one in outcomes
            if (
                one.proposal.id in is_open if one.proposal else one.unread and one.turn_id + READ not in turns
            )
        ]

    async def _replace(
        self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome, card_context: CardContext
    ) -> None:
        """Show an earlier outcome anew, now that ``turn`` settled what it proposed: in its last message."""
        shown = self.renderer.messages(outcome, card_context)
        part = len(shown) - 1
        try:
            if card := await self.posts.find(route, outcome.turn_id, part):
                await self.posts.change(route, card, outcome.turn_id, part, shown[part])
        except Refused as refused:
            extra = {**log_fields(turn), "reason": refused.code}
            logger.warning("a card that was decided cannot be changed", extra=extra)
