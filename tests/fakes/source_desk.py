"""A library with its sources, and a clock that waits for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, field

from core.bootstrap import open_library
from core.library.data_lock import make_data_dir
from core.library.library import Library
from core.settings import Settings
from core.sources.source import CursorExpired
from core.sources.sources import SourceSyncs, open_source_store
from core.storage.storage import Storage, open_storage


@dataclass
class Clock:
    """Seconds that pass only when somebody waits."""

    seconds: float = 1_700_000_000.0
    waited: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.seconds += seconds


@dataclass
class Desk:
    """A library with its sources."""

    library: Library
    syncs: SourceSyncs
    storage: Storage

    def hashes(self, collection: str = "default") -> dict[str, str]:
        """SHA-256 of each document, by its address."""
        return {entry.address: entry.hash for entry in self.library.store.entries(collection=collection)}

    def below(self, address: str) -> dict[str, str]:
        """The same below a source, by the path there."""
        return {
            place.removeprefix(f"{address}/"): digest
            for place, digest in self.hashes().items()
            if place.startswith(f"{address}/")
        }


@contextmanager
def open_desk(settings: Settings, clock: Clock, kinds=None) -> Iterator[Desk]:
    make_data_dir(settings.data_dir)
    with (
        open_storage(settings) as storage,
        open_source_store(storage) as store,
        closing(open_library(settings, storage)) as library,
    ):
        more = {"kinds": kinds} if kinds is not None else {}
        syncs = SourceSyncs(
            library=library, store=store, settings=settings, now=clock.now, pause=clock.pause, **more
        )
        yield Desk(library, syncs, storage)


class Follower:
    """What an engine would store that takes each batch."""

    def __init__(self, open_source) -> None:
        self.open_source = open_source
        self.items, self.cursor, self.note = {}, None, ""
        self.unlisted = set()  #: what a full listing that is under way did not have yet

    async def sync(self, *, batches: int | None = None):
        """``batches``: how many are taken before it is cut off."""
        async with self.open_source() as source:
            try:
                await self._take(source, batches)
            except CursorExpired:
                self.cursor = None
                await self._take(source, batches)
        return self

    async def _take(self, source, batches) -> None:
        if self.cursor is None:
            self.unlisted = set(self.items)
        async with aclosing(source.changes(self.cursor)) as changes:
            async for batch in changes:
                self.items |= {item.id: item for item in batch.items}
                self.unlisted -= {item.id for item in batch.items}
                for each in batch.gone:
                    self.items.pop(each, None)
                self.cursor, self.note = batch.cursor, batch.note
                if batches is not None and (batches := batches - 1) <= 0:
                    return
        for each in self.unlisted:
            self.items.pop(each, None)
        self.unlisted = set()

    @property
    def readers(self):
        return {each.id: each.readers for each in self.items.values()}
