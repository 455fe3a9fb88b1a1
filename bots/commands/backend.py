"""Who does the work of a command: this process itself, or the one that serves the data folder.

Both give the same answers, so the commands do not know which it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bots.chat.access import forget_documents
from bots.chat.indexing import (
    BackgroundVectors,
    Targets,
    find_embedder,
    require_documents,
    run_in_thread,
    update_index,
)
from bots.terminal.receive import Backend, CommandTurns, Forgotten
from bots.terminal.screen import Screen
from core.bootstrap import Footnote, is_served, make_fetcher, open_footnote, reads_everything
from core.errors import IndexInUse, IndexMismatch, ModelTrouble, SettingsError
from core.library.data_lock import SERVING, find_owner
from core.library.embedding.embedder import Embedder
from core.library.indexing import Notify
from core.library.library import EMBED_BATCH, Library
from core.library.passage_search import Hits
from core.library.sync import SyncReport
from core.settings import Settings, WebSearch


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


PATIENCE = 60.0  # seconds that a command waits for another one
LOOK_EVERY = 0.2  # seconds
#: Purposes that may take hours, of which nobody waits for the end. On PostgreSQL one may serve that has just begun.
LONG = ("footnote chat", "footnote eval", SERVING)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBackend:
    """This process."""

    footnote: Footnote

    @property
    def settings(self) -> Settings:
        return self.footnote.settings

    @property
    def library(self) -> Library:
        return self.footnote.library

    @property
    def assistant(self) -> CommandTurns:
        return self.footnote.assistant

    @property
    def web_search(self) -> WebSearch:
        return self.footnote.settings.web_search

    @property
    def vectors_of(self) -> str:
        embedder = self.footnote.library.embedder
        return embedder.name if embedder else ""

    async def prepare(self, targets: Targets, screen: Screen, *, with_vectors: bool) -> None:
        await (prepare if with_vectors else index_documents)(self.footnote, targets, screen)

    async def refresh(self, notify: Notify) -> SyncReport:
        return await run_in_thread(lambda notify: self.library.refresh(notify=notify), notify)

    async def background_vectors(self, targets: Targets, screen: Screen) -> BackgroundVectors:
        """The embedder is loaded now where the index or the operator calls for one.

        ``auto`` alone may find none or download for long, so it is left to the background.
        """
        library, settings = self.library, self.settings
        embedder = None
        if library.store.has_vectors() or (targets.addresses and settings.embedding_model != "auto"):
            embedder = await load_embedder(library, settings, screen)
        if library.store.count_pending_vectors() <= EMBED_BATCH:
            library.embedder = embedder
        return BackgroundVectors(
            library, settings, screen.note, embedder=embedder, may_find=bool(targets.addresses)
        )

    async def search(self, query: str, limit: int) -> Hits:
        everything = await asyncio.to_thread(self.library.store.collections)
        return await self.footnote.search(everything, query, limit)

    async def forget(self, source: str) -> list[Forgotten]:
        entries = await asyncio.to_thread(forget_documents, self.library, self.footnote.storage, source)
        return [(entry.source, entry.passages) for entry in entries]


@asynccontextmanager
async def open_backend(
    settings: Settings, *, purpose: str, screen: Screen, must_match: bool = False
) -> AsyncIterator[Backend]:
    """This process, or the one that serves. IndexInUse if another command owns the data folder for long.

    ``must_match``: SettingsError if whoever serves has other settings, which otherwise is noted.
    """
    from bots.commands.remote import open_remote

    async with AsyncExitStack() as open_now:
        if not await asyncio.to_thread(until_free, settings, screen):
            opening = open_footnote(settings, purpose=purpose, reads=reads_everything)
            try:
                footnote = await open_now.enter_async_context(opening)
            except IndexInUse:  # somebody came first
                if not await asyncio.to_thread(until_free, settings, screen):
                    raise
            else:
                yield LocalBackend(footnote=footnote)
                return
        remote = open_remote(settings, screen=screen, must_match=must_match)
        yield await open_now.enter_async_context(remote)


def until_free(settings: Settings, screen: Screen, *, patience: float = PATIENCE) -> bool:
    """Wait until no other command uses the data folder; True if somebody serves it, and does the work of commands."""
    until, told = time.monotonic() + patience, False
    while not is_served(settings):
        owner = find_owner(settings.data_dir)
        if owner is None or owner.name.endswith(LONG) or time.monotonic() > until:
            return False
        if not told and owner.is_named:
            screen.note(f"Waiting for another Footnote ({owner.name})…")
            told = True
        time.sleep(LOOK_EVERY)
    return True


def here_or_beside(
    settings: Settings, screen: Screen, *, here: Callable[[], int], beside: Callable[[], int]
) -> int:
    """Do it in this process, unless somebody serves; the exit code."""
    if until_free(settings, screen):
        return beside()
    try:
        return here()
    except IndexInUse:  # somebody came first
        if is_served(settings):
            return beside()
        raise
