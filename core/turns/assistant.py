"""From a Turn to its Outcome: exactly one, however often the turn arrives and wherever it was cut off."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import Any, cast
from weakref import WeakValueDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from core.conversation import (
    Conversation,
    Decision,
    Outcome,
    Proposal,
    Question,
    ThreadMessage,
    Turn,
    ignore_progress,
    is_unaddressed,
    log_fields,
)
from core.errors import DocumentError, FootnoteError, StoreTrouble
from core.graph import outcomes, rights
from core.graph.checkpoints import Checkpoints, TurnCheckpoints
from core.graph.context import Deps
from core.graph.graph import RECURSION_LIMIT
from core.graph.state import State, Work, costs_to_repeat, with_proposal
from core.priority import computing, waiting
from core.traces.log import NO_LOG, Log
from core.traces.trace import Trace
from core.turns.checkpoints import translate_errors
from core.turns.messenger import Report
from core.turns.replicas import ALONE, Replicas
from core.turns.waiting import is_away
from core.wording import Sentence, in_language

logger = logging.getLogger(__name__)

ReadThread = Callable[[], Awaitable[tuple[ThreadMessage, ...]]]  # what was said before the bot was called
ReadAttachments = Callable[[Question], Awaitable[Question]]  # makes the question's files known to the library


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """Runs turns on the graph. Turns of one conversation run one at a time, conversations side by side."""

    graph: CompiledStateGraph[State, Deps, State, State]
    checkpoints: Checkpoints
    make_deps: Callable[[Turn, Report], Awaitable[Deps]]  #: the ports of one turn
    turn_timeout: float  #: seconds
    #: puts into an outcome what is known of its documents besides, as links to them; may block
    complete: Callable[[Outcome], Outcome] | None = None
    completes_all: bool = True  #: whether it has something of documents without an address too
    #: how an error is put to the person who asked
    sentence: Callable[[FootnoteError], str] = attrgetter("sentence")
    replicas: Replicas = ALONE
    log: Log = NO_LOG
    _running: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def run(
        self, turn: Turn, report: Report = ignore_progress, read_thread: ReadThread | None = None,
        read_attachments: ReadAttachments | None = None, *, is_queued: bool = False,
    ) -> Outcome:  # fmt: skip
        """The turn's outcome. A turn that ended returns the stored one; a turn that was cut off continues.
        ``read_thread`` is called for the first question of a conversation, ``read_attachments`` for a
        question whose attachments a person allowed to be read. ``is_queued``: the durable queue runs the turn
        again by itself. So there is nothing to store before a model has replied, and where the database
        cannot be reached that is raised."""
        with translate_errors():
            async with self._one_at_a_time(turn.conversation.id):
                with computing():
                    kept = await self._open(turn.conversation, partial(costs_to_repeat, is_queued=is_queued))
                    if (ended := _outcome_of(kept.state, turn)) is not None:
                        await self.log.record(turn, ended, Trace())  # if the process died before it did
                        return await self._as_readable_now(turn, ended)
                    if isinstance(turn, Decision) and turn.verdict == "expire" and not kept.state:
                        return outcomes.unshown(turn)  # the conversation was forgotten
                    if is_unaddressed(turn):
                        return await self._consider(turn, kept, report)
                    given = (report, read_thread, read_attachments)
                    return await self._run(turn, kept, *given, is_queued=is_queued)

    async def _run(
        self, turn: Turn, kept: TurnCheckpoints, report: Report, read_thread: ReadThread | None,
        read_attachments: ReadAttachments | None, *, is_queued: bool,
    ) -> Outcome:  # fmt: skip
        began, stored = perf_counter(), kept.state
        if read_thread is not None and not stored and isinstance(turn, Question):
            with waiting():
                turn = replace(turn, thread_context=await read_thread())
        is_cut_off = _is_same(stored.get("turn"), turn)
        if read_attachments and not is_cut_off and isinstance(turn, Question) and turn.reading_allowed_by:
            turn = await read_attachments(turn)
            if not turn.attached:
                raise DocumentError(" ".join(turn.unreadable) or Sentence("own_fault"))
        deps, ended = None, None
        try:
            async with asyncio.timeout(self.turn_timeout):
                deps = await self.make_deps(turn, report)
                may_go_on = is_cut_off and await rights.may_go_on(stored, deps)
                values: Any = await self.graph.copy({"checkpointer": kept}).ainvoke(
                    None if may_go_on else {"turn": turn},
                    {**_config(turn.conversation), "recursion_limit": RECURSION_LIMIT},
                    context=deps,
                    durability="sync",
                )
                ended = _outcome_of(cast("State", values or {}), turn)
        except Exception as trouble:  # the boundary of a turn: whatever failed, it ends with a sentence
            if is_queued and is_away(trouble):
                raise
            await self._fail(turn, kept, self._reason(turn, trouble))
        finally:
            if deps is not None:
                deps.early.cancel()
        return await self._close(turn, kept, deps, began, ended)

    def _reason(self, turn: Turn, trouble: Exception) -> str:
        if isinstance(trouble, TimeoutError):
            return Sentence("too_slow", seconds=self.turn_timeout)
        if isinstance(trouble, FootnoteError):
            return self.sentence(trouble)
        logger.error("turn %s broke", turn.id, exc_info=trouble)
        return Sentence("own_fault")

    async def _consider(self, turn: Turn, kept: TurnCheckpoints, report: Report) -> Outcome:
        """The outcome of a question that nobody addressed to the bot: until it is answered, nothing is stored."""
        began, graph = perf_counter(), self.graph.copy({"checkpointer": None})
        try:
            async with asyncio.timeout(self.turn_timeout):
                deps = await self.make_deps(turn, report)
                values: Any = await graph.ainvoke(
                    {**kept.state, "turn": turn}, {"recursion_limit": RECURSION_LIMIT}, context=deps
                )
        except (TimeoutError, FootnoteError):
            logger.info("an unaddressed question was left", extra={"turn": turn.id}, exc_info=True)
            return outcomes.unshown(turn)
        outcome: Outcome = values["outcome"]
        if not outcome.is_shown:
            return outcome
        await self._put(turn, kept, values)
        return await self._close(turn, kept, deps, began, outcome)

    async def _close(
        self, turn: Turn, kept: TurnCheckpoints, deps: Deps | None, began: float,
        outcome: Outcome | None = None,
    ) -> Outcome:  # fmt: skip
        """The outcome, by default of the newest checkpoint, with its cost; stored so, as the only one, and logged."""
        outcome = outcome or _outcome_of(kept.state, turn)
        if outcome is None:
            raise RuntimeError(f"turn {turn.id} ended without an outcome")
        timing = {"total": round((perf_counter() - began) * 1000, 1), **outcome.timing_ms}
        if deps is not None:
            reason = outcome.reason or (deps.reasoner.trouble if outcome.is_quoted else "")
            remark = "" if outcome.is_small_talk else deps.remark
            sentences = [in_language(each, outcome.language) for each in (reason, remark) if each]
            outcome = replace(outcome, usage=deps.reasoner.usage, reason=" ".join(sentences) or None)
            outcome = await rights.outcome_by_now(outcome, deps)
        outcome = replace(outcome, timing_ms=timing)
        values: dict[str, Any] = {"outcome": outcome}
        cited = (
            *(outcome.answer.citations if outcome.answer else ()),
            *(outcome.proposal.closest if outcome.proposal else ()),
            *outcome.closest,
        )
        if self.complete is not None and (self.completes_all or any(map(attrgetter("url"), cited))):
            outcome = values["outcome"] = await asyncio.to_thread(self.complete, outcome)
            if outcome.proposal is not None:
                values["proposals"] = with_proposal(kept.state.get("proposals", ()), outcome.proposal)
        await kept.finish(values)
        trace = replace(deps.tracer.trace(), exchanges=deps.reasoner.exchanges) if deps else Trace()
        await self.log.record(turn, outcome, trace)
        return outcome

    async def give_up(self, turn: Turn, reason: str, *, is_final: bool = False) -> Outcome:
        """End a turn without running it, or its stored outcome. ``is_final``: nothing to decide again."""
        async with self._one_at_a_time(turn.conversation.id):
            kept = await self._open(turn.conversation)
            if (ended := _outcome_of(kept.state, turn)) is not None:
                return await self._as_readable_now(turn, ended)
            if is_unaddressed(turn):
                return outcomes.unshown(turn)
            await self._fail(turn, kept, reason, is_final=is_final)
            return await self._close(turn, kept, None, perf_counter())

    async def _as_readable_now(self, turn: Turn, ended: Outcome) -> Outcome:
        """A stored outcome, which may have waited while rights changed."""
        try:
            return await rights.outcome_by_now(ended, await self.make_deps(turn, ignore_progress))
        except FootnoteError:
            return rights.outcome_within(ended, frozenset())

    async def unfinished(self, conversation: Conversation) -> Turn | None:
        """The turn that a stopped process left in the middle, if any."""
        state = (await self._open(conversation)).state
        turn = state.get("turn")
        return turn if turn is not None and _outcome_of(state, turn) is None else None

    async def proposals(self, conversation: Conversation) -> tuple[Proposal, ...]:
        """The conversation's proposals, oldest first."""
        return tuple((await self._open(conversation)).state.get("proposals", ()))

    async def knows(self, conversation: Conversation) -> bool:
        return bool((await self._open(conversation)).state)

    async def newest_checkpoint(self, conversation: Conversation) -> str:
        """Its id; empty for a new conversation. StoreTrouble if it cannot be read."""
        with translate_errors():
            return (await self._open(conversation)).newest

    async def find_proposal(self, proposal_id: str) -> tuple[Conversation, Proposal] | None:
        """The conversation that holds a proposal, searched for in all of them."""
        for thread in await self.checkpoints.threads():
            conversation = Conversation.parse(thread)
            with suppress(StoreTrouble):  # an unreadable conversation hides no other
                for proposal in await self.proposals(conversation):
                    if proposal.id == proposal_id:
                        return conversation, proposal
        return None

    async def forget(self, conversation: Conversation) -> None:
        """Delete what is stored of a conversation. StoreTrouble if that cannot be written now."""
        with translate_errors():
            async with self._one_at_a_time(conversation.id):
                await self.checkpoints.forget(conversation.id)
                await self.log.forget_conversation(conversation)

    @asynccontextmanager
    async def _one_at_a_time(self, conversation: str) -> AsyncIterator[None]:
        async with self._running.setdefault(conversation, asyncio.Lock()), self.replicas.hold(conversation):
            yield

    async def _open(
        self, conversation: Conversation, is_worth_writing: Callable[[State], bool] = lambda _: False
    ) -> TurnCheckpoints:
        """The stored state of a conversation, and for one turn its checkpoints."""
        store = cast("Checkpoints", self.graph.checkpointer)  # a copy that knows our types
        return TurnCheckpoints(store, await store.aget_tuple(_config(conversation)), is_worth_writing)

    async def _fail(self, turn: Turn, kept: TurnCheckpoints, reason: str, *, is_final: bool = False) -> None:
        """End the turn with a reason, in the checkpoint too, so that it stays ended."""
        logger.warning("turn failed", extra=log_fields(turn))
        state = kept.state
        is_same = _is_same(state.get("turn"), turn)
        work = state.get("work", Work()) if is_same or state.get("outcome") is None else Work()
        end = outcomes.end_with_failure if is_final else outcomes.end_unfinished
        await self._put(turn, kept, {**end({**state, "turn": turn}, work, reason), "turn": turn})

    async def _put(self, turn: Turn, kept: TurnCheckpoints, values: Mapping[str, Any]) -> None:
        """Put values into a checkpoint that ends the turn."""
        graph = self.graph.copy({"checkpointer": kept})
        await graph.aupdate_state(_config(turn.conversation), values, as_node="give_up")


def _config(conversation: Conversation) -> RunnableConfig:
    return {"configurable": {"thread_id": conversation.id}}


def _is_same(stored: Turn | None, turn: Turn) -> bool:
    return stored is not None and (type(stored), stored.id) == (type(turn), turn.id)


def _outcome_of(state: State, turn: Turn) -> Outcome | None:
    outcome = state.get("outcome")
    return outcome if outcome is not None and outcome.turn_id == turn.id else None
