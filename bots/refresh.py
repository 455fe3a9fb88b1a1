"""Keeps the index in step with the disk while the bot serves."""

import asyncio
import logging
from dataclasses import dataclass, field

from bots.chat.indexing import BackgroundVectors, Watcher, run_in_thread
from core.errors import FootnoteError, StoreUnavailable
from core.library.indexing import Notify
from core.library.library import Library
from core.library.sync import SyncReport
from core.settings import Settings
from core.turns.replicas import Replicas

logger = logging.getLogger(__name__)

EVERY = 5.0  # seconds between two looks at the disk; a look at 10,000 files takes a fraction of one
PATIENCE = 3.0  # seconds that a question waits for a look; then it is answered from what is indexed


@dataclass(slots=True, kw_only=True)
class IndexRefresher:
    """Looks at the disk before a question, and embeds passages that have no vectors."""

    settings: Settings
    _is_leading: bool = False
    _vectors: BackgroundVectors | None = None
    _look: asyncio.Task[None] | None = None
    _next: float = field(default=0.0)  #: when a look is due, by the loop's clock

    async def refresh(self, library: Library) -> None:
        """Check the disk if that is due, once for all who wait; only in the process that keeps the index."""
        if not self._is_leading:
            return
        now = asyncio.get_running_loop().time()
        if self._look is None or (self._look.done() and now >= self._next):
            self._look = asyncio.create_task(self._look_at_disk(library))
        await asyncio.wait([self._look], timeout=PATIENCE)

    async def lead(self, library: Library, replicas: Replicas) -> None:
        """Keep the index until cancelled. Questions that other processes answer call for no look here, so
        beside them it looks at fixed times."""
        self._is_leading = True
        try:
            await self.refresh(library)
            while True:
                await asyncio.sleep(EVERY)
                if replicas.are_several:
                    await self.refresh(library)
        finally:
            self._is_leading = False
            await self.stop()

    async def follow(self, library: Library) -> None:
        """Search by meaning once the process that keeps the index has embedded every passage."""
        vectors = BackgroundVectors(
            library, self.settings, logger.info, embedder=library.embedder, may_find=True, may_embed=False
        )
        vectors.start()
        try:
            await asyncio.Event().wait()
        finally:
            await vectors.stop()
            await self.stop()  # what a command had embedded here

    async def stop(self) -> None:
        """Stop embedding at the next batch."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait([self._look])
        if self._vectors is not None:
            await self._vectors.stop()
        self._look = self._vectors = None

    async def _look_at_disk(self, library: Library) -> None:
        def work(notify: Notify) -> SyncReport:
            return library.refresh(notify=notify)

        try:
            report = await run_in_thread(work, lambda _kind, _done, _total: None)
        except StoreUnavailable as away:  # it passes
            logger.warning("the documents could not be looked at", extra={"reason": str(away)})
            report = SyncReport()
        except (FootnoteError, OSError):
            logger.exception("the documents could not be looked at")
            report = SyncReport()
        self._next = asyncio.get_running_loop().time() + EVERY
        if self._vectors is None or report.added or report.changed:
            self._vectors_of(library).start()

    async def embed(self, library: Library, watcher: Watcher, *, insist: bool) -> int:
        """Wait until every passage has a vector; returns how many were made. Raises what prevented it."""
        return await self._vectors_of(library).finish(watcher, insist=insist)

    def embed_soon(self, library: Library) -> None:
        """Start to embed new passages, without waiting."""
        self._vectors_of(library).start()

    def _vectors_of(self, library: Library) -> BackgroundVectors:
        if self._vectors is None:
            self._vectors = BackgroundVectors(
                library, self.settings, logger.info, embedder=library.embedder, may_find=True
            )
        return self._vectors
