"""``footnote ask``, ``decide`` and ``chat``: one question, a batch of them with one JSON object each in order, a
decision about a proposed web search, or a conversation in the terminal.
"""

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
from bots.chat.indexing import Targets, read_targets
from bots.commands.backend import background_vectors, open_backend
from bots.record import failed, record_of
from bots.terminal import render
from bots.terminal.operations import Backend
from bots.terminal.receive import CommandTurns, ask, decide, open_lines, read_lines
from bots.terminal.screen import Screen
from bots.terminal.session import Session, conversation_named, fresh_conversation, run_in_order, situation
from core.conversation import Conversation, Decision, Outcome, Proposal, Turn, check_question, value
from core.errors import FootnoteError, NotFound, QuestionRejected, SettingsError
from core.reasoning.providers import find_local_servers
from core.settings import Settings

logger = logging.getLogger(__name__)

READ_AHEAD = 8  # lines read ahead of the next result, for each question that may run at a time

#: Of the lines that were typed, in the data folder; without it, this is the first conversation.
HISTORY = "history"

Record = dict[str, Any]
LineId = str | int | float | bool | None


@value
class BatchQuestion:
    """A line that is a question."""

    id: LineId
    question: str
    conversation: Conversation | None = None  #: None: a new one


@value
class Malformed:
    """A line that is not."""

    id: LineId
    reason: str


BatchLine = BatchQuestion | Malformed


def read_line(line: bytes, number: int) -> BatchLine | None:
    """``{"id", "question", "thread"?}``; None for a blank line, which is skipped."""
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):  # its number may be another's id
        return Malformed(id=None, reason=f"Line {number} is not a JSON object.")
    line_id = record.get("id", number)
    if not isinstance(line_id, str | int | float | None):
        line_id = number
    try:
        thread = _text(record, "thread") if record.get("thread") is not None else None
        question = check_question(_text(record, "question"))
        conversation = None if thread is None else conversation_named(thread)
        return BatchQuestion(id=line_id, question=question, conversation=conversation)
    except FootnoteError as error:
        return Malformed(id=line_id, reason=f"Line {number}: {error}")


def _text(record: dict[str, Any], key: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        raise QuestionRejected(f"There is no “{key}” that is a text.")
    return text


async def answer_all(
    lines: AsyncIterable[bytes], answer: Callable[[BatchLine], Awaitable[Record]], *, concurrency: int
) -> AsyncIterator[Record]:
    """A record for each line, in order, as soon as it is ready; threads run side by side."""
    slots, last_of = asyncio.Semaphore(concurrency), dict[str, asyncio.Task[Record]]()
    ahead: asyncio.Queue[asyncio.Task[Record] | None] = asyncio.Queue(maxsize=concurrency * READ_AHEAD)

    async def answer_after(before: asyncio.Task[Record] | None, item: BatchLine) -> Record:
        if before is not None:
            await asyncio.wait([before])
        async with slots:
            return await answer(item)

    async def start_all() -> None:
        number = 0
        async for line in lines:
            number += 1
            if (item := read_line(line, number)) is None:
                continue
            thread = item.conversation.id if isinstance(item, BatchQuestion) and item.conversation else ""
            task = asyncio.create_task(answer_after(last_of.get(thread), item))
            if thread:
                last_of[thread] = task
            await ahead.put(task)
        await ahead.put(None)

    reading = asyncio.create_task(start_all())
    try:
        while (task := await ahead.get()) is not None:
            yield await task
        await reading
    finally:
        reading.cancel()
        while not ahead.empty():
            if (task := ahead.get_nowait()) is not None:
                task.cancel()


async def run_turn(turn: Turn, backend: Backend, screen: Screen, arguments: Namespace) -> int:
    """Run it with progress and print the outcome as the arguments say; the exit code."""
    is_decision = isinstance(turn, Decision)
    proposals = await backend.assistant.proposals(turn.conversation) if is_decision else ()
    with screen.waiting(texts.language_of_turn(turn, proposals)) as report:
        outcome = await run_in_order(
            backend.assistant, turn, report,
            on_unfinished=lambda interrupted: screen.note(texts.finishing(interrupted)),
            on_finished=lambda earlier: screen.note(texts.text_of(earlier)),
        )  # fmt: skip
    _print_outcome(outcome, turn.conversation, backend, screen, arguments)
    return 1 if outcome.kind == "failed" else 0


def _print_outcome(
    outcome: Outcome, conversation: Conversation, backend: Backend, screen: Screen, arguments: Namespace
) -> None:
    passages, engine = getattr(arguments, "passages", 0), texts.ENGINE_NAMES[backend.web_search]
    if arguments.json:
        record = record_of(outcome, thread=conversation.id, engine=engine, passages=passages > 0)
        print(json.dumps(record))  # noqa: T201 - this is the output
        return
    if screen.is_drawn:
        files = {entry.source: entry.address for entry in backend.library.store.entries()}
        screen.show(render.write(outcome, render.ScreenContext(engine=engine, files=files)))
    else:
        screen.write(texts.page_of(outcome, engine=engine))
    if outcome.proposal is not None:
        hint = f"\nfootnote decide {outcome.proposal.id} --approve   (or --deny, or --approve --query “…”)"
        screen.show(Text(hint))
    if passages:
        screen.show(render.ranking(outcome.ranked))
    if outcome.kind == "answered" and screen.is_drawn:
        screen.note(f"Follow up with: footnote ask --thread {conversation.thread} “…”")


def ask_questions(arguments: Namespace, settings: Settings) -> int:
    if arguments.batch is None:
        return process.run(_ask(arguments, settings))
    if arguments.question is not None or arguments.thread is not None:
        raise SettingsError("With --batch, questions and threads stand in the file.")
    with _open_batch(arguments.batch) as descriptor:
        return process.run(_ask_all(descriptor, arguments, settings))


async def _ask(arguments: Namespace, settings: Settings) -> int:
    if arguments.question is None:
        raise SettingsError("There is no question: footnote ask “…” [--docs PATH…], or --batch FILE.")
    check_question(arguments.question)
    targets = read_targets(arguments.docs, settings=settings)
    thread = arguments.thread
    conversation = fresh_conversation() if thread is None else conversation_named(thread)
    screen = Screen()
    async with open_backend(settings, purpose="footnote ask", screen=screen) as backend:
        await backend.prepare(targets, screen, with_vectors=True)
        here = situation(conversation, sources=targets.addresses, passages=arguments.passages)
        return await run_turn(ask(arguments.question, here), backend, screen, arguments)


@contextmanager
def _open_batch(file: str) -> Iterator[int]:
    """The batch's file descriptor; "-" is standard input."""
    if file == "-":
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
        os.read(descriptor, 0)  # a folder opens, but cannot be read
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {(error.strerror or 'unknown').lower()}.") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _ask_all(descriptor: int, arguments: Namespace, settings: Settings) -> int:
    targets = read_targets(arguments.docs, settings=settings)
    screen = Screen()
    async with open_backend(settings, purpose="footnote ask", screen=screen) as backend:
        await backend.prepare(targets, screen, with_vectors=True)

        async def answer(item: BatchLine) -> Record:
            return await _answer(item, backend, targets, arguments.passages)

        has_failed = False
        async for record in answer_all(read_lines(descriptor), answer, concurrency=arguments.concurrency):
            has_failed |= record["outcome"] == "failed"
            print(json.dumps(record), flush=True)  # noqa: T201 - this is the output
    return 1 if has_failed else 0


async def _answer(item: BatchLine, backend: Backend, targets: Targets, passages: int) -> Record:
    thread = None
    if isinstance(item, Malformed):
        outcome = failed(item.reason)
    else:
        conversation = item.conversation or fresh_conversation()
        here = situation(conversation, sources=targets.addresses, passages=passages)
        thread = conversation.id
        try:
            outcome = await run_in_order(backend.assistant, ask(item.question, here))
        except Exception as error:
            # The boundary of one line: the others go on.
            logger.exception("line %r failed", item.id)
            outcome = failed(f"Footnote has a fault of its own ({type(error).__name__}).")
    record = record_of(
        outcome, thread=thread, engine=texts.ENGINE_NAMES[backend.web_search], passages=passages > 0
    )
    return {"id": item.id, **record}


async def decide_proposal(arguments: Namespace, settings: Settings) -> int:
    if arguments.query is not None and arguments.verdict == "deny":
        raise SettingsError("--query names what to search for instead; use it with --approve.")
    screen = Screen()
    async with open_backend(settings, purpose="footnote decide", screen=screen) as backend:
        conversation = await _find(backend.assistant, arguments.proposal, arguments.thread)
        turn = decide(arguments.proposal, arguments.verdict, situation(conversation), query=arguments.query)
        await backend.prepare(Targets(), screen, with_vectors=True)
        return await run_turn(turn, backend, screen, arguments)


async def _find(assistant: CommandTurns, proposal_id: str, thread: str | None) -> Conversation:
    """The conversation that holds the proposal; NotFound when none does."""
    if thread is None:
        found = await assistant.find_proposal(proposal_id)
        if found is None:
            raise NotFound(f"There is no proposed web search with the id {proposal_id}.")
        return found[0]
    conversation = conversation_named(thread)
    if not await assistant.knows(conversation):
        raise NotFound(f"There is no conversation called {conversation.thread}.")
    proposals: tuple[Proposal, ...] = await assistant.proposals(conversation)
    if not any(proposal.id == proposal_id for proposal in proposals):
        raise NotFound(f"There is no proposed web search with the id {proposal_id} in {conversation.thread}.")
    return conversation


async def chat(arguments: Namespace, settings: Settings) -> int:
    targets = read_targets(arguments.paths, settings=settings)
    thread = arguments.thread
    conversation = fresh_conversation() if thread is None else conversation_named(thread)
    screen = Screen()
    async with open_backend(settings, purpose="footnote chat", screen=screen) as backend:
        store = backend.library.store
        if thread is not None and not await backend.assistant.knows(conversation):
            screen.note(f"There is no thread {conversation.thread} yet: this begins it.")
        await backend.prepare(targets, screen, with_vectors=False)
        if not store.entries():
            raise SettingsError(texts.NOTHING_INDEXED)
        vectors = await background_vectors(backend, targets, screen)
        if not settings.has_chat_model and not (settings.data_dir / HISTORY).exists():
            for server in await find_local_servers():
                screen.note(server.hint)
        typed = open_lines(settings.data_dir / HISTORY, lambda: (entry.source for entry in store.entries()))
        session = Session(
            backend=backend, conversation=conversation, sources=targets.addresses, lines=typed, screen=screen,
            vectors=vectors,
        )  # fmt: skip
        try:
            await session.serve()
        finally:
            if vectors is not None:
                await vectors.stop()
            if session.turns:
                screen.note(f"Come back with: footnote chat --thread {conversation.thread}")
    return 0
