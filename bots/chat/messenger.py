"""What a chat platform shows: one message for each turn, first with its progress, in the end with its outcome."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Generic, cast

from bots.chat import proposals as cards
from bots.chat.channels import ChannelStore, thread_collection
from bots.chat.commands import ChatCommands
from bots.chat.incoming import TELL, ChatCommand, is_small_talk, unqueued
from bots.chat.platform import (
    Approver,
    CardContext,
    CommandReply,
    Footnotes,
    Note,
    People,
    Posts,
    Refused,
    Renderer,
    Shown,
    Uploads,
    Work,
)
from bots.chat.texts import ENGINE_NAMES, language_of_turn, progress_note, say_in
from bots.chat.unreadable import MALFORMED
from bots.chat.upload_index import READ, UploadIndex, first_asked
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
)
from core.errors import FootnoteError, for_people
from core.settings import WebApproval
from core.text.language import language_of
from core.turns.archive import outcome_of, outcomes_in
from core.turns.assistant import Report
from core.turns.disk_watch import disk_trouble
from core.turns.messenger import NOWHERE, ReplyRoute, Unreachable
from core.wording import Sentence, in_language

logger = logging.getLogger(__name__)

CLOSING = 10.0  # seconds to take the buttons off a thread before it is forgotten in any case
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


PRIVATELY = "privately"  # a handle without a message: only the person who pressed gets a reply


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
    approvers: tuple[str, ...]  #: people, roles or user groups who may decide
    notifies_approvers: bool = False
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    outcomes: Callable[[str], Awaitable[Outcome | None]] = outcome_of  #: by turn, as long as it is stored
    #: Called for a question that counts once it is answered.
    count: Callable[[Question], None] = lambda _: None
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
        slash_commands: tuple[str, ...] = (),
    ) -> ChatMessenger[Shown]:
        """The messenger of a platform whose adapter offers these."""
        settings = footnote.settings
        return cls(
            posts=posts,
            renderer=renderer,
            people=people,
            commands=ChatCommands(
                footnote=footnote,
                channel_store=channel_store,
                people=people,
                upload_index=UploadIndex(footnote=footnote, uploads=uploads),
                slash_commands=slash_commands,
            ),
            proposals=footnote.assistant.proposals,
            engine=ENGINE_NAMES[settings.web_search],
            approval=settings.web_approval,
            approvers=settings.web_approvers,
            notifies_approvers=settings.notify_approvers,
            refresh=refresh,
        )

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        proposal = await self._proposal(turn) if isinstance(turn, Decision) else None
        if isinstance(turn, Decision):
            if proposal is None or not proposal.is_open:
                return PRIVATELY
            if turn.verdict == "deny":
                await self._settle_card(turn, route, proposal)
                return ""
        if is_small_talk(turn):
            return ""  # answered at once
        if isinstance(turn, Question) and turn.reading_allowed_by:
            await self._close_offer(turn, route)
        self._languages[turn.id] = language_of_turn(turn, (proposal,) if proposal else ())
        progress = _first_progress(turn)
        work = Work(stage=progress.stage, sentence=progress_note(progress, self._languages[turn.id]))
        try:
            handle = await self.posts.begin(route, turn.id, work, is_again=is_again)
        except Refused as refused:
            return f"{NOWHERE} {refused.code} {refused.text}"
        if isinstance(turn, Decision) and proposal is not None:
            await self._settle_card(turn, route, proposal)
        return handle

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        if self.commands.channel_store.has_forgotten(turn.conversation):
            return ()  # else what was forgotten would be read again from the platform
        try:
            return await self.posts.thread_context(route)
        except Refused:
            logger.warning("the thread before the question could not be read", extra=_named(turn))
            return ()

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:  # noqa: ARG002 - the port has it
        collection = thread_collection(question.conversation)
        try:
            indexed = await self.commands.upload_index.add(question.attachments, collection)
        except FootnoteError as trouble:
            return replace(question, unreadable=(for_people(trouble),))
        return replace(question, attached=tuple(map(str, indexed.files)), unreadable=indexed.failures)

    async def starter(self, conversation: Conversation, route: ReplyRoute) -> ThreadMessage | None:
        """What a thread begins with that the bot is not part of yet."""
        store = self.commands.channel_store
        if store.thread_state(conversation).knows_thread or store.has_forgotten(conversation):
            return None
        try:
            return await self.posts.starter(route)
        except (Refused, Unreachable, *MALFORMED):
            logger.warning("a thread could not be read", extra={"conversation": conversation.id})
            return None

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report:
        if handle in ("", PRIVATELY):
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
        work = Work(stage=progress.stage, sentence=progress_note(progress, language))
        await self.posts.progress(route, handle, turn.id, work, is_new=is_new)

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        if notes := self._notes.pop(turn.id, None):
            await notes.close()
        self._languages.pop(turn.id, None)
        if is_unaddressed(turn):
            self._join(turn)
        if handle.startswith(NOWHERE):
            _, code, text = f"{handle}  ".split(" ", 2)
            await self._explain(turn, route, Refused(code, text.strip()), outcome.language)
        elif handle == PRIVATELY:
            await self._deliver_privately(turn, route, outcome)
        else:
            await self._show(turn, route, handle, outcome, is_again=is_again)

    def _join(self, question: Question) -> None:
        """Become part of a thread by an answer that nobody asked the bot for."""
        channel_store = self.commands.channel_store
        channel_store.remember_thread(question.conversation, question.author, question.asked_at)
        if channel_store.note_unasked(question.id, question.conversation, question.asked_at):
            self.count(question)  # once, however often it is delivered

    async def _withdraw(self, command: Command, route: ReplyRoute) -> None:
        """Replace an answer that nobody asked the bot for by one line; repeated, it changes nothing more."""
        turn_id, language = unqueued(command).argument, unqueued(command).language
        outcome = await self.outcomes(turn_id)
        line = self.renderer.note(say_in(outcome.language if outcome else language)("withdrawn"))
        if first := await self.posts.find(route, turn_id, 0):
            try:
                await self.posts.change(route, first, turn_id, 0, line)
            except Refused as refused:  # a locked thread, for one
                await self._explain(command, route, refused, language)
                return
        others: list[str] = []
        for part in count(1):
            handle = await self.posts.find(route, turn_id, part)
            if handle is None:
                break
            others.append(handle)
        for handle in reversed(others):  # cut off in between, those that are left are found again
            await self.posts.delete(route, handle)

    async def _deliver_privately(self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome) -> None:
        proposal = await self._proposal(turn) if isinstance(turn, Decision) else None
        if proposal is not None and not proposal.is_open:
            message = self.renderer.decided_already(proposal, await self._card_context(route, proposal))
        else:
            message = self.renderer.note(outcome.reason or say_in(outcome.language)("own_fault"))
        await self._send_direct(turn, route, message, may_be_public=False)

    async def _explain(
        self, turn: Turn | Command, route: ReplyRoute, refused: Refused, language: str, *, sign: str = ""
    ) -> None:
        """Say why a message was refused: in place of the ``sign`` of work that stands, else in private."""
        logger.warning("cannot answer there", extra={**_named(turn), "reason": refused.code})
        if is_unaddressed(turn):
            return None  # nobody waits for it
        say = say_in(language)
        sentence = await self.posts.explain(route, refused, say) if refused.code else say("not_shown")
        proposal = await self._proposal(turn) if isinstance(turn, Decision) else None
        if proposal is not None and proposal.is_open:
            sentence = f"{sentence}\n{say('can_be_allowed')}"
        message = self.renderer.note(sentence)
        if sign:
            with suppress(Refused):
                return await self.posts.finish(route, sign, turn.id, message, is_again=True, is_waiting=False)
            with suppress(Refused):
                await self.posts.delete(route, sign)
        await self._send_direct(turn, route, message, may_be_public=True)
        return None

    async def _send_direct(
        self, turn: Turn | Command, route: ReplyRoute, message: Shown,
        *, name: str = "told", may_be_public: bool,
    ) -> None:  # fmt: skip
        """Only what holds nothing private ``may_be_public``, where its reader takes no direct messages."""
        try:
            await self.posts.send_direct(route, f"{turn.id}/{name}", message, may_be_public=may_be_public)
        except Refused as refused:
            extra = {**_named(turn), "user": turn.author, "reason": refused.code}
            logger.warning("no place to explain a refusal", extra=extra)

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        if command.name == TELL:
            await self._tell(command, route)
            return
        if command.name == "withdraw":
            await self._withdraw(command, route)
            return
        is_private = unqueued(command).is_private
        messages = [
            (message, is_private or (isinstance(reply, Note) and reply.is_private))
            for reply in await self._replies(command, route)
            for message in self.renderer.reply(reply)
        ]
        try:
            for part, (message, is_hidden) in enumerate(messages):
                if is_hidden:
                    await self._send_direct(command, route, message, name=str(part), may_be_public=False)
                else:
                    await self.posts.say(route, command.id, part, message, is_again=is_again)
        except Refused as refused:
            await self._explain(command, route, refused, unqueued(command).language)

    async def _tell(self, command: Command, route: ReplyRoute) -> None:
        message = self.renderer.note(command.details["sentence"])
        try:
            if command.details.get("is_private"):  # stored by an earlier version without it
                await self.posts.send_direct(route, command.id, message, may_be_public=True)
            else:
                await self.posts.send_ephemeral(route, message)
        except Refused:
            await self._send_direct(command, route, message, may_be_public=True)

    async def tell(self, command: ChatCommand, route: ReplyRoute, sentence: str) -> None:
        """Tell the author of a command in private why it does nothing."""
        await self.posts.send_direct(
            route, f"{command.id}/told", self.renderer.note(sentence), may_be_public=True
        )

    async def send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        """Show a sentence only to the person who wrote or pressed."""
        await self.posts.send_ephemeral(route, self.renderer.note(sentence))

    async def send_private_reply(self, route: ReplyRoute, reply: CommandReply) -> None:
        if isinstance(reply, Footnotes) and (window := self.renderer.window(reply)):
            try:
                await self.posts.open_editor(route, window)
                return
            except (Refused, Unreachable) as trouble:  # most often, the press was too long ago
                logger.info("no window could be opened", extra={"reason": str(trouble)})
        for message in self.renderer.reply(reply):
            await self.posts.send_ephemeral(route, message)

    async def refuse(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who may not decide who may."""
        sentence = cards.refused(proposal, await self._card_context(route, proposal))
        await self.posts.send_direct(
            route, f"{decision.id}/told", self.renderer.note(sentence), may_be_public=True
        )

    async def point_out_decision(self, route: ReplyRoute, proposal: Proposal) -> None:
        """Tell a person who decides too late who decided."""
        card_context = await self._card_context(route, proposal)
        await self.posts.send_ephemeral(route, self.renderer.decided_already(proposal, card_context))

    async def refuse_reading(self, route: ReplyRoute, question: Question) -> None:
        """Tell a person who may not let files be read who may."""
        names = await self.people.names(route, [question.author])
        say = say_in(language_of_turn(question))
        asker = CardContext(names=names).name(question.author) or say("somebody")
        await self.send_ephemeral(route, say("only_asker_lets_read", asker=asker))

    async def point_out_reading(self, route: ReplyRoute, question: Question) -> None:
        """Tell a person who presses too late who let the files be read."""
        card_context = await self._reading_context(route, question)
        await self.posts.send_ephemeral(route, self.renderer.reading_allowed(question, card_context))

    async def _reading_context(self, route: ReplyRoute, question: Question) -> CardContext:
        names = await self.people.names(route, [question.reading_allowed_by])
        return replace(await self._card_context(route), names=names, reading=question)

    async def open_editor(self, command_id: str, route: ReplyRoute, proposal: Proposal) -> None:
        """Open the form in which the query is edited; a platform opens none that comes too late."""
        try:
            await self.posts.open_editor(route, self.renderer.editor(proposal, route))
        except (Refused, Unreachable) as trouble:
            logger.warning("a form could not be opened", extra={"reason": str(trouble)})
            sentence = say_in(language_of(proposal.question))("form_not_opened")
            await self.posts.send_direct(
                route, f"{command_id}/told", self.renderer.note(sentence), may_be_public=True
            )

    async def _replies(self, command: Command, route: ReplyRoute) -> tuple[CommandReply, ...]:
        chat_command = unqueued(command)
        say = say_in(chat_command.language)
        if chat_command.name == "forget":
            await self._close_cards(command, route)
        try:
            return await self.commands.carry_out(chat_command, route)
        except Unreachable:  # carried out again when the platform can be reached
            raise
        except FootnoteError as trouble:
            sentence = in_language(for_people(trouble), chat_command.language)
            return (Note(text=sentence, is_private=True),)
        except sqlite3.OperationalError as trouble:
            logger.exception("a command could not be stored", extra=_named(command))
            reason = disk_trouble(trouble) or Sentence("disk_refused")
            return (Note(text=say("not_written", trouble=reason), is_private=True),)
        except Exception:
            # The boundary of a command: the person learns of every failure.
            logger.exception("a command failed", extra=_named(command))
            return (Note(text=say("own_fault"), is_private=True),)

    async def _show(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        can_retry = isinstance(turn, Question) or await self._is_open_again(turn, outcome)
        card_context = await self._card_context(route, outcome.proposal, can_retry=can_retry)
        card_context = replace(card_context, is_unasked=is_unaddressed(turn))
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
                return await self._explain(turn, route, refused, outcome.language, sign=sign)
        is_called = self.notifies_approvers and not self.people.is_direct(route)
        if is_called and outcome.proposal and outcome.proposal.is_open:
            await self._call_approvers(turn, route, outcome.proposal, len(messages), is_again=is_again)
        return None

    async def _call_approvers(
        self, turn: Turn | Command, route: ReplyRoute, proposal: Proposal, part: int, *, is_again: bool
    ) -> None:
        """In a message of its own: an edit, which the card may be, notifies nobody."""
        known = await self._known_approvers(route)
        if called := [one for one in known if one.id != proposal.asker]:
            with suppress(Refused):
                call = self.renderer.call_approvers(proposal, called)
                await self.posts.say(route, turn.id, part, call, is_again=is_again)

    async def _is_open_again(self, turn: Turn | Command, outcome: Outcome) -> bool:
        """Whether a search failed that can be decided again."""
        if not isinstance(turn, Decision) or outcome.kind != "failed":
            return False
        proposal = await self._proposal(turn)
        return proposal is not None and proposal.is_open

    async def _settle_card(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> None:
        """Show who decides and when in place of the buttons, before the decision is carried out."""
        proposed = await self.outcomes(proposal.turn_id)
        if proposed is None:  # no longer stored: an answer above the buttons must not be lost
            return
        decided = proposal.with_decision(decision)
        card_context = await self._card_context(route, decided)
        await self._replace_card(decision, route, replace(proposed, proposal=decided), card_context)

    async def _close_offer(self, question: Question, route: ReplyRoute) -> None:
        """Show who let the files be read, and when, in place of the button."""
        asked = first_asked(question.id)
        offered = await self.outcomes(asked) if asked else None
        if offered is None:
            return
        await self._replace_card(question, route, offered, await self._reading_context(route, question))

    async def _close_cards(self, forget: Command, route: ReplyRoute) -> None:
        """Take the buttons off what still waits in a thread. Nothing in the way of that keeps the thread."""
        waiting: list[Outcome] = []
        try:
            async with asyncio.timeout(CLOSING):
                waiting = await self._waiting(forget.conversation)
                card_context = replace(await self._card_context(route), is_forgotten=True)
                for outcome in waiting:
                    await self._replace_card(forget, route, outcome, card_context)
        except (Refused, Unreachable, FootnoteError, TimeoutError, *MALFORMED) as trouble:
            extra = {**_named(forget), "reason": str(trouble)}
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

    async def _replace_card(
        self, turn: Turn | Command, route: ReplyRoute, outcome: Outcome, card_context: CardContext
    ) -> None:
        """Show an earlier outcome anew, now that ``turn`` settled what it proposed: in its last message."""
        shown = self.renderer.messages(outcome, card_context)
        part = len(shown) - 1
        try:
            if card := await self.posts.find(route, outcome.turn_id, part):
                await self.posts.change(route, card, outcome.turn_id, part, shown[part])
        except Refused as refused:
            extra = {**_named(turn), "reason": refused.code}
            logger.warning("a card that was decided cannot be changed", extra=extra)

    async def _card_context(
        self, route: ReplyRoute, proposal: Proposal | None = None, *, can_retry: bool = False
    ) -> CardContext:
        """What the layout depends on, with the names of those who may decide or did."""
        people = (proposal.asker, proposal.decided_by) if proposal else ()
        card_context = CardContext(
            engine=self.engine,
            approval=self.approval,
            has_approvers=bool(self.approvers),
            can_retry=can_retry,
            names=await self.people.names(route, people),
        )
        if proposal is None or not proposal.is_open:
            return card_context
        is_direct = self.people.is_direct(route)
        if is_direct and await self._may_decide(route, proposal.asker):
            return replace(card_context, approval="asker", has_approvers=False)
        known = tuple(one.name for one in await self._known_approvers(route))
        return replace(card_context, approvers=known, is_hidden=is_direct)

    async def _may_decide(self, route: ReplyRoute, asker: str) -> bool:
        """Whether who asked may decide the search too."""
        if self.approval != "approvers" or asker in self.approvers:
            return True
        return bool(await self.people.groups_of(route, asker, self.approvers))

    async def _known_approvers(self, route: ReplyRoute) -> tuple[Approver, ...]:
        is_theirs = self.approvers and self.approval in ("asker", "approvers")
        return await self.people.approvers(route, self.approvers) if is_theirs else ()

    async def _proposal(self, turn: Decision) -> Proposal | None:
        proposals = await self.proposals(turn.conversation)
        return next((each for each in proposals if each.id == turn.proposal_id), None)


def _first_progress(turn: Turn) -> Progress:
    return Progress(stage="searching" if isinstance(turn, Decision) else "reading")


def _named(turn: Turn | Command) -> dict[str, str]:
    return {"turn": turn.id, "conversation": turn.conversation.id}
