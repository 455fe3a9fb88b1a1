"""Sightings of documents at their source, the last of each, and which are too long ago.

A source was seen when its last sync ended that read everything; what could not be looked at then was seen earlier. A
single page was seen when it was last read. A file of a folder is looked at before each question, so it never gets old
here, and neither does an answer of a person, which has a review date of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.conversation import Citation, Outcome
from core.library.entries import Entry
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.sources.store import SourceRecord, SourceStore

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """Compares documents with STALE_AFTER. Its methods block."""

    sources: SourceStore
    documents: DocumentStore
    stale_after: int  #: days; 0: nothing is too old
    now: Callable[[], float] = time.time

    def marked(self, outcome: Outcome) -> Outcome:
        """The outcome, with when those of its documents were last seen that were not for too long."""
        return outcome.with_citations(self._marked) if self.stale_after else outcome

    def _marked(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        return tuple(replace(each, unseen_since=self._of(each)) for each in citations)

    def _of(self, citation: Citation) -> float | None:
        if citation.origin != "documents":
            return None
        entries = self.documents.named(citation.collection, citation.source)
        return min(self.unseen(entries).values(), default=None)

    def unseen(self, entries: Iterable[Entry]) -> dict[int, float]:
        """The last sightings of documents that are too long ago, by their ids."""
        if not self.stale_after:
            return {}
        limit = self.now() - self.stale_after * DAY
        return {entry: seen for entry, seen in self._seen(entries).items() if seen < limit}

    def _seen(self, entries: Iterable[Entry]) -> dict[int, float]:
        records = {(each.collection, each.address): each for each in self.sources.all()}
        seen: dict[int, float] = {}
        items: dict[SourceRecord, dict[str, Entry]] = {}
        for entry in entries:
            if entry.seen_at is not None:
                seen[entry.id] = entry.seen_at
            elif (record := records.get((base_of(entry.collection), entry.root))) is not None:
                item = entry.address.removeprefix(record.place_of(""))
                items.setdefault(record, {})[item] = entry
        for record, known in items.items():
            seen |= self._seen_of(record, known)
        return seen

    def _seen_of(self, record: SourceRecord, known: Mapping[str, Entry]) -> dict[int, float]:
        left = self.sources.last_seen(record.number, known)
        return {entry.id: left.get(item, record.seen_at) for item, entry in known.items()}

    def is_stale(self, record: SourceRecord) -> bool:
        """True if a source itself was not seen for too long."""
        return bool(self.stale_after) and record.seen_at < self.now() - self.stale_after * DAY
