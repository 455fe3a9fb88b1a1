"""Durable turns: stored before they are acknowledged, run in order, ended exactly once.

A turn is a DBOS workflow whose id is the turn's own, so a redelivery is the same turn. A queue
partitioned by conversation keeps the order within a conversation and runs conversations side by
side. After a kill, the step that was cut off runs again, so every step is idempotent: thinking by
the turn's id in the checkpoint, delivering by looking for the message on the platform.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from dbos import DBOS, StepOptions, WorkflowSerializationFormat

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
from core.errors import FootnoteError, StoreUnavailable, for_people
from core.priority import BackgroundTasks
from core.text.language import language_of
from core.turns import archive, queue, waiting
from core.turns.archive import Record
from core.turns.assistant import Assistant
from core.turns.dbos_patches import run_as, share_claims
from core.turns.messenger import SHOWN_BY, Messenger, ReplyRoute, Report, Unreachable
from core.turns.replicas import ALONE, OWNERSHIP, Replicas
from core.wording import LANGUAGES, Sentence, in_language

logger = logging.getLogger(__name__)

THINKING = 32  # turns that think side by side; the others have shown their first sign and wait
DRAIN = 10.0  # seconds that running turns get to finish at a stop; the rest resume at the next start
REMEMBERED = 10_000  # stored turns whose redelivery costs nothing
ALONE_FOR = 180.0  # seconds for which a turn under suspicion keeps others from thinking, at most


class TurnsClosed(Exception):
    """No turn is accepted any more: the platform has to deliver it again."""


@dataclass(slots=True, kw_only=True)
class Turns:
    """The durable queue, and the turns that run now."""

    assistant: Assistant
    messengers: Mapping[str, Messenger]  #: by the conversation's platform label
    drain: float = DRAIN  #: seconds
    disk: waiting.DiskWatch = field(default_factory=waiting.DiskWatch)  #: why nothing can be stored, if so
    replicas: Replicas = ALONE
    _seats: waiting.Seats = field(default_factory=lambda: waiting.Seats(THINKING))
    _thinking: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)  #: by conversation
    _steps: set[asyncio.Task[Any]] = field(default_factory=set)
    #: By partition of the queue.
    _orders: WeakValueDictionary[str, waiting.Resequencer] = field(default_factory=WeakValueDictionary)
    _storing: dict[str, asyncio.Task[None]] = field(default_factory=dict)  #: by turn
    _releasing: BackgroundTasks = field(default_factory=BackgroundTasks)
    _stored: dict[str, None] = field(default_factory=dict)  #: the newest ids, which need no second look
    _is_closed: bool = False

    async def accept(self, turn: Turn | Command, route: ReplyRoute, *, reorder_window: float = 0.0) -> None:
        """Store a turn or a command, once: after this returns, it will end. TurnsClosed: deliver it again.
        ``reorder_window``: seconds in which an earlier turn of the conversation may still arrive."""
        if self._is_closed:
            raise TurnsClosed
        if turn.id in self._stored:
            return
        if (storing := self._storing.get(turn.id)) is None:  # else it arrived twice at once
            storing = self._storing[turn.id] = asyncio.create_task(self._store(turn, route, reorder_window))
            storing.add_done_callback(lambda _: self._storing.pop(turn.id))
        await asyncio.shield(storing)

    async def _store(self, turn: Turn | Command, route: ReplyRoute, reorder_window: float) -> None:
        options, position = archive.enqueueing(turn), (waiting.said_at(turn), turn.id)
        order = self._orders.setdefault(options["queue_partition_key"], waiting.Resequencer())
        with order.hold(position):
            await waiting.wait_for_earlier(reorder_window)
            # DBOS stores from a pool of threads: left to itself, it may store, and begin, a later turn first.
            await order.until_first(position)
            # they may store an earlier turn later than this one
            if reorder_window and self.replicas.are_several:
                until_settled = waiting.said_at(turn) + waiting.SETTLE - time.time()
                options["delay_seconds"] = min(max(0.0, until_settled), waiting.SETTLE)
            await DBOS.enqueue_workflow_with_options_async(options, archive.plain(turn), dict(route))
        if "delay_seconds" in options:
            self._releasing.start(self._release_after(options["delay_seconds"]))
        self._remember(turn.id)

    async def _release_after(self, seconds: float) -> None:
        """Let turns begin whose delay is over; DBOS itself looks for them once a second."""
        await asyncio.sleep(seconds)
        await asyncio.to_thread(queue.system_database().transition_delayed_workflows)

    def in_order(self, conversation: Conversation, at: waiting.Position) -> AbstractContextManager[None]:
        """Hold the position of a turn that is still being read: no later turn is stored before it."""
        return self._orders.setdefault(conversation.id, waiting.Resequencer()).hold(at)

    def _remember(self, turn_id: str) -> None:
        self._stored[turn_id] = None
        if len(self._stored) > REMEMBERED:
            del self._stored[next(iter(self._stored))]

    async def questions_since(self, moment: float) -> list[Question]:
        """The questions stored from then on, by earlier processes too; their redeliveries are recognized."""
        questions = await archive.questions_since(moment)
        for question in questions:
            self._remember(question.id)
        return questions

    def has(self, turn_id: str) -> bool:
        """True if a turn is known to be stored, or is being stored."""
        return turn_id in self._stored or turn_id in self._storing

    async def stop(self, conversation: Conversation) -> bool:
        """End what runs in a conversation now, in whichever process; whether there was anything."""
        return self.stop_thinking(conversation.id) or await self.replicas.ask_to_stop(conversation.id)

    def stop_thinking(self, conversation: str) -> bool:
        """The same in this process alone."""
        task = self._thinking.get(conversation)
        return task is not None and task.cancel()

    def load(self) -> tuple[int | None, int]:
        """The turns and commands of the whole store that have not ended, None if unknown; those here. Blocks."""
        unfinished = None
        with suppress(StoreUnavailable):
            unfinished = archive.count_unfinished()
        return unfinished, len(self._thinking)

    def _messenger(self, turn: Turn | Command, route: ReplyRoute) -> Messenger:
        return self.messengers[route.get(SHOWN_BY, turn.conversation.platform)]

    async def abandon(self) -> None:
        if steps := tuple(self._steps):
            for step in steps:
                step.cancel()
            await asyncio.wait(steps)

    def run_as(self, executor: str) -> None:
        run_as(executor)

    def take_over(self, living: Collection[str]) -> None:
        queue.requeue_left(living)

    @asynccontextmanager
    async def running(self, work: Turn | Command) -> AsyncIterator[waiting.TurnRun]:
        """A run, once it may begin: a suspect's when nothing else thinks here, and that is recorded."""
        async with self._step(work):
            run = await queue.find_run(work.id)
        OWNERSHIP.set(self.replicas.ownership(run.executor))
        if not run.is_suspect:
            yield run
            return
        async with self._step(work, "alone"):
            checkpoint = ""  # how far a turn has come; of a command nobody knows
            with suppress(FootnoteError):
                checkpoint = await self.assistant.newest_checkpoint(work.conversation)
            run = run.begin_at(checkpoint)
            if run.is_hopeless:
                yield run
                return
            async with self._seats.all_taken(ALONE_FOR) as seat:
                noted = {waiting.LONE: asdict(run.lone)}
                await queue.run_unrecorded(DBOS.update_workflow_attributes_async(work.id, noted, merge=True))
                yield replace(run, seat=seat)

    async def begin(self, run: waiting.TurnRun, turn: Turn, route: ReplyRoute) -> str:
        """Show the first sign; its handle, empty if the platform could not be reached. No search is carried
        out then: nobody could read its answer."""
        async with self._step(turn, "begin"):
            if is_unaddressed(turn) or run.is_hopeless:  # it may never be answered
                return ""
            messenger = self._messenger(turn, route)
            handle = await waiting.retry(turn, partial(messenger.begin, turn, route), is_again=run.is_again)
            if handle is None and isinstance(turn, Decision) and turn.verdict == "approve":
                return str(archive.NotShown())
            return handle or ""

    async def think(self, run: waiting.TurnRun, turn: Turn, route: ReplyRoute, handle: str) -> Record:
        """The outcome as JSON: of the graph, of an error, or of a stop."""
        async with self._step(turn, "think"):
            outcome = await self._outcome(run, turn, route, handle)
            if not outcome.is_shown:
                passes = self.disk.is_passing
                await waiting.persist(turn, lambda **_: archive.erase(turn), passes=passes, patience=math.inf)
            return archive.plain(outcome)

    async def _outcome(self, run: waiting.TurnRun, turn: Turn, route: ReplyRoute, handle: str) -> Outcome:
        if run.is_hopeless or archive.is_erased(turn):
            return await self._give_up(turn, run.apology)
        if archive.NotShown.parse(handle):
            return await self._give_up(turn, Sentence("not_shown"))
        messenger = self._messenger(turn, route)
        report = messenger.reporter(turn, route, handle)
        try:
            async with nullcontext(run.seat) if run.seat else self._seats.take(report) as seat:
                once = partial(self._run, turn, route, report, seat)
                return await waiting.persist(
                    turn, lambda **_: once(), passes=waiting.is_away, sleep=seat.sleep
                )
        except FootnoteError as trouble:
            outcome = await self._give_up(turn, for_people(trouble))
            if handle and self.disk.is_passing(trouble.__cause__ or trouble):
                # The disk cannot record it yet. It is delivered again later, in the same message.
                try:
                    await messenger.deliver(turn, route, handle, outcome, is_again=False)
                except Unreachable:
                    logger.warning("platform out of reach", extra=log_fields(turn))
            return outcome
        except Exception:
            # The boundary of a turn: the person learns of every failure.
            logger.exception("turn failed", extra=log_fields(turn))
            return await self._give_up(turn, Sentence("own_fault"))

    async def deliver(
        self, run: waiting.TurnRun, turn: Turn, route: ReplyRoute, handle: str, outcome: Outcome
    ) -> None:
        """Show the outcome; in place of one whose showing ends the process, why it is not there."""
        async with self._step(turn, "deliver"):
            if run.is_hopeless and outcome.kind != "failed":
                reason = in_language(run.apology, outcome.language)
                outcome = Outcome(kind="failed", turn_id=turn.id, reason=reason, language=outcome.language)
            show = partial(self._messenger(turn, route).deliver, turn, route, handle, outcome)
            await waiting.retry(turn, show, is_again=run.is_again)

    async def carry_out(self, run: waiting.TurnRun, command: Command, route: ReplyRoute) -> None:
        async with self._step(command, "command"):
            messenger = self._messenger(command, route)
            if not run.is_hopeless:
                carry_out = partial(messenger.carry_out, command, route)
                await waiting.retry(command, carry_out, is_again=run.is_again)
                return
            ended = Outcome(kind="failed", turn_id=command.id, reason=run.apology)
            await waiting.retry(command, partial(messenger.deliver, command, route, "", ended), is_again=True)

    async def close(self) -> None:
        """Accept no more turns; give running ones some seconds, then leave them to the next start."""
        self._is_closed = True
        counted = await self._count_stop(frozenset())  # now: the host may kill a process that stops slowly
        if self._steps:
            await asyncio.wait(self._steps, timeout=self.drain)
        if self._steps:
            await self._count_stop(counted)
        for step in self._steps:
            step.cancel()

    async def _count_stop(self, counted: frozenset[str]) -> frozenset[str]:
        """Counts a stop of the turns that run here, besides those that were counted."""
        if not self._steps:
            return counted
        try:
            return await asyncio.to_thread(queue.count_stop, self.replicas.executor, besides=counted)
        except Exception:
            # Nothing can be written: a turn that is cut off now has a try less.
            logger.exception("the turns that run could not be noted as stopped")
            return counted

    async def _run(self, turn: Turn, route: ReplyRoute, report: Report, seat: waiting.Seat) -> Outcome:
        messenger = self._messenger(turn, route)
        turn = await messenger.with_names(turn, route)
        call = partial(waiting.retry, turn, is_again=False, sleep=seat.sleep)

        async def read_thread() -> tuple[ThreadMessage, ...]:
            return await call(lambda **_: messenger.thread_context(turn, route)) or ()

        async def read_attachments(question: Question) -> Question:
            return await call(lambda **_: messenger.read_attachments(question, route)) or question

        task = asyncio.create_task(
            self.assistant.run(turn, report, read_thread, read_attachments, is_queued=True)
        )
        self._thinking[turn.conversation.id] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            if self._thinking.get(turn.conversation.id) is task:
                # Otherwise this process slept, and thinks about the turn once more by now.
                del self._thinking[turn.conversation.id]
        if not task.cancelled():
            return task.result()
        return await self._give_up(turn, Sentence("stopped"), is_final=True)

    async def _give_up(self, turn: Turn, reason: str, *, is_final: bool = False) -> Outcome:
        try:
            return await self.assistant.give_up(turn, reason, is_final=is_final)
        except Exception:
            # The checkpoint cannot be written, but the person still gets the sentence.
            logger.exception("turn could not be given up", extra=log_fields(turn))
            language = language_of(turn.text) if isinstance(turn, Question) else LANGUAGES[0]
            sentence = in_language(reason, language)
            return Outcome(
                kind="failed", turn_id=turn.id, reason=sentence, language=language,
                is_shown=not is_unaddressed(turn),
            )  # fmt: skip

    @asynccontextmanager
    async def _step(self, turn: Turn | Command, name: str = "") -> AsyncIterator[None]:
        """A step that is cancelled with its process, or when another process has the turn; not begun then."""
        task = asyncio.current_task()
        assert task is not None
        is_outermost = task not in self._steps
        self._steps.add(task)
        try:
            await OWNERSHIP.get().confirm()
            if name:
                logger.info("turn %s", name, extra=log_fields(turn))
            yield
        finally:
            if is_outermost:
                self._steps.discard(task)


@asynccontextmanager
async def open_turns(
    assistant: Assistant, messengers: Mapping[str, Messenger], *, database_url: str, drain: float = DRAIN,
    replicas: Replicas = ALONE,
) -> AsyncIterator[Turns]:  # fmt: skip
    """Launch the queue in the running loop and resume what a stopped process left; at the end, drain."""
    turns = Turns(assistant=assistant, messengers=messengers, drain=drain, replicas=replicas)
    register(turns)
    watched = assistant.log.list_watched
    async with (
        queue.launch(database_url, disk=turns.disk, close=turns.close, watched=watched, replicas=replicas),
        replicas.serving(turns),
    ):
        share_claims(replicas, THINKING, queue.CONCURRENCY)
        yield turns


async def enqueue_expiry(proposal: Proposal, turn: Turn, route: ReplyRoute) -> None:
    """Store the decision that the time makes if nobody does. DBOS holds it back until then, also over a
    restart; its own time orders it behind whatever was decided before."""
    expiry = Decision(
        id=f"{turn.id}/expiry", conversation=turn.conversation, author=proposal.asker, proposal_id=proposal.id,
        verdict="expire", decided_at=proposal.expires_at or 0.0,
    )  # fmt: skip
    await enqueue_at(expiry.decided_at, expiry, route)


async def enqueue_at(moment: float, work: Turn | Command, route: ReplyRoute) -> None:
    """Enqueue work for a time in seconds since the epoch. What is stored already is not stored again."""
    options = archive.enqueueing(work)
    options["delay_seconds"] = max(0.0, moment - time.time())
    await DBOS.enqueue_workflow_with_options_async(options, archive.plain(work), dict(route))


def register(turns: Turns) -> None:
    workflow = partial(
        DBOS.workflow,
        max_recovery_attempts=None,  # DBOS would give up silently; ours ends in an apology
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )

    @workflow(name=archive.TURN)
    async def run_turn(record: Record, route: Record) -> Record:
        """First sign, outcome, delivery. A restart continues after the last of the first two, which are
        recorded; delivery is by the end of the workflow: if it is cut off, it is done again."""
        turn = archive.turn_from(record)
        async with turns.running(turn) as run:
            handle = await DBOS.run_step_async({"name": "begin"}, turns.begin, run, turn, route)
            # The work of a command may be cancelled while it runs.
            thinking: StepOptions = {"name": "think", "preemptible": SHOWN_BY in route}
            outcome = await DBOS.run_step_async(thinking, turns.think, run, turn, route, handle)
            if (ended := archive.read(Outcome, outcome)).is_shown:
                await turns.deliver(run, turn, route, handle, ended)
                # Only a card in a conversation has to be changed; elsewhere the time alone ends a proposal.
                if ended.proposal and ended.proposal.expires_at and route and SHOWN_BY not in route:
                    await queue.run_unrecorded(enqueue_expiry(ended.proposal, turn, route))
            return outcome

    @workflow(name=archive.COMMAND)
    async def run_command(record: Record, route: Record) -> None:
        command = archive.read(Command, record)
        async with turns.running(command) as run:
            carrying: StepOptions = {"name": "carry_out", "preemptible": SHOWN_BY in route}
            await DBOS.run_step_async(carrying, turns.carry_out, run, command, route)
