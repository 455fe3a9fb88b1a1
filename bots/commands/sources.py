"""``footnote sources``: what is indexed, and how far each source was read."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime

from bots.chat import texts
from bots.cli import span_of
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import open_library
from core.library.store import Entry
from core.settings import Settings
from core.sources.sources import label_of, open_source_store
from core.sources.store import ListedSource
from core.storage.storage import open_storage

#: What ``footnote sources --json`` prints of each document, besides its kind.
RECORD = ("source", "title", "collection", "passages", "address", "url")
FAILURES_SHOWN = 20  # items of a source


def list_sources(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    with closing(open_library(settings)) as library:
        entries = library.store.entries()
    with open_storage(settings) as storage, open_source_store(storage) as store:
        listed = store.listed(failures=FAILURES_SHOWN)
    if arguments.json:
        records = [*map(document_record, entries), *map(source_record, listed)]
        print(json.dumps(records))  # noqa: T201 - this is the output
        return 0
    for each in listed:
        screen.write(
            f"{each.record.address}\t{described(each)}\t{each.counts.read}\t{each.record.collection}"
        )
        for failed in each.failed:
            screen.write(f"  {failed.label}: {failed.failure}")
    if not entries and not listed:
        screen.note(texts.NOTHING_INDEXED)
    elif screen.is_drawn:
        screen.show(render.source_list(entries, limit=None))
    else:
        for entry in entries:
            screen.write(f"{entry.source}\t{entry.title}\t{entry.passages}\t{entry.collection}")
    return 0


def document_record(entry: Entry) -> dict[str, object]:
    return {**{name: getattr(entry, name) for name in RECORD}, "kind": "document"}


def source_record(listed: ListedSource) -> dict[str, object]:
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
        "every": record.every,
        "synced_at": moment_of(record.synced_at),
        "started_at": moment_of(record.started_at),
        "next_at": moment_of(record.next_at),
        "read": counts.read,
        "due": counts.due,
        "failed": counts.failed,
        "failures": [{"source": each.label, "reason": each.failure} for each in listed.failed],
        "failure": record.failure or None,
    }


def moment_of(at: float | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def described(listed: ListedSource) -> str:
    """When a source was read, how often it is, what could not be read, and why it stopped."""
    record, counts = listed.record, listed.counts
    parts = [
        f"synced {_local_time(record.synced_at)}" if record.synced_at else "not wholly read yet",
        f"every {span_of(record.every)}" if record.every else "",
        f"{counts.due} to read" if counts.due else "",
        f"{counts.failed} failed" if counts.failed else "",
        record.failure,
    ]
    return "; ".join(filter(None, parts))


def _local_time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
