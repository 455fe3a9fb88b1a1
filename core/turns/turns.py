"""Turns that are never lost: stored before they are acknowledged, run in order, ended exactly once.

A turn is a DBOS workflow whose id is the turn's own, so a redelivery is the same turn. A
queue partitioned by conversation keeps order within a conversation and runs conversations
side by side. A killed process runs the step it was in once more, so every step is
idempotent: thinking by the turn's id in the checkpoint, delivering at the platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from core.conversation import Command, Conversation, Decision, Outcome, Progress, Question, Turn
from core.errors import FootnoteError, for_people
from core.text.language import language_of
from core.turns.archive import questions_since
from core.turns.assistant import Assistant, Report
from core.turns.disk_watch import DiskWatch
from core.turns.messenger import Messenger, ReplyRoute, Unreachable
from core.turns.order import Line, Place, order_of, said_at, settled
from core.wording import LANGUAGES, Sentence, in_language

logger = logging.getLogger(__name__)

QUEUE = "turns"
ATTEMPTS = 3  # runs of one turn before it ends in an apology
THINKING = 32  # turns that think side by side; the others have given their sign and wait
DRAIN = 10.0  # seconds that running turns get to finish at a stop; the rest resume at the next start
PATIENCE = 24 * 3600.0  # seconds that a platform which cannot be reached is tried again
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
REMEMBERED = 10_000  # stored turns whose redelivery costs nothing

T = TypeVar("T")


class TurnsClosed(Exception):
    """No turn is taken any more: the platform has to bring it again."""


@dataclass(slots=True, kw_only=True)
class Turns:
    """The durable queue, and the turns that run now."""

    assistant: Assistant
    messengers: Mapping[str, Messenger]  #: by the conversation's platform label
    drain: float = DRAIN  #: seconds
    disk: DiskWatch = field(default_factory=DiskWatch)  #: why nothing can be stored, where that is so
    _seats: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(THINKING))
    _waiting: int = 0  #: turns that have no seat yet
    _thinking: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)  #: by conversation
    _steps: set[asyncio.Task[Any]] = field(default_factory=set)
    _lines: WeakValueDictionary[str, Line] = field(default_factory=WeakValueDictionary)
    _storing: dict[str, asyncio.Task[None]] = field(default_factory=dict)  #: by turn
    _stored: dict[str, None] = field(default_factory=dict)  #: the newest ids, which need no second look
    _is_closed: bool = False

    async def accept(self, turn: Turn | Command, route: ReplyRoute, *, settle: float = 0.0) -> None:
        """Store a turn or an errand: once this returns it will end, and stored before it does not run again.

        ``settle`` is for how many seconds an earlier turn of the conversation may still come by another way.

        Raises TurnsClosed. A turn that nobody stored is brought again by its platform.
        """
        if self._is_closed:
            raise TurnsClosed
        if turn.id in self._stored:
            return
        storing = self._storing.get(turn.id)
        if storing is None:  # else it comes twice at once
            storing = self._storing[turn.id] = asyncio.create_task(self._store(turn, route, settle))
            storing.add_done_callback(lambda _: self._storing.pop(turn.id))
        await asyncio.shield(storing)

    async def _store(self, turn: Turn | Command, route: ReplyRoute, settle: float) -> None:
        from core.turns.workflow import enqueue

        is_apart = isinstance(turn, Command) and turn.is_apart
        partition = turn.id if is_apart else turn.conversation.id
        line, place = self._line(partition), (said_at(turn), turn.id)
        with line.hold(place):
            await settled(settle)
            # DBOS stores from a pool of threads: left to itself, a later turn may be stored, and begin, first.
            await line.until_first(place)
            await enqueue(turn, route, queue=QUEUE, partition=partition, priority=order_of(turn))
        self._remember(turn.id)

    def in_line(self, conversation: Conversation, place: Place) -> AbstractContextManager[None]:
        """The place of what is still being read: no turn of a later one is stored before it."""
        return self._line(conversation.id).hold(place)

    def _line(self, partition: str) -> Line:
        return self._lines.setdefault(partition, Line())

    def _remember(self, turn_id: str) -> None:
        self._stored[turn_id] = None
        if len(self._stored) > REMEMBERED:
            del self._stored[next(iter(self._stored))]

    async def asked_since(self, moment: float) -> list[Question]:
        """What was stored from then on, by earlier processes too; it is known again when it is brought again."""
        asked = await questions_since(moment)
        for question in asked:
            self._remember(question.id)
        return asked

    def has(self, turn_id: str) -> bool:
        """Whether it is known to be stored, or is about to be."""
        return turn_id in self._stored or turn_id in self._storing

    def stop(self, conversation: Conversation) -> bool:
        """End what runs in a conversation now; whether there was anything."""
        task = self._thinking.get(conversation.id)
        return task is not None and task.cancel()

    async def begin(self, turn: Turn, route: ReplyRoute, attempt: int) -> str:
        """The handle; empty when the platform never took the first sign. ``attempt`` counts the runs of the turn, from 1."""
        with self._step(turn, "begin"):
            messenger = self.messengers[turn.conversation.platform]
            begun = await _insist(
                turn,
                lambda is_again: messenger.begin(turn, route, is_again=is_again),
                is_again=attempt > 1,
            )
            return begun or ""

    async def think(self, turn: Turn, route: ReplyRoute, handle: str, attempt: int) -> Outcome:
        """How the turn ends; an apology when it was begun too often, a word when a person stopped it."""
        with self._step(turn, "think"):
            if attempt > ATTEMPTS:
                return await self._give_up(turn, Sentence("cut_off", count=ATTEMPTS))
            report = self.messengers[turn.conversation.platform].reporter(turn, route, handle)
            try:
                async with self._seat(report):
                    return await self._run(await self._with_context(turn, route), report)
            except FootnoteError as trouble:
                outcome = await self._give_up(turn, for_people(trouble))
                if handle and self.disk.is_passing(trouble.__cause__ or trouble):
                    await self._tell_now(turn, route, handle, outcome)
                return outcome
            except Exception:
                # The boundary of a turn: whatever failed, a person is told that it did.
                logger.exception("turn failed", extra=_named(turn))
                return await self._give_up(turn, Sentence("own_fault"))

    async def _tell_now(self, turn: Turn, route: ReplyRoute, handle: str, outcome: Outcome) -> None:
        """What the disk cannot record yet, and so is delivered later too: that changes the same message."""
        try:
            messenger = self.messengers[turn.conversation.platform]
            await messenger.deliver(turn, route, handle, outcome, is_again=False)
        except Unreachable:
            logger.warning("platform out of reach", extra=_named(turn))

    async def deliver(
        self, turn: Turn, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        with self._step(turn, "deliver"):
            messenger = self.messengers[turn.conversation.platform]
            await _insist(
                turn,
                lambda is_again: messenger.deliver(turn, route, handle, outcome, is_again=is_again),
                is_again=is_again,
            )

    async def carry_out(self, command: Command, route: ReplyRoute, attempt: int) -> None:
        with self._step(command, "command"):
            messenger = self.messengers[command.conversation.platform]
            if attempt <= ATTEMPTS:
                await _insist(
                    command,
                    lambda is_again: messenger.carry_out(command, route, is_again=is_again),
                    is_again=attempt > 1,
                )
                return
            ended = Outcome(kind="failed", turn_id=command.id, reason=Sentence("cut_off", count=ATTEMPTS))
            await _insist(
                command,
                lambda is_again: messenger.deliver(command, route, "", ended, is_again=is_again),
                is_again=True,
            )

    async def close(self) -> None:
        """Take no more turns; give those that run some seconds, then leave them to the next start."""
        self._is_closed = True
        if self._steps:
            await asyncio.wait(self._steps, timeout=self.drain)
        for step in self._steps:
            step.cancel()

    @asynccontextmanager
    async def _seat(self, report: Report) -> AsyncIterator[None]:
        """A place among those that think; who finds none free is told how many are before it."""
        if self._seats.locked():
            report(Progress(stage="waiting", count=self._waiting))
        self._waiting += 1
        try:
            await self._seats.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._seats.release()

    async def _with_context(self, turn: Turn, route: ReplyRoute) -> Turn:
        """A conversation's first question, with what was said in the thread before it."""
        if isinstance(turn, Decision) or await self.assistant.knows(turn.conversation):
            return turn
        messenger = self.messengers[turn.conversation.platform]
        return replace(turn, thread_context=await messenger.thread_context(turn, route))

    async def _run(self, turn: Turn, report: Report) -> Outcome:
        task = asyncio.create_task(self.assistant.run(turn, report))
        self._thinking[turn.conversation.id] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            del self._thinking[turn.conversation.id]
        if not task.cancelled():
            return task.result()
        return await self._give_up(turn, Sentence("stopped"), is_final=True)

    async def _give_up(self, turn: Turn, reason: str, *, is_final: bool = False) -> Outcome:
        try:
            return await self.assistant.give_up(turn, reason, is_final=is_final)
        except Exception:
            # Not even the conversation's memory can be written, but the person can still be told.
            logger.exception("turn could not be given up", extra=_named(turn))
            language = language_of(turn.text) if isinstance(turn, Question) else LANGUAGES[0]
            told = in_language(reason, language)
            return Outcome(kind="failed", turn_id=turn.id, reason=told, language=language)

    @contextmanager
    def _step(self, turn: Turn | Command, name: str) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._steps.add(task)
        logger.info("turn %s", name, extra=_named(turn))
        try:
            yield
        finally:
            self._steps.discard(task)


async def _insist(turn: Turn | Command, act: Callable[[bool], Awaitable[T]], *, is_again: bool) -> T | None:
    """What the platform answers, however long it cannot be reached; None when it never will."""
    loop = asyncio.get_running_loop()
    until, pause = loop.time() + PATIENCE, FIRST_PAUSE
    while True:
        try:
            return await act(is_again)
        except Unreachable:
            logger.warning("platform out of reach", extra={**_named(turn), "pause_seconds": pause})
            if loop.time() + pause > until:
                return None
        except Exception:
            # A message that can never be sent must not hold up the conversation behind it.
            logger.exception("platform refused", extra=_named(turn))
            return None
        await asyncio.sleep(pause)
        pause, is_again = min(2 * pause, LONGEST_PAUSE), True


def _named(turn: Turn | Command) -> dict[str, str]:
    return {"turn": turn.id, "conversation": turn.conversation.id}


@asynccontextmanager
async def open_turns(
    assistant: Assistant,
    messengers: Mapping[str, Messenger],
    *,
    database_url: str,
    drain: float = DRAIN,
) -> AsyncIterator[Turns]:
    """Launch the queue in the running loop and resume what a stopped process left; at the end, drain."""
    from core.turns.queue import launched
    from core.turns.workflow import register

    turns = Turns(assistant=assistant, messengers=messengers, drain=drain)
    register(turns)
    async with launched(database_url, QUEUE, disk=turns.disk, close=turns.close):
        yield turns
