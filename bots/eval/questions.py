"""A team's own questions and the answers they expect: reading the file, and asking them all.

One JSON object a line: ``{"id", "question", "thread"?, "source"?, "answerable"?, "answer"?, "gold"?,
"kind"?}``; other fields are ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bots.record import failed
from bots.terminal.receive import CommandTurns, Situation, ask
from bots.terminal.session import conversation_named, fresh_conversation, situation
from core.conversation import EVALUATION, Outcome, check_question, value
from core.errors import SettingsError

logger = logging.getLogger(__name__)


@value
class EvalQuestion:
    """A question, and what is expected of its answer."""

    line: int  #: counts from 1
    id: str  #: default: the number of the line
    question: str
    thread: str | None = None  #: questions of one thread are asked in order, in one conversation
    sources: tuple[str, ...] = ()  #: files that may be cited, by name or by the end of their path
    answerable: bool | None = None  #: whether the documents answer it; None: not judged
    words: tuple[str, ...] = ()  #: each should occur in the answer
    gold: tuple[str, ...] = ()  #: sentences of the documents, one of which should be quoted
    kind: str = ""  #: the group it is counted in


def read_questions(file: Path) -> tuple[EvalQuestion, ...]:
    """All questions of a file; SettingsError names every line with a fault."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {(fault.strerror or 'unknown').lower()}.") from fault
    found: dict[str, EvalQuestion] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = read_line(line, number)
        except SettingsError as fault:
            faults.append(f"Line {number}: {fault}")
            continue
        first = found.setdefault(read.id, read)
        if first is not read:
            faults.append(f"Line {number}: the id “{read.id}” is used on line {first.line} already.")
    if faults:
        raise SettingsError(f"{file} cannot be used. " + " ".join(faults))
    if not found:
        raise SettingsError(f"{file} holds no questions.")
    return tuple(found.values())


def read_line(line: bytes, number: int) -> EvalQuestion:
    """One line; SettingsError says what is wrong with it."""
    try:
        fields = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise SettingsError("not a JSON object.")
    sources = _texts(fields, "source", "sources")
    words, gold = _texts(fields, "answer", "answers"), _texts(fields, "gold")
    return EvalQuestion(
        line=number,
        id=_id(fields, number),
        question=check_question(_text(fields, "question")),
        thread=_thread(fields),
        sources=sources,
        answerable=_answerable(fields, default=True if sources or words or gold else None),
        words=words,
        gold=gold,
        kind=_text(fields, "kind") if fields.get("kind") is not None else "",
    )


def _id(fields: dict[str, Any], number: int) -> str:
    content = fields.get("id", number)
    if isinstance(content, bool) or not isinstance(content, str | int):
        raise SettingsError("“id” must be a text or a number.")
    return str(content)


def _thread(fields: dict[str, Any]) -> str | None:
    if fields.get("thread") is None:
        return None
    name = _text(fields, "thread")
    conversation_named(name)  # raises if the name is not valid
    return name


def _answerable(fields: dict[str, Any], *, default: bool | None) -> bool | None:
    content = fields.get("answerable")
    if content is None:
        return default
    if not isinstance(content, bool):
        raise SettingsError("“answerable” must be true or false.")
    return content


def _text(fields: dict[str, Any], key: str) -> str:
    content = fields.get(key)
    if not isinstance(content, str):
        raise SettingsError(f"“{key}” is missing or is not a text.")
    return content


def _texts(fields: dict[str, Any], *keys: str) -> tuple[str, ...]:
    """The texts in these fields."""
    found: list[str] = []
    for key in keys:
        content = fields.get(key)
        texts = [content] if isinstance(content, str) else content or []
        if not isinstance(texts, list) or not all(isinstance(each, str) and each.strip() for each in texts):
            raise SettingsError(f"“{key}” must be a text or a list of texts.")
        found += texts
    return tuple(found)


async def ask_all(
    questions: Sequence[EvalQuestion],
    assistant: CommandTurns,
    *,
    sources: tuple[str, ...],
    concurrency: int,
    on_answer: Callable[[], None],
) -> list[Outcome]:
    """The outcome of each question, in their order; every conversation is forgotten afterwards.

    ``sources`` are the paths or URLs that may be cited; ``on_answer`` is called after each outcome.
    """
    threads: dict[str | int, list[EvalQuestion]] = {}
    for each in questions:
        threads.setdefault(each.thread or each.line, []).append(each)
    outcomes: dict[str, Outcome] = {}
    slots = asyncio.Semaphore(concurrency)

    async def ask_thread(thread: Sequence[EvalQuestion]) -> None:
        conversation = fresh_conversation(EVALUATION)
        try:
            for each in thread:
                async with slots:
                    here = situation(conversation, sources=sources)
                    outcomes[each.id] = await _outcome(each, assistant, here)
                on_answer()
        finally:
            await assistant.forget(conversation)

    await asyncio.gather(*map(ask_thread, threads.values()))
    return [outcomes[each.id] for each in questions]


async def _outcome(question: EvalQuestion, assistant: CommandTurns, here: Situation) -> Outcome:
    try:
        return await assistant.run(ask(question.question, here))
    except Exception as fault:
        # The boundary of one question: the others continue.
        logger.exception("question %r failed", question.id)
        return failed(f"Footnote has a fault of its own ({type(fault).__name__}).")
