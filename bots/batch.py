"""Many questions in, one JSON object each out: in order, as they become available."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

from bots.local import conversation_named
from core.conversation import Conversation, check_question
from core.errors import FootnoteError, QuestionRejected
from core.values import value

AHEAD = 8  # lines read ahead of the next result for every one that may run

Record = dict[str, Any]
LineId = str | int | float | bool | None


@value
class Asked:
    """One line that asks."""

    id: LineId
    question: str
    conversation: Conversation | None = None  #: None: one of its own


@value
class Malformed:
    """One line that does not."""

    id: LineId
    reason: str


def read_line(line: bytes, number: int) -> Asked | Malformed | None:
    """``{"id", "question", "thread"?}``; None for a blank line, which is skipped."""
    if not line.strip():
        return None
    given = _object_in(line)
    if given is None:
        return Malformed(id=number, reason=f"Line {number} is not a JSON object.")
    named = given.get("id", number)
    line_id = named if isinstance(named, str | int | float | None) else number
    try:
        thread = _text(given, "thread") if given.get("thread") is not None else None
        return Asked(
            id=line_id,
            question=check_question(_text(given, "question")),
            conversation=None if thread is None else conversation_named(thread),
        )
    except FootnoteError as fault:
        return Malformed(id=line_id, reason=f"Line {number}: {fault}")


def _object_in(line: bytes) -> dict[str, Any] | None:
    try:
        given = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _text(given: dict[str, Any], key: str) -> str:
    found = given.get(key)
    if not isinstance(found, str):
        raise QuestionRejected(f"There is no “{key}” that is a text.")
    return found


async def answer_all(
    lines: AsyncIterable[bytes],
    answer: Callable[[Asked | Malformed], Awaitable[Record]],
    *,
    concurrency: int,
) -> AsyncIterator[Record]:
    """One record for each line that is not blank, in the order of the lines, each as soon as it and
    those before it are there. Lines of one thread wait for each other, others run side by side.
    """
    ahead: asyncio.Queue[asyncio.Task[Record] | None] = asyncio.Queue(maxsize=concurrency * AHEAD)
    reading = asyncio.create_task(_start_all(lines, answer, asyncio.Semaphore(concurrency), ahead))
    try:
        while (task := await ahead.get()) is not None:
            yield await task
        await reading
    finally:
        reading.cancel()
        while not ahead.empty():
            if (task := ahead.get_nowait()) is not None:
                task.cancel()


async def _start_all(
    lines: AsyncIterable[bytes],
    answer: Callable[[Asked | Malformed], Awaitable[Record]],
    slots: asyncio.Semaphore,
    ahead: asyncio.Queue[asyncio.Task[Record] | None],
) -> None:
    last_of: dict[str, asyncio.Task[Record]] = {}
    number = 0
    async for line in lines:
        number += 1
        asked = read_line(line, number)
        if asked is None:
            continue
        thread = asked.conversation.id if isinstance(asked, Asked) and asked.conversation else ""
        task = asyncio.create_task(_answer_after(last_of.get(thread), asked, answer, slots))
        if thread:
            last_of[thread] = task
        await ahead.put(task)
    await ahead.put(None)


async def _answer_after(
    before: asyncio.Task[Record] | None,
    asked: Asked | Malformed,
    answer: Callable[[Asked | Malformed], Awaitable[Record]],
    slots: asyncio.Semaphore,
) -> Record:
    if before is not None:
        await asyncio.wait([before])
    async with slots:
        return await answer(asked)
