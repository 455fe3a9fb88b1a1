"""Marks an answer that no longer holds: one line in its message, at once and without a notification, and one
message to whoever asked, outside of quiet hours.

Both are commands of the queue under the id of the turn: each is carried out once, through kills and whichever process
notices it, in the order of its conversation, and later where the platform cannot be reached.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic

from bots.chat.channels import ChannelStore
from bots.chat.incoming import CHANGED
from bots.chat.platform import ChangedAnswer, People, Refused, Shown
from bots.chat.replies import Replies
from core.answers.rechecks import AnswerChecks, LostQuote
from core.conversation import Citation, Command, Conversation, is_unaddressed, log_fields
from core.errors import FootnoteError
from core.gaps.proposals import retire_stated
from core.gaps.questions import GapStore
from core.library.library import Library
from core.turns.archive import stored_turn
from core.turns.messenger import ReplyRoute
from core.turns.rate_limits import QuietHours
from core.turns.turns import enqueue_at

logger = logging.getLogger(__name__)

LOOK_EVERY = 5.0  # seconds; versions are compared, which takes milliseconds
DISK_EVERY = 60.0  # seconds between two looks at the disk that no question calls for
#: Answers that are marked within an hour: a handbook that is turned over must not write in every channel at once.
MOST, WITHIN = 20, 3_600.0


@dataclass(slots=True, kw_only=True)
class AnswerWatch:
    """Checks earlier answers of the platforms again; one process at a time does this for all."""

    checks: AnswerChecks
    people: Mapping[str, People]  #: by platform
    channel_store: ChannelStore
    gaps: GapStore
    quiet_hours: QuietHours | None
    refresh: Callable[[Library], Awaitable[None]]
    enqueue: Callable[[float, Command, ReplyRoute], Awaitable[None]] = enqueue_at
    _disk_at: float = 0.0

    async def keep_looking(self) -> None:
        """Check answers again and again, until cancelled."""
        while True:
            try:
                await self.look()
            except FootnoteError:  # most often, a database is busy for a moment
                logger.info("posted answers could not be looked at; it is tried again", exc_info=True)
            except Exception:
                # The boundary of a background task: no other code sees its errors.
                logger.exception("posted answers could not be looked at")
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Mark answers that a sync made untrue, and retire kept ones that a document states now."""
        now = self.checks.now()
        if not 0 <= now - self._disk_at < DISK_EVERY:
            self._disk_at = now
            await self.refresh(self.checks.library)
        for answer in await retire_stated(self.checks.answers, self.gaps):
            logger.info("a document states a kept answer now", extra={"answer": answer.id})
        if not self.checks.keep:
            return
        for platform in self.people:
            await self.checks.remember(platform)
        if (room := MOST - await self.checks.log.quoted.count_lost(now - WITHIN)) > 0:
            await self.checks.find_lost(self._mark, room)

    async def _mark(self, lost: LostQuote, route: ReplyRoute) -> None:
        turn, now = lost.question, self.checks.now()
        details = {
            "turn": turn.id, "citation": asdict(lost.citation), "lost": lost.finding.lost,
            "instead": lost.finding.instead, "collection": lost.collection, "changed_at": lost.changed_at,
        }  # fmt: skip
        mark = Command(
            id=f"{turn.id}~changed", conversation=turn.conversation, author=turn.author, name=CHANGED,
            details=details, said_at=now,
        )  # fmt: skip
        logger.info("an answer no longer holds", extra=log_fields(turn))
        await self.enqueue(now, mark, route)
        if await self._may_speak(turn.conversation):
            tell = replace(mark, id=f"{turn.id}~told", details={**details, "tells": True})
            await self.enqueue(self.quiet_hours.over_at(now) if self.quiet_hours else now, tell, route)

    async def _may_speak(self, conversation: Conversation) -> bool:
        """False in a channel that is answered only where it mentions the bot."""
        if self.people[conversation.platform].is_direct_message(conversation):
            return True
        return (await self.channel_store.thread_state(conversation)).follow != "mention"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMarks(Generic[Shown]):
    """Shows on a platform that an answer no longer holds."""

    replies: Replies[Shown]
    readable: Callable[[Conversation, str], Awaitable[frozenset[str]]]  #: by a person there, now
    #: Of sources cited from some collections, those that may not be quoted where these others are readable.
    withdrawn: Callable[[Sequence[str], Collection[str], Collection[str]], Awaitable[frozenset[str]]]

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Mark the answer, or notify who asked; nothing if the answer was deleted or forgotten."""
        details: Mapping[str, Any] = command.details
        posts, renderer = self.replies.posts, self.replies.renderer
        turn_id = details["turn"]
        turn, outcome = await stored_turn(turn_id), await self.replies.outcomes(turn_id)
        try:
            first = await posts.find(route, turn_id, 0)
            if turn is None or outcome is None or first is None:
                return
            readable = await self.readable(command.conversation, command.author)
            citation, collection = Citation(**details["citation"]), details["collection"]
            is_open = collection in readable and not await self.withdrawn(
                [citation.source], [collection], readable
            )
            changed = ChangedAnswer(
                citation=citation, lost=details["lost"], changed_at=details["changed_at"],
                instead=details["instead"] if is_open else "",
            )  # fmt: skip
            if details.get("tells"):
                message = renderer.answer_changed(changed, outcome, command.author)
                await posts.say(route, command.id, 0, message, is_again=is_again)
                return
            if proposed := outcome.proposal:  # with what was decided since
                known = await self.replies.proposals(command.conversation)
                decided = next((each for each in known if each.id == proposed.id), proposed)
                outcome = replace(outcome, proposal=decided)
            context = await self.replies.approval.card_context(route, outcome.proposal)
            context = replace(context, is_unasked=is_unaddressed(turn))
            count = len(renderer.messages(outcome, context))
            shown = renderer.messages(outcome, replace(context, changed=changed))
            for part, message in enumerate(shown):
                handle = await posts.find(route, turn_id, part) if part else first
                if handle is not None:
                    await posts.change(route, handle, turn_id, part, message)
                elif part >= count:
                    await posts.say(route, turn_id, part, message, is_again=is_again)
        except Refused as refused:
            extra = {**log_fields(command), "reason": refused.code}
            logger.warning("an answer that no longer holds cannot be marked", extra=extra)
