"""Our assistant as it is served: the real client of a model, real checkpoints, the real library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpora import EVERYTHING
from core.conversation import Progress, Turn

if TYPE_CHECKING:
    from core.assistant import Assistant
    from core.library.library import Library
    from core.model.providers import Access
    from core.ports import Deps, Web
    from core.reasoner import Reasoner

CHAT_MODEL, GRADER_MODEL = "gemini-3.5-flash", "gemini-3.5-flash-lite"
PATIENCE = 600.0  # seconds for one turn: a bound that no measurement should meet


def access_to(base_url: str) -> Access:
    from core.model.providers import Access

    return Access(google_api_key="local", google_url=base_url, timeout=PATIENCE)


@asynccontextmanager
async def serving(
    library: Library, folder: Path, base_url: str, *, web: Callable[[Turn], Web | None] = lambda _turn: None
) -> AsyncIterator[Assistant]:
    """The default policy over this library; conversations are kept in the folder."""
    from core.chat_model import ChatModels
    from core.extractive import ExtractiveReasoner
    from core.fallback import FallbackReasoner

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
    from core.assistant import Assistant
    from core.bootstrap import ScopedDocuments
    from core.checkpoints import open_checkpoints
    from core.graph import build_graph
    from core.policy import PRESETS
    from core.ports import Deps

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
