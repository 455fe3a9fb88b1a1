"""The sources of this installation: adding one, reading it now or when it is due, and forgetting it.

When a sync is due is stored, and its work goes through the durable queue. One process at a time looks. What it puts
into the queue is named after the source and the moment, so that a look twice is one sync, and whichever process takes
it, a kill only makes it begin again where it was.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from core.conversation import Command, Conversation
from core.errors import FootnoteError, SettingsError
from core.library.indexing import Notify
from core.library.library import Library
from core.library.roots import is_within, resolve_name
from core.library.sync import Failure, SyncReport
from core.priority import BackgroundTasks
from core.settings import Settings
from core.sources import source as port
from core.sources.kinds import SOURCE_KINDS, as_typed, source_labels
from core.sources.store import SCHEMA, STORE, SourceCounts, SourceRecord, SourceStore
from core.sources.sync import IN_FLIGHT, LONGEST_WAIT, WAITS, SourceForgotten, SyncRun, documents_of, withdraw
from core.storage.storage import Storage
from core.turns.replicas import ALONE, Replicas

FOLDER = "sources"  # of the data folder: what sources keep so as not to fetch it twice
NOTHING_THERE = "nothing is there that is read; it was not added"
OWN_FAULT = "Footnote has a fault of its own here; its log says more."

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class SourceSyncs:
    """Reads sources into the library, each by one sync at a time."""

    library: Library
    store: SourceStore
    settings: Settings
    replicas: Replicas = ALONE
    kinds: port.SourceKinds = field(default_factory=lambda: SOURCE_KINDS)
    now: Callable[[], float] = time.time
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    #: set when one became due by what was asked here
    due: asyncio.Event = field(default_factory=asyncio.Event)
    _locks: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def ingest(
        self, address: str, *, collection: str, every: float | None = None, notify: Notify = lambda *_: None
    ) -> SyncReport:
        """Read a source now, and from then on ``every`` so many seconds; 0: no more, None: as before. A new
        one in which there is nothing to read is not kept. SettingsError for what is no source."""
        kept = await self.resolve(address, collection)
        typed = partial(as_typed, kinds=self.kinds)
        add = partial(self.store.add, every=every, now=self.now(), typed=typed, identity=self._identity_of)
        number, is_new = await asyncio.to_thread(add, collection, kept)
        report = await self.sync(number, notify=notify, retries=True)
        record = await asyncio.to_thread(self.store.get, number)
        if not is_new or record is None or not await asyncio.to_thread(self._drop_empty, number):
            return report
        # A name was mistyped, or nothing is shared yet.
        return replace(report, failed=report.failed or (self._failure(kept, NOTHING_THERE),))

    async def add(self, address: str, *, collection: str, every: float) -> int:
        """The number of a source that is read soon, and then every so many seconds. Raises as opening it does."""
        kept = await self.resolve(address, collection)
        async with self._open(kept, collection, self._folder(0)):
            number, _ = await asyncio.to_thread(self.store.add, collection, kept, every=every, now=self.now())
        await asyncio.to_thread(self.store.read_soon, number, self.now())
        self.due.set()
        return number

    async def resolve(self, address: str, collection: str) -> str:
        """The address as it is kept. SettingsError for what is no source, SourceUnavailable if it cannot be looked up."""
        kind = port.kind_of(address, self.kinds)
        if kind is None:
            raise SettingsError(f"{address} is not an address of a kind that Footnote reads.")
        context = port.SourceContext(settings=self.settings, folder=self._folder(0), collection=collection)
        return await kind.resolve(kind.canonical(address), context)

    async def forget_author(self, author: str) -> int:
        """Remove all that somebody wrote, with what stands beside it until it is read again; how many documents."""

        def forget() -> int:
            removed = 0
            for record, items in self.store.reopen(author):
                documents = documents_of(record, self.library)
                removed += sum(documents.remove(record.address_of(each)) for each in items)
                self.store.read_soon(record.number, self.now())
            return removed

        removed = await asyncio.to_thread(forget)
        self.due.set()
        return removed

    def _drop_empty(self, number: int) -> bool:
        """Drop a source that has no items; True if it was dropped."""
        if self.store.counts(number) != SourceCounts():
            return False
        self.store.forget(number)
        shutil.rmtree(self._folder(number), ignore_errors=True)
        return True

    async def sync(
        self, number: int, *, notify: Notify = lambda *_: None, retries: bool = False
    ) -> SyncReport:
        """Bring the library up to date with a source; its failures are in the report, and with the source."""
        async with self._alone(number):
            record = await asyncio.to_thread(self.store.start, number, self.now())
            if record is None:
                return SyncReport()
            return await self._carry_out(record, lambda run: run.run(), notify, retries=retries)

    async def look(self, number: int, ids: Sequence[str]) -> SyncReport:
        """Sync single items of a source that says when they change, and another source as a whole."""

        async def work(run: SyncRun) -> SyncReport:
            source = run.source
            return await (run.look(source, ids) if isinstance(source, port.FollowedSource) else run.run())

        async with self._alone(number):
            record = await asyncio.to_thread(self.store.get, number)
            return await self._carry_out(record, work, lambda *_: None) if record else SyncReport()

    @asynccontextmanager
    async def _alone(self, number: int) -> AsyncIterator[None]:
        """Hold the lock of a source: one sync at a time, in all processes."""
        lock = self._locks.setdefault(number, asyncio.Lock())
        async with lock, self.replicas.hold(f"source/{number}"):
            yield

    async def _carry_out(
        self,
        record: SourceRecord,
        work: Callable[[SyncRun], Awaitable[SyncReport]],
        notify: Notify,
        *,
        retries: bool = False,
    ) -> SyncReport:
        """The report of work on a source, with whatever stopped it."""
        folder = self._folder(record.number)
        opening = self._open(record.address, record.collection, folder, waits=record.number)
        threads = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="sync")
        try:
            async with opening as (kind, source):
                run = SyncRun(
                    record=record, source=source, library=self.library, store=self.store, notify=notify,
                    now=self.now, pause=self.pause, threads=threads, parse=kind.parse, typed=kind.typed,
                    retries=retries,
                )  # fmt: skip
                return await work(run)
        except SourceForgotten:
            return SyncReport()
        except port.SourceThrottled as throttled:
            return await self._fail(record, str(throttled), next_at=self.now() + throttled.retry_after)
        except port.SourceWithdrawn as withdrawn:  # the source stays, as it may come back
            logger.info("a source was withdrawn: %s", withdrawn, extra={"source": record.number})
            remove = partial(withdraw, library=self.library, store=self.store, reason=str(withdrawn))
            failed = self._failure(record.address, str(withdrawn))
            return SyncReport(removed=await asyncio.to_thread(remove, record), failed=(failed,))
        except (port.SourceUnavailable, port.ItemUnreadable, SettingsError) as trouble:
            return await self._fail(record, str(trouble))
        except Exception:
            # The boundary of a sync: whatever a source sends, the others go on.
            logger.exception("a source could not be read", extra={"source": record.number})
            return await self._fail(record, OWN_FAULT)
        finally:  # nobody waits for what still blocks in one
            threads.shutdown(wait=False, cancel_futures=True)

    @asynccontextmanager
    async def _open(
        self, address: str, collection: str, folder: Path, *, waits: int | None = None
    ) -> AsyncIterator[tuple[port.SourceKind, port.KnowledgeSource]]:
        """``waits``: the source whose sync waits if it is asked to; None: nobody has the time."""
        kind = port.require_kind(address, self.kinds)
        context = port.SourceContext(settings=self.settings, folder=folder, collection=collection)
        async with AsyncExitStack() as stack:
            for attempt in count():
                try:
                    source = await stack.enter_async_context(kind.open(address, context))
                    break
                except port.SourceThrottled as throttled:
                    if waits is None or attempt == WAITS or throttled.retry_after > LONGEST_WAIT:
                        raise
                    await asyncio.to_thread(self.store.fail, waits, f"{throttled} It is waited for.")
                    await self.pause(throttled.retry_after)
            yield kind, source

    async def _fail(self, record: SourceRecord, reason: str, *, next_at: float | None = None) -> SyncReport:
        logger.info("a sync did not end: %s", reason, extra={"source": record.number})
        await asyncio.to_thread(self.store.fail, record.number, reason, next_at=next_at)
        return SyncReport(failed=(self._failure(record.address, reason),))

    def _failure(self, address: str, reason: str) -> Failure:
        return Failure(source=as_typed(address, self.kinds), reason=reason, is_source=True)

    def _identity_of(self, address: str) -> str:
        kind = port.kind_of(address, self.kinds)
        return kind.identity(address) if kind else address

    def _folder(self, number: int) -> Path:
        return folder_of(self.settings.data_dir, number)


def folder_of(data_dir: Path, number: int) -> Path:
    return data_dir.resolve() / FOLDER / str(number)


@contextmanager
def open_source_store(storage: Storage) -> Iterator[SourceStore]:
    with closing(storage.database(STORE, SCHEMA)) as database:
        yield SourceStore(database)


def forget_in_sources(
    store: SourceStore,
    library: Library,
    name: str,
    data_dir: Path,
    *,
    collection: str | None = None,
    kinds: port.AddressKinds = SOURCE_KINDS,
) -> bool:
    """Forget what a person means by a name, before the library does; True if a whole source was meant."""
    labels = source_labels(store, collection=collection, kinds=kinds)
    if not labels:
        return False
    is_any, meant = False, resolve_name(name, [*library.list_names(collection), *labels])
    for record in store.all():
        addresses = [address for where, address in meant if where == record.collection]
        if any(is_within(record.address, address) for address in addresses):
            is_any = True
            store.forget(record.number)
            shutil.rmtree(folder_of(data_dir, record.number), ignore_errors=True)
            continue
        for address in addresses:
            if is_within(address, record.address):
                store.forget_below(record, address)
    return is_any


SYNC_SOURCE, LOOK_AGAIN = "sync_source", "look_again"  # names of commands
LOOK_EVERY = 5.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSchedule:
    """The schedule by which sources are read."""

    store: SourceStore
    enqueue: Callable[[Command], Awaitable[None]]
    conversation: Conversation  #: whose commands go to who does the work
    prefix: str  #: begins the ids of commands
    now: Callable[[], float] = time.time
    due: asyncio.Event = field(default_factory=asyncio.Event)  #: set to have it looked at once
    _following: BackgroundTasks = field(default_factory=BackgroundTasks)

    async def keep_looking(self) -> None:
        """Enqueue due syncs until cancelled; for one process at a time."""
        while True:
            try:
                await self.enqueue_due()
            except FootnoteError:  # the database is away; it passes
                logger.info("due syncs could not be looked for", exc_info=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.due.wait(), LOOK_EVERY)
            self.due.clear()

    async def enqueue_due(self) -> None:
        for record in await asyncio.to_thread(self.store.due, self.now()):
            task = f"source-{record.number}-{record.next_at:.0f}"
            await self.enqueue(self._command(record, SYNC_SOURCE, task, {}))

    def follow(self, prefix: str, work: Callable[[], Awaitable[None]]) -> None:
        """Have this done soon, if there is a source whose address begins so. It is not waited for, as who
        tells of a change does not wait; what is lost on the way is found by the next sync."""

        async def follow() -> None:
            try:
                if await asyncio.to_thread(self.store.has_below, prefix):
                    await work()
            except FootnoteError:  # the database is away
                logger.warning("a change of a source was not taken; the next sync finds it", exc_info=True)

        self._following.start(follow())

    async def look_again(self, address: str, items: Sequence[str], change: str) -> None:
        """Have these items of the sources at an address read again, or all; ``change``: the id of the change."""
        for record in await asyncio.to_thread(self.store.at, address):
            name, details = (LOOK_AGAIN, {"items": [*items]}) if items else (SYNC_SOURCE, {})
            await self.enqueue(self._command(record, name, f"look-{record.number}-{change}", details))

    def _command(self, record: SourceRecord, name: str, task: str, details: dict[str, Any]) -> Command:
        conversation = replace(self.conversation, thread=f"source-{record.number}")
        return Command(
            id=f"{self.prefix}{task}", conversation=conversation, author="", name=name, said_at=self.now(),
            details={"source": record.number, **details},
        )  # fmt: skip
