"""The DBOS workflows of a turn and of an errand. Importing this registers them.

DBOS finds a workflow by its name alone, so what the workflow then works on is kept here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from dbos import DBOS, WorkflowSerializationFormat

from core.conversation import Command, Outcome, Turn
from core.turns.archive import command_from, outcome_from, plain, turn_from
from core.turns.messenger import ReplyRoute

Record = dict[str, Any]

# DBOS gives up silently on a workflow that was recovered too often; ours ends in an apology long before.
RECOVERIES = 1_000


class Steps(Protocol):
    """What the workflows call; ``attempt`` counts the runs of the whole, from 1."""

    async def begin(self, turn: Turn, route: ReplyRoute, attempt: int) -> str: ...

    async def think(self, turn: Turn, route: ReplyRoute, handle: str, attempt: int) -> Outcome: ...

    async def deliver(
        self, turn: Turn, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None: ...

    async def carry_out(self, command: Command, route: ReplyRoute, attempt: int) -> None: ...


TURN = "turn"  #: under which DBOS keeps questions and decisions

opened: list[Steps] = []  #: of this process; the newest is at work


@dataclass(slots=True)
class Run:
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


@DBOS.step(name="begin")
async def begin(run: Run, turn: Turn, route: Record) -> str:
    return await _steps().begin(turn, route, await run.attempt())


@DBOS.step(name="think")
async def think(run: Run, turn: Turn, route: Record, handle: str) -> Record:
    return plain(await _steps().think(turn, route, handle, await run.attempt()))


@DBOS.step(name="carry_out")
async def carry_out(run: Run, command: Command, route: Record) -> None:
    await _steps().carry_out(command, route, await run.attempt())


def _steps() -> Steps:
    if not opened:
        raise RuntimeError("no turns are open")
    return opened[-1]


@DBOS.workflow(
    name=TURN,
    max_recovery_attempts=RECOVERIES,
    serialization_type=WorkflowSerializationFormat.PORTABLE,
)
async def run_turn(turn: Record, route: Record) -> Record:
    """First sign, outcome, delivery: the first two recorded, so that a restart goes on behind the last of them.

    Delivery is recorded by the end of the workflow itself: cut off before that, it is done once more.
    """
    run, asked = Run(turn["id"]), turn_from(turn)
    handle = await begin(run, asked, route)
    outcome = await think(run, asked, route, handle)
    await _steps().deliver(asked, route, handle, outcome_from(outcome), is_again=not run.is_first)
    return outcome


@DBOS.workflow(
    name="command",
    max_recovery_attempts=RECOVERIES,
    serialization_type=WorkflowSerializationFormat.PORTABLE,
)
async def run_command(command: Record, route: Record) -> None:
    await carry_out(Run(command["id"]), command_from(command), route)
