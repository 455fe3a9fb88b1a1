"""The messages that a chat platform shows: one for each turn, first with its progress, in the end with its outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Generic

from bots.chat.channels import ChannelStore, thread_collection
from bots.chat.commands import ChatCommands, CommandRunner
from bots.chat.incoming import TELL, is_small_talk
from bots.chat.people import named_decision, named_messages, named_question
from bots.chat.platform import Attachments, People, Posts, Refused, Renderer, Shown
from bots.chat.progress import ProgressNotes
from bots.chat.proposals import Approval
from bots.chat.replies import Cards, PrivateReplies
from bots.chat.teaching import Teaching, TeachingRenderer
from bots.chat.texts import clipped, language_of_turn
from bots.chat.unreadable import MALFORMED
from bots.chat.uploads import UploadIndex
from core.bootstrap import Footnote
from core.conversation import (
    Command,
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    ThreadMessage,
    Turn,
    is_unaddressed,
    log_fields,
)
from core.errors import FootnoteError, for_people
from core.graph.rights import outcome_within
from core.turns.archive import outcome_of
from core.turns.assistant import Report
from core.turns.messenger import NOWHERE, ReplyRoute, Unreachable
from core.turns.replicas import OWNERSHIP

logger = logging.getLogger(__name__)

THREAD_MESSAGE = 500  # characters of each message of the thread that a question is asked in
UNCOVERING = (0.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)  # seconds between looks at what a turn came to
TIDYING = (0.0, 5.0, 30.0)  # seconds between looks for what a run posted that went on elsewhere
TAUGHT = frozenset({"consult", "keep", "unkeep"})  # commands about answers that people give
PRIVATELY = "privately"  # a handle without a message: only the person who pressed gets a reply


@dataclass(slots=True, kw_only=True)
class ChatMessenger(Generic[Shown]):
    """The Messenger of one platform, over what its adapter offers."""

    posts: Posts[Shown]
    renderer: Renderer[Shown]
    teaching_renderer: TeachingRenderer[Shown]
    approval: Approval
    commands: ChatCommands
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    outcomes: Callable[[str], Awaitable[Outcome | None]] = outcome_of  #: by turn, as long as it is stored
    #: Called for a question that counts once it is answered.
    count: Callable[[Question], Awaitable[None]] | None = None
    cards: Cards[Shown] = field(init=False)
    private_replies: PrivateReplies[Shown] = field(init=False)
    teaching: Teaching[Shown] = field(init=False)
    _command_runner: CommandRunner[Shown] = field(init=False)
    _progress_notes: ProgressNotes[Shown] = field(init=False)
    _tidying: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.cards = Cards(
            posts=self.posts, renderer=self.renderer, approval=self.approval, proposals=self.proposals,
            outcomes=self.outcomes,
        )  # fmt: skip
        self.private_replies = PrivateReplies(
            posts=self.posts, renderer=self.renderer, approval=self.approval, cards=self.cards
        )
        self.teaching = Teaching(
            posts=self.posts, renderer=self.renderer, teaching_renderer=self.teaching_renderer,
            commands=self.commands, private_replies=self.private_replies,
        )  # fmt: skip
        self._command_runner = CommandRunner(
            posts=self.posts, renderer=self.renderer, commands=self.commands, cards=self.cards,
            private_replies=self.private_replies, outcomes=self.outcomes,
        )  # fmt: skip
        self._progress_notes = ProgressNotes(
            posts=self.posts, proposals=self.proposals, refresh=self.refresh, uncover=self._uncover,
        )  # fmt: skip

    @classmethod
    def over(
        cls,
        footnote: Footnote,
        channel_store: ChannelStore,
        *,
        posts: Posts[Shown],
        renderer: Renderer[Shown],
        teaching_renderer: TeachingRenderer[Shown],
        people: People,
        uploads: Attachments,
        refresh: float,
        slash_commands: tuple[str, ...] = (),
    ) -> ChatMessenger[Shown]:
        """The messenger of a platform whose adapter offers these."""
        return cls(
            posts=posts,
            renderer=renderer,
            teaching_renderer=teaching_renderer,
            approval=Approval.of(footnote.settings, people),
            commands=ChatCommands(
                footnote=footnote,
                channel_store=channel_store,
                people=people,
                upload_index=UploadIndex(footnote=footnote, uploads=uploads),
                slash_commands=slash_commands,
            ),
            proposals=footnote.assistant.proposals,
            refresh=refresh,
        )

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        proposal = await self.cards.proposal_of(turn) if isinstance(turn, Decision) else None
        if isinstance(turn, Decision):
            turn = await named_decision(turn, route, self.approval.people)  # the card shows the query
            if proposal is None or not proposal.is_open:
                return PRIVATELY
            if turn.verdict == "deny":
                await self.cards.settle(turn, route, proposal)
                return ""
        if is_small_talk(turn):
            return ""  # answered at once
        if isinstance(turn, Question) and turn.reading_allowed_by:
            await self.cards.close_offer(turn, route)
        try:
            async with self._once(turn, route):
                handle = await self._progress_notes.begin(turn, route, proposal, is_again=is_again)
        except Refused as refused:
            return f"{NOWHERE} {refused.code} {refused.text}"
        if isinstance(turn, Decision) and proposal is not None:
            await self.cards.settle(turn, route, proposal)
        return handle

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        if isinstance(turn, Question):
            return await named_question(turn, route, self.approval.people)
        return await named_decision(turn, route, self.approval.people)

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if await self.commands.channel_store.has_forgotten(turn.conversation):
            return ()  # else what was forgotten would be read again from the platform
        try:
            messages = await self.posts.thread_context(route)
        except Refused:
            logger.warning("the thread before the question could not be read", extra=log_fields(turn))
            return ()
        named = await named_messages(messages, route, self.approval.people, language_of_turn(turn))
        return tuple(replace(one, text=clipped(one.text, THREAD_MESSAGE)) for one in named)

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:  # noqa: ARG002 - the port has it
        collection = thread_collection(question.conversation)
        try:
            indexed = await self.commands.upload_index.add(question.attachments, collection)
        except FootnoteError as trouble:
            return replace(question, unreadable=(for_people(trouble),))
        return replace(question, attached=tuple(map(str, indexed.files)), unreadable=indexed.failures)

    async def starter(self, conversation: Conversation, route: ReplyRoute) -> ThreadMessage | None:
        """The first message of a thread that the bot is not part of yet."""
        store = self.commands.channel_store
        thread = await store.thread_state(conversation)
        if thread.knows_thread or await store.has_forgotten(conversation):
            return None
        try:
            return await self.posts.starter(route)
        except (Refused, Unreachable, *MALFORMED):
            logger.warning("a thread could not be read", extra={"conversation": conversation.id})
            return None

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report:
        if handle in ("", PRIVATELY):
            return lambda _: None
        return self._progress_notes.reporter(turn, route, handle)

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        await self._progress_notes.end(turn.id)
        if is_again and not isinstance(turn, Command):
            outcome = await self._as_readable_now(turn, outcome)
        if is_unaddressed(turn):
            await self._join(turn)
        if handle.startswith(NOWHERE):
            _, code, text = f"{handle}  ".split(" ", 2)
            refused = Refused(code, text.strip())
            await self.private_replies.explain(turn, route, refused, outcome.language)
        elif handle == PRIVATELY:
            await self.private_replies.deliver(turn, route, outcome)
        else:
            async with self._once(turn, route, is_again=is_again):
                await self._show(turn, route, handle, outcome, is_again=is_again)

    @asynccontextmanager
    async def _once(
        self, turn: Turn | Command, route: ReplyRoute, *, is_again: bool = False
    ) -> AsyncIterator[None]:
        """Within, messages are posted. A process that took a turn over looks afterwards whether the one before
        posted them too; one that lost it meanwhile looks in any case.
        """
        owned = OWNERSHIP.get()
        try:
            yield
        except asyncio.CancelledError:
            if not owned.is_certain():
                # In a context of its own: in that of the run, nothing is changed any more.
                tidying = asyncio.create_task(self._tidy(turn, route), context=Context())
                self._tidying.add(tidying)
                tidying.add_done_callback(self._tidying.discard)
            raise
        if is_again:
            with suppress(Refused):
                await self.posts.remove_doubles(route, turn.id)

    async def _tidy(self, turn: Turn | Command, route: ReplyRoute) -> None:
        for pause in TIDYING:
            await asyncio.sleep(pause)
            try:
                await self.posts.remove_doubles(route, turn.id)
            except (Refused, Unreachable, *MALFORMED) as trouble:
                logger.info("doubles were not looked for", extra={**log_fields(turn), "reason": str(trouble)})

    async def _uncover(self, turn: Turn, route: ReplyRoute, handle: str) -> None:
        """Show the outcome again once another process has shown it: a note from here may have come after it."""
        for pause in UNCOVERING:
            await asyncio.sleep(pause)
            try:
                if outcome := await self.outcomes(turn.id):
                    outcome = await self._as_readable_now(turn, outcome)
                    await self._show(turn, route, handle, outcome, is_again=True)
                    return
            except Unreachable:
                logger.info("an answer cannot be shown again yet", extra=log_fields(turn))
            except Exception:
                # The boundary of a background task: no other code sees its errors.
                logger.exception("an answer could not be shown again", extra=log_fields(turn))
                return

    async def _as_readable_now(self, turn: Turn, outcome: Outcome) -> Outcome:
        """An outcome that was recorded before a kill: rights may have changed until it is delivered."""
        store, footnote = self.commands.channel_store, self.commands.footnote
        try:
            reads = await store.reads(turn.conversation, turn.author, footnote.library)
            return await footnote.answers.within(outcome, reads.collections)
        except FootnoteError:
            return outcome_within(outcome, frozenset())

    async def _join(self, question: Question) -> None:
        """Become part of a thread by an answer that nobody asked the bot for."""
        channel_store = self.commands.channel_store
        await channel_store.remember_thread(question.conversation, question.author, question.asked_at)
        is_new = await channel_store.note_unasked(question.id, question.conversation, question.asked_at)
        if is_new and self.count is not None:
            await self.count(question)  # once, however often it is delivered

    async def _show(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        card_context = replace(
            await self.approval.card_context(route, outcome.proposal),
            can_retry=isinstance(turn, Question) or await self._is_open_again(turn, outcome),
            is_unasked=is_unaddressed(turn),
        )
        messages = self.renderer.messages(outcome, card_context)
        is_waiting = outcome.proposal is not None and outcome.proposal.is_open
        for part, message in enumerate(messages):
            try:
                if part:
                    await self.posts.say(route, turn.id, part, message, is_again=is_again)
                else:
                    await self.posts.finish(
                        route, handle, turn.id, message, is_again=is_again, is_waiting=is_waiting
                    )
            except Refused as refused:
                sign = "" if part else handle
                await self.private_replies.explain(turn, route, refused, outcome.language, sign=sign)
                return
        if outcome.proposal and outcome.proposal.is_open:
            await self._call_approvers(turn, route, outcome.proposal, len(messages), is_again=is_again)

    async def _is_open_again(self, turn: Turn | Command, outcome: Outcome) -> bool:
        """True if a search failed that can be decided again."""
        if not isinstance(turn, Decision) or outcome.kind != "failed":
            return False
        proposal = await self.cards.proposal_of(turn)
        return proposal is not None and proposal.is_open

    async def _call_approvers(
        self, turn: Turn | Command, route: ReplyRoute, proposal: Proposal, part: int, *, is_again: bool
    ) -> None:
        """In a message of its own: an edit, which the card may be, notifies nobody."""
        if called := await self.approval.to_notify(route, proposal):
            with suppress(Refused):
                call = self.renderer.call_approvers(proposal, called)
                await self.posts.say(route, turn.id, part, call, is_again=is_again)

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        if command.name == TELL:
            await self.private_replies.tell_stored(command, route)
        elif command.name == "withdraw":
            await self._command_runner.withdraw(command, route)
        else:
            act = self.teaching.carry_out if command.name in TAUGHT else self._command_runner.run
            async with self._once(command, route, is_again=is_again):
                await act(command, route, is_again=is_again)
