"""What the queue keeps of turns: what was asked, and how it ended. For as long as it is remembered.

The time on the wall, for what is deleted by its age: a jump ahead makes nothing old.

Turns and outcomes as plain JSON, for what must be stored outside a conversation's checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from core.conversation import Decision, Errand, Outcome, Question, Turn

if TYPE_CHECKING:
    from pydantic import TypeAdapter
import asyncio
from contextvars import Context
from datetime import UTC, datetime
from itertools import count

from core.conversation import Conversation


@dataclass(slots=True, kw_only=True)
class UnhurriedClock:
    """Seconds since the epoch, but never more of them since the beginning than have really passed.

    Where the wall is set back, so is this; a clock that was wrong at the beginning is believed.
    """

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _ahead: float = field(init=False)  #: of the steady clock, at the beginning

    def __post_init__(self) -> None:
        self._ahead = self.wall() - self.steady()

    def now(self) -> float:
        return min(self.wall(), self.steady() + self._ahead)


def plain(value: Turn | Errand | Outcome) -> dict[str, Any]:
    """JSON types only; tuples become lists."""
    record = asdict(value)
    if not isinstance(value, Outcome):
        record["kind"] = type(value).__name__
    return cast("dict[str, Any]", _as_json(record))


def turn_from(record: Mapping[str, Any]) -> Turn:
    """A turn written by :func:`plain`; ValueError when it is none."""
    kind = _TURNS.get(str(record.get("kind")))
    if kind is None:
        raise ValueError("this record is of no turn")
    fields = {name: content for name, content in record.items() if name != "kind"}
    return cast("Turn", _reader(kind).validate_python(fields))


def errand_from(record: Mapping[str, Any]) -> Errand:
    fields = {name: content for name, content in record.items() if name != "kind"}
    return cast("Errand", _reader(Errand).validate_python(fields))


def outcome_from(record: Mapping[str, Any]) -> Outcome:
    return cast("Outcome", _reader(Outcome).validate_python(dict(record)))


_TURNS: Mapping[str, type] = {"Question": Question, "Decision": Decision}


@cache
def _reader(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _as_json(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _as_json(value) for key, value in content.items()}
    return [_as_json(value) for value in content] if isinstance(content, list | tuple) else content


TELLING = 1.0  # seconds; a person may press a button of an answer before its end is stored
LOOK_EVERY = 0.05  # seconds
BATCH = 1_000  # turns that are read at a time


async def outcome_of(turn_id: str) -> Outcome | None:
    """How a turn ended, which may have been told a moment ago; None while it runs.

    Asked in a context of its own: within a workflow, DBOS would record the asking as a step of that.
    """
    return await asyncio.create_task(_outcome_of(turn_id), context=Context())


async def _outcome_of(turn_id: str) -> Outcome | None:
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
    return _question_in(status.input) if status else None


def _question_in(stored: Any) -> Question | None:
    """None for another kind of turn, and for what cannot be read."""
    try:
        turn = turn_from(stored["args"][0])
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return None
    return turn if isinstance(turn, Question) else None


async def questions_since(moment: float) -> list[Question]:
    """What was asked from then on (seconds since the epoch) and is kept, oldest first."""
    from dbos import DBOS

    from core.turns.workflow import TURN

    found: list[Question] = []
    for offset in count(0, BATCH):
        stored = await DBOS.list_workflows_async(
            name=TURN, start_time=datetime.fromtimestamp(moment, UTC).isoformat(),
            limit=BATCH, offset=offset, load_output=False,
        )  # fmt: skip
        questions = (_question_in(each.input) for each in stored)
        found += [question for question in questions if question and question.asked_at >= moment]
        if len(stored) < BATCH:
            break
    return sorted(found, key=lambda question: question.asked_at)


async def forget_turns(conversation: Conversation) -> tuple[str, ...]:
    """Delete what is kept of a conversation's finished turns; their ids, since a platform may bring them again."""
    from core.turns.queue import delete_finished

    return await delete_finished(conversation.id)
