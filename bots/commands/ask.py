"""``footnote ask``: one question, or a batch of them.

Many questions in, one JSON object each out: in order, as they become available.

How ``ask`` and ``decide`` tell what came of a turn.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.text import Text

from bots import process
from bots.chat import texts
from bots.commands.preparing import prepare
from bots.indexing import Targets, read_targets
from bots.record import failed, record_of
from bots.terminal import render
from bots.terminal.prompt import lines_of
from bots.terminal.receive import ask
from bots.terminal.screen import Screen
from bots.terminal.session import conversation_named, fresh_conversation, run_in_order, situation
from core.bootstrap import Footnote, open_footnote, reads_everything
from core.conversation import Conversation, Outcome, check_question, value
from core.errors import FootnoteError, QuestionRejected, SettingsError
from core.settings import Settings
from core.text.language import language_of

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


def engine_of(footnote: Footnote) -> str:
    """The search engine, as people know it."""
    return texts.ENGINE_NAMES[footnote.settings.web_search]


def tell(
    outcome: Outcome, conversation: Conversation, footnote: Footnote, screen: Screen, arguments: Namespace
) -> int:
    """Print the outcome as it was asked for; the exit code."""
    passages = getattr(arguments, "passages", 0)
    engine = engine_of(footnote)
    if arguments.json:
        record = record_of(outcome, thread=conversation.id, engine=engine, passages=passages > 0)
        print(json.dumps(record))  # noqa: T201 - this is the output
    elif screen.is_drawn:
        files = {entry.source: entry.address for entry in footnote.library.store.entries()}
        screen.show(render.write(outcome, render.ScreenContext(engine=engine, files=files)))
    else:
        screen.write(texts.page_of(outcome, engine=engine))
    if not arguments.json:
        _tell_more(outcome, conversation, screen, with_ranking=passages > 0)
    return 1 if outcome.kind == "failed" else 0


def _tell_more(outcome: Outcome, conversation: Conversation, screen: Screen, *, with_ranking: bool) -> None:
    if outcome.proposal is not None:
        screen.show(
            Text(f"\nfootnote decide {outcome.proposal.id} --approve   (or --deny, or --approve --query “…”)")
        )
    if with_ranking:
        screen.show(render.ranking(outcome.ranked))
    if outcome.kind == "answered" and screen.is_drawn:
        screen.note(f"Follow up with: footnote ask --thread {conversation.thread} “…”")


PURPOSE = "footnote ask"

logger = logging.getLogger(__name__)


def run(arguments: Namespace, settings: Settings) -> int:
    if arguments.batch is None:
        return process.run(_ask(arguments, settings))
    if arguments.question is not None or arguments.thread is not None:
        raise SettingsError("With --batch, questions and threads stand in the file.")
    with _opened(arguments.batch) as descriptor:
        return process.run(_ask_all(descriptor, arguments, settings))


async def _ask(arguments: Namespace, settings: Settings) -> int:
    if arguments.question is None:
        raise SettingsError("There is no question: footnote ask “…” [--docs PATH…], or --batch FILE.")
    check_question(arguments.question)
    targets = read_targets(arguments.docs)
    named = arguments.thread
    conversation = fresh_conversation() if named is None else conversation_named(named)
    screen = Screen()
    async with open_footnote(settings, purpose=PURPOSE, reads=reads_everything) as footnote:
        await prepare(footnote, targets, screen)
        here = situation(conversation, sources=targets.addresses, passages=arguments.passages)
        with screen.waiting(language_of(arguments.question)) as report:
            outcome = await run_in_order(
                footnote.assistant,
                ask(arguments.question, here),
                report,
                on_unfinished=lambda left: screen.note(texts.finishing(left)),
                on_finished=lambda ended: screen.note(texts.text_of(ended)),
            )
        return tell(outcome, conversation, footnote, screen, arguments)


@contextmanager
def _opened(file: str) -> Iterator[int]:
    """The batch's file descriptor; "-" is standard input."""
    if file == "-":
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
        os.read(descriptor, 0)  # a folder opens, but cannot be read
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {(fault.strerror or 'unknown').lower()}.") from fault
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _ask_all(descriptor: int, arguments: Namespace, settings: Settings) -> int:
    targets = read_targets(arguments.docs)
    screen = Screen()
    async with open_footnote(settings, purpose=PURPOSE, reads=reads_everything) as footnote:
        await prepare(footnote, targets, screen)

        async def answer(asked: Asked | Malformed) -> Record:
            return await _record(asked, footnote, targets, arguments.passages)

        async for record in answer_all(lines_of(descriptor), answer, concurrency=arguments.concurrency):
            print(json.dumps(record), flush=True)  # noqa: T201 - this is the output
    return 0


async def _record(asked: Asked | Malformed, footnote: Footnote, targets: Targets, passages: int) -> Record:
    thread = None
    if isinstance(asked, Malformed):
        outcome = failed(asked.reason)
    else:
        conversation = asked.conversation or fresh_conversation()
        here = situation(conversation, sources=targets.addresses, passages=passages)
        thread = conversation.id
        try:
            outcome = await run_in_order(footnote.assistant, ask(asked.question, here))
        except Exception as fault:
            # The boundary of one line: the others go on.
            logger.exception("line %r failed", asked.id)
            outcome = failed(f"Footnote has a fault of its own ({type(fault).__name__}).")
    record = record_of(outcome, thread=thread, engine=engine_of(footnote), passages=passages > 0)
    return {"id": asked.id, **record}
