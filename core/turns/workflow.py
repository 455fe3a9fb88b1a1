"""The workflows of a turn and of a command as DBOS continues them, and for how long they try to reach a platform."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dbos import DBOS, StepOptions, WorkflowSerializationFormat

from core.conversation import Command, Turn, log_fields
from core.errors import StoreUnavailable
from core.turns.archive import COMMAND, TURN, command_from, outcome_from, turn_from
from core.turns.dbos_patches import IS_FIRST
from core.turns.messenger import SHOWN_BY, ReplyRoute, Unreachable

if TYPE_CHECKING:
    from core.turns.turns import Turns

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # runs of one turn before it ends in an apology
PATIENCE = 24 * 3600.0  # seconds that a platform which cannot be reached is tried again
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries; doubled each time

Record = dict[str, Any]  # JSON types only
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurnRun:
    """One run of a workflow: the first, or a later one that continues after what was recorded."""

    attempt: int  #: counts from 1
    stops: int  #: earlier runs that were cut off by an orderly stop of their process

    @property
    def is_hopeless(self) -> bool:
        """Whether as many runs as a turn gets ended with their process, other than by a stop."""
        return self.attempt - self.stops > ATTEMPTS


def register(turns: Turns) -> None:
    """Register both under the names that the queue has stored."""
    workflow = partial(
        DBOS.workflow,
        max_recovery_attempts=None,  # DBOS would give up silently; ours ends in an apology
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )

    @workflow(name=TURN)
    async def run_turn(record: Record, route: Record) -> Record:
        """First sign, outcome, delivery. The first two are recorded, so a restart continues after the last of them.

        Delivery is recorded by the end of the workflow: if it is cut off, it is done again.
        """
        run, turn = TurnRun(*turns.claims.take(record["id"])), turn_from(record)
        IS_FIRST.set(run.attempt == 1 and not is_by_operator(route))  # who may cancel it before it begins
        handle = await DBOS.run_step_async({"name": "begin"}, turns.begin, run, turn, route)
        thinking: StepOptions = {"name": "think", "preemptible": is_by_operator(route)}
        outcome = await DBOS.run_step_async(thinking, turns.think, run, turn, route, handle)
        if (ended := outcome_from(outcome)).is_shown:
            await turns.deliver(turn, route, handle, ended, is_again=run.attempt > 1)
        return outcome

    @workflow(name=COMMAND)
    async def run_command(record: Record, route: Record) -> None:
        run, command = TurnRun(*turns.claims.take(record["id"])), command_from(record)
        carrying: StepOptions = {"name": "carry_out", "preemptible": is_by_operator(route)}
        await DBOS.run_step_async(carrying, turns.carry_out, run, command, route)


def is_by_operator(route: ReplyRoute) -> bool:
    """Whether it is the work of a command, which may cancel it while it runs."""
    return SHOWN_BY in route


async def retry(
    turn: Turn | Command,
    call: Callable[[bool], Awaitable[T]],
    *,
    is_again: bool,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T | None:
    """Call a platform until it can be reached, and what is stored for it can be read and written.

    None if it refuses, or either stays out of reach for too long.
    """
    loop = asyncio.get_running_loop()
    until, pause, level = loop.time() + PATIENCE, FIRST_PAUSE, logging.WARNING
    while True:
        try:
            return await call(is_again)
        except (Unreachable, StoreUnavailable) as lost:
            what = "platform" if isinstance(lost, Unreachable) else "store"
            logger.log(level, "%s out of reach", what, extra={**log_fields(turn), "pause_seconds": pause})
            if loop.time() + pause > until:
                return None
        except Exception:
            # A message that can never be sent must not hold up the conversation behind it.
            logger.exception("platform refused", extra=log_fields(turn))
            return None
        await sleep(pause)
        pause, is_again, level = min(2 * pause, LONGEST_PAUSE), True, logging.INFO
