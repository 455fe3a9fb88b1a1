"""Turns through the durable queue to a platform of nobody's, which counts what it is told."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.model_server import LocalModel, local_model
from benchmarks.served import serving
from benchmarks.synthetic import library_of
from bots.eval.sections import Options
from core.conversation import Command, Conversation, Outcome, Progress, Question, ThreadMessage, Turn, value
from core.turns.messenger import ReplyRoute
from core.turns.turns import open_turns

if TYPE_CHECKING:
    from core.turns.turns import Turns

PLATFORM = "bench"
CONVERSATIONS, QUEUE = "conversations.sqlite", "turns.sqlite"  # where both are kept
WITHIN = 1_800.0  # seconds: a bound that no measurement should meet


@dataclass(slots=True)
class Nobody:
    """The messenger of a platform on which nothing is shown."""

    begun: set[str] = field(default_factory=set)  #: turns
    outcomes: dict[str, Outcome] = field(default_factory=dict)  #: by turn
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        async with self._changed:
            self.begun.add(turn.id)
            self._changed.notify_all()
        return turn.id

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        return ()

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Callable[[Progress], None]:
        return lambda _: None

    async def deliver(
        self,
        turn: Turn | Command,
        route: ReplyRoute,
        handle: str,
        outcome: Outcome,
        *,
        is_again: bool,
    ) -> None:
        async with self._changed:
            self.outcomes[turn.id] = outcome
            self._changed.notify_all()

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """There are no errands here."""

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN), self._changed:
            await self._changed.wait_for(holds)


@value
class Running:
    """A queue that takes turns, in a folder of its own."""

    turns: Turns
    nobody: Nobody
    folder: Path
    model: LocalModel

    async def begin(self, questions: Sequence[Question]) -> None:
        """Returns when all of them have given their sign."""
        ids = {question.id for question in questions}
        for question in questions:
            await self.turns.accept(question, {})
        await self.nobody.until(lambda: ids <= self.nobody.begun)

    async def end(self, questions: Sequence[Question]) -> None:
        """Returns when all of them have been answered."""
        ids = {question.id for question in questions}
        for question in questions:
            await self.turns.accept(question, {})
        await self.nobody.until(lambda: ids <= self.nobody.outcomes.keys())


@asynccontextmanager
async def running(passages: int) -> AsyncIterator[Running]:
    """The default policy over so many synthetic passages, found by their words."""
    options = Options(data=Path(), model="none", quick=True, say=lambda _: None)
    nobody = Nobody()
    with tempfile.TemporaryDirectory() as scratch, library_of(passages, Path(scratch), options) as library:
        folder = Path(scratch)
        async with (
            local_model() as model,
            serving(library, folder, model.base_url) as assistant,
            open_turns(
                assistant, {PLATFORM: nobody}, database_url=f"sqlite:///{folder / QUEUE}", drain=0.1
            ) as turns,
        ):
            yield Running(turns=turns, nobody=nobody, folder=folder, model=model)


def asked(text: str, number: int, thread: str) -> Question:
    """The question of a thread that stands at this place in it."""
    conversation = Conversation(platform=PLATFORM, space="s", channel="c", thread=thread)
    return Question(
        id=f"{thread}/{number}", conversation=conversation, author="ada", text=text, asked_at=float(number)
    )


def size_of(database: Path) -> int:
    """Bytes of a SQLite file that is in use, once what is still in its write-ahead log is in it."""
    with closing(sqlite3.connect(database)) as reader:
        (pages,), (size,) = (
            reader.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
        )
    return int(pages) * int(size)
