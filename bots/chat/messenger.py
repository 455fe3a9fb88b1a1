"""What a chat platform shows: one message for each turn, first with its progress, in the end with its outcome."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, cast

from bots.chat import proposals as cards
from bots.chat.channels import ChannelStore
from bots.chat.commands import ChatCommands
from bots.chat.incoming import TELL, unqueued
from bots.chat.platform import (
    CardContext,
    CommandReply,
    Note,
    People,
    Posts,
    Refused,
    Renderer,
    Shown,
    Uploads,
)
from bots.chat.texts import ENGINE_NAMES, language_of_turn, progress_note, say_in
from core.bootstrap import Footnote
from core.conversation import (
    Command,
    Conversation,
    Decision,
    Outcome,
    Progress,
    Proposal,
    Question,
    ThreadMessage,
    Turn,
)
from core.errors import FootnoteError, for_people
from core.settings import WebApproval
from core.turns.archive import outcome_of
from core.turns.assistant import Report
from core.turns.disk_watch import disk_trouble
from core.turns.messenger import ReplyRoute, Unreachable
from core.wording import Sentence, in_language

logger = logging.getLogger(__name__)

BETWEEN = 1.0  # seconds between two edits; Slack and Discord take about one message a second in a channel


@dataclass(slots=True, kw_only=True)
class ProgressNotes:
    """Shows the newest progress of a turn, at most about once a second, and again before it fades."""

    #: Shows it; the flag says whether the note changed, or only the platform's sign of work fades.
    show: Callable[[Progress, bool], Awaitable[None]]
    refresh: float  #: seconds after which the platform's own sign of work fades, or nearly
    newest: Progress  #: at first what the message shows already
    _is_fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def report(self, progress: Progress) -> None:
        self.newest = progress
        self._is_fresh.set()

    async def close(self) -> None:
        """No note comes after this. One that is being sent is waited for, or it could cover the answer."""
        self._is_closed.set()
        self._is_fresh.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        shown = self.newest
        while not self._is_closed.is_set():
            self._is_fresh.clear()
            newest = self.newest
            try:
                await self.show(newest, newest != shown)
                shown = newest
            except (Unreachable, Refused):
                logger.info("a progress note was left out")
            if not await _happens(self._is_closed, BETWEEN):
                await _happens(self._is_fresh, self.refresh)


async def _happens(event: asyncio.Event, within: float) -> bool:
    try:
        return await asyncio.wait_for(event.wait(), within)
    except TimeoutError:
        return False


#: Handles without a message: nothing can be posted there any more, or only the person who pressed gets a reply.
NOWHERE, PRIVATELY = "nowhere", "privately"


@dataclass(slots=True, kw_only=True)
class ChatMessenger(Generic[Shown]):
    """The Messenger of one platform, over what its adapter offers."""

    posts: Posts[Shown]
    renderer: Renderer[Shown]
    people: People
    commands: ChatCommands
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    engine: str  #: the search engine, as people know it
    approval: WebApproval
    has_approvers: bool
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    outcomes: Callable[[str], Awaitable[Outcome | None]] = outcome_of  #: by turn, as long as it is stored
    _notes: dict[str, ProgressNotes] = field(default_factory=dict)  #: by turn
    _languages: dict[str, str] = field(default_factory=dict)  #: by turn

    @classmethod
    def over(
        cls,
        footnote: Footnote,
        channel_store: ChannelStore,
        *,
        posts: Posts[Shown],
        renderer: Renderer[Shown],
        people: People,
        uploads: Uploads,
        refresh: float,
    ) -> ChatMessenger[Shown]:
        """The messenger of a platform whose adapter offers these."""
        settings = footnote.settings
        return cls(
            posts=posts,
            renderer=renderer,
            people=people,
            commands=ChatCommands(
                footnote=footnote, channel_store=channel_store, people=people, uploads=uploads
            ),
            proposals=footnote.assistant.proposals,
            engine=ENGINE_NAMES[settings.web_search],
            approval=settings.web_approval,
            has_approvers=bool(settings.web_approvers),
            refresh=refresh,
        )

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        proposal = await self._proposal(turn) if isinstance(turn, Decision) else None
        if isinstance(turn, Decision):
            if proposal is None or not proposal.is_open:
                return PRIVATELY
            if turn.verdict == "deny":
                return ""
        self._languages[turn.id] = language_of_turn(turn, (proposal,) if proposal else ())
        first = self.renderer.note(progress_note(_first_progress(turn), self._languages[turn.id]))
        with _refusals_logged(turn):
            return await self.posts.say(route, turn.id, 0, first, is_again=is_again)
        return NOWHERE

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if self.commands.channel_store.has_forgotten(turn.conversation):
            return ()  # else what was forgotten would be read again from the platform
        try:
            return await self.posts.thread_context(route)
        except (Refused, Unreachable):
            logger.warning("the thread before the question could not be read", extra=_named(turn))
            return ()

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report:
        if handle in ("", NOWHERE, PRIVATELY):
            return lambda _: None
        notes = ProgressNotes(
            show=partial(self._show_progress, turn, route, handle),
            refresh=self.refresh,
            newest=_first_progress(turn),
        )
        self._notes[turn.id] = notes
        notes.start()
        loop = asyncio.get_running_loop()
        # Steps of the graph may run in other threads.
        return lambda progress: cast("None", loop.call_soon_threadsafe(notes.report, progress))

    async def _show_progress(
        self, turn: Turn, route: ReplyRoute, handle: str, progress: Progress, is_new: bool
    ) -> None:
        language = self._languages.get(turn.id)
        if language is None:  # the first sign was shown by an earlier process
            proposals = await self.proposals(turn.conversation) if isinstance(turn, Decision) else ()
            language = self._languages[turn.id] = language_of_turn(turn, proposals)
        sentence = progress_note(progress, language)
        if is_new:
            await self.posts.change(route, handle, turn.id, 0, self.renderer.note(sentence))
        await self.posts.set_status(route, sentence)

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        if notes := self._notes.pop(turn.id, None):
            await notes.close()
        self._languages.pop(turn.id, None)
        if handle == NOWHERE:
            return
        with _refusals_logged(turn):
            if handle == PRIVATELY:
                await self._deliver_privately(turn, route, outcome)
            else:
                await self._show(turn, route, handle, outcome, is_again=is_again)

    async def _deliver_privately(self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome) -> None:
        proposal = await self._proposal(turn) if isinstance(turn, Decision) else None
        if proposal is not None and not proposal.is_open:
            await self.point_out_decision(route, proposal)
        else:
            await self.send_ephemeral(route, outcome.reason or say_in(outcome.language)("own_fault"))

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        if command.name == TELL:
            await self._tell(command, route)
            return
        replies = await self._replies(command, route)
        messages = [message for reply in replies for message in self.renderer.reply(reply)]
        with _refusals_logged(command):
            for part, message in enumerate(messages):
                await self.posts.say(route, command.id, part, message, is_again=is_again)

    async def _tell(self, command: Command, route: ReplyRoute) -> None:
        message = self.renderer.note(command.details["sentence"])
        with _refusals_logged(command):
            if command.details.get("is_private"):  # stored by an earlier version without it
                await self.posts.send_direct(route, command.id, message)
            else:
                await self.posts.send_ephemeral(route, message)

    async def send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        """Show a sentence only to the person who wrote or pressed."""
        await self.posts.send_ephemeral(route, self.renderer.note(sentence))

    async def send_private_reply(self, route: ReplyRoute, reply: CommandReply) -> None:
        for message in self.renderer.reply(reply):
            await self.posts.send_ephemeral(route, message)

    async def refuse(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who may not decide who may."""
        sentence = cards.refused(proposal, await self._card_context(route, proposal))
        await self.posts.send_direct(route, f"{decision.id}/told", self.renderer.note(sentence))

    async def point_out_decision(self, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who decides too late who decided."""
        sentence = cards.decided_already(proposal, await self._card_context(route, proposal))
        await self.send_ephemeral(route, sentence)

    async def open_editor(self, route: ReplyRoute, proposal: Proposal) -> None:
        await self.posts.open_editor(route, self.renderer.editor(proposal, route))

    async def _replies(self, command: Command, route: ReplyRoute) -> tuple[CommandReply, ...]:
        chat_command = unqueued(command)
        say = say_in(chat_command.language)
        try:
            return await self.commands.carry_out(chat_command, route)
        except FootnoteError as trouble:
            return (Note(text=in_language(for_people(trouble), chat_command.language)),)
        except sqlite3.OperationalError as trouble:
            logger.exception("a command could not be stored", extra=_named(command))
            reason = disk_trouble(trouble) or Sentence("disk_refused")
            return (Note(text=say("not_written", trouble=reason)),)
        except Exception:
            # The boundary of a command: the person learns of every failure.
            logger.exception("a command failed", extra=_named(command))
            return (Note(text=say("own_fault")),)

    async def _show(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        if isinstance(turn, Decision):
            await self._close_card(turn, route)
        card_context = await self._card_context(route, outcome.proposal, can_retry=isinstance(turn, Question))
        first, *others = self.renderer.messages(outcome, card_context)
        if handle:
            await self.posts.change(route, handle, turn.id, 0, first)
        else:
            await self.posts.say(route, turn.id, 0, first, is_again=is_again)
        for part, message in enumerate(others, start=1):
            await self.posts.say(route, turn.id, part, message, is_again=is_again)
        await self.posts.set_status(route, "")

    async def _close_card(self, turn: Decision, route: ReplyRoute) -> None:
        """Show who decided and when in place of the buttons."""
        proposal = await self._proposal(turn)
        if proposal is None or proposal.is_open:
            return
        proposed = await self.outcomes(proposal.turn_id)
        if proposed is None:  # no longer stored: an answer above the buttons must not be lost
            return
        card_context = await self._card_context(route, proposal)
        shown = self.renderer.messages(replace(proposed, proposal=proposal), card_context)
        part = len(shown) - 1
        card = await self.posts.find(route, proposal.turn_id, part)
        if card is not None:
            await self.posts.change(route, card, proposal.turn_id, part, shown[part])

    async def _card_context(
        self, route: ReplyRoute, proposal: Proposal | None = None, *, can_retry: bool = False
    ) -> CardContext:
        """What the layout depends on, with the names of the asker and the decider."""
        people = (proposal.asker, proposal.decided_by) if proposal else ()
        return CardContext(
            engine=self.engine,
            approval=self.approval,
            has_approvers=self.has_approvers,
            can_retry=can_retry,
            names=await self.people.names(route, people),
        )

    async def _proposal(self, turn: Decision) -> Proposal | None:
        proposals = await self.proposals(turn.conversation)
        return next((each for each in proposals if each.id == turn.proposal_id), None)


@contextmanager
def _refusals_logged(turn: Turn | Command) -> Iterator[None]:
    """Log a refusal of the platform: the turn ends, although its messages cannot be posted there."""
    try:
        yield
    except Refused as refused:
        logger.warning("cannot answer there", extra={**_named(turn), "reason": refused.code})


def _first_progress(turn: Turn) -> Progress:
    return Progress(stage="searching" if isinstance(turn, Decision) else "reading")


def _named(turn: Turn | Command) -> dict[str, str]:
    return {"turn": turn.id, "conversation": turn.conversation.id}
