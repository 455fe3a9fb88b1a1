"""What Slack brings, taken in: stored or begun before it is acknowledged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bots.slack import cards
from bots.slack.calls import SlackCalls, SlackRefused
from bots.slack.people import People
from bots.slack.posts import Posts
from bots.slack.read import (
    Address,
    Feedback,
    Me,
    Room,
    Said,
    Word,
    address_of,
    conversation_of,
    metadata_of,
    read,
)
from bots.slack.rooms import Rooms
from bots.slack.voice import SlackVoice
from bots.slack.words import Words
from bots.slack.write import Message, Setting, note
from core.assistant import Assistant
from core.consent import may_decide
from core.conversation import Decision, Proposal, Question
from core.errors import QuestionRejected
from core.settings import Settings
from core.turns import Turns, Unreachable

logger = logging.getLogger(__name__)

DRAIN = 5.0  # seconds that what is under way beside the turns gets to finish at a stop

NOTHING_OPEN = "There is no web search to decide in this thread."

Payload = Mapping[str, Any]
Response = dict[str, Any]  #: what goes back with the acknowledgement


@dataclass(slots=True, kw_only=True)
class Intake:
    """One installation's ear."""

    settings: Settings
    assistant: Assistant
    rooms: Rooms
    calls: SlackCalls
    me: Me
    posts: Posts
    people: People
    voice: SlackVoice
    turns: Turns
    words: Words
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def take(self, payload: Payload) -> Response:
        """What a payload calls for is stored or begun when this returns. Whatever it raises: bring it again."""
        try:
            said = self._read(payload)
        except QuestionRejected as rejection:
            if payload.get("type") == "view_submission":
                return {"response_action": "errors", "errors": {"query": str(rejection)}}
            self._begin(self._whisper(address_of(payload, self.me), note(str(rejection))))
            return {}
        if isinstance(said, Question):
            self.rooms.remember_thread(said.conversation, said.author)
            await self.turns.accept(said, address_of(payload, self.me))
        elif isinstance(said, Decision):
            await self._decide(said, address_of(payload, self.me))
        elif isinstance(said, Word):
            await self._hear(said, payload)
        elif isinstance(said, Feedback):
            self.rooms.rate(said)
        return {}

    def _read(self, payload: Payload) -> Said | None:
        try:
            room = self.rooms.room_of(conversation_of(address_of(payload, self.me)))
        except KeyError:  # it comes from no conversation
            room = Room()
        return read(payload, self.me, room, now=time.time())

    async def _decide(self, decision: Decision, place: Address) -> None:
        """Store a decision that may be made; whoever may not make it is told so, and nobody else."""
        proposal = await self._proposal(decision)
        if proposal is None:
            self._begin(self._whisper(place, note(NOTHING_OPEN)))
        elif not proposal.is_open:
            self._begin(self._tell(place, proposal, cards.settled))
        elif not may_decide(
            proposal,
            decision := await self._with_groups(decision),
            approval=self.settings.web_approval,
            approvers=self.settings.web_approvers,
        ):
            self._begin(self._tell(place, proposal, cards.refused))
        else:
            await self.turns.accept(decision, place)

    async def _hear(self, word: Word, payload: Payload) -> None:
        place = address_of(payload, self.me)
        if word.name in ("approve", "deny"):
            await self._decide_in_words(word, place)
        elif word.name == "edit":
            self._begin(self._edit(word, place, str(payload.get("trigger_id", ""))))
        elif self.rooms.take_word(word.id):
            self._begin(self.words.carry_out(word, place))

    async def _decide_in_words(self, word: Word, place: Address) -> None:
        """ "approve" and "deny" are about the newest proposal that is open."""
        proposals = await self.assistant.proposals(word.conversation)
        open_ones = [proposal for proposal in proposals if proposal.is_open]
        if not open_ones:
            if self.rooms.take_word(word.id):
                self._begin(self._whisper(place, note(NOTHING_OPEN)))
            return
        decision = Decision(
            id=word.id,
            conversation=word.conversation,
            author=word.author,
            proposal_id=open_ones[-1].id,
            verdict="approve" if word.name == "approve" else "deny",
            query=word.argument or None,
            decided_at=word.said_at,
        )
        await self._decide(decision, place)

    async def _edit(self, word: Word, place: Address, trigger_id: str) -> None:
        proposals = await self.assistant.proposals(word.conversation)
        proposal = next((each for each in proposals if each.id == word.argument), None)
        if proposal is None:
            await self._whisper(place, note(NOTHING_OPEN))
        elif not proposal.is_open:
            await self._tell(place, proposal, cards.settled)
        elif not await self._may_decide(word, proposal):
            await self._tell(place, proposal, cards.refused)
        else:
            view = cards.edit_modal(proposal, metadata_of(proposal.id, place))
            await self.calls.call("views.open", trigger_id=trigger_id, view=view)

    async def _may_decide(self, word: Word, proposal: Proposal) -> bool:
        wish = Decision(
            id=word.id, conversation=word.conversation, author=word.author, proposal_id=proposal.id,
            verdict="approve", decided_at=word.said_at,
        )  # fmt: skip
        settings = self.settings
        return may_decide(
            proposal,
            await self._with_groups(wish),
            approval=settings.web_approval,
            approvers=settings.web_approvers,
        )

    async def _with_groups(self, decision: Decision) -> Decision:
        approvers = self.settings.web_approvers
        return replace(decision, groups=await self.people.groups_of(decision.author, approvers))

    async def _proposal(self, decision: Decision) -> Proposal | None:
        proposals = await self.assistant.proposals(decision.conversation)
        return next((each for each in proposals if each.id == decision.proposal_id), None)

    async def _tell(
        self, place: Address, proposal: Proposal, card: Callable[[Proposal, Setting], Message]
    ) -> None:
        await self._whisper(place, card(proposal, await self.voice.setting(proposal)))

    async def _whisper(self, place: Address, message: Message) -> None:
        await self.posts.whisper(place, message)

    async def drain(self) -> None:
        """Give what is under way some seconds to finish."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=DRAIN)

    def _begin(self, act: Coroutine[Any, Any, None]) -> None:
        """Go on beside the acknowledgement; Bolt would lose sight of it."""
        task = asyncio.create_task(_quietly(act))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


async def _quietly(act: Coroutine[Any, Any, None]) -> None:
    try:
        await act
    except (SlackRefused, Unreachable) as trouble:
        logger.warning("a word was not said", extra={"reason": str(trouble)})
    except Exception:
        # The boundary of what runs on its own: nobody else would ever hear of it.
        logger.exception("something beside the turns failed")
