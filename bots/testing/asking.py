"""All questions through the real assistant, in order within a thread, and those that fail once more with a model."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bots.mcp.callers import Caller
from bots.record import failed
from bots.terminal.receive import CommandTurns, ask
from bots.terminal.session import situation
from bots.testing.cases import Case
from bots.testing.judging import GOOD, Judgement
from core.conversation import Conversation, Outcome

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examiner:
    """Asks questions and judges what comes back; their conversations are forgotten."""

    assistant: CommandTurns
    judge: Callable[[Case, Outcome], Awaitable[Judgement]]
    callers: Mapping[str, Caller]  #: by the ``as`` of the questions; of those without one, by ""
    sources: tuple[str, ...]  #: addresses to stay within
    runs: int  #: of a question that fails, at most
    slots: asyncio.Semaphore
    on_answer: Callable[[], None]

    async def examine(self, cases: Sequence[Case]) -> tuple[Judgement, ...]:
        """A judgement for each, in order."""
        threads: dict[str | int, list[Case]] = {}
        for case in cases:
            threads.setdefault(case.thread or case.line, []).append(case)
        judged = await asyncio.gather(*map(self._settle, threads.values()))
        found = {judgement.case.id: judgement for each in judged for judgement in each}
        return tuple(found[case.id] for case in cases)

    async def _settle(self, thread: Sequence[Case]) -> list[Judgement]:
        """A question that fails is asked until two runs agree; if they do not, a third says which is the rule."""
        first = await self._ask(thread)
        for _ in thread:
            self.on_answer()
        runs = [first]
        while len(runs) < self.runs and (open_now := [n for n in range(len(thread)) if _is_open(runs, n)]):
            runs.append(await self._ask(thread[: open_now[-1] + 1]))
        return [_settled([run[n] for run in runs if n < len(run)]) for n in range(len(thread))]

    async def _ask(self, thread: Sequence[Case]) -> list[Judgement]:
        """Ask the questions of a thread in a new conversation, and forget it."""
        caller = self.callers[thread[0].whom]
        conversation = caller.conversation(f"test-{secrets.token_hex(6)}")
        judged = []
        try:
            for case in thread:
                async with self.slots:
                    outcome = await self._outcome(case, caller, conversation)
                    judged.append(await self.judge(case, outcome))
        finally:
            await self.assistant.forget(conversation)
        return judged

    async def _outcome(self, case: Case, caller: Caller, conversation: Conversation) -> Outcome:
        asked = ask(case.question, situation(conversation, sources=self.sources))
        try:
            return await self.assistant.run(replace(asked, author=caller.author, is_test=True))
        except Exception as fault:
            # The boundary of one question: the others continue.
            logger.exception("question %r failed", case.id)
            return failed(f"Footnote has a fault of its own ({type(fault).__name__}).")


def _is_open(runs: Sequence[Sequence[Judgement]], number: int) -> bool:
    """True if no two runs agree that a question fails, and the first did not find that it holds."""
    verdicts = [run[number].verdict in GOOD for run in runs if number < len(run)]
    return not verdicts[0] and verdicts.count(False) < 2 and verdicts.count(True) < 2


def _settled(runs: Sequence[Judgement]) -> Judgement:
    """The first run's judgement, with what the others found: what held in some runs is flaky."""
    first, *_ = runs
    if first.verdict in GOOD:
        return first
    held = sum(each.verdict in GOOD for each in runs)
    return replace(first, verdict="flaky" if held else first.verdict, held=held, runs=len(runs))
