"""The requests that a platform delivers: stored or started before they are acknowledged.

If anything here raises, the platform gets no acknowledgement and delivers again. If the disk refuses, storing
is retried, and the person who waits learns why.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from bots.chat.channels import ChannelStore
from bots.chat.incoming import (
    TELL,
    ChatCommand,
    CommandName,
    Feedback,
    Incoming,
    Rejection,
    Request,
    queued,
)
from bots.chat.messenger import ChatMessenger
from bots.chat.platform import People, Refused
from bots.chat.texts import ENGLISH, clipped, say_in
from bots.chat.upload_index import with_reading
from core.conversation import QUESTION_LIMIT, Command, Decision, Proposal, Question, Turn, Verdict
from core.graph.approval import may_allow_reading, may_decide
from core.settings import Settings
from core.text.language import language_of
from core.turns.archive import is_erased, is_stored, outcome_of, question_of, stored_turn
from core.turns.assistant import Assistant
from core.turns.messenger import ReplyRoute, Unreachable
from core.turns.rate_limits import Rates, Refusal
from core.turns.turns import Turns
from core.wording import in_language

logger = logging.getLogger(__name__)

SILENCE = 1.5  # seconds before a delay is explained: a press must be answered within three
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries; doubled each time
STORED = ("learn", "forget")  # commands that take long or wait for a turn, also where the reply is private
#: How often it is looked whether a message that an edit changes was left unanswered, and seconds between.
LOOKS, LOOK_EVERY = 20, 0.1
DRAIN = 5.0  # seconds that background tasks get to finish at a stop

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Inbox:
    """The requests of one platform."""

    settings: Settings
    assistant: Assistant
    channel_store: ChannelStore
    people: People
    messenger: ChatMessenger[Any]
    turns: Turns
    rates: Rates
    reorder_window: float = 0.0  #: seconds within which messages of one thread may arrive out of order
    _background: set[asyncio.Task[None]] = field(default_factory=set)
    _accepting: dict[str, asyncio.Task[bool]] = field(
        default_factory=dict
    )  #: by the request's id; edits apart

    def __post_init__(self) -> None:
        self.messenger.count = self._count

    async def accept(self, incoming: Incoming) -> bool:
        """Store or start a request; False if it was refused with a sentence.

        If the disk refuses, the person learns why, and this returns when the disk works again.
        """
        request_id = f"{incoming.request.id}/edit" if incoming.is_edit else incoming.request.id
        accepting = self._accepting.get(request_id)
        if accepting is None:  # otherwise it was delivered twice
            accepting = asyncio.create_task(self._accept(incoming))
            self._accepting[request_id] = accepting
            accepting.add_done_callback(partial(self._accepted, request_id))
            await self._explain_delay(accepting, incoming)
        return await asyncio.shield(accepting)

    def _accepted(self, request_id: str, accepting: asyncio.Task[bool]) -> None:
        del self._accepting[request_id]
        if not accepting.cancelled():
            accepting.exception()  # a waiting caller gets it; without one, asyncio would log it

    async def _explain_delay(self, accepting: asyncio.Task[bool], incoming: Incoming) -> None:
        """Wait, and say once what the disk's trouble is; SQLite itself waits some seconds before it reports one."""
        while not accepting.done():
            await asyncio.wait([accepting], timeout=SILENCE)
            if not accepting.done() and (trouble := self.turns.disk.trouble):
                say = say_in(_language(incoming.request))
                self._send_ephemeral(incoming.route, say("not_stored", trouble=trouble))
                return

    async def _accept(self, incoming: Incoming) -> bool:
        request, route = incoming.request, incoming.route
        if self.channel_store.was_forgotten(request.id):
            return True
        match request:
            case Question():
                if incoming.is_edit:
                    if before := self._accepting.get(request.id):
                        await asyncio.wait([before])
                    request = await _asked_anew(request)
                return await self._ask(request, incoming)
            case ChatCommand():
                return await self._command(request, incoming)
            case Decision():
                with self.turns.in_order(request.conversation, (request.decided_at, request.id)):
                    await self._decide(request, route)
            case Feedback():
                await self._retry(self.channel_store.rate, request)
            case Rejection():
                await self._tell(request, request.sentence, route)
        return True

    async def _retry(self, write: Callable[..., T], *values: Any) -> T:
        """Call ``write`` until the disk takes what it writes."""
        pause = FIRST_PAUSE
        while True:
            try:
                return write(*values)
            except sqlite3.Error as trouble:
                if not self.turns.disk.is_passing(trouble):
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _ask(self, question: Question, incoming: Incoming) -> bool:
        if not question.is_addressed:
            return await self._consider(question, incoming)
        if not self.turns.has(question.id):  # a redelivery was counted before
            refusal = self.rates.admit(question.author, question.conversation.channel_id, question.asked_at)
            if refusal is not None:
                if self.rates.tell(refusal, question.asked_at) or incoming.is_awaited:
                    await self._refuse(question, refusal, incoming.route)
                return False
        if not incoming.is_in_place:
            thread = (question.conversation, question.author, question.asked_at)
            await self._retry(self.channel_store.remember_thread, *thread)
        window = self.reorder_window if incoming.is_follow_up else 0.0
        await self.turns.accept(question, incoming.route, reorder_window=window)
        return True

    async def _consider(self, question: Question, incoming: Incoming) -> bool:
        """Store a question that nobody addressed to the bot. It counts once it is answered; refused, nothing is said."""
        channel = question.conversation.channel_id
        if not self.turns.has(question.id) and not self.rates.has_room(
            question.author, channel, question.asked_at
        ):
            return False
        window = self.reorder_window if incoming.is_follow_up else 0.0
        await self.turns.accept(question, incoming.route, reorder_window=window)
        return True

    def _count(self, question: Question) -> None:
        self.rates.count(question.author, question.conversation.channel_id, question.asked_at)

    async def _refuse(self, question: Question, refusal: Refusal, route: ReplyRoute) -> None:
        try:
            sentence = in_language(refusal.sentence, _language(question))
            await self._tell(question, sentence, route, is_private=True)
        except BaseException:  # it is not stored, and will be delivered again
            self.rates.forget_refusal(refusal)
            raise

    async def _decide(self, decision: Decision, route: ReplyRoute) -> None:
        """Store a decision, or tell its author alone why it is not allowed."""
        proposal = await self._proposal(decision)
        if proposal is not None and proposal.is_open:
            decision = await self._with_groups(decision, route, proposal)
            if self._may_decide(decision, proposal):
                await self.turns.accept(decision, route, reorder_window=self.reorder_window)
                return
        if not await self._is_first(f"{decision.id}/told"):
            return
        if proposal is None:
            self._send_ephemeral(route, say_in(ENGLISH)("nothing_to_decide"))
        elif not proposal.is_open:
            self.begin(self.messenger.point_out_decision(route, proposal))
        else:
            self.begin(self.messenger.refuse(decision, route, proposal))

    async def _is_first(self, request_id: str) -> bool:
        """True only for the first delivery."""
        return await self._retry(self.channel_store.is_first, request_id)

    async def _tell(
        self, request: Request, sentence: str, route: ReplyRoute, *, is_private: bool = False
    ) -> None:
        """Store a sentence for the author of a request, once for all its deliveries."""
        command = Command(
            id=f"{request.id}/told",
            conversation=request.conversation,
            author=request.author,
            name=TELL,
            details={"sentence": sentence, "is_private": is_private},
            said_at=time.time(),
            is_apart=True,
        )
        await self.turns.accept(command, {key: each for key, each in route.items() if key != "opens"})

    async def _command(self, command: ChatCommand, incoming: Incoming) -> bool:
        route = incoming.route
        if command.name in ("approve", "deny"):
            with self.turns.in_order(command.conversation, (command.said_at, command.id)):
                await self._decide_newest(command, route)
        elif asking := self._asking().get(command.name):
            await asking(command, incoming)
        elif command.name == "withdraw":
            await self._retry(self.channel_store.withdraw, command.argument, command.conversation)
            await self.turns.accept(replace(queued(command), is_apart=True), route)
        elif command.name == "edit":
            self.begin(self._edit(command, route))
        elif command.name == "stop":
            await self._stop(command, route)
        elif command.name == "footnotes" or (command.is_private and command.name not in STORED):
            self.begin(self._reply_privately(command, route))
        elif not self.turns.has(command.id) and (refusal := await self._refusal(command, route)):
            await self._tell(command, refusal, route, is_private=True)
            return False
        else:
            await self.turns.accept(queued(command), route)
        return True

    def _asking(self) -> Mapping[CommandName, Callable[[ChatCommand, Incoming], Awaitable[None]]]:
        """The commands that ask a question."""
        return {
            "again": self._ask_again, "read": self._read_files, "choose": self._ask_option,
            "starter": self._ask_starter,
        }  # fmt: skip

    async def _refusal(self, command: ChatCommand, route: ReplyRoute) -> str | None:
        try:
            return await self.messenger.commands.refusal(command, route)
        except Unreachable:  # it is checked again when the command is carried out
            return None

    async def _stop(self, command: ChatCommand, route: ReplyRoute) -> None:
        """Stop at once, even if the disk takes nothing. The stopped turn says so itself."""
        try:
            is_first = self.channel_store.is_first(command.id)
        except sqlite3.Error:
            is_first = True
        if is_first and not await self.turns.stop(command.conversation):
            self.begin(self.messenger.tell(command, route, say_in(command.language)("nothing_running")))

    async def _decide_newest(self, command: ChatCommand, route: ReplyRoute) -> None:
        """A written "approve" or "deny" is about the newest open proposal."""
        proposals = await self.assistant.proposals(command.conversation)
        open_ones = [proposal for proposal in proposals if proposal.is_open]
        if not open_ones:
            if await self._is_first(command.id):
                sentence = say_in(command.language)("nothing_to_decide")
                self.begin(self.messenger.tell(command, route, sentence))
            return
        verdict: Verdict = "approve" if command.name == "approve" else "deny"
        decision = _decision(command, open_ones[-1].id, verdict, command.argument or None)
        await self._decide(decision, route)

    async def _ask_again(self, command: ChatCommand, incoming: Incoming) -> None:
        """Repeat a failed turn: one new turn, however often the button is pressed."""
        turn = await stored_turn(command.argument)
        if turn is None or turn.conversation != command.conversation:
            self._send_ephemeral(incoming.route, say_in(command.language)("no_question_left"))
            return
        again = tried_again(turn, command.author)
        if isinstance(again, Question):
            await self._ask(replace(again, asked_at=command.said_at), incoming)
            return
        with self.turns.in_order(again.conversation, (command.said_at, again.id)):
            await self._decide(replace(again, decided_at=command.said_at), incoming.route)

    async def _read_files(self, command: ChatCommand, incoming: Incoming) -> None:
        """Ask a question once more, now with its files: one new turn, however often the button is pressed."""
        question = await question_of(command.argument)
        if question is None or question.conversation != command.conversation:
            self._send_ephemeral(incoming.route, say_in(command.language)("no_question_left"))
            return
        allowed = with_reading(question, command.author, command.said_at)
        settings = self.settings
        groups = await self.people.groups_of(incoming.route, command.author, settings.web_approvers)
        may_allow = may_allow_reading(
            question, command.author, groups, approval=settings.web_approval, approvers=settings.web_approvers
        )
        if not may_allow:
            self.begin(self.messenger.refuse_reading(incoming.route, question))
        elif (earlier := await question_of(allowed.id)) is not None:
            self.begin(self.messenger.point_out_reading(incoming.route, earlier))
        else:
            await self._ask(allowed, incoming)

    async def _ask_option(self, command: ChatCommand, incoming: Incoming) -> None:
        """Ask one of the options with which a question was answered."""
        number, _, turn_id = command.argument.partition(":")
        question, outcome = await question_of(turn_id), await outcome_of(turn_id)
        is_from_here = question is not None and question.conversation == command.conversation
        options = outcome.options if outcome and is_from_here else ()
        if not number.isdecimal() or not 0 < int(number) <= len(options):
            self._send_ephemeral(incoming.route, say_in(command.language)("no_question_left"))
            return
        chosen = Question(
            id=command.id, conversation=command.conversation, author=command.author,
            text=options[int(number) - 1], asked_at=command.said_at,
        )  # fmt: skip
        await self._ask(chosen, incoming)

    async def _ask_starter(self, command: ChatCommand, incoming: Incoming) -> None:
        """Ask the question that a running thread begins with; where the bot is part of it already, help."""
        if await is_stored(command.id):
            return  # for what it was taken the first time
        starter = await self.messenger.starter(command.conversation, incoming.route)
        if starter is None or not any(sign.isalnum() for sign in starter.text):
            await self.turns.accept(queued(replace(command, name="help")), incoming.route)
            return
        question = Question(
            id=command.id, conversation=command.conversation, author=command.author,
            text=clipped(starter.text, QUESTION_LIMIT), asked_at=command.said_at,
        )  # fmt: skip
        await self._ask(question, incoming)

    async def _edit(self, command: ChatCommand, route: ReplyRoute) -> None:
        decision = _decision(command, command.argument, "approve")
        proposal = await self._proposal(decision)
        if proposal is None:
            await self.messenger.send_ephemeral(route, say_in(command.language)("nothing_to_decide"))
        elif not proposal.is_open:
            await self.messenger.point_out_decision(route, proposal)
        elif not self._may_decide(await self._with_groups(decision, route, proposal), proposal):
            await self.messenger.refuse(decision, route, proposal)
        else:
            await self.messenger.open_editor(command.id, route, proposal)

    async def _reply_privately(self, command: ChatCommand, route: ReplyRoute) -> None:
        for reply in await self.messenger.commands.carry_out(command, route):
            await self.messenger.send_private_reply(route, reply)

    def _may_decide(self, decision: Decision, proposal: Proposal) -> bool:
        settings = self.settings
        return may_decide(
            proposal, decision, approval=settings.web_approval, approvers=settings.web_approvers
        )

    async def _with_groups(self, decision: Decision, route: ReplyRoute, proposal: Proposal) -> Decision:
        if self._may_decide(decision, proposal):  # in whatever groups the author is
            return decision
        groups = await self.people.groups_of(route, decision.author, self.settings.web_approvers)
        return replace(decision, groups=groups)

    async def _proposal(self, decision: Decision) -> Proposal | None:
        proposals = await self.assistant.proposals(decision.conversation)
        return next((each for each in proposals if each.id == decision.proposal_id), None)

    def _send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        self.begin(self.messenger.send_ephemeral(route, sentence))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background; the reference keeps its task from being collected."""
        task = asyncio.create_task(_log_failure(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def drain(self) -> None:
        """Let background tasks finish for some seconds; what is not stored by then is delivered again."""
        for accepting in self._accepting.values():
            accepting.cancel()
        if self._background:
            await asyncio.wait(self._background, timeout=DRAIN)


async def rates_of(settings: Settings, turns: Turns, platform: str) -> Rates:
    """How much a platform's people may ask; the questions of earlier processes count."""
    rates = Rates(per_person=settings.questions_per_person, per_channel=settings.questions_per_channel)
    if rates.longest:
        for question in await turns.questions_since(time.time() - rates.longest):
            if question.conversation.platform == platform:
                rates.count(question.author, question.conversation.channel_id, question.asked_at)
    return rates


def _language(request: Request) -> str:
    """The author's language, if known; otherwise English."""
    if isinstance(request, Question):
        return language_of(request.text)
    return request.language if isinstance(request, ChatCommand) else ENGLISH


def _decision(command: ChatCommand, proposal_id: str, verdict: Verdict, query: str | None = None) -> Decision:
    return Decision(
        id=command.id, conversation=command.conversation, author=command.author, proposal_id=proposal_id,
        verdict=verdict, query=query, decided_at=command.said_at,
    )  # fmt: skip


async def _asked_anew(edited: Question) -> Question:
    """What an edit asks of a message that nobody addressed to the bot, and that it left unanswered."""
    for _ in range(LOOKS):
        has_ended = await outcome_of(edited.id) is not None
        before = await question_of(edited.id)
        if before is not None and is_erased(before):
            return replace(edited, id=_next_try(edited.id))
        if before is None or before.is_addressed or has_ended:
            break
        await asyncio.sleep(LOOK_EVERY)  # it is being looked into
    return edited


def tried_again(turn: Turn, presser: str) -> Turn:
    """The turn anew, by whoever pressed; but only who brought files may let them be read, so they stay the asker."""
    is_with_files = isinstance(turn, Question) and turn.attachments
    return replace(turn, id=_next_try(turn.id), author=turn.author if is_with_files else presser)


def _next_try(turn_id: str) -> str:
    """ "q" -> "q~2" -> "q~3"; what follows a slash is part of the name."""
    first, _, number = turn_id.rpartition("~")
    return f"{first}~{int(number) + 1}" if number.isdecimal() and first else f"{turn_id}~2"


async def _log_failure(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except (Refused, Unreachable) as trouble:
        logger.warning("a message could not be sent", extra={"reason": str(trouble)})
    except Exception:
        # The boundary of a background task: no other code sees its errors.
        logger.exception("a background task failed")
