"""The messages that a chat platform shows: one for each turn, first with its progress, in the end with its outcome."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, cast

from bots.chat.channels import ChannelStore, thread_collection
from bots.chat.commands import ChatCommands, CommandRunner
from bots.chat.incoming import CHANGED, TELL, is_small_talk
from bots.chat.people import Approval, named_decision, named_messages, named_question
from bots.chat.platform import MALFORMED, Attachments, People, Posts, ProgressNote, Refused, Shown
from bots.chat.rechecks import AnswerMarks
from bots.chat.render import Layout
from bots.chat.replies import Replies
from bots.chat.teaching import Teaching
from bots.chat.texts import clipped, language_of_turn, progress_note
from bots.chat.uploads import UploadIndex
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
    is_unaddressed,
    log_fields,
)
from core.errors import FootnoteError, for_people
from core.graph.rights import outcome_within
from core.priority import BackgroundTasks
from core.turns.archive import NotShown
from core.turns.messenger import ReplyRoute, Report, Unreachable
from core.turns.replicas import OWNERSHIP

BETWEEN = 1.5  # seconds between two edits; Slack and Discord take about one message a second in a channel


@dataclass(slots=True, kw_only=True)
class ThrottledProgress:
    """Shows the newest progress of a turn, with a pause after each note, and again before it fades."""

    #: Shows it; the flag says whether it changed, or only the platform's sign of work fades.
    show: Callable[[Progress, bool], Awaitable[None]]
    refresh: float  #: seconds after which the platform's own sign of work fades, or nearly
    newest: Progress  #: at first what the message shows already
    is_ours: Callable[[], bool]  #: whether it is certain that the turn runs in this process alone
    between: float  #: seconds between two notes
    is_late: bool = False  #: whether the last note may have come when another process had shown the outcome
    _is_fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self._task = asyncio.create_task(self._run())

    def report(self, progress: Progress) -> None:
        self.newest = progress
        self._is_fresh.set()

    async def close(self) -> None:
        """Send no more notes. Waits for one that is being sent, which could cover the answer."""
        self._is_closed.set()
        self._is_fresh.set()
        await asyncio.wait([self._task])

    def cancel(self) -> None:
        """Send no more notes; one that is being sent may still arrive."""
        self._task.cancel()

    async def _run(self) -> None:
        shown, fades = self.newest, False  # it was shown just now
        while not self._is_closed.is_set():
            self._is_fresh.clear()
            newest = self.newest
            if self.is_ours() and (fades or newest != shown):
                self.is_late = is_new = newest != shown
                try:
                    await self.show(newest, is_new)
                    shown = newest
                except (Unreachable, Refused):
                    logger.info("a progress note was left out")
                finally:  # it is late if this process slept meanwhile, or is cut off
                    self.is_late = is_new and not self.is_ours()
            if not await _happens(self._is_closed, self.between):
                fades = not await _happens(self._is_fresh, self.refresh)


async def _happens(event: asyncio.Event, within: float) -> bool:
    try:
        return await asyncio.wait_for(event.wait(), within)
    except TimeoutError:
        return False


@dataclass(slots=True, kw_only=True)
class ProgressNotes(Generic[Shown]):
    """The notes of all turns that run, each in the language of its question."""

    replies: Replies[Shown]
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    #: Shows the outcome of a turn that ran on in another process, which a late note may have covered.
    uncover: Callable[[Turn, ReplyRoute, str], Coroutine[Any, Any, None]]
    _running: dict[str, ThrottledProgress] = field(default_factory=dict)  #: by turn
    _languages: dict[str, str] = field(default_factory=dict)  #: by turn
    _uncovering: BackgroundTasks = field(default_factory=BackgroundTasks)

    async def begin(self, turn: Turn, route: ReplyRoute, proposal: Proposal | None, *, is_again: bool) -> str:
        """Show the first sign of a turn, or of a decision about a proposal. Raises Refused and Unreachable."""
        language = language_of_turn(turn, (proposal,) if proposal else ())
        self._languages[turn.id] = language
        first = first_progress(turn)
        note = ProgressNote(stage=first.stage, sentence=progress_note(first, language))
        return await self.replies.posts.begin(route, turn.id, note, is_again=is_again)

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report:
        throttled = ThrottledProgress(
            show=partial(self._show, turn, route, handle), refresh=self.refresh, between=BETWEEN,
            newest=first_progress(turn), is_ours=OWNERSHIP.get().is_certain,
        )  # fmt: skip
        self._running[turn.id] = throttled
        if (run := asyncio.current_task()) is not None:
            run.add_done_callback(lambda _: self._leave(throttled, turn, route, handle))
        loop = asyncio.get_running_loop()
        # Steps of the graph may run in other threads.
        return lambda progress: cast("None", loop.call_soon_threadsafe(throttled.report, progress))

    async def _show(
        self, turn: Turn, route: ReplyRoute, handle: str, progress: Progress, is_new: bool
    ) -> None:
        language = self._languages.get(turn.id)
        if language is None:  # the first sign was shown by an earlier process
            proposals = await self.replies.proposals(turn.conversation) if isinstance(turn, Decision) else ()
            language = self._languages[turn.id] = language_of_turn(turn, proposals)
        sentence = progress_note(progress, language)
        answer = progress.answer
        note = ProgressNote(stage=progress.stage, sentence=sentence, answer=answer, language=language)
        await self.replies.posts.progress(route, handle, turn.id, note, is_new=is_new)

    def _leave(self, throttled: ThrottledProgress, turn: Turn, route: ReplyRoute, handle: str) -> None:
        """Stop the notes of a run that ended without :meth:`end`: another process goes on with the turn."""
        if self._running.get(turn.id) is not throttled:
            return
        del self._running[turn.id]
        self._languages.pop(turn.id, None)
        throttled.cancel()
        if throttled.is_late and not throttled.is_ours():
            # In a context of its own: in that of the run, nothing is shown any more.
            self._uncovering.start(self.uncover(turn, route, handle), Context())

    async def end(self, turn_id: str) -> None:
        """Send no more notes of the turn."""
        if throttled := self._running.pop(turn_id, None):
            await throttled.close()
        self._languages.pop(turn_id, None)


def first_progress(turn: Turn) -> Progress:
    return Progress(stage="searching" if isinstance(turn, Decision) else "reading")


logger = logging.getLogger(__name__)

THREAD_MESSAGE = 500  # characters of each message of the thread that a question is asked in
UNCOVERING = (0.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)  # seconds between looks at what a turn came to
TIDYING = (0.0, 5.0, 30.0)  # seconds between looks for what a run posted that went on elsewhere
TAUGHT = frozenset({"consult", "keep", "unkeep"})  # commands about answers that people give
PRIVATELY = "privately"  # a handle without a message: only the person who pressed gets a reply


@dataclass(slots=True, kw_only=True)
class ChatMessenger(Generic[Shown]):
    """The Messenger of one platform, over what its adapter offers."""

    commands: ChatCommands
    replies: Replies[Shown]
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    #: Called for a question that counts once it is answered.
    count: Callable[[Question], Awaitable[None]] | None = None
    teaching: Teaching[Shown] = field(init=False)
    _command_runner: CommandRunner[Shown] = field(init=False)
    _progress_notes: ProgressNotes[Shown] = field(init=False)
    _tidying: BackgroundTasks = field(default_factory=BackgroundTasks)

    def __post_init__(self) -> None:
        self.teaching = Teaching(commands=self.commands, replies=self.replies)
        self._command_runner = CommandRunner(commands=self.commands, replies=self.replies)
        notes = ProgressNotes(replies=self.replies, refresh=self.refresh, uncover=self._uncover)
        self._progress_notes = notes

    @classmethod
    def over(
        cls, footnote: Footnote, channel_store: ChannelStore, *, posts: Posts[Shown], renderer: Layout[Shown],
        people: People, uploads: Attachments, refresh: float, slash_commands: tuple[str, ...] = (),
    ) -> Self:  # fmt: skip
        """The messenger of a platform whose adapter offers these."""
        commands = ChatCommands(
            footnote=footnote, channel_store=channel_store, people=people,
            upload_index=UploadIndex(footnote=footnote, uploads=uploads), slash_commands=slash_commands,
        )  # fmt: skip
        replies = Replies(
            posts=posts, renderer=renderer, approval=Approval.of(footnote.settings, people),
            proposals=footnote.assistant.proposals,
        )  # fmt: skip
        return cls(commands=commands, replies=replies, refresh=refresh)

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        if isinstance(turn, Decision) and turn.verdict == "expire":
            return ""
        proposal = await self.replies.proposal_of(turn)
        if isinstance(turn, Decision):
            turn = await named_decision(turn, route, self.replies.approval.people)  # the card shows the query
            if proposal is None or not proposal.is_open_at(turn.decided_at):
                return PRIVATELY
            if turn.verdict == "deny":
                await self.replies.settle(turn, route, proposal)
                return ""
        if is_small_talk(turn):
            return ""  # answered at once
        if isinstance(turn, Question) and turn.reading_allowed_by:
            await self.replies.close_offer(turn, route)
        try:
            async with self._once(turn, route):
                handle = await self._progress_notes.begin(turn, route, proposal, is_again=is_again)
        except Refused as refused:
            return str(NotShown(code=refused.code, text=refused.text))
        if isinstance(turn, Decision) and proposal is not None:
            await self.replies.settle(turn, route, proposal)
        return handle

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        if isinstance(turn, Question):
            return await named_question(turn, route, self.replies.approval.people)
        return await named_decision(turn, route, self.replies.approval.people)

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if await self.commands.channel_store.has_forgotten(turn.conversation):
            return ()  # else what was forgotten would be read again from the platform
        try:
            messages = await self.replies.posts.thread_context(route)
        except Refused:
            extra = log_fields(turn)
            logger.warning("the thread before the question could not be read", extra=extra)
            return ()
        named = await named_messages(messages, route, self.replies.approval.people, language_of_turn(turn))
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
            return await self.replies.posts.starter(route)
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
            # By an answer that nobody asked for, the bot becomes part of a thread.
            store = self.commands.channel_store
            await store.remember_thread(turn.conversation, turn.author, turn.asked_at)
            is_new = await store.note_unasked(turn.id, turn.conversation, turn.asked_at)
            if is_new and self.count is not None:
                await self.count(turn)  # once, however often it is delivered
        if why := NotShown.parse(handle):
            await self.replies.explain(turn, route, Refused(why.code, why.text), outcome.language)
        elif handle == PRIVATELY:
            await self.replies.deliver(turn, route, outcome)
        elif isinstance(turn, Decision) and turn.verdict == "expire":
            if proposal := await self.replies.proposal_of(turn):
                await self.replies.settle(turn, route, proposal)
            await self.replies.posts.rest(route)
        else:
            async with self._once(turn, route, is_again=is_again):
                await self._show(turn, route, handle, outcome, is_again=is_again)

    @asynccontextmanager
    async def _once(
        self, turn: Turn | Command, route: ReplyRoute, *, is_again: bool = False
    ) -> AsyncIterator[None]:
        """Posts within the context. A process that took a turn over, or lost it, removes doubles afterwards."""
        owned = OWNERSHIP.get()
        try:
            yield
        except asyncio.CancelledError:
            if not owned.is_certain():
                # In a context of its own: in that of the run, nothing is changed any more.
                self._tidying.start(self._tidy(turn, route), Context())
            raise
        if is_again:
            with suppress(Refused):
                await self.replies.posts.remove_doubles(route, turn.id)

    async def _tidy(self, turn: Turn | Command, route: ReplyRoute) -> None:
        for pause in TIDYING:
            await asyncio.sleep(pause)
            try:
                await self.replies.posts.remove_doubles(route, turn.id)
            except (Refused, Unreachable, *MALFORMED) as trouble:
                extra = {**log_fields(turn), "reason": str(trouble)}
                logger.info("doubles were not looked for", extra=extra)

    async def _uncover(self, turn: Turn, route: ReplyRoute, handle: str) -> None:
        """Show the outcome again after another process did: a note from here may have covered it."""
        for pause in UNCOVERING:
            await asyncio.sleep(pause)
            try:
                if outcome := await self.replies.outcomes(turn.id):
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
        """The outcome within today's rights, which may have changed since it was recorded."""
        try:
            readable = await self.commands.readable(turn.conversation, turn.author)
            return await self.commands.footnote.answers.within(outcome, readable)
        except FootnoteError:
            return outcome_within(outcome, frozenset())

    async def _show(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        decided = await self.replies.proposal_of(turn) if outcome.kind == "failed" else None
        is_open_again = decided is not None and decided.is_open  # a search failed that can be decided again
        card_context = replace(
            await self.replies.approval.card_context(route, outcome.proposal),
            can_retry=isinstance(turn, Question) or is_open_again,
            is_unasked=is_unaddressed(turn),
        )
        posts, messages = self.replies.posts, self.replies.renderer.messages(outcome, card_context)
        proposal = outcome.proposal if outcome.proposal and outcome.proposal.is_open else None
        for part, message in enumerate(messages):
            try:
                if part:
                    await posts.say(route, turn.id, part, message, is_again=is_again)
                else:
                    is_waiting = proposal is not None
                    await posts.finish(
                        route, handle, turn.id, message, is_again=is_again, is_waiting=is_waiting
                    )
            except Refused as refused:
                sign = "" if part else handle
                await self.replies.explain(turn, route, refused, outcome.language, sign=sign)
                return
        if proposal and (called := await self.replies.approval.to_notify(route, proposal)):
            # In a message of its own: an edit, which the card may be, notifies nobody.
            with suppress(Refused):
                call = self.replies.renderer.call_approvers(proposal, called)
                await posts.say(route, turn.id, len(messages), call, is_again=is_again)

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        if command.name == TELL:
            await self.replies.tell_stored(command, route)
        elif command.name == CHANGED:
            withdrawn = self.commands.footnote.answers.withdrawn
            marks = AnswerMarks(replies=self.replies, readable=self.commands.readable, withdrawn=withdrawn)
            async with self._once(command, route, is_again=is_again):
                await marks.carry_out(command, route, is_again=is_again)
        elif command.name == "withdraw":
            await self._command_runner.withdraw(command, route)
        else:
            act = self.teaching.carry_out if command.name in TAUGHT else self._command_runner.run
            async with self._once(command, route, is_again=is_again):
                await act(command, route, is_again=is_again)
