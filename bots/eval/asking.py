"""Many questions through the real assistant, in conversations that are forgotten afterwards."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence

from bots.commands.ask import Asked, Malformed, Record, answer_all
from bots.eval.questions import Expected
from bots.record import failed
from bots.terminal.receive import ask
from bots.terminal.session import fresh_conversation, situation
from core.conversation import Conversation, Outcome
from core.turns.assistant import Assistant

logger = logging.getLogger(__name__)


async def outcomes_of(
    questions: Sequence[Expected],
    assistant: Assistant,
    *,
    sources: tuple[str, ...],
    concurrency: int,
    on_done: Callable[[int], None],
) -> list[Outcome]:
    """How each question ended, in order. Those of one thread share a conversation, the others have their own.

    ``sources`` are paths or URLs to stay within, ``on_done`` is told how many have ended.
    """
    named = {each.thread: fresh_conversation() for each in questions}
    conversations = [named[each.thread] if each.thread else fresh_conversation() for each in questions]

    async def answer(asked: Asked | Malformed) -> Record:
        return {"ended": await _outcome(asked, assistant, sources)}

    ended: list[Outcome] = []
    try:
        async for record in answer_all(_lines(questions, conversations), answer, concurrency=concurrency):
            ended.append(record["ended"])
            on_done(len(ended))
    finally:
        for conversation in dict.fromkeys(conversations):
            await assistant.forget(conversation)
    return ended


async def _lines(
    questions: Sequence[Expected], conversations: Sequence[Conversation]
) -> AsyncIterator[bytes]:
    for each, conversation in zip(questions, conversations, strict=True):
        line = {"id": each.id, "question": each.question, "thread": conversation.thread}
        yield json.dumps(line).encode()


async def _outcome(asked: Asked | Malformed, assistant: Assistant, sources: tuple[str, ...]) -> Outcome:
    if isinstance(asked, Malformed):
        return failed(asked.reason)
    here = situation(asked.conversation or fresh_conversation(), sources=sources)
    try:
        return await assistant.run(ask(asked.question, here))
    except Exception as fault:
        # The boundary of one question: the others go on.
        logger.exception("question %r failed", asked.id)
        return failed(f"Footnote has a fault of its own ({type(fault).__name__}).")
