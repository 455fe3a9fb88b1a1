"""What comes before an answer: the index in step with the disk, and vectors for what changed."""

from __future__ import annotations

from bots.indexing import Targets, Watch, bring_in_step, embedder_of, in_thread, require_documents
from bots.terminal.screen import Screen
from core.bootstrap import Footnote, make_fetcher
from core.errors import IndexMismatch, ModelTrouble, SettingsError
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.sync import SyncReport
from core.settings import Settings


async def prepare(footnote: Footnote, targets: Targets, screen: Screen) -> None:
    """Both phases, with progress; without targets only what is known already."""
    await index(footnote, targets, screen)
    if targets.addresses or footnote.library.store.has_vectors():
        footnote.library.embedder = await find_embedder(footnote.library, footnote.settings, screen)
        await embed(footnote.library, screen)


async def index(footnote: Footnote, targets: Targets, screen: Screen) -> None:
    """What can be searched by words; documents that were named and cannot be read are told."""
    library, fetcher = footnote.library, make_fetcher(footnote.settings)
    require_documents(library, targets)

    def work(watch: Watch) -> SyncReport:
        return bring_in_step(library, targets, fetcher, notify=watch)

    with screen.indexing() as watch:
        report = await in_thread(work, watch)
    for failure in report.failed if targets.addresses else ():
        screen.note(f"{failure.source}: {failure.reason}")


async def find_embedder(library: Library, settings: Settings, screen: Screen) -> Embedder | None:
    """IndexMismatch when the index was built with another model."""

    def work(watch: Watch) -> Embedder | None:
        return embedder_of(library, settings, insist=False, say=screen.note, watch=watch)

    with screen.indexing() as watch:
        return await in_thread(work, watch)


async def embed(library: Library, screen: Screen) -> None:
    """Vectors for what has none; when the model gives none, words alone have to do for now."""
    try:
        with screen.indexing() as watch:
            await in_thread(lambda watched: library.embed_pending(notify=watched), watch)
    except IndexMismatch:
        raise
    except (ModelTrouble, SettingsError) as trouble:  # a damaged vector index is no reason not to answer
        screen.note(f"Searching by words alone: {trouble}")
