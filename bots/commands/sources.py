"""``footnote sources``: what is indexed, and how far each source was read."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from bots.arguments import span_of
from bots.chat import texts
from bots.record import iso
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import open_library
from core.library.entries import Entry
from core.library.overview import as_listed
from core.settings import Settings
from core.sources.documents import Sightings
from core.sources.kinds import label_of, typed_of
from core.sources.sources import open_source_store
from core.sources.store import ListedSource
from core.storage.storage import open_storage

#: What ``footnote sources --json`` prints of each document, besides its kind.
RECORD = ("source", "title", "collection", "passages", "address", "url")
FAILURES_SHOWN = 20  # items of a source


def list_sources(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    with (
        closing(open_library(settings)) as library,
        open_storage(settings) as storage,
        open_source_store(storage) as store,
    ):
        entries = as_listed(library.store.entries())
        sightings = Sightings(sources=store, documents=library.store, stale_after=settings.stale_after)
        listed, unseen = store.listed(failures=FAILURES_SHOWN), sightings.unseen(entries)
        stale = {each.record.number for each in listed if sightings.is_stale(each.record)}
    if arguments.json:
        documents = [document_record(entry, unseen.get(entry.id)) for entry in entries]
        sources = [source_record(each, is_stale=each.record.number in stale) for each in listed]
        print(json.dumps([*documents, *sources]))  # noqa: T201 - this is the output
        return 0
    for each in listed:
        screen.write(
            f"{typed_of(each.record.address)}\t{described(each, is_stale=each.record.number in stale)}"
            f"\t{each.counts.read}\t{each.record.collection}"
        )
        for failed in each.failed:
            screen.write(f"  {texts.told_of(failed.source, failed.reason)}")
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


def document_record(entry: Entry, unseen_since: float | None = None) -> dict[str, Any]:
    kept = {name: getattr(entry, name) for name in RECORD}
    return {
        **kept, "kind": "document", "changed_at": iso(entry.changed_at), "unseen_since": iso(unseen_since)
    }  # fmt: skip


def source_record(listed: ListedSource, *, is_stale: bool = False) -> dict[str, object]:
    """The fields of a document, none of whose passages are counted here, and how far the source was read."""
    record, counts = listed.record, listed.counts
    name = label_of(record.address)
    return {
        "source": name,
        "title": name,
        "collection": record.collection,
        "passages": 0,
        "address": record.address,
        "url": None,
        "kind": "source",
        "changed_at": None,
        "unseen_since": iso(record.seen_at) if is_stale else None,
        "every": record.every,
        "synced_at": moment_of(record.synced_at),
        "started_at": moment_of(record.started_at),
        "next_at": moment_of(record.next_at),
        "read": counts.read,
        "due": counts.due,
        "failed": counts.failed,
        "failures": [{"source": each.source, "reason": each.reason} for each in listed.failed],
        "failure": record.failure or None,
        "note": record.note or None,
    }


def moment_of(at: float | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def described(listed: ListedSource, *, is_stale: bool) -> str:
    """When a source was read, how often it is, what could not be read, and why it stopped."""
    record, counts = listed.record, listed.counts
    parts = [
        f"synced {_local_time(record.synced_at)}" if record.synced_at else "not wholly read yet",
        texts.unseen_told(record.seen_at) if is_stale else "",
        f"every {span_of(record.every)}" if record.every else "",
        f"{counts.due} to read" if counts.due else "",
        f"{counts.failed} failed" if counts.failed else "",
        record.failure,
        record.note,
    ]
    return "; ".join(filter(None, parts))


def _local_time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
