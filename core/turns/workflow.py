"""The workflows of a turn and of a command as DBOS continues them, and the queue that runs them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from dbos import DBOS, StepOptions, WorkflowSerializationFormat

from core.turns.archive import COMMAND, TURN, command_from, outcome_from, turn_from
from core.turns.assistant import Assistant
from core.turns.dbos_patches import share_claims
from core.turns.messenger import SHOWN_BY, Messenger, ReplyRoute
from core.turns.queue import CONCURRENCY, QUEUE, launched
from core.turns.replicas import ALONE, Replicas
from core.turns.turns import DRAIN, THINKING, Record, Turns


@asynccontextmanager
async def open_turns(
    assistant: Assistant,
    messengers: Mapping[str, Messenger],
    *,
    database_url: str,
    drain: float = DRAIN,
    replicas: Replicas = ALONE,
) -> AsyncIterator[Turns]:
    """Launch the queue in the running loop and resume what a stopped process left; at the end, drain."""
    turns = Turns(assistant=assistant, messengers=messengers, drain=drain, replicas=replicas)
    register(turns)
    async with (
        launched(
            database_url, QUEUE, disk=turns.disk, close=turns.close, replicas=replicas, claims=turns.claims
        ),
        replicas.serving(turns),
    ):
        share_claims(replicas, THINKING, CONCURRENCY)
        yield turns


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
        claimed, turn = turns.claims.take(record["id"]), turn_from(record)
        async with turns.running(claimed, turn) as run:
            handle = await DBOS.run_step_async({"name": "begin"}, turns.begin, run, turn, route)
            thinking: StepOptions = {"name": "think", "preemptible": is_by_operator(route)}
            outcome = await DBOS.run_step_async(thinking, turns.think, run, turn, route, handle)
            if (ended := outcome_from(outcome)).is_shown:
                await turns.deliver(run, turn, route, handle, ended)
            return outcome

    @workflow(name=COMMAND)
    async def run_command(record: Record, route: Record) -> None:
        claimed, command = turns.claims.take(record["id"]), command_from(record)
        async with turns.running(claimed, command) as run:
            carrying: StepOptions = {"name": "carry_out", "preemptible": is_by_operator(route)}
            await DBOS.run_step_async(carrying, turns.carry_out, run, command, route)


def is_by_operator(route: ReplyRoute) -> bool:
    """True if it is the work of a command, which may cancel it while it runs."""
    return SHOWN_BY in route
