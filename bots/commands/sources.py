"""``footnote sources``: what is indexed, and how far each source was read."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

from bots.chat import texts
from bots.cli import SPANS
from bots.record import iso
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import open_library
from core.conversation import value
from core.library.store import Entry
from core.settings import Settings
from core.sources.sightings import Sightings
from core.sources.sources import open_source_store, typed_of
from core.sources.store import FailedItem, SourceCounts, SourceRecord
from core.storage.storage import open_storage

#: What ``footnote sources --json`` prints of each document.
RECORD = ("source", "title", "collection", "passages", "address", "url")
FAILURES_SHOWN = 20  # items of a source


def list_sources(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    with (
        closing(open_library(settings)) as library,
        open_storage(settings) as storage,
        open_source_store(storage) as store,
    ):
        entries = library.store.entries()
        sightings = Sightings(sources=store, documents=library.store, stale_after=settings.stale_after)
        listed, unseen = _listed_sources(sightings), sightings.unseen(entries)
    if arguments.json:
        print(json.dumps([_record(entry, unseen) for entry in entries]))  # noqa: T201 - this is the output
        return 0
    for each in listed:
        screen.write(
            f"{typed_of(each.record.address)}\t{described(each)}\t{each.counts.read}\t{each.record.collection}"
        )
        for failed in each.failed:
            screen.write(f"  {failed.label}: {failed.failure}")
    if not entries and not listed:
        screen.note(texts.NOTHING_INDEXED)
    elif screen.is_drawn:
        screen.show(render.source_list(entries, limit=None, unseen=unseen))
    else:
        for entry in entries:
            remark = (texts.unseen_told(unseen[entry.id]),) if entry.id in unseen else ()
            columns = (entry.source, entry.title, str(entry.passages), entry.collection, *remark)
            screen.write("\t".join(columns))
    return 0


def _record(entry: Entry, unseen: Mapping[int, float]) -> dict[str, Any]:
    moments = {"changed_at": iso(entry.changed_at), "unseen_since": iso(unseen.get(entry.id))}
    return {name: getattr(entry, name) for name in RECORD} | moments


@value
class ListedSource:
    """A source as an operator reads it."""

    record: SourceRecord
    counts: SourceCounts
    failed: tuple[FailedItem, ...] = ()  #: the first of them
    is_stale: bool = False  #: it was not seen for longer than STALE_AFTER


def _listed_sources(sightings: Sightings) -> list[ListedSource]:
    store = sightings.sources
    return [
        ListedSource(
            record=record,
            counts=store.counts(record.number),
            failed=tuple(store.failed(record.number, limit=FAILURES_SHOWN)),
            is_stale=sightings.is_stale(record),
        )
        for record in store.all()
    ]


def described(listed: ListedSource) -> str:
    """When a source was read, how often it is, what could not be read, and why it stopped."""
    record, counts = listed.record, listed.counts
    parts = [
        f"synced {_local_time(record.synced_at)}" if record.synced_at else "not wholly read yet",
        texts.unseen_told(record.seen_at) if listed.is_stale else "",
        f"every {span_of(record.every)}" if record.every else "",
        f"{counts.due} to read" if counts.due else "",
        f"{counts.failed} failed" if counts.failed else "",
        record.failure,
    ]
    return "; ".join(filter(None, parts))


def _local_time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def span_of(seconds: float) -> str:
    """As it is typed: "90m"."""
    unit = max((each for each in SPANS if seconds % SPANS[each] == 0), key=SPANS.__getitem__)
    return f"{seconds / SPANS[unit]:.0f}{unit}"
