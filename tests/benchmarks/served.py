"""Our assistant as it is served: the real client of a model, real checkpoints, the real library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpora import EVERYTHING
from core.conversation import Progress, Turn

if TYPE_CHECKING:
    from core.graph.context import Deps, Web
    from core.library.library import Library
    from core.reasoning.providers import Access
    from core.reasoning.reasoner import Reasoner
    from core.turns.assistant import Assistant

CHAT_MODEL, GRADER_MODEL = "gemini-3.5-flash", "gemini-3.5-flash-lite"
PATIENCE = 600.0  # seconds for one turn: a bound that no measurement should meet


def access_to(base_url: str) -> Access:
    from core.reasoning.providers import Access

    return Access(google_api_key="local", google_url=base_url, timeout=PATIENCE)


@asynccontextmanager
async def serving(
    library: Library, folder: Path, base_url: str, *, web: Callable[[Turn], Web | None] = lambda _turn: None
) -> AsyncIterator[Assistant]:
    """The default policy over this library; conversations are kept in the folder."""
    from core.reasoning.chat_model import ChatModels
    from core.reasoning.extractive import ExtractiveReasoner
    from core.reasoning.fallback import FallbackReasoner

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
    web: Callable[[Turn], Web | None] = lambda _turn: None,
    turn_timeout: float = PATIENCE,
) -> AsyncIterator[Assistant]:
    """The default policy over this library with a reasoner of each turn's own."""
    from core.bootstrap import ScopedDocuments
    from core.graph.context import Deps
    from core.graph.graph import build_graph
    from core.graph.policy import PRESETS
    from core.turns.assistant import Assistant
    from core.turns.checkpoints import open_checkpoints

    def make_deps(turn: Turn, report: Callable[[Progress], None]) -> Deps:
        return Deps(
            policy=PRESETS["footnote"],
            reasoner=reasoner(),
            documents=ScopedDocuments(library=library, scope=EVERYTHING),
            web=web(turn),
            report=report,
        )

    async with open_checkpoints(folder / "conversations.sqlite") as checkpoints:
        yield Assistant(
            graph=build_graph(checkpoints),
            checkpoints=checkpoints,
            make_deps=make_deps,
            turn_timeout=turn_timeout,
        )
