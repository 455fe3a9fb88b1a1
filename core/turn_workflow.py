"""The DBOS workflow of one turn. Importing this registers it, so it is imported when turns are opened."""

from __future__ import annotations

from typing import Any

from dbos import DBOS, WorkflowSerializationFormat

from core.records import outcome_from, plain, turn_from
from core.turns import opened

Record = dict[str, Any]

# DBOS gives up silently on a workflow that was recovered too often; ours ends in an apology long before.
RECOVERIES = 1_000


@DBOS.step(name="begin")
async def begin(turn: Record, address: Record) -> str:
    return await opened().begin(turn_from(turn), address, await _attempt(turn))


@DBOS.step(name="think")
async def think(turn: Record, address: Record, handle: str) -> Record:
    return plain(await opened().think(turn_from(turn), address, handle, await _attempt(turn)))


@DBOS.step(name="deliver")
async def deliver(turn: Record, address: Record, handle: str, outcome: Record) -> None:
    ended = outcome_from(outcome)
    await opened().deliver(turn_from(turn), address, handle, ended, await _attempt(turn))


async def _attempt(turn: Record) -> int:
    """Which run of the turn this is; asked within a step, which is not recorded before it ends."""
    status = await DBOS.get_workflow_status_async(turn["id"])
    return (status.recovery_attempts or 1) if status else 1


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
