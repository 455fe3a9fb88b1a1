"""Turns and outcomes as JSON in the queue's database, and look-ups of them."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from core.conversation import Command, Conversation, Decision, Outcome, Question, Turn, value
from core.errors import StoreUnavailable
from core.turns import queue
from core.turns.messenger import ReplyRoute
from core.turns.waiting import queue_priority

if TYPE_CHECKING:
    from dbos import EnqueueOptions, WorkflowStatus
    from pydantic import TypeAdapter

Stored = TypeVar("Stored")
Record = dict[str, Any]  # JSON types only

TURN, COMMAND = "turn", "command"  #: their workflows' names in DBOS
RUNNING = ("DELAYED", "ENQUEUED", "PENDING")  # states of a workflow that has not ended


def plain(value: Turn | Command | Outcome) -> Record:
    """Tuples become lists."""
    record = asdict(value)
    if not isinstance(value, Outcome):
        record["kind"] = type(value).__name__
    return cast("Record", json.loads(json.dumps(record)))


def turn_from(record: Mapping[str, Any]) -> Turn:
    """A turn written by :func:`plain`; ValueError if it is something else."""
    kinds: Mapping[str, type[Turn]] = {"Question": Question, "Decision": Decision}
    if (kind := kinds.get(str(record.get("kind")))) is None:
        raise ValueError("this record is of no turn")
    return read(kind, record)


def read(kind: type[Stored], record: Mapping[str, Any]) -> Stored:
    """Another value written by :func:`plain`; ValueError if it is something else."""
    return cast("Stored", _reader(cast("Any", kind)).validate_python(dict(record)))


@cache
def _reader(kind: type) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


NOWHERE = "nowhere"  # begins the handle of such a turn


@value
class NotShown:
    """Why the outcome of a turn can be shown nowhere; as a text, its handle."""

    code: str = ""  #: of the platform's error
    text: str = ""

    def __str__(self) -> str:
        return f"{NOWHERE} {self.code} {self.text}".rstrip()

    @classmethod
    def parse(cls, handle: str) -> Self | None:
        """None for the handle of a message."""
        begins, _, why = handle.partition(" ")
        code, _, text = why.partition(" ")
        return cls(code=code, text=text) if begins == NOWHERE else None


def enqueueing(work: Turn | Command) -> "EnqueueOptions":
    """A turn or a command for the queue. It has its own id, and comes after what was said before it in its
    conversation."""
    from dbos import WorkflowSerializationFormat

    is_apart = isinstance(work, Command) and work.is_apart
    return {
        "workflow_name": COMMAND if isinstance(work, Command) else TURN,
        "workflow_id": work.id,
        "queue_name": queue.QUEUE,
        "queue_partition_key": work.id if is_apart else work.conversation.id,
        "priority": queue_priority(work),
        "app_version": queue.APPLICATION_VERSION,
        "serialization_type": WorkflowSerializationFormat.PORTABLE,
    }


STORING = 1.0  # seconds; a button of an answer may be pressed before the end of its turn is stored
LOOK_EVERY = 0.05  # seconds
BATCH = 1_000  # turns that are read at a time


async def outcome_of(turn_id: str) -> Outcome | None:
    """The outcome of a turn; None while it runs."""
    status = await queue.run_unrecorded(_status_of(turn_id))
    return read(Outcome, status.output) if status and isinstance(status.output, dict) else None


async def has_ended(turn_id: str) -> bool:
    """True once the outcome of a turn was shown, and for one that is not kept any more."""
    status = await queue.run_unrecorded(_status_of(turn_id))
    return status is None or status.status not in RUNNING


async def _status_of(turn_id: str) -> "WorkflowStatus | None":
    """The status of a turn, once it has ended, or after STORING."""
    from dbos import DBOS

    for _ in range(int(STORING / LOOK_EVERY)):
        status = await DBOS.get_workflow_status_async(turn_id)
        if status is None or status.status not in RUNNING:
            break
        await asyncio.sleep(LOOK_EVERY)
    return status


async def is_stored(turn_id: str) -> bool:
    """True if a turn or a command of this id is kept."""
    from dbos import DBOS

    return await DBOS.get_workflow_status_async(turn_id) is not None


async def question_of(turn_id: str) -> Question | None:
    """The question of a turn; None for another turn, or one that is not kept any more."""
    turn = await stored_turn(turn_id)
    return turn if isinstance(turn, Question) else None


async def stored_turn(turn_id: str) -> Turn | None:
    """A question or a decision; None for one that is not kept any more."""
    found = await turn_and_route(turn_id)
    return found[0] if found else None


async def turn_and_route(turn_id: str) -> tuple[Turn, ReplyRoute] | None:
    """A stored turn, and where its answer went; None for one that is not kept any more."""
    from dbos import DBOS

    status = await DBOS.get_workflow_status_async(turn_id)
    stored: Any = status.input if status else None
    return (turn, stored["args"][1]) if (turn := _turn_in(stored)) else None


def _turn_in(stored: Any) -> Turn | None:
    """The turn of a workflow; None for a command, and for an unreadable turn."""
    try:
        return turn_from(stored["args"][0])
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return None


async def questions_since(moment: float) -> list[Question]:
    """The questions asked since then (seconds since the epoch) that are kept, oldest first."""
    from dbos import DBOS

    found: list[Question] = []
    for offset in count(0, BATCH):
        stored = await DBOS.list_workflows_async(
            name=TURN, start_time=datetime.fromtimestamp(moment, UTC).isoformat(),
            limit=BATCH, offset=offset, load_output=False,
        )  # fmt: skip
        turns = (counted_question(each.input, each.status, moment) for each in stored)
        found += [turn for turn in turns if turn is not None]
        if len(stored) < BATCH:
            break
    return sorted(found, key=lambda question: question.asked_at)


def counted_question(stored: Any, status: str, moment: float) -> Question | None:
    """The question among a workflow's arguments, if it counts in the rates of those asked since a moment."""
    turn = _turn_in(stored)
    if not isinstance(turn, Question) or turn.asked_at < moment:
        return None
    # One that nobody addressed to the bot counts only if it was answered.
    return turn if turn.is_addressed or (status == "SUCCESS" and not is_erased(turn)) else None


def count_unfinished(system: Any = None) -> int:
    """Turns and commands of the store that are due and have not ended; blocks. StoreUnavailable."""
    from sqlalchemy import func, select
    from sqlalchemy.exc import SQLAlchemyError

    system = system or queue.system_database()  # DBOS lists workflows, and counts none
    table = system.tables.workflow_status
    due = table.c.status.in_(("ENQUEUED", "PENDING"))
    unfinished = select(func.count()).where(due, table.c.queue_name == queue.QUEUE)
    try:
        with system.engine.connect() as connection:
            return int(connection.execute(unfinished).scalar_one())
    except SQLAlchemyError as fault:
        raise StoreUnavailable("The queue cannot be read now.") from fault


async def erase(turn: Turn) -> None:
    """Delete the text of a question that stays unanswered; its id stays, against redeliveries."""
    erased = replace(turn, text="", quoted=()) if isinstance(turn, Question) else turn
    # Its route too may hold the text.
    await asyncio.to_thread(queue.replace_arguments, turn.id, [plain(erased), {}])


def is_erased(turn: Turn) -> bool:
    return isinstance(turn, Question) and not turn.text


async def outcomes_in(conversation: Conversation) -> tuple[Outcome, ...]:
    """The outcomes of a conversation's finished turns, as far as they are kept."""
    ids = await queue.run_unrecorded(queue.list_finished(conversation.id))
    return tuple([each for turn_id in ids if (each := await outcome_of(turn_id)) is not None])


async def forget_turns(conversation: Conversation) -> tuple[str, ...]:
    """Delete a conversation's finished turns; returns their ids, which a platform may deliver again."""
    return await queue.delete_finished(conversation.id)
