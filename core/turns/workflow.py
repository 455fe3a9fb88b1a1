"""The DBOS workflows of a turn and of a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from dbos import DBOS, EnqueueOptions, WorkflowSerializationFormat

from core.conversation import Command, Turn
from core.turns.archive import COMMAND, TURN, command_from, outcome_from, plain, turn_from
from core.turns.messenger import ReplyRoute
from core.turns.queue import APPLICATION_VERSION

if TYPE_CHECKING:
    from core.turns.turns import Turns

Record = dict[str, Any]

# DBOS gives up silently on a workflow that was recovered too often; ours ends in an apology long before.
RECOVERIES = 1_000


@dataclass(slots=True)
class TurnRun:
    """One run of a workflow: the first, or a later one that goes on behind what was recorded."""

    id: str
    _attempt: int = field(default=0, init=False)

    async def attempt(self) -> int:
        """Which run this is, from 1. Only for use within a step: elsewhere DBOS would record the asking as one."""
        if not self._attempt:  # asked once, for asking costs as much as recording a step
            found: list[Any] = await DBOS.list_workflows_async(
                workflow_ids=[self.id], load_input=False, load_output=False
            )
            self._attempt = (found[0].recovery_attempts or 1) if found else 1
        return self._attempt

    @property
    def is_first(self) -> bool:
        """Told at the end: a run that found every step recorded, and so never asked, is a later one."""
        return self._attempt == 1


async def enqueue(
    turn: Turn | Command, route: ReplyRoute, *, queue: str, partition: str, priority: int
) -> None:
    """Store what is to be done. What is stored already stays as it is."""
    options: EnqueueOptions = {
        "workflow_name": COMMAND if isinstance(turn, Command) else TURN,
        "workflow_id": turn.id,
        "queue_name": queue,
        "queue_partition_key": partition,
        "priority": priority,
        "app_version": APPLICATION_VERSION,
        "serialization_type": WorkflowSerializationFormat.PORTABLE,
    }
    await DBOS.enqueue_workflow_with_options_async(options, plain(turn), dict(route))


def register(turns: Turns) -> None:
    """Tell DBOS what a turn and a command are, by their names: new ones, and those that a process left."""
    workflow = partial(
        DBOS.workflow,
        max_recovery_attempts=RECOVERIES,
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )

    @DBOS.step(name="begin")
    async def begin(run: TurnRun, turn: Turn, route: Record) -> str:
        return await turns.begin(turn, route, await run.attempt())

    @DBOS.step(name="think")
    async def think(run: TurnRun, turn: Turn, route: Record, handle: str) -> Record:
        return plain(await turns.think(turn, route, handle, await run.attempt()))

    @DBOS.step(name="carry_out")
    async def carry_out(run: TurnRun, command: Command, route: Record) -> None:
        await turns.carry_out(command, route, await run.attempt())

    @workflow(name=TURN)
    async def run_turn(turn: Record, route: Record) -> Record:
        """First sign, outcome, delivery: the first two recorded, so that a restart goes on after the last of them.

        Delivery is recorded by the end of the workflow itself: cut off before that, it is done once more.
        """
        run, asked = TurnRun(turn["id"]), turn_from(turn)
        handle = await begin(run, asked, route)
        outcome = await think(run, asked, route, handle)
        await turns.deliver(asked, route, handle, outcome_from(outcome), is_again=not run.is_first)
        return outcome

    @workflow(name=COMMAND)
    async def run_command(command: Record, route: Record) -> None:
        await carry_out(TurnRun(command["id"]), command_from(command), route)
