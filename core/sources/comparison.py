"""The comparison of what a source lists with what is stored: items to be read, moved, or left as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.library.formats.dates import plausible
from core.library.roots import is_within
from core.library.source_documents import SourceDocuments
from core.sources.source import SourceItem, UnreadItem
from core.sources.store import KnownItem, SourceRecord, SourceStore


class SourceForgotten(Exception):
    """The source was forgotten while it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceComparison:
    """Compares with the store and the library, and writes there what it found."""

    record: SourceRecord  #: as it was when the sync began
    documents: SourceDocuments
    store: SourceStore
    now: Callable[[], float]

    def compare(self, listed: Iterable[SourceItem], listing: int) -> list[SourceItem]:
        """Store what is listed; the items that must be read. SourceForgotten."""
        record, items = self.record, self._kept(listed)
        known = self.store.known(record.number, [item.id for item in items])
        same = [merged for item in items if (merged := unchanged(item, known.get(item.id))) is not None]
        done = {item.id for item in same}
        told = [item for item in same if known[item.id].state == "read" and item != known[item.id].item]
        regrouped = {item.id for item in told if item.readers != known[item.id].item.readers}
        wanted = [item for item in items if item.id not in done]
        due = [*wanted, *(item for item in told if item.id in regrouped)]
        self.store.put(record.number, due, listing=listing, state="due")
        wanted += self.regroup(due, known)
        unread = {item.id for item in wanted}
        told = [item for item in told if item.id not in unread]
        self.store.put(record.number, told, listing=listing, state="read")
        self.store.see(record.number, done - {item.id for item in told}, listing=listing)
        for item in told:
            self.documents.note_change(
                record.place_of(item.id),
                source=item.source,
                url=item.url,
                changed_at=plausible(item.changed_at, self.now),
            )
        return wanted

    def regroup(self, items: Collection[SourceItem], known: Mapping[str, KnownItem]) -> list[SourceItem]:
        """Have documents read at once by whom their items name now, before any of them is fetched; items that are
        due for nothing else, and have no document.

        They are stored as due: were this process killed, the next one would read them again.
        """
        missing = []
        for item in items:
            before = known.get(item.id)
            if before is None or before.item.readers == item.readers:
                continue
            place = self.record.place_of(item.id)
            if self.documents.move(place, item.readers):
                self.require_kept(place)
            elif unchanged(item, before) is not None:
                missing.append(item)
        return missing

    def require_kept(self, place: str) -> None:
        """Remove a document that was written after it, or its source, was forgotten. SourceForgotten."""
        if not self.store.keeps(self.record.number, place):
            self.documents.remove(place)
            raise SourceForgotten

    def _kept(self, items: Iterable[SourceItem]) -> list[SourceItem]:
        """Those of these items that were not forgotten. SourceForgotten."""
        forgotten = self.store.forgotten(self.record.number)
        if forgotten is None:
            raise SourceForgotten
        return [
            item
            for item in items
            if not any(is_within(self.record.place_of(item.id), place) for place in forgotten)
        ]

    def leave_unread(self, listed: Sequence[UnreadItem], listing: int) -> None:
        """Items that cannot be looked at now stay as they are; one that was never seen before is a failure.
        SourceForgotten.
        """
        record, reasons = self.record, {each.item.id: each.reason for each in listed}
        items = self._kept(each.item for each in listed)
        known = self.store.known(record.number, [item.id for item in items])
        self.store.leave(record.number, known, listing=listing, seen_at=record.seen_at)
        new = [item for item in items if item.id not in known]
        self.store.put(record.number, new, listing=listing, state="failed")
        for item in new:
            self.store.mark(record.number, item, "failed", reasons[item.id])


def unchanged(item: SourceItem, known: KnownItem | None) -> SourceItem | None:
    """The item as it is stored from now on, if it need not be read again; None if it must be.

    Other readers are no reason to read a document again that is there.
    """
    if known is None or known.state in ("due", "gone"):
        return None
    stored = known.item
    if (item.version, item.title, item.name) != (stored.version, stored.title, stored.name):
        return None
    if known.state == "failed" and item.readers != stored.readers:
        return None
    return replace(item, changed_at=item.changed_at or stored.changed_at)
