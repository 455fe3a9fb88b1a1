"""Our assistant as it is served: real client of a model, real checkpoints, real library, and the durable queue."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.evaluation_sets import EVERYTHING
from benchmarks.model_server import API_KEY, LocalModel, local_model
from benchmarks.synthetic import library_of
from core.conversation import Command, Conversation, Outcome, Progress, Question, ThreadMessage, Turn, value
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.library.library import Library, ScopedDocuments
from core.reasoning.chat_model import ChatModels, FallbackReasoner
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.providers import Access
from core.reasoning.reasoner import Reasoner
from core.turns.assistant import Assistant
from core.turns.checkpoints import open_checkpoints
from core.turns.messenger import ReplyRoute
from core.turns.turns import Turns, open_turns
from core.web.request import WebResearch

CHAT_MODEL, GRADER_MODEL = "gemini-3.5-flash", "gemini-3.5-flash-lite"
PATIENCE = 600.0  # seconds for one turn: a bound that no measurement should meet


PLATFORM = "bench"
CONVERSATIONS, QUEUE = "conversations.sqlite", "turns.sqlite"  # where both are kept
WITHIN = 1_800.0  # seconds: a bound that no measurement should meet


def access_to(base_url: str) -> Access:
    return Access(google_api_key=API_KEY, google_url=base_url, timeout=PATIENCE)


@asynccontextmanager
async def serving(
    library: Library,
    folder: Path,
    base_url: str,
    *,
    web: Callable[[Turn], WebResearch | None] = lambda _turn: None,
) -> AsyncIterator[Assistant]:
    """The default policy over this library; conversations are kept in the folder."""
    models = ChatModels.open(chat_model=CHAT_MODEL, grader_model=GRADER_MODEL, access=access_to(base_url))

    def reasoner() -> Reasoner:
        return FallbackReasoner(models.reasoner(turn_timeout=PATIENCE), ExtractiveReasoner())

    async with thinking_with(reasoner, library, folder, web=web) as assistant:
        yield assistant
    await models.aclose()


@asynccontextmanager
async def thinking_with(
    reasoner: Callable[[], Reasoner],
    library: Library,
    folder: Path,
    *,
    web: Callable[[Turn], WebResearch | None] = lambda _turn: None,
    turn_timeout: float = PATIENCE,
) -> AsyncIterator[Assistant]:
    """The default policy over this library with a reasoner of each turn's own."""

    async def make_deps(turn: Turn, report: Callable[[Progress], None]) -> Deps:
        return Deps(
            policy=PRESETS["footnote"],
            reasoner=reasoner(),
            documents=ScopedDocuments(library=library, scope=EVERYTHING),
            web=web(turn),
            watcher=report,
        )

    async with open_checkpoints(folder / "conversations.sqlite") as checkpoints:
        yield Assistant(
            graph=build_graph(checkpoints),
            checkpoints=checkpoints,
            make_deps=make_deps,
            turn_timeout=turn_timeout,
        )


# The durable queue


@dataclass(slots=True)
class CountingMessenger:
    """The messenger of a platform that shows nothing: it counts what it is given."""

    begun: set[str] = field(default_factory=set)  #: turns
    outcomes: dict[str, Outcome] = field(default_factory=dict)  #: by turn
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def begin(self, turn: Turn, route: ReplyRoute, *, is_again: bool) -> str:
        async with self._changed:
            self.begun.add(turn.id)
            self._changed.notify_all()
        return turn.id

    async def with_names(self, turn: Turn, route: ReplyRoute) -> Turn:
        return turn

    async def thread_context(self, turn: Turn, route: ReplyRoute) -> tuple[ThreadMessage, ...]:
        return ()

    async def read_attachments(self, question: Question, route: ReplyRoute) -> Question:
        return question

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
        """There are no commands here."""

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN), self._changed:
            await self._changed.wait_for(holds)


@value
class RunningQueue:
    """A queue that takes turns, in a folder of its own."""

    turns: Turns
    messenger: CountingMessenger
    folder: Path
    model: LocalModel

    async def begin(self, questions: Sequence[Question]) -> None:
        """Returns when all of them have begun."""
        ids = {question.id for question in questions}
        for question in questions:
            await self.turns.accept(question, {})
        await self.messenger.until(lambda: ids <= self.messenger.begun)

    async def answer(self, questions: Sequence[Question]) -> None:
        """Returns when all of them have been answered."""
        ids = {question.id for question in questions}
        for question in questions:
            await self.turns.accept(question, {})
        await self.messenger.until(lambda: ids <= self.messenger.outcomes.keys())


@asynccontextmanager
async def running(passages: int) -> AsyncIterator[RunningQueue]:
    """The default policy over so many synthetic passages, found by their words."""
    messenger = CountingMessenger()
    with tempfile.TemporaryDirectory() as scratch, library_of(passages, Path(scratch)) as library:
        folder = Path(scratch)
        async with (
            local_model() as model,
            serving(library, folder, model.base_url) as assistant,
            open_turns(
                assistant, {PLATFORM: messenger}, database_url=f"sqlite:///{folder / QUEUE}", drain=0.1
            ) as turns,
        ):
            yield RunningQueue(turns=turns, messenger=messenger, folder=folder, model=model)


def question(text: str, number: int, thread: str) -> Question:
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
