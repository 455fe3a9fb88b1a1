"""What the queue keeps of turns: what was asked, and how it ended. For as long as it is remembered."""

from __future__ import annotations

import asyncio

from core.conversation import Conversation, Outcome, Question
from core.records import outcome_from, turn_from

TELLING = 1.0  # seconds; a person may press a button of an answer before its end is stored
LOOK_EVERY = 0.05  # seconds


async def outcome_of(turn_id: str) -> Outcome | None:
    """How a turn ended, which may have been told a moment ago; None while it runs."""
    from dbos import DBOS

    for _ in range(int(TELLING / LOOK_EVERY)):
        status = await DBOS.get_workflow_status_async(turn_id)
        if status is None or status.status not in ("ENQUEUED", "PENDING"):
            break
        await asyncio.sleep(LOOK_EVERY)
    return outcome_from(status.output) if status and isinstance(status.output, dict) else None


async def question_of(turn_id: str) -> Question | None:
    """What was asked in a turn."""
    from dbos import DBOS

    status = await DBOS.get_workflow_status_async(turn_id)
    if status is None or not status.input or status.input["args"][0].get("kind") != Question.__name__:
        return None
    turn = turn_from(status.input["args"][0])
    return turn if isinstance(turn, Question) else None


async def forget_turns(conversation: Conversation) -> tuple[str, ...]:
    """Delete what is kept of a conversation's finished turns; their ids, since a platform may bring them again."""
    from core.turn_queue import delete_finished

    return await delete_finished(conversation.id)
