"""The requests that a platform delivers: stored or started before they are acknowledged.

If anything here raises, the platform gets no acknowledgement and delivers again. If the disk refuses, storing
is retried, and the person who waits learns why.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from bots.chat.access import asking_once
from bots.chat.channels import ChannelStore
from bots.chat.incoming import TELL, ChatCommand, Feedback, Incoming, Rejection, Request, queued
from bots.chat.messenger import ChatMessenger
from bots.chat.platform import Refused
from bots.chat.replies import Replies, asked_anew, turn_asked_by
from bots.chat.texts import ENGLISH, clipped, say_in
from core.bootstrap import Footnote
from core.conversation import QUESTION_LIMIT, Command, Decision, Question, Verdict
from core.errors import StoreUnavailable
from core.priority import BackgroundTasks
from core.text.language import language_of
from core.turns.archive import has_ended, is_stored, question_of
from core.turns.messenger import ReplyRoute, Unreachable
from core.turns.rate_limits import Admission, Rates, Refusal, open_admission
from core.turns.turns import Turns
from core.wording import in_language

logger = logging.getLogger(__name__)

SILENCE = 1.5  # seconds before a delay is explained: a press must be answered within three
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries; doubled each time
#: Commands that take long or wait for a turn, also where the reply is private.
STORED_COMMANDS = ("learn", "forget", "learn_channel", "forget_channel", "learn_me", "forget_me")
DRAIN = 5.0  # seconds that background tasks get to finish at a stop

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Inbox:
    """The requests of one platform."""

    channel_store: ChannelStore
    messenger: ChatMessenger[Any]
    turns: Turns
    admission: Admission | None  #: None without rates
    reorder_window: float = 0.0  #: seconds within which messages of one thread may arrive out of order
    _replies: Replies[Any] = field(init=False)
    _background: BackgroundTasks = field(default_factory=BackgroundTasks)
    _accepting: dict[str, asyncio.Task[bool]] = field(default_factory=dict)  #: by request; edits apart

    def __post_init__(self) -> None:
        if self.admission is not None:
            self.messenger.count = self.admission.count
        self._replies = self.messenger.replies

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

    async def _explain_delay(self, accepting: asyncio.Task[Any], incoming: Incoming) -> None:
        """Wait, and say once that the disk has a problem; SQLite reports one only after some seconds."""
        while not accepting.done():
            await asyncio.wait([accepting], timeout=SILENCE)
            if not accepting.done() and (trouble := self.turns.disk.trouble):
                say = say_in(_language(incoming.request))
                self._send_ephemeral(incoming.route, say("not_stored", trouble=trouble))
                return

    async def _accept(self, incoming: Incoming) -> bool:
        request, route = incoming.request, incoming.route
        if await self._retry(self.channel_store.was_forgotten, request.id):
            return True
        match request:
            case Question():
                if incoming.is_edit:
                    if before := self._accepting.get(request.id):
                        await asyncio.wait([before])
                    request = await asked_anew(request)
                return await self._ask(request, incoming)
            case ChatCommand():
                return await self._command(request, incoming)
            case Decision():
                with self.turns.in_order(request.conversation, (request.decided_at, request.id)):
                    await self._decide(request, route)
            case Feedback():
                await self._rate(request, route)
            case Rejection():
                await self._tell(request, request.sentence, route)
        return True

    async def look_up(self, read: Callable[[], Awaitable[T]], without: Callable[[], Incoming | None]) -> T:
        """The stored facts about a message that arrives, once they can be read.

        Meanwhile the person learns why, if the message is for the bot even ``without`` what the store says.
        """
        try:
            return await read()
        except StoreUnavailable as trouble:
            if not self.turns.disk.is_passing(trouble):
                raise
        reading = asyncio.create_task(self._retry(read))
        if (incoming := without()) is not None:
            await self._explain_delay(reading, incoming)
        return await reading

    async def _retry(self, write: Callable[..., Awaitable[T]], *values: Any) -> T:
        """Call ``write`` until the disk takes what it writes."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await write(*values)
            except StoreUnavailable as trouble:
                if not self.turns.disk.is_passing(trouble):
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _ask(self, question: Question, incoming: Incoming) -> bool:
        admission = None if self.turns.has(question.id) else self.admission  # a redelivery was counted before
        window = self.reorder_window if incoming.is_follow_up else 0.0
        if not question.is_addressed:  # it counts once it is answered; refused, nothing is said
            if admission and not await self._retry(admission.has_room, question):
                return False
            await self.turns.accept(question, incoming.route, reorder_window=window)
            return True
        if admission and (refusal := await self._retry(admission.admit, question)):
            if admission.rates.tell(refusal, question.asked_at) or incoming.is_awaited:
                await self._refuse(question, refusal, incoming.route, admission.rates)
            return False
        if not incoming.is_in_place:
            thread = (question.conversation, question.author, question.asked_at)
            await self._retry(self.channel_store.remember_thread, *thread)
        await self.turns.accept(question, incoming.route, reorder_window=window)
        return True

    async def _refuse(self, question: Question, refusal: Refusal, route: ReplyRoute, rates: Rates) -> None:
        try:
            sentence = in_language(refusal.sentence, _language(question))
            await self._tell(question, sentence, route, is_private=True)
        except BaseException:  # it is not stored, and will be delivered again
            rates.forget_refusal(refusal)
            raise

    async def _decide(self, decision: Decision, route: ReplyRoute) -> None:
        """Store a decision, or tell its author alone why it is not allowed."""
        proposal = await self._replies.proposal_of(decision)
        if proposal is not None and proposal.is_open_at(decision.decided_at):
            decision = await self._replies.approval.with_groups(decision, route, proposal)
            if self._replies.approval.may_decide(decision, proposal):
                await self.turns.accept(decision, route, reorder_window=self.reorder_window)
                return
        if not await self._is_first(f"{decision.id}/told"):
            return
        if proposal is None:
            self._send_ephemeral(route, say_in(ENGLISH)("nothing_to_decide"))
        elif not proposal.is_open_at(decision.decided_at):
            self.begin(self._replies.point_out_decision(route, proposal))
        else:
            self.begin(self._replies.refuse(decision, route, proposal))

    async def _is_first(self, request_id: str) -> bool:
        return await self._retry(self.channel_store.is_first, request_id)

    async def _rate(self, feedback: Feedback, route: ReplyRoute) -> None:
        """Store a rating; a negative one asks what was wrong, and the reply is stored too."""
        rated, log = feedback.turn_id, self.messenger.commands.footnote.log
        await self._retry(
            partial(log.rate, is_positive=feedback.is_positive, at=feedback.given_at), rated, feedback.author
        )
        if feedback.fault is not None:
            await self._retry(log.explain, rated, feedback.author, feedback.fault, feedback.remark)
        elif not feedback.is_positive:
            self.begin(self.messenger.teaching.ask_what_was_wrong(feedback, route))
        if feedback.wants_person:
            consult = ChatCommand(
                name="consult", argument=rated, id=feedback.id, conversation=feedback.conversation,
                author=feedback.author, said_at=feedback.given_at,
            )  # fmt: skip
            await self._consult(consult, route)

    async def _consult(self, command: ChatCommand, route: ReplyRoute) -> None:
        """Have experts asked about a turn, once for all who press."""
        if await is_stored(asking_once(command.argument)):
            await self._tell(command, say_in(command.language)("asked_already"), route, is_private=True)
            return
        await self.turns.accept(queued(replace(command, id=asking_once(command.argument))), route)

    async def _tell(
        self, request: Request, sentence: str, route: ReplyRoute, *, is_private: bool = False
    ) -> None:
        """Store a sentence for the author of a request, once for all its deliveries."""
        command = Command(
            id=f"{request.id}/told", conversation=request.conversation, author=request.author, name=TELL,
            details={"sentence": sentence, "is_private": is_private}, said_at=time.time(), is_apart=True,
        )  # fmt: skip
        await self.turns.accept(command, {key: each for key, each in route.items() if key != "opens"})

    async def _command(self, command: ChatCommand, incoming: Incoming) -> bool:
        route = incoming.route
        if command.name in ("approve", "deny"):
            with self.turns.in_order(command.conversation, (command.said_at, command.id)):
                await self._decide_newest(command, route)
        elif command.name in ("again", "read", "choose"):
            await self._press(command, incoming)
        elif command.name == "consult":
            await self._consult(command, route)
        elif command.name == "starter":
            await self._ask_starter(command, incoming)
        elif command.name == "withdraw":
            await self._retry(self.channel_store.withdraw, command.argument, command.conversation)
            await self.turns.accept(replace(queued(command), is_apart=True), route)
        elif command.name == "edit":
            self.begin(self._edit(command, route))
        elif command.name == "stop":
            await self._stop(command, route)
        elif command.name == "footnotes" or (command.is_private and command.name not in STORED_COMMANDS):
            self.begin(self._reply_privately(command, route))
        elif not self.turns.has(command.id) and (refusal := await self._refusal(command, route)):
            await self._tell(command, refusal, route, is_private=True)
            return False
        else:
            await self.turns.accept(queued(command), route)
        return True

    async def _refusal(self, command: ChatCommand, route: ReplyRoute) -> str | None:
        with suppress(Unreachable):  # it is checked again when the command is carried out
            return await self.messenger.commands.refusal(command, route)
        return None

    async def _stop(self, command: ChatCommand, route: ReplyRoute) -> None:
        """Stop at once, even if the disk takes nothing. The stopped turn says so itself."""
        try:
            is_first = await self.channel_store.is_first(command.id)
        except StoreUnavailable:
            is_first = True
        if is_first and not await self.turns.stop(command.conversation):
            self.begin(self._replies.tell(command.id, route, say_in(command.language)("nothing_running")))

    async def _decide_newest(self, command: ChatCommand, route: ReplyRoute) -> None:
        """A written "approve" or "deny" is about the newest open proposal that its author can have seen."""
        proposals, said_at = await self._replies.proposals(command.conversation), command.said_at
        open_ones = [each for each in proposals if each.is_open_at(said_at) and each.proposed_at <= said_at]
        while open_ones and not await has_ended(open_ones[-1].turn_id):  # its card is on the way
            open_ones.pop()
        if not open_ones:
            if await self._is_first(command.id):
                sentence = say_in(command.language)("nothing_to_decide")
                self.begin(self._replies.tell(command.id, route, sentence))
            return
        verdict: Verdict = "approve" if command.name == "approve" else "deny"
        await self._decide(command.press.decision(verdict, open_ones[-1].id, command.argument or None), route)

    async def _press(self, command: ChatCommand, incoming: Incoming) -> None:
        """Start the turn that a press asks for: one, however often the button is pressed."""
        turn = await turn_asked_by(command)
        if turn is None:
            self._send_ephemeral(incoming.route, say_in(command.language)("no_question_left"))
        elif isinstance(turn, Decision):
            with self.turns.in_order(turn.conversation, (turn.decided_at, turn.id)):
                await self._decide(turn, incoming.route)
        elif command.name != "read" or await self._lets_read(command.author, turn, incoming.route):
            await self._ask(turn, incoming)

    async def _lets_read(self, presser: str, question: Question, route: ReplyRoute) -> bool:
        """True if a press lets the files of a question be read; else the person learns why not."""
        if not await self._replies.approval.may_allow_reading(question, presser, route):
            self.begin(self._replies.refuse_reading(route, question))
        elif (earlier := await question_of(question.id)) is not None:
            self.begin(self._replies.point_out_reading(route, earlier))
        else:
            return True
        return False

    async def _ask_starter(self, command: ChatCommand, incoming: Incoming) -> None:
        """Ask the question that a thread begins with; reply with help where the bot is part of it already."""
        if await is_stored(command.id):
            return  # for what it was taken the first time
        starter = await self.messenger.starter(command.conversation, incoming.route)
        if starter is None or not any(sign.isalnum() for sign in starter.text):
            await self.turns.accept(queued(replace(command, name="help")), incoming.route)
            return
        await self._ask(command.press.question(clipped(starter.text, QUESTION_LIMIT)), incoming)

    async def _edit(self, command: ChatCommand, route: ReplyRoute) -> None:
        decision = command.press.decision("approve", command.argument)
        proposal = await self._replies.proposal_of(decision)
        if proposal is None:
            await self._replies.send_ephemeral(route, say_in(command.language)("nothing_to_decide"))
        elif not proposal.is_open_at(command.said_at):
            await self._replies.point_out_decision(route, proposal)
        elif not self._replies.approval.may_decide(
            await self._replies.approval.with_groups(decision, route, proposal), proposal
        ):
            await self._replies.refuse(decision, route, proposal)
        else:
            await self._replies.open_editor(command.id, route, proposal)

    async def _reply_privately(self, command: ChatCommand, route: ReplyRoute) -> None:
        for reply in await self.messenger.commands.carry_out(command, route):
            await self._replies.send_reply(route, reply)

    def _send_ephemeral(self, route: ReplyRoute, sentence: str) -> None:
        self.begin(self._replies.send_ephemeral(route, sentence))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background; its failure is logged."""
        self._background.start(_log_failure(work))

    async def drain(self) -> None:
        """Let background tasks finish for some seconds; what is not stored by then is delivered again."""
        for accepting in self._accepting.values():
            accepting.cancel()
        if self._background:
            await asyncio.wait(self._background, timeout=DRAIN)


async def admission_of(footnote: Footnote, turns: Turns, platforms: Collection[str]) -> Admission | None:
    """The limits on questions of these platforms together; those of earlier processes count."""
    person, channel = footnote.settings.questions_per_person, footnote.settings.questions_per_channel
    admission = open_admission(Rates(per_person=person, per_channel=channel), footnote.storage)
    if admission is not None and admission.shared is None:
        for question in await turns.questions_since(time.time() - admission.rates.longest):
            if question.conversation.platform in platforms:
                await admission.count(question)
    return admission


def _language(request: Request) -> str:
    if isinstance(request, Question):
        return language_of(request.text)
    return request.language if isinstance(request, ChatCommand) else ENGLISH


async def _log_failure(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except (Refused, Unreachable) as trouble:
        logger.warning("a message could not be sent", extra={"reason": str(trouble)})
    except Exception:
        # The boundary of a background task: no other code sees its errors.
        logger.exception("a background task failed")
