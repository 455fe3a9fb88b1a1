"""A library with its sources, and a clock that waits for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from core.bootstrap import open_library
from core.library.data_lock import make_data_dir
from core.library.library import Library
from core.settings import Settings
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
