"""What comes before an answer: the index is updated from the disk, and new passages get their vectors."""

from __future__ import annotations

from bots.chat.indexing import Targets, find_embedder, require_documents, run_in_thread, update_index
from bots.terminal.screen import Screen
from core.bootstrap import Footnote, make_fetcher
from core.errors import IndexMismatch, ModelTrouble, SettingsError
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.settings import Settings


async def prepare(footnote: Footnote, targets: Targets, screen: Screen) -> None:
    """Both steps, with progress; without targets, what is indexed already."""
    await index_documents(footnote, targets, screen)
    if targets.addresses or footnote.library.store.has_vectors():
        footnote.library.embedder = await load_embedder(footnote.library, footnote.settings, screen)
        await _embed_passages(footnote.library, screen)


async def index_documents(footnote: Footnote, targets: Targets, screen: Screen) -> None:
    """Index by words; of documents that were named, failures are reported."""
    library, fetcher = footnote.library, make_fetcher(footnote.settings, for_operator=True)
    require_documents(library, targets)
    with screen.indexing() as show:
        report = await run_in_thread(
            lambda notify: update_index(library, targets, fetcher, notify=notify), show
        )
    for failure in report.failed if targets.addresses else ():
        screen.note(f"{failure.source}: {failure.reason}")


async def load_embedder(library: Library, settings: Settings, screen: Screen) -> Embedder | None:
    """IndexMismatch when the index was built with another model."""
    with screen.indexing() as show:
        return await run_in_thread(
            lambda notify: find_embedder(
                library, settings, insist=False, announce=screen.note, notify=notify
            ),
            show,
        )


async def _embed_passages(library: Library, screen: Screen) -> None:
    """Make the missing vectors; when that fails, passages are found by their words alone."""
    try:
        with screen.indexing() as show:
            await run_in_thread(lambda notify: library.embed_pending(notify=notify), show)
    except IndexMismatch:
        raise
    except (ModelTrouble, SettingsError) as error:  # a damaged vector index is no reason not to answer
        screen.note(f"Searching by words alone: {error}")
