"""The Messenger of the page: what it shows is written into the thread, wherever the browser is."""

# ruff: noqa: ARG002 - the port has the arguments that platforms need

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from bots.chat.progress import ThrottledProgress
from bots.chat.texts import language_of_turn, progress_note
from bots.page.threads import PageThreads
from core.conversation import Command, Outcome, Progress, Question, ThreadMessage, Turn, log_fields
from core.errors import FootnoteError
from core.turns.messenger import ReplyRoute, Unreachable

REFRESH = 3_600.0  # seconds; what stands in the store does not fade

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PageMessenger:
    """Shows turns in the threads of the page."""

    threads: PageThreads
    _running: dict[str, ThrottledProgress] = field(default_factory=dict)  #: by turn

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        await self._reach(self.threads.put(turn))
        return turn.id

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        """As it is: nobody is mentioned by an id here."""
        return turn

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        return ()

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:
        return question

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        first = Progress(stage="reading" if isinstance(turn, Question) else "searching")
        throttled = ThrottledProgress(
            show=partial(self._note, turn.id, language_of_turn(turn)), refresh=REFRESH, newest=first,
            is_ours=lambda: True,  # the store takes no note once a turn has its outcome
        )  # fmt: skip
        self._running[turn.id] = throttled
        loop = asyncio.get_running_loop()
        return lambda progress: cast("None", loop.call_soon_threadsafe(throttled.report, progress))

    async def deliver(
        self, turn: Turn | Command, route: ReplyRoute, handle: str, outcome: Outcome, *, is_again: bool
    ) -> None:
        if throttled := self._running.pop(turn.id, None):
            await throttled.close()
        await self._reach(self.threads.end(turn.id, outcome))

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Nothing on the page is stored as a command of its own."""
        logger.warning("the page knows no such command", extra=log_fields(command))

    async def _note(self, turn: str, language: str, progress: Progress, _is_new: bool) -> None:
        await self._reach(self.threads.note(turn, progress_note(progress, language)))

    async def _reach(self, writing: Awaitable[None]) -> None:
        try:
            await writing
        except FootnoteError as fault:
            raise Unreachable from fault
