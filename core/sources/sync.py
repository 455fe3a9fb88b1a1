"""Keeping the library equal to a source: what is new or changed is read, what is gone is removed.

It goes on where it was, however it was cut off. What is listed is stored as due before anything of it is fetched, and
the cursor goes on when all of its batch was read; a document is written before its item is marked as read, and written
again if it was not. So nothing is lost, and nothing is there twice. A full listing removes what it did not have only
when it has ended.

Questions go first: few items are fetched at once, a worker parses and cuts them, and each step of what is left for this
process begins when no turn computes. It has threads of its own, so that no question waits for one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from core.errors import DocumentError, FootnoteError
from core.library.documents import Document
from core.library.formats import parser_process
from core.library.formats.dates import plausible
from core.library.indexing import Notify
from core.library.library import Library
from core.library.roots import is_within
from core.library.source_documents import SourceDocuments
from core.library.sync import SourceNote, SyncReport
from core.priority import give_way, is_anybody_computing, resting
from core.sources import source as port
from core.sources.documents import document_of
from core.sources.store import KnownItem, SourceRecord, SourceStore


class SourceForgotten(Exception):
    """The source was forgotten while it was read."""


IN_FLIGHT = 4  # items that are fetched and read at once
PAGE = 500  # items or documents that are compared at once
# seconds that a sync waits when it is asked to; if it is longer, it ends and is due then
LONGEST_WAIT = 900.0
WAITS = 8  # times in a row that it waits without having read anything
CANCEL_TIMEOUT = 3.0  # seconds that a document gets to be written which is being read at a stop
FAILURES_SHOWN = 100  # items
SINGLES = "Pages that were indexed alone before, and are read with it now: {count:,}."
CHANGES = 3  # times that an item may change while it is fetched, until the next sync

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class SyncRun:
    """One sync of one source."""

    record: SourceRecord  #: as it was when the sync began
    source: port.KnowledgeSource
    library: Library
    store: SourceStore
    notify: Notify
    now: Callable[[], float]
    pause: Callable[[float], Awaitable[None]]
    threads: Executor  #: for what blocks
    parse: Callable[[port.SourceItem, bytes], Document] = port.parse_as_file
    typed: Callable[[str], str] = str  #: a kept address as a person reads it
    retries: bool = False  #: whether items are read again that could not be read before
    added: int = 0
    changed: int = 0
    removed: int = 0
    _documents: SourceDocuments = field(init=False)
    _done: int = 0  #: items that are read, or were found to be unchanged
    _total: int = 0  #: that the source says it has; 0: it does not say
    _waits: int = 0  #: in a row
    _note: str = ""  #: what the source says of itself
    _unread: list[SourceNote] = field(default_factory=list)  #: of items that were not wholly read
    _singles: int = 0  #: pages that had been read alone, and are read with it now

    def __post_init__(self) -> None:
        self._documents = documents_of(self.record, self.library)

    async def run(self) -> SyncReport:
        """Raises SourceUnavailable, SourceThrottled, SourceForgotten; what was read until then stays."""
        await self._thread(self._remove_all, "state = 'gone'")
        await self._thread(self._find_missing)
        while True:
            try:
                await self._follow()
            except port.CursorExpired as expired:
                logger.info("a source is listed anew: %s", expired, extra={"source": self.record.number})
                if (await self._thread(self._progress)).cursor is None:
                    raise port.SourceUnavailable("The source cannot list what it has.") from expired
                await self._thread(self.store.advance, self.record.number, None)
            except port.SourceThrottled as throttled:
                await self._wait(throttled)
            else:
                return await self._thread(self._report)

    async def look(self, source: port.FollowedSource, ids: Sequence[str]) -> SyncReport:
        """Bring these items up to date, and no others. Raises as :meth:`run` does."""
        batch = await self._patiently(lambda: source.look(ids))
        await self._take(batch, self.record.listing)
        return SyncReport(added=self.added, changed=self.changed, removed=self.removed)

    def _progress(self) -> SourceRecord:
        """The record, with how far this sync has come. SourceForgotten."""
        record = self.store.get(self.record.number)
        if record is None:
            raise SourceForgotten
        return record

    def _report(self) -> SyncReport:
        counts = self.store.counts(self.record.number)
        name = self.typed(self.record.address)
        singles = SINGLES.format(count=self._singles) if self._singles else ""
        notes = (SourceNote(source=name, text=text) for text in (self._note, singles) if text)
        return SyncReport(
            added=self.added, changed=self.changed, removed=self.removed, notes=(*notes, *self._unread),
            skipped=max(0, counts.read - self.added - self.changed),
            failed=self.store.list_failures(self.record.number, limit=FAILURES_SHOWN),
        )  # fmt: skip

    def _find_missing(self) -> None:
        """Make due what should be in the library and is not, as after it was rebuilt."""
        record, number = self.record, self.record.number
        for ids in self.store.pages(number, "state = 'read'", limit=PAGE):
            held = self._documents.collections_of(map(record.address_of, ids))
            known = (each.item for each in self.store.find(number, ids).values())
            found = (
                (each.id, held.get(record.address_of(each.id)), record.collection_of(each)) for each in known
            )
            self.store.make(
                "due", number, [item for item, collections, wanted in found if collections != {wanted}]
            )
        for ids in self.store.pages(number, "state = 'failed'", limit=PAGE) if self.retries else ():
            self.store.make("due", number, ids)

    async def _follow(self) -> None:
        """Go on from where the last sync was, finished or cut off."""
        record = await self._thread(self._progress)
        if record.cursor is None:
            listing, is_listing = await self._thread(self.store.begin_listing, self.record.number), True
        else:
            listing, is_listing = record.listing, record.is_listing
        due = partial(self.store.due_items, self.record.number, limit=PAGE)
        items = await self._thread(due)
        while items:  # what an earlier sync listed and did not read
            await self._read(items)
            items = await self._thread(partial(due, after=items[-1].id))
        async with aclosing(self.source.changes(record.cursor)) as batches:
            before = record.cursor
            async for batch in batches:
                await self._take(batch, listing)
                self._note = batch.note
                await self._thread(self.store.advance, self.record.number, batch.cursor)
                if batch.cursor != before:  # it gets on
                    before, self._waits = batch.cursor, 0
        if is_listing:
            await self._thread(self._remove_unlisted, listing)
        await self._thread(self._documents.readers.drop_unused)
        self._singles += await self._thread(self._documents.drop_single_copies)
        await self._thread(self.store.finish, self.record.number, self.now(), self._note)

    async def _take(self, batch: port.SourceBatch, listing: int) -> None:
        self._total = batch.total or self._total
        if batch.unread:
            await self._thread(self._leave_unread, batch.unread, listing)
        for begin in range(0, len(batch.items), PAGE):
            part = batch.items[begin : begin + PAGE]
            wanted = await self._thread(self._compare, part, listing)
            self._done += len(part) - len(wanted)
            await self._read(wanted)
        for begin in range(0, len(batch.gone), PAGE):
            await self._thread(self._remove, batch.gone[begin : begin + PAGE])

    def _compare(self, listed: Iterable[port.SourceItem], listing: int) -> list[port.SourceItem]:
        """Store what is listed; the items that must be read. SourceForgotten."""
        number, items = self.record.number, self._drop_forgotten(listed)
        known = self.store.find(number, [item.id for item in items])
        same = [merged for item in items if (merged := reuse_stored(item, known.get(item.id))) is not None]
        done = {item.id for item in same}
        renewed = [item for item in same if known[item.id].state == "read" and item != known[item.id].item]
        regrouped = {item.id for item in renewed if item.readers != known[item.id].item.readers}
        wanted = [item for item in items if item.id not in done]
        due = [*wanted, *(item for item in renewed if item.id in regrouped)]
        self.store.put(number, due, listing=listing, state="due")
        wanted += self._regroup(due, known)
        unread = {item.id for item in wanted}
        renewed = [item for item in renewed if item.id not in unread]
        self.store.put(number, renewed, listing=listing, state="read")
        self.store.see(number, done - {item.id for item in renewed}, listing=listing)
        for item in renewed:
            address, changed_at = self.record.address_of(item.id), plausible(item.changed_at, self.now)
            self._documents.note_change(address, source=item.source, url=item.url, changed_at=changed_at)
        return wanted

    def _regroup(
        self, items: Collection[port.SourceItem], known: Mapping[str, KnownItem]
    ) -> list[port.SourceItem]:
        """Move documents to the readers that their items name now, before any is fetched; the items that have
        none. They are stored as due: were this process killed, the next one would read them again."""
        missing = []
        for item in items:
            before = known.get(item.id)
            if before is None or before.item.readers == item.readers:
                continue
            address = self.record.address_of(item.id)
            if self._documents.move(address, item.readers):
                self._require_kept(address)
            elif reuse_stored(item, before) is not None:
                missing.append(item)
        return missing

    def _require_kept(self, address: str) -> None:
        """Remove a document that was written after it, or its source, was forgotten. SourceForgotten."""
        if not self.store.keeps(self.record.number, address):
            self._documents.remove(address)
            raise SourceForgotten

    def _drop_forgotten(self, items: Iterable[port.SourceItem]) -> list[port.SourceItem]:
        """The items that were not forgotten. SourceForgotten."""
        forgotten = self.store.forgotten(self.record.number)
        if forgotten is None:
            raise SourceForgotten
        address_of = self.record.address_of
        return [each for each in items if not any(is_within(address_of(each.id), gone) for gone in forgotten)]

    def _leave_unread(self, listed: Sequence[port.UnreadItem], listing: int) -> None:
        """Leave what cannot be looked at now; what was never seen before is a failure. SourceForgotten."""
        number, reasons = self.record.number, {each.item.id: each.reason for each in listed}
        items = self._drop_forgotten(each.item for each in listed)
        known = self.store.find(number, [item.id for item in items])
        self.store.see(number, known, listing=listing, seen_at=self.record.seen_at)
        new = [item for item in items if item.id not in known]
        self.store.put(number, new, listing=listing, state="failed")
        for item in new:
            self.store.mark(number, item, "failed", reasons[item.id])

    async def _read(self, items: Sequence[port.SourceItem]) -> None:
        if not items:
            return
        if isinstance(source := self.source, port.PreparedSource):
            await self._patiently(lambda: source.prepare(items))
        remaining = iter(items)

        async def work() -> None:
            for item in remaining:
                await self._read_item(item)
                self._done += 1
                self.notify("reading", self._done, max(self._total, self._done) if self._total else 0)

        workers = [asyncio.create_task(work()) for _ in range(min(IN_FLIGHT, len(items)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def _read_item(self, item: port.SourceItem) -> None:
        for _ in range(CHANGES):
            try:
                if is_anybody_computing():
                    await self._thread(give_way)
                data = await self._patiently(partial(self.source.fetch, item))
            except port.ItemChanged as changed:
                item = replace(changed.item, id=item.id)
                await self._thread(self._list_again, item)
                continue
            except port.ItemGone:
                await self._thread(self._remove, [item.id])
            except port.ItemUnreadable as fault:
                await self._thread(self._fail, item, str(fault))
            except FootnoteError:
                raise
            except Exception:
                # The boundary of an item: whatever a source does about one, the others are read.
                logger.exception("an item could not be fetched", extra={"source": self.record.number})
                await self._thread(self._fail, item, "could not be fetched; the log says more")
            else:
                await self._thread(self._index, item, data)
            return

    def _list_again(self, item: port.SourceItem) -> None:
        """Store an item as it is by now. One that changes again and again stays due until the next sync."""
        listing, known = self._progress().listing, self.store.find(self.record.number, [item.id])
        self.store.put(self.record.number, [item], listing=listing, state="due")
        self._regroup([item], known)

    def _index(self, item: port.SourceItem, data: bytes) -> None:
        address = self.record.address_of(item.id)
        try:
            with resting(), parser_process.apart():
                document = document_of(self.record, item, data, self.parse, now=self.now)
        except DocumentError as fault:
            self._fail(item, str(fault))
            return
        give_way()
        is_new = self._documents.put(document, item.readers)
        self._require_kept(address)
        if self.store.mark(self.record.number, item, "read"):
            self.added, self.changed = self.added + is_new, self.changed + (not is_new)
            if document.unread and len(self._unread) < FAILURES_SHOWN:
                self._unread.append(SourceNote(source=item.source, text=document.unread))
        else:  # somebody who wrote it asked meanwhile not to be read: it is due again
            self._documents.remove(address)

    def _fail(self, item: port.SourceItem, reason: str) -> None:
        """Note why an item could not be read. Its older version must not be quoted any more."""
        self.removed += self._documents.remove(self.record.address_of(item.id))
        self.store.mark(self.record.number, item, "failed", reason)

    def _remove(self, ids: Sequence[str]) -> None:
        """Cut off, the next sync does it first: a source might still hand out what it lists no more."""
        self.store.make("gone", self.record.number, ids)
        for each in ids:
            self.removed += self._documents.remove(self.record.address_of(each))
        self.store.drop(self.record.number, ids)

    def _remove_all(self, where: str, *values: object) -> None:
        for ids in self.store.pages(self.record.number, where, *values, limit=PAGE):
            self._remove(ids)

    def _remove_unlisted(self, listing: int) -> None:
        """Remove what a full listing did not have, and documents that no item is known of."""
        self._remove_all("listed_in < ?", listing)
        self._progress()  # of a source that was added again after it was forgotten, no item is known here
        after, begin = "", len(self.record.address_of(""))
        while addresses := self._documents.below(after=after, limit=PAGE):
            after = addresses[-1]
            known = self.store.find(self.record.number, [each[begin:] for each in addresses])
            self._remove([each[begin:] for each in addresses if each[begin:] not in known])

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer of a source, once it no longer asks to wait."""
        while True:
            try:
                answer = await ask()
            except port.SourceThrottled as throttled:
                await self._wait(throttled)
            else:
                self._waits = 0
                return answer

    async def _wait(self, throttled: port.SourceThrottled) -> None:
        """Wait as long as the source asks; raises what it raised if that is too long, or too often."""
        self._waits += 1
        if throttled.retry_after > LONGEST_WAIT or self._waits > WAITS:
            raise throttled
        await self._thread(self.store.fail, self.record.number, f"{throttled} It is waited for.")
        await self.pause(throttled.retry_after)

    async def _thread(self, work: Callable[..., T], *values: object) -> T:
        """Run blocking work. If this is cancelled, the work gets a moment to end: it may be writing."""

        def giving_way() -> T:
            give_way()
            return work(*values)

        running = asyncio.get_running_loop().run_in_executor(self.threads, giving_way)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # What it raises is nobody's any more.
            running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            await asyncio.wait([running], timeout=CANCEL_TIMEOUT)
            raise


def reuse_stored(item: port.SourceItem, known: KnownItem | None) -> port.SourceItem | None:
    """The item as it is stored now, if it need not be read again; else None."""
    if known is None or known.state in ("due", "gone"):
        return None
    stored = known.item
    if (item.version, item.title, item.name) != (stored.version, stored.title, stored.name):
        return None
    if known.state == "failed" and item.readers != stored.readers:
        return None
    return replace(item, changed_at=item.changed_at or stored.changed_at)


def documents_of(record: SourceRecord, library: Library) -> SourceDocuments:
    return SourceDocuments(library.store, record.collection, record.address)


def withdraw(record: SourceRecord, *, library: Library, store: SourceStore, reason: str) -> int:
    """Remove all that was read of a source; how many documents. The items go last: cut off, it begins again."""
    documents, removed = documents_of(record, library), 0
    while addresses := documents.below(limit=PAGE):
        removed += sum(map(documents.remove, addresses))
    store.empty(record.number, reason)
    return removed
