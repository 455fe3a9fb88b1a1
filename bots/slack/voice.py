"""Footnote's voice in Slack: one message for each turn, first a sign of life, in the end its outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from bots.slack.calls import SlackCalls, SlackRefused
from bots.slack.cards import decided_card
from bots.slack.notes import Notes
from bots.slack.people import People
from bots.slack.posts import Posts
from bots.slack.read import Address as Place
from bots.slack.write import Message, Setting, messages, note, progress
from core.assistant import Report
from core.conversation import Conversation, Decision, Outcome, Progress, Proposal, Stage, Turn
from core.settings import WebApproval
from core.turns import Address

logger = logging.getLogger(__name__)

#: Handles that are no message: nothing may be said there any more; only the one who pressed is told.
NOWHERE, PRIVATELY = "nowhere", "privately"


@dataclass(slots=True, kw_only=True)
class SlackVoice:
    """The Messenger of one installation."""

    posts: Posts
    calls: SlackCalls
    people: People
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    engine: str  #: the search engine, as people know it
    approval: WebApproval
    _notes: dict[str, Notes] = field(default_factory=dict)  #: by turn
    _has_status: bool = True  #: whether this app may set the native status

    async def begin(self, turn: Turn, address: Address, *, is_again: bool) -> str:
        place = cast("Place", address)
        if isinstance(turn, Decision):
            proposal = await self._proposal(turn)
            if proposal is None or not proposal.is_open:
                return PRIVATELY
            if turn.verdict == "deny":
                return ""
        try:
            return await self.posts.say(place, turn.id, 0, _first(turn), is_again=is_again)
        except SlackRefused as refused:
            logger.warning("cannot answer there", extra={**_named(turn), "reason": refused.code})
            return NOWHERE

    def reporter(self, turn: Turn, address: Address, handle: str) -> Report:
        if handle in ("", NOWHERE, PRIVATELY):
            return lambda _: None
        loop = asyncio.get_running_loop()
        notes = Notes(show=self._shower(turn, cast("Place", address), handle))
        self._notes[turn.id] = notes
        notes.report(_first(turn).text)
        # Steps of the graph may run beside the loop.
        return lambda noted: cast("None", loop.call_soon_threadsafe(notes.report, progress(noted)))

    async def deliver(
        self, turn: Turn, address: Address, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        place = cast("Place", address)
        if notes := self._notes.pop(turn.id, None):
            await notes.close()
        if handle == NOWHERE:
            return
        try:
            if handle == PRIVATELY:
                await self.posts.whisper(place, note(outcome.reason or "This was decided already."))
            else:
                await self._show(turn, place, handle, outcome, is_again=is_again)
        except SlackRefused as refused:
            logger.warning("cannot answer there", extra={**_named(turn), "reason": refused.code})

    async def _show(self, turn: Turn, place: Place, handle: str, outcome: Outcome, *, is_again: bool) -> None:
        if isinstance(turn, Decision):
            await self._settle_card(turn, place)
        setting = await self.setting(outcome.proposal)
        first, *others = messages(outcome, setting)
        if handle:
            await self.posts.change(place, handle, turn.id, 0, first)
        else:
            await self.posts.say(place, turn.id, 0, first, is_again=is_again)
        for part, message in enumerate(others, start=1):
            await self.posts.say(place, turn.id, part, message, is_again=is_again)
        await self._set_status(place, "")

    async def _settle_card(self, turn: Decision, place: Place) -> None:
        """Who decided and when, in place of the buttons; a card without buttons says so already."""
        proposal = await self._proposal(turn)
        if proposal is None or proposal.is_open:
            return
        card = await self.posts.find_button(place, proposal.id)
        if card is not None:
            ts, mark = card
            shown = decided_card(proposal, await self.setting(proposal))
            await self.posts.change(place, ts, mark["turn"], mark["part"], shown)

    async def setting(self, proposal: Proposal | None = None) -> Setting:
        """What the layout depends on, with the names of those who have to do with the proposal."""
        people = (proposal.asker, proposal.decided_by) if proposal else ()
        return Setting(engine=self.engine, approval=self.approval, names=await self.people.names(people))

    async def _proposal(self, turn: Decision) -> Proposal | None:
        proposals = await self.proposals(turn.conversation)
        return next((each for each in proposals if each.id == turn.proposal_id), None)

    def _shower(self, turn: Turn, place: Place, ts: str) -> Callable[[str], Awaitable[None]]:
        shown = _first(turn).text

        async def show(words: str) -> None:
            nonlocal shown
            if words != shown:
                await self.posts.change(place, ts, turn.id, 0, Message(text=words))
                shown = words
            await self._set_status(place, words)

        return show

    async def _set_status(self, place: Place, words: str) -> None:
        if not self._has_status:
            return
        there: dict[str, Any] = {"channel_id": place["channel"], "thread_ts": place["thread"]}
        try:
            await self.calls.call("assistant.threads.setStatus", **there, status=words)
        except SlackRefused as refused:
            # An app that is no agent has none, and its placeholder says the same.
            logger.info("no native status", extra={"reason": refused.code})
            self._has_status = refused.code not in (
                "missing_scope",
                "unknown_method",
                "not_allowed_token_type",
            )


def _first(turn: Turn) -> Message:
    stage: Stage = "searching" if isinstance(turn, Decision) else "reading"
    return Message(text=progress(Progress(stage=stage)))


def _named(turn: Turn) -> dict[str, str]:
    return {"turn": turn.id, "conversation": turn.conversation.id}
