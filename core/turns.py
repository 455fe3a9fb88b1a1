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
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from core.assistant import Assistant, Report
from core.conversation import Conversation, Outcome, Question, Turn
from core.errors import FootnoteError
from core.records import outcome_from, plain

logger = logging.getLogger(__name__)

QUEUE = "turns"
ATTEMPTS = 3  # runs of one turn before it ends in an apology
DRAIN = 10.0  # seconds that running turns get to finish at a stop; the rest resume at the next start
PATIENCE = 24 * 3600.0  # seconds that a platform which cannot be reached is tried again
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time
REMEMBERED = 10_000  # stored turns whose redelivery costs nothing
LONGEST_ORDER = 2**31 - 1  # DBOS keeps a priority in 31 bits

NOT_FINISHED = "I could not finish this because of a fault of my own; the log says more."
STOPPED = "Stopped."

Address = Mapping[str, Any]  # where to answer, in the platform's own words; JSON types only
T = TypeVar("T")


class Unreachable(Exception):
    """The platform cannot be reached now; what was to be said there is tried again."""


class TurnsClosed(Exception):
    """No turn is taken any more: the platform has to bring it again."""


class Messenger(Protocol):
    """A platform's voice. Any method may be called again after a crash, and must then do nothing twice."""

    async def begin(self, turn: Turn, address: Address, *, is_again: bool) -> str:
        """Give the first visible sign; the handle by which the outcome takes its place. Raises Unreachable.

        ``is_again``: it may have been given before, so it is looked for first.
        """
        ...

    def reporter(self, turn: Turn, address: Address, handle: str) -> Report:
        """What shows progress while the turn runs."""
        ...

    async def deliver(
        self, turn: Turn, address: Address, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        """Show how the turn ended; without a handle nothing was shown before. Raises Unreachable."""
        ...


@dataclass(slots=True, kw_only=True)
class Turns:
    """The durable queue, and the turns that run now."""

    assistant: Assistant
    messengers: Mapping[str, Messenger]  #: by the conversation's platform label
    drain: float = DRAIN  #: seconds
    _thinking: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)  #: by conversation
    _steps: set[asyncio.Task[Any]] = field(default_factory=set)
    _storing: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _stored: dict[str, None] = field(default_factory=dict)  #: the newest ids, which need no second look
    _is_closed: bool = False

    async def accept(self, turn: Turn, address: Address) -> None:
        """Store a turn: once this returns it will end, and stored before it does not run again.

        Raises TurnsClosed. A turn that nobody stored is brought again by its platform.
        """
        from dbos import DBOS, SetEnqueueOptions, SetWorkflowID

        from core.turn_workflow import run_turn

        if self._is_closed:
            raise TurnsClosed
        if turn.id in self._stored:
            return
        # DBOS stores from a pool of threads: without the lock a later turn may be stored, and begin, first.
        async with self._storing.setdefault(turn.conversation.id, asyncio.Lock()):
            place = SetEnqueueOptions(queue_partition_key=turn.conversation.id, priority=order_of(turn))
            with SetWorkflowID(turn.id), place:
                await DBOS.enqueue_workflow_async(QUEUE, run_turn, plain(turn), dict(address))
        self._stored[turn.id] = None
        if len(self._stored) > REMEMBERED:
            del self._stored[next(iter(self._stored))]

    async def outcome_of(self, turn_id: str) -> Outcome | None:
        """How a turn ended, as long as it is remembered; None while it runs."""
        from dbos import DBOS

        status = await DBOS.get_workflow_status_async(turn_id)
        return outcome_from(status.output) if status and isinstance(status.output, dict) else None

    def stop(self, conversation: Conversation) -> bool:
        """End what runs in a conversation now; whether there was anything."""
        task = self._thinking.get(conversation.id)
        return task is not None and task.cancel()

    async def begin(self, turn: Turn, address: Address, attempt: int) -> str:
        """The handle; empty when the platform never took the first sign."""
        with self._step(turn, "begin"):
            messenger = self.messengers[turn.conversation.platform]
            begun = await _insist(
                turn, attempt, lambda is_again: messenger.begin(turn, address, is_again=is_again)
            )
            return begun or ""

    async def think(self, turn: Turn, address: Address, handle: str, attempt: int) -> Outcome:
        """How the turn ends; an apology when it was begun too often, a word when a person stopped it."""
        with self._step(turn, "think"):
            if attempt > ATTEMPTS:
                return await self._give_up(turn, f"I was cut off {ATTEMPTS} times while working on this.")
            report = self.messengers[turn.conversation.platform].reporter(turn, address, handle)
            try:
                return await self._run(turn, report)
            except FootnoteError as trouble:
                return await self._give_up(turn, str(trouble))
            except Exception:
                # The boundary of a turn: whatever failed, a person is told that it did.
                logger.exception("turn failed", extra=_named(turn))
                return await self._give_up(turn, NOT_FINISHED)

    async def deliver(
        self, turn: Turn, address: Address, handle: str, outcome: Outcome, attempt: int
    ) -> None:
        with self._step(turn, "deliver"):
            messenger = self.messengers[turn.conversation.platform]
            await _insist(
                turn,
                attempt,
                lambda is_again: messenger.deliver(turn, address, handle, outcome, is_again=is_again),
            )

    async def close(self) -> None:
        """Take no more turns; give those that run some seconds, then leave them to the next start."""
        self._is_closed = True
        if self._steps:
            await asyncio.wait(self._steps, timeout=self.drain)
        for step in self._steps:
            step.cancel()

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
        return await self._give_up(turn, STOPPED) if task.cancelled() else task.result()

    async def _give_up(self, turn: Turn, reason: str) -> Outcome:
        try:
            return await self.assistant.give_up(turn, reason)
        except Exception:
            # Not even the conversation's memory can be written, but the person can still be told.
            logger.exception("turn could not be given up", extra=_named(turn))
            return Outcome(kind="failed", turn_id=turn.id, reason=reason)

    @contextmanager
    def _step(self, turn: Turn, name: str) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._steps.add(task)
        logger.info("turn %s", name, extra=_named(turn))
        try:
            yield
        finally:
            self._steps.discard(task)


def order_of(turn: Turn) -> int:
    """Earlier turns first, in milliseconds: two connections may bring them the other way round.

    It begins anew every 24.8 days, which only turns that wait on both sides of that moment would feel.
    """
    said_at = turn.asked_at if isinstance(turn, Question) else turn.decided_at
    return 1 + int(said_at * 1000) % LONGEST_ORDER


async def _insist(turn: Turn, attempt: int, act: Callable[[bool], Awaitable[T]]) -> T | None:
    """What the platform answers, however long it cannot be reached; None when it never will."""
    loop = asyncio.get_running_loop()
    until, pause, is_again = loop.time() + PATIENCE, FIRST_PAUSE, attempt > 1
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


def _named(turn: Turn) -> dict[str, str]:
    return {"turn": turn.id, "conversation": turn.conversation.id}


_opened: list[Turns] = []  # DBOS finds a workflow by its name alone; this is what the workflow then works on


def opened() -> Turns:
    """The turns of this process; RuntimeError before they are opened."""
    if not _opened:
        raise RuntimeError("no turns are open")
    return _opened[-1]


@asynccontextmanager
async def open_turns(
    assistant: Assistant,
    messengers: Mapping[str, Messenger],
    *,
    database_url: str,
    drain: float = DRAIN,
) -> AsyncIterator[Turns]:
    """Launch the queue in the running loop and resume what a stopped process left; at the end, drain."""
    from core.turn_queue import launched

    turns = Turns(assistant=assistant, messengers=messengers, drain=drain)
    _opened.append(turns)
    try:
        async with launched(database_url, QUEUE, close=turns.close):
            yield turns
    finally:
        _opened.remove(turns)
