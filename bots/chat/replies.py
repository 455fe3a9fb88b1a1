"""Cards that wait for a press or were decided, and replies that one person sees.

The turn that a press or an edit asks for is the same however often it is delivered.

A card is the part of an outcome's last message that proposes a search, or the reading of attached files.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic

from bots.chat import platform, proposals
from bots.chat.incoming import ChatCommand
from bots.chat.people import Approval
from bots.chat.render import Layout
from bots.chat.texts import clipped, language_of_turn, say_in
from bots.chat.uploads import READ_SUFFIX, with_reading
from core.conversation import (
    QUESTION_LIMIT,
    Command,
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    Turn,
    is_unaddressed,
    log_fields,
)
from core.errors import FootnoteError
from core.text.language import language_of
from core.turns.archive import is_erased, outcome_of, outcomes_in, question_of, stored_turn
from core.turns.messenger import ReplyRoute, Unreachable

logger = logging.getLogger(__name__)

#: How often it is looked whether a message that an edit changes was left unanswered, and seconds between.
LOOKS, LOOK_EVERY = 20, 0.1
CLOSING = 10.0  # seconds to take the buttons off a thread before it is forgotten in any case


async def turn_asked_by(command: ChatCommand) -> Turn | None:
    """The turn that "again", "read" or "choose" asks for; None if it is gone, or of another conversation."""
    number, turn_id = "", command.argument
    if command.name == "choose":
        number, _, turn_id = turn_id.partition(":")
    turn = await stored_turn(turn_id)
    if turn is None or turn.conversation != command.conversation:
        return None
    if command.name == "again":
        again = tried_again(turn, command.author)
        if isinstance(again, Question):
            return replace(again, asked_at=command.said_at, is_addressed=True)
        return replace(again, decided_at=command.said_at)
    if isinstance(turn, Decision):
        return None
    if command.name == "read":
        return with_reading(turn, command.author, command.said_at)
    outcome = await outcome_of(turn_id)
    options = outcome.options if outcome else ()
    is_listed = number.isdecimal() and 0 < int(number) <= len(options)
    chosen = clipped(options[int(number) - 1], QUESTION_LIMIT) if is_listed else ""
    return command.press.question(chosen) if chosen else None


def tried_again(turn: Turn, presser: str) -> Turn:
    """The turn again, asked by the presser; a turn with files keeps its asker, who alone may let them be read."""
    is_with_files = isinstance(turn, Question) and turn.attachments
    return replace(turn, id=_next_try(turn.id), author=turn.author if is_with_files else presser)


async def asked_anew(edited: Question) -> Question:
    """The question that an edit makes of a message that the bot had left unanswered."""
    for _ in range(LOOKS):
        has_ended = await outcome_of(edited.id) is not None
        before = await question_of(edited.id)
        if before is not None and is_erased(before):
            return replace(edited, id=_next_try(edited.id))
        if before is None or before.is_addressed or has_ended:
            break
        await asyncio.sleep(LOOK_EVERY)  # it is being looked into
    return edited


def _next_try(turn_id: str) -> str:
    """ "q" -> "q~2" -> "q~3"; what follows a slash is part of the name."""
    first, _, number = turn_id.rpartition("~")
    return f"{first}~{int(number) + 1}" if number.isdecimal() and first else f"{turn_id}~2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies(Generic[platform.Shown]):
    """Cards, and replies to one person; some become public where there is no private way."""

    posts: platform.Posts[platform.Shown]
    renderer: Layout[platform.Shown]
    approval: Approval
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    outcomes: Callable[[str], Awaitable[Outcome | None]] = outcome_of  #: by turn, as long as it is stored

    async def proposal_of(self, turn: Turn | Command) -> Proposal | None:
        """The search that a decision is about."""
        if not isinstance(turn, Decision):
            return None
        known = await self.proposals(turn.conversation)
        return next((each for each in known if each.id == turn.proposal_id), None)

    async def settle(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Replace the buttons by who decides and when, before the decision is carried out."""
        proposed = await self.outcomes(proposal.turn_id)
        if proposed is None:  # no longer stored: an answer above the buttons must not be lost
            return
        decided = proposal.with_decision(decision)
        card_context = await self.approval.card_context(route, decided)
        await self._replace(decision, route, replace(proposed, proposal=decided), card_context)

    async def close_offer(self, question: Question, route: ReplyRoute) -> None:
        """Replace the button by who let the files be read, and when."""
        if not question.id.endswith(READ_SUFFIX):
            return
        if offered := await self.outcomes(question.id.removesuffix(READ_SUFFIX)):
            card_context = await self.approval.reading_context(route, question)
            await self._replace(question, route, offered, card_context)

    async def close_all(self, forget: Command, route: ReplyRoute) -> None:
        """Remove the buttons of what still waits in a thread; failures are ignored."""
        waiting: list[Outcome] = []
        try:
            async with asyncio.timeout(CLOSING):
                waiting = await self._waiting(forget.conversation)
                card_context = replace(await self.approval.card_context(route), is_forgotten=True)
                for outcome in waiting:
                    await self._replace(forget, route, outcome, card_context)
        except (platform.Refused, Unreachable, FootnoteError, TimeoutError, *platform.MALFORMED) as trouble:
            extra = {**log_fields(forget), "reason": str(trouble)}
            logger.warning("cards of a forgotten thread keep their buttons", extra=extra)
        if waiting:
            await self.posts.rest(route)

    async def _waiting(self, conversation: Conversation) -> list[Outcome]:
        """The outcomes beneath which a search or files wait for somebody to allow them."""
        is_open = {each.id for each in await self.proposals(conversation) if each.is_open}
        outcomes = await outcomes_in(conversation)
        read = {
            each.turn_id.removesuffix(READ_SUFFIX) for each in outcomes if each.turn_id.endswith(READ_SUFFIX)
        }
        searches = [each for each in outcomes if each.proposal and each.proposal.id in is_open]
        files = [each for each in outcomes if not each.proposal and each.unread and each.turn_id not in read]
        return [*searches, *files]

    async def _replace(
        self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome, card_context: platform.CardContext
    ) -> None:
        """Show an earlier outcome again in its last message, after ``turn`` settled what it proposed."""
        shown = self.renderer.messages(outcome, card_context)
        part = len(shown) - 1
        try:
            if card := await self.posts.find(route, outcome.turn_id, part):
                await self.posts.change(route, card, outcome.turn_id, part, shown[part])
        except platform.Refused as refused:
            extra = {**log_fields(turn), "reason": refused.code}
            logger.warning("a card that was decided cannot be changed", extra=extra)

    async def tell(self, request_id: str, route: ReplyRoute, sentence: str) -> None:
        """Tell the author of a request why it does nothing."""
        note = self.renderer.note(sentence)
        await self.posts.send_direct(route, f"{request_id}/told", note, may_be_public=True)

    async def tell_stored(self, command: Command, route: ReplyRoute) -> None:
        """The same with the sentence of a stored command."""
        message = self.renderer.note(command.details["sentence"])
        try:
            if command.details.get("is_private"):  # stored by an earlier version without it
                await self.posts.send_direct(route, command.id, message, may_be_public=True)
            else:
                await self.posts.send_ephemeral(route, message)
        except platform.Refused:
            await self.send_direct(command, route, message, may_be_public=True)

    async def send_direct(
        self, turn: Turn | Command, route: ReplyRoute, message: platform.Shown,
        *, name: str = "told", may_be_public: bool,
    ) -> None:  # fmt: skip
        """Send a direct message. Without private content it ``may_be_public`` where the person takes none."""
        try:
            await self.posts.send_direct(route, f"{turn.id}/{name}", message, may_be_public=may_be_public)
        except platform.Refused as refused:
            extra = {**log_fields(turn), "user": turn.author, "reason": refused.code}
            logger.warning("no place to explain a refusal", extra=extra)

    async def send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        """Show a sentence only to the person who wrote or pressed."""
        await self.posts.send_ephemeral(route, self.renderer.note(sentence))

    async def send_reply(self, route: ReplyRoute, reply: platform.CommandReply) -> None:
        if isinstance(reply, platform.Footnotes) and (window := self.renderer.window(reply)):
            try:
                await self.posts.open_editor(route, window)
                return
            except (platform.Refused, Unreachable) as trouble:  # most often, the press was too long ago
                logger.info("no window could be opened", extra={"reason": str(trouble)})
        for message in self.renderer.reply(reply):
            await self.posts.send_ephemeral(route, message)

    async def open_editor(self, command_id: str, route: ReplyRoute, proposal: Proposal) -> None:
        """Open the form in which the query is edited; a platform opens none that comes too late."""
        try:
            await self.posts.open_editor(route, self.renderer.editor(proposal, route))
        except (platform.Refused, Unreachable) as trouble:
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
        asker = platform.CardContext(names=names).name(question.author) or say("somebody")
        await self.send_ephemeral(route, say("only_asker_lets_read", asker=asker))

    async def point_out_reading(self, route: ReplyRoute, question: Question) -> None:
        """Tell a person who presses too late who let the files be read."""
        card_context = await self.approval.reading_context(route, question)
        await self.posts.send_ephemeral(route, self.renderer.reading_allowed(question, card_context))

    async def deliver(self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome) -> None:
        """Show the outcome of a press that changed nothing: most often, somebody else was faster."""
        proposal = await self.proposal_of(turn)
        if proposal is not None and isinstance(turn, Decision) and not proposal.is_open_at(turn.decided_at):
            card_context = await self.approval.card_context(route, proposal)
            message = self.renderer.decided_already(proposal, card_context)
        else:
            message = self.renderer.note(outcome.reason or say_in(outcome.language)("own_fault"))
        await self.send_direct(turn, route, message, may_be_public=False)

    async def explain(
        self, turn: Turn | Command, route: ReplyRoute, refused: platform.Refused, language: str,
        *, sign: str = "",
    ) -> None:  # fmt: skip
        """Say why a message was refused: in place of the ``sign`` of work that stands, else in private."""
        logger.warning("cannot answer there", extra={**log_fields(turn), "reason": refused.code})
        if is_unaddressed(turn):
            return None  # nobody waits for it
        say = say_in(language)
        sentence = await self.posts.explain(route, refused, say) if refused.code else say("not_shown")
        proposal = await self.proposal_of(turn)
        if proposal is not None and proposal.is_open:
            sentence = f"{sentence}\n{say('can_be_allowed')}"
        message = self.renderer.note(sentence)
        if sign:
            with suppress(platform.Refused):
                return await self.posts.finish(route, sign, turn.id, message, is_again=True, is_waiting=False)
            with suppress(platform.Refused):
                await self.posts.delete(route, sign)
        await self.send_direct(turn, route, message, may_be_public=True)
        return None
