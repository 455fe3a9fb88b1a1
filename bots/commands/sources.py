"""``footnote sources`` and ``footnote access``: what is indexed, how far each source was read, and who may read it."""

import json
from argparse import Namespace
from collections.abc import Iterable
from contextlib import closing, nullcontext
from datetime import datetime
from typing import Any

from bots.arguments import span_of
from bots.chat import texts
from bots.chat.access import CHANNEL, GROUP, PERSON, AccessChange, access_rules, change_access, readers
from bots.chat.channels import SCHEMA, STORE
from bots.chat.people import state_email, stated_emails
from bots.platforms import any_id, ids_of
from bots.record import iso, moment
from bots.terminal import render
from bots.terminal.screen import Screen
from core.bootstrap import has_library, open_library, own_data_dir
from core.errors import SettingsError
from core.library.data_lock import make_data_dir
from core.library.entries import Entry
from core.library.overview import as_listed
from core.settings import Settings
from core.sources.documents import Sightings
from core.sources.kinds import as_typed, label_of
from core.sources.sources import open_source_store
from core.sources.store import ListedSource
from core.storage.database import version_in
from core.storage.storage import file_of, open_storage

#: What ``footnote sources --json`` prints of each document, besides its kind.
RECORD = ("source", "title", "collection", "passages", "address", "url")
FAILURES_SHOWN = 20  # items of a source


def list_sources(arguments: Namespace, settings: Settings) -> int:
    screen = Screen()
    if not has_library(settings):
        print("[]") if arguments.json else screen.note(texts.NOTHING_INDEXED)  # noqa: T201 - this is the output
        return 0
    with (
        closing(open_library(settings)) as library,
        open_storage(settings) as storage,
        open_source_store(storage) as store,
    ):
        entries = as_listed(library.store.entries())
        sightings = Sightings(sources=store, documents=library.store, stale_after=settings.stale_after)
        listed, unseen = store.list_sources(failures=FAILURES_SHOWN), sightings.unseen(entries)
        stale = {each.record.number for each in listed if sightings.is_stale(each.record)}
    if arguments.json:
        documents = [document_record(entry, unseen.get(entry.id)) for entry in entries]
        sources = [source_record(each, is_stale=each.record.number in stale) for each in listed]
        print(json.dumps([*documents, *sources]))  # noqa: T201 - this is the output
        return 0
    for each in listed:
        screen.write(
            f"{as_typed(each.record.address)}\t{described(each, is_stale=each.record.number in stale)}"
            f"\t{each.counts.read}\t{each.record.collection}"
        )
        for failed in each.failed:
            screen.write(f"  {texts.note_line(failed.source, failed.reason)}")
    if not entries and not listed:
        screen.note(texts.NOTHING_INDEXED)
    elif screen.is_drawn:
        screen.show(render.source_list(entries, limit=None, unseen=unseen))
    else:
        for entry in entries:
            remark = (texts.unseen_note(unseen[entry.id]),) if entry.id in unseen else ()
            columns = (entry.source, entry.title, str(entry.passages), entry.collection, *remark)
            screen.write("\t".join(columns))
    return 0


def document_record(entry: Entry, unseen_since: float | None = None) -> dict[str, Any]:
    kept = {name: getattr(entry, name) for name in RECORD}
    return {
        **kept, "kind": "document", "changed_at": iso(entry.changed_at), "unseen_since": iso(unseen_since)
    }  # fmt: skip


def source_record(listed: ListedSource, *, is_stale: bool = False) -> dict[str, object]:
    """The JSON record of a source, and how far it was read."""
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
        "synced_at": moment(record.synced_at),
        "started_at": moment(record.started_at),
        "next_at": moment(record.next_at),
        "read": counts.read,
        "due": counts.due,
        "failed": counts.failed,
        "failures": [{"source": each.source, "reason": each.reason} for each in listed.failed],
        "failure": record.failure or None,
        "note": record.note or None,
    }


def described(listed: ListedSource, *, is_stale: bool) -> str:
    """A line on a source: last and next sync, failures, and why it stopped."""
    record, counts, synced = listed.record, listed.counts, "not wholly read yet"
    if record.synced_at:
        synced = f"synced {datetime.fromtimestamp(record.synced_at).astimezone():%Y-%m-%d %H:%M}"
    parts = [
        synced,
        texts.unseen_note(record.seen_at) if is_stale else "",
        f"every {span_of(record.every)}" if record.every else "",
        f"{counts.due} to read" if counts.due else "",
        f"{counts.failed} failed" if counts.failed else "",
        record.failure,
        record.note,
    ]
    return "; ".join(filter(None, parts))


def access(arguments: Namespace, settings: Settings) -> int:
    """List the rules, after changing one collection's or people's e-mail addresses. A running bot applies them at its next question."""
    change = AccessChange(
        closes=arguments.nobody,
        opens_to_everyone=arguments.everyone,
        opens=(
            *((CHANNEL, name) for name in ids_of(CHANNEL, arguments.channels)),
            *((PERSON, name) for name in ids_of(PERSON, arguments.people)),
            *((GROUP, name) for name in ids_of(GROUP, arguments.groups)),
        ),
        removes=tuple(name for written in arguments.remove for name in any_id(written)),
    )
    if not change.is_empty and not arguments.collection:
        raise SettingsError("Name the collection: footnote access COLLECTION --channels ID.")
    screen = Screen()
    make_data_dir(settings.data_dir)
    file = file_of(settings.data_dir, STORE)
    is_older = settings.postgres_url is None and (version_in(file) or SCHEMA.version) < SCHEMA.version
    # An older file is migrated, which no other process may use meanwhile.
    alone = own_data_dir(settings, "footnote access, after an update") if is_older else nullcontext()
    with alone, open_storage(settings) as storage:
        with closing(open_library(settings, storage)) as library:
            known = library.store.collections()
        with closing(storage.database(STORE, SCHEMA)) as database:
            if not change.is_empty:
                for name in change_access(database, arguments.collection, change, known=known):
                    screen.note(f"{name} had no access to {arguments.collection}.")
            for person, address in _emails(arguments.email):
                state_email(database, person, address)
            rules, emails = access_rules(database, known), stated_emails(database)
    if arguments.collection and arguments.collection not in rules:
        raise SettingsError(f"There is no collection {arguments.collection}. There are: {', '.join(rules)}.")
    for name, those in rules.items():
        if name == (arguments.collection or name):
            screen.write(f"{name}\t{readers(those)}")
    for person, address in emails if not arguments.collection else ():
        screen.write(f"person {person}\t{address}")
    return 0


def _emails(written: Iterable[str]) -> list[tuple[str, str]]:
    """Persons and addresses; SettingsError for what is neither."""
    found = []
    for each in written:
        person, sign, address = each.partition("=")
        if not sign:
            raise SettingsError(f"{each} names no address: --email U0123ABCD=ann@example.org")
        found += [(known, address) for known in ids_of(PERSON, [person])]
    return found
