"""What people say, taken in: stored before it is acknowledged, or begun beside it.

Whatever raises here is not acknowledged, and the platform brings it again.

What the disk does not take yet: tried until it does, and told of to whoever waits.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from bots.chat.channels import ChannelStore
from bots.chat.incoming import TELL, ChatCommand, Feedback, Incoming, queued
from bots.chat.messenger import ChatMessenger
from bots.chat.platform import People, Refused
from bots.chat.texts import ENGLISH, say_in
from core.conversation import Command, Conversation, Decision, Proposal, Question
from core.graph.approval import may_decide
from core.settings import Settings
from core.text.language import language_of
from core.turns.archive import outcome_of, question_of
from core.turns.assistant import Assistant
from core.turns.disk_watch import DiskWatch
from core.turns.messenger import ReplyRoute, Unreachable
from core.turns.rate_limits import Rates, Refusal
from core.turns.turns import Turns
from core.wording import in_language

UNTOLD = 1.5  # seconds that nobody is told: a press is to be answered within three
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries; doubled each time

T = TypeVar("T")


async def written(disk: DiskWatch, write: Callable[..., T], *values: Any) -> T:
    """What ``write`` gives back; as long as the disk takes nothing, again, as the queue does by itself."""
    pause = FIRST_PAUSE
    while True:
        try:
            return write(*values)
        except sqlite3.Error as trouble:
            if not disk.is_passing(trouble):
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


async def tell_what_keeps(taking: asyncio.Task[Any], disk: DiskWatch, tell: Callable[[str], None]) -> None:
    """Why, until it is done or told of; SQLite itself waits some seconds for another program before it says so."""
    while not taking.done():
        await asyncio.wait([taking], timeout=UNTOLD)
        if not taking.done() and disk.trouble:
            tell(disk.trouble)
            return


logger = logging.getLogger(__name__)

DRAIN = 5.0  # seconds that what is under way beside the turns gets to finish at a stop


@dataclass(slots=True, kw_only=True)
class Inbox:
    """One platform's way in."""

    settings: Settings
    assistant: Assistant
    channel_store: ChannelStore
    people: People
    messenger: ChatMessenger[Any]
    turns: Turns
    rates: Rates
    settle: float = 0.0  #: seconds within which messages of one thread may come the other way round
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _taking: dict[str, asyncio.Task[bool]] = field(default_factory=dict)  #: by the id of what was said

    async def take(
        self, said: Incoming, route: ReplyRoute, *, files: int = 0, is_awaited: bool = False
    ) -> bool:
        """What this calls for is stored or begun when it returns; False where that is a word of refusal.

        ``files`` came with it. ``is_awaited``: the platform says that it failed unless a word comes back.
        Where the disk takes nothing, whoever spoke is told so, and this returns once it does.
        """
        taking = self._taking.get(said.id)
        if taking is None:  # else it is brought again meanwhile
            taking = asyncio.create_task(self._take(said, route, files=files, is_awaited=is_awaited))
            self._taking[said.id] = taking
            taking.add_done_callback(partial(self._is_taken, said.id))
            say = say_in(_language(said))
            tell = lambda trouble: self._whisper(route, say("not_stored", trouble=trouble))  # noqa: E731
            await tell_what_keeps(taking, self.turns.disk, tell)
        return await asyncio.shield(taking)

    def _is_taken(self, said_id: str, taking: asyncio.Task[bool]) -> None:
        del self._taking[said_id]
        if not taking.cancelled():
            taking.exception()  # whoever still waits for it gets it; nobody has to

    async def _take(self, said: Incoming, route: ReplyRoute, *, files: int, is_awaited: bool) -> bool:
        if self.channel_store.was_forgotten(said.id):
            return True
        if isinstance(said, Question):
            is_taken = await self._ask(said, route, is_awaited=is_awaited)
            if (
                is_taken
                and files
                and await written(self.turns.disk, self.channel_store.take_word, f"{said.id}/told")
            ):
                self._whisper(route, say_in(_language(said))("file_not_read"))
            return is_taken
        if isinstance(said, ChatCommand):
            return await self._hear(said, route)
        if isinstance(said, Decision):
            with self.turns.in_line(said.conversation, (said.decided_at, said.id)):
                await self._decide(said, route)
        elif isinstance(said, Feedback):
            await written(self.turns.disk, self.channel_store.rate, said)
        return True

    async def _ask(self, question: Question, route: ReplyRoute, *, is_awaited: bool = False) -> bool:
        if not self.turns.has(question.id):  # what is brought again was counted
            refusal = self.rates.admit(question.author, question.conversation.channel_id, question.asked_at)
            if refusal is not None:
                if self.rates.tell(refusal, question.asked_at) or is_awaited:
                    await self._refuse(question, refusal, route)
                return False
        is_follow_up = self.channel_store.room_of(question.conversation).knows_thread
        thread = (question.conversation, question.author, question.asked_at)
        await written(self.turns.disk, self.channel_store.remember_thread, *thread)
        await self.turns.accept(question, route, settle=self.settle if is_follow_up else 0.0)
        return True

    async def _refuse(self, question: Question, refusal: Refusal, route: ReplyRoute) -> None:
        try:
            told = in_language(refusal.sentence, _language(question))
            await self._tell_privately(question, told, route)
        except BaseException:  # it is not stored, and will be brought again
            self.rates.was_not_told(refusal)
            raise

    async def _decide(self, decision: Decision, route: ReplyRoute) -> None:
        """Store a decision that may be made; whoever may not make it is told so, and nobody else."""
        proposal = await self._proposal(decision)
        if proposal is not None and proposal.is_open:
            decision = await self._with_groups(decision, route)
            if self._may_decide(decision, proposal):
                await self.turns.accept(decision, route, settle=self.settle)
                return
        if not await written(
            self.turns.disk, self.channel_store.take_word, f"{decision.id}/told"
        ):  # it came twice
            return
        if proposal is None:
            self._whisper(route, say_in(ENGLISH)("nothing_to_decide"))
        elif not proposal.is_open:
            self.begin(self.messenger.point_out_decision(route, proposal))
        else:
            self.begin(self.messenger.refuse(decision, route, proposal))

    async def _tell_privately(self, said: Question | ChatCommand, sentence: str, route: ReplyRoute) -> None:
        await self.tell(said.id, said.conversation, said.author, sentence, route, is_private=True)

    async def tell(
        self, said_id: str, conversation: Conversation, author: str, sentence: str, route: ReplyRoute,
        *, is_private: bool = False,
    ) -> None:  # fmt: skip
        """Tell whoever said it why it cannot be taken: stored first, and once, however often it comes."""
        await self.turns.accept(
            Command(
                id=f"{said_id}/told",
                conversation=conversation,
                author=author,
                name=TELL,
                details={"sentence": sentence, "is_private": is_private},
                said_at=time.time(),
                is_apart=True,
            ),
            {key: value for key, value in route.items() if key != "opens"},
        )

    async def _hear(self, word: ChatCommand, route: ReplyRoute) -> bool:
        if word.name in ("approve", "deny"):
            with self.turns.in_line(word.conversation, (word.said_at, word.id)):
                await self._decide_in_words(word, route)
        elif word.name == "again":
            await self._ask_again(word, route)
        elif word.name == "choose":
            await self._ask_what_was_meant(word, route)
        elif word.name == "edit":
            self.begin(self._edit(word, route))
        elif word.name == "stop":
            self._stop(word, route)
        elif word.is_private or word.name == "footnotes":
            self.begin(self._show_privately(word, route))
        elif not self.turns.has(word.id) and (refusal := await self.messenger.words.refusal(word, route)):
            await self._tell_privately(word, refusal, route)
            return False
        else:
            await self.turns.accept(queued(word), route)
        return True

    def _stop(self, word: ChatCommand, route: ReplyRoute) -> None:
        """At once, whatever the disk takes. A turn that is stopped says so itself."""
        try:
            is_new = self.channel_store.take_word(word.id)
        except sqlite3.Error:
            is_new = True
        if is_new and not self.turns.stop(word.conversation):
            self._whisper(route, say_in(word.language)("nothing_running"))

    async def _decide_in_words(self, word: ChatCommand, route: ReplyRoute) -> None:
        """ "approve" and "deny" are about the newest proposal that is open."""
        proposals = await self.assistant.proposals(word.conversation)
        open_ones = [proposal for proposal in proposals if proposal.is_open]
        if not open_ones:
            if await written(self.turns.disk, self.channel_store.take_word, word.id):
                self._whisper(route, say_in(word.language)("nothing_to_decide"))
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
        await self._decide(decision, route)

    async def _ask_again(self, word: ChatCommand, route: ReplyRoute) -> None:
        """The question of a turn that failed, once more: one new turn, however often the button is pressed."""
        question = await question_of(word.argument)
        if question is None or question.conversation != word.conversation:
            self._whisper(route, say_in(word.language)("no_question_left"))
            return
        again = replace(question, id=_next_try(question.id), author=word.author, asked_at=word.said_at)
        await self._ask(again, route)

    async def _ask_what_was_meant(self, word: ChatCommand, route: ReplyRoute) -> None:
        """One of the readings that a question was answered with."""
        number, _, turn_id = word.argument.partition(":")
        asked, outcome = await question_of(turn_id), await outcome_of(turn_id)
        is_of_here = asked is not None and asked.conversation == word.conversation
        options = outcome.options if outcome and is_of_here else ()
        if not number.isdecimal() or not 0 < int(number) <= len(options):
            self._whisper(route, say_in(word.language)("no_question_left"))
            return
        chosen = Question(
            id=word.id, conversation=word.conversation, author=word.author,
            text=options[int(number) - 1], asked_at=word.said_at,
        )  # fmt: skip
        await self._ask(chosen, route)

    async def _edit(self, word: ChatCommand, route: ReplyRoute) -> None:
        wish = Decision(
            id=word.id, conversation=word.conversation, author=word.author, proposal_id=word.argument,
            verdict="approve", decided_at=word.said_at,
        )  # fmt: skip
        proposal = await self._proposal(wish)
        if proposal is None:
            await self.messenger.send_ephemeral(route, say_in(word.language)("nothing_to_decide"))
        elif not proposal.is_open:
            await self.messenger.point_out_decision(route, proposal)
        elif not self._may_decide(await self._with_groups(wish, route), proposal):
            await self.messenger.refuse(wish, route, proposal)
        else:
            await self.messenger.open_editor(route, proposal)

    async def _show_privately(self, word: ChatCommand, route: ReplyRoute) -> None:
        for reply in await self.messenger.words.carry_out(word, route):
            await self.messenger.whisper_reply(route, reply)

    def _may_decide(self, decision: Decision, proposal: Proposal) -> bool:
        settings = self.settings
        return may_decide(
            proposal, decision, approval=settings.web_approval, approvers=settings.web_approvers
        )

    async def _with_groups(self, decision: Decision, route: ReplyRoute) -> Decision:
        groups = await self.people.groups_of(route, decision.author, self.settings.web_approvers)
        return replace(decision, groups=groups)

    async def _proposal(self, decision: Decision) -> Proposal | None:
        proposals = await self.assistant.proposals(decision.conversation)
        return next((each for each in proposals if each.id == decision.proposal_id), None)

    def _whisper(self, route: ReplyRoute, sentence: str) -> None:
        self.begin(self.messenger.send_ephemeral(route, sentence))

    def begin(self, act: Coroutine[Any, Any, None]) -> None:
        """Go on beside the acknowledgement; the platform's library would lose sight of it."""
        task = asyncio.create_task(_quietly(act))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Give what is under way some seconds to finish; what is not stored by then is brought again."""
        for taking in self._taking.values():
            taking.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=DRAIN)


async def rates_of(settings: Settings, turns: Turns, platform: str) -> Rates:
    """How much people of a platform may ask; what they asked before this process began counts."""
    rates = Rates(per_person=settings.questions_per_person, per_channel=settings.questions_per_channel)
    if rates.longest:
        for question in await turns.asked_since(time.time() - rates.longest):
            if question.conversation.platform == platform:
                rates.count(question.author, question.conversation.channel_id, question.asked_at)
    return rates


def _language(said: Incoming) -> str:
    """Of whoever said it, as far as it is known."""
    if isinstance(said, Question):
        return language_of(said.text)
    return said.language if isinstance(said, ChatCommand) else ENGLISH


def _next_try(turn_id: str) -> str:
    """ "q" -> "q~2" -> "q~3"."""
    first, _, number = turn_id.partition("~")
    return f"{first}~{int(number or 1) + 1}"


async def _quietly(act: Coroutine[Any, Any, None]) -> None:
    try:
        await act
    except (Refused, Unreachable) as trouble:
        logger.warning("a word was not said", extra={"reason": str(trouble)})
    except Exception:
        # The boundary of what runs on its own: nobody else would ever hear of it.
        logger.exception("something beside the turns failed")
