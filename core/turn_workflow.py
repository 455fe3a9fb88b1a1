"""The DBOS workflows of a turn and of an errand. Importing this registers them.

DBOS finds a workflow by its name alone, so what the workflow then works on is kept here.
"""

from __future__ import annotations

from typing import Any, Protocol

from dbos import DBOS, WorkflowSerializationFormat

from core.conversation import Errand, Outcome, Turn
from core.messenger import Address
from core.records import errand_from, outcome_from, plain, turn_from

Record = dict[str, Any]

# DBOS gives up silently on a workflow that was recovered too often; ours ends in an apology long before.
RECOVERIES = 1_000


class Steps(Protocol):
    """What the workflows call; ``attempt`` counts the runs of the whole, from 1."""

    async def begin(self, turn: Turn, address: Address, attempt: int) -> str: ...

    async def think(self, turn: Turn, address: Address, handle: str, attempt: int) -> Outcome: ...

    async def deliver(
        self, turn: Turn, address: Address, handle: str, outcome: Outcome, attempt: int
    ) -> None: ...

    async def carry_out(self, errand: Errand, address: Address, attempt: int) -> None: ...


opened: list[Steps] = []  #: of this process; the newest is at work


@DBOS.step(name="begin")
async def begin(turn: Record, address: Record) -> str:
    return await _steps().begin(turn_from(turn), address, await _attempt(turn))


@DBOS.step(name="think")
async def think(turn: Record, address: Record, handle: str) -> Record:
    return plain(await _steps().think(turn_from(turn), address, handle, await _attempt(turn)))


@DBOS.step(name="deliver")
async def deliver(turn: Record, address: Record, handle: str, outcome: Record) -> None:
    ended = outcome_from(outcome)
    await _steps().deliver(turn_from(turn), address, handle, ended, await _attempt(turn))


@DBOS.step(name="carry_out")
async def carry_out(errand: Record, address: Record) -> None:
    await _steps().carry_out(errand_from(errand), address, await _attempt(errand))


async def _attempt(record: Record) -> int:
    """Which run this is; asked within a step, which is not recorded before it ends."""
    status = await DBOS.get_workflow_status_async(record["id"])
    return (status.recovery_attempts or 1) if status else 1


def _steps() -> Steps:
    if not opened:
        raise RuntimeError("no turns are open")
    return opened[-1]


@DBOS.workflow(
    name="turn",
    max_recovery_attempts=RECOVERIES,
    serialization_type=WorkflowSerializationFormat.PORTABLE,
)
async def run_turn(turn: Record, address: Record) -> Record:
    """First sign, outcome, delivery: each step recorded, so that a restart goes on behind the last one."""
    handle = await begin(turn, address)
    outcome = await think(turn, address, handle)
    await deliver(turn, address, handle, outcome)
    return outcome


@DBOS.workflow(
    name="errand",
    max_recovery_attempts=RECOVERIES,
    serialization_type=WorkflowSerializationFormat.PORTABLE,
)
async def run_errand(errand: Record, address: Record) -> None:
    await carry_out(errand, address)
