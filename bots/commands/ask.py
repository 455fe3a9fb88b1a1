"""``footnote ask``: one question, or a batch of them."""

from __future__ import annotations

import json
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from bots import process
from bots.batch import Asked, Malformed, Record, answer_all
from bots.chat import texts
from bots.commands.outcome import engine_of, tell
from bots.commands.preparing import prepare
from bots.indexing import Targets, read_targets
from bots.lines import lines_of
from bots.local import conversation_named, fresh_conversation, run_in_order, situation
from bots.record import failed, record_of
from bots.terminal.receive import ask
from bots.terminal.screen import Screen
from core.bootstrap import Footnote, open_footnote, reads_everything
from core.conversation import check_question
from core.errors import SettingsError
from core.settings import Settings
from core.text.language import language_of

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
    async with open_footnote(
        settings, purpose=PURPOSE, reads=reads_everything, announce=screen.note
    ) as footnote:
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
    async with open_footnote(
        settings, purpose=PURPOSE, reads=reads_everything, announce=screen.note
    ) as footnote:
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
