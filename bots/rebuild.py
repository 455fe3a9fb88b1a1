"""Rebuilds an index that cannot be opened, from the documents and from what can still be read of it.

Nothing that a channel learned is lost: its uploads are in the data folder, and pages from the web
are copied with their passages. The old file stays in place until the new one is complete: after a
kill, nothing has changed, and the next rebuild continues.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bots.chat.indexing import Targets, ingest_targets, require_documents
from bots.chat.texts import counted
from bots.chat.uploads import Upload, uploads_in
from bots.terminal.screen import Screen
from core.answers.answers import sync
from core.answers.store import SCHEMA, STORE
from core.bootstrap import LIBRARY, make_fetcher, open_library
from core.errors import IndexDamaged, SettingsError, VersionMismatch
from core.library.library import Library
from core.library.rebuild import BESIDE, Recovery, is_damaged, recover, remove, replace_file
from core.library.sync import SyncReport
from core.settings import Settings
from core.storage.storage import open_storage

NAMED = 3  # pages in one sentence


def is_needed(settings: Settings) -> bool:
    """Whether the index is damaged, or gone although there are uploads.

    Never in PostgreSQL, which has no file that we could replace.
    """
    if settings.postgres_url:
        return False
    data_dir = settings.data_dir
    file = data_dir / LIBRARY
    if file.is_file() and file.stat().st_size:
        return is_damaged(file)
    return bool(uploads_in(data_dir)) or (data_dir / f"{LIBRARY}{BESIDE}").exists()


def rebuild(settings: Settings, targets: Targets, collection: str, screen: Screen) -> SyncReport:
    """Read everything again and replace the old index, without vectors.

    The caller owns the data folder. Raises SettingsError if it is not known what to read.
    """
    file = settings.data_dir / LIBRARY
    screen.note(f"{file} is damaged or gone: it is rebuilt from the documents.")
    with closing(_opened_beside(settings)) as library:
        require_documents(library, targets)
        salvaged = recover(file, library.store)
        # If the list of refreshed files can be read, an upload that it lacks was forgotten by the operator.
        uploads = [] if salvaged.has_roots else uploads_in(settings.data_dir)
        if not (targets.addresses or uploads or library.store.roots.all() or library.store.entries()):
            raise SettingsError(
                f"Nothing can be read of {file} any more. "
                "Name your documents: footnote ingest --rebuild PATH_OR_URL…"
            )
        report = _read(library, targets, settings, screen, collection=collection, uploads=uploads)
        with open_storage(settings) as storage, closing(storage.database(STORE, SCHEMA)) as answers:
            sync(answers, library, time.time())
        library.vectors.erase()  # before the new file is in place: they belong to the old passages
    aside = replace_file(settings.data_dir / f"{LIBRARY}{BESIDE}", file)
    for sentence in _notes(salvaged, targets, aside):
        screen.note(sentence)
    return report


def _opened_beside(settings: Settings) -> Library:
    """The new index, with what an earlier attempt already read."""
    beside = settings.data_dir / f"{LIBRARY}{BESIDE}"
    try:
        library = open_library(settings, is_owner=True, beside=beside)
    except (IndexDamaged, VersionMismatch):
        remove(beside)
        library = open_library(settings, is_owner=True, beside=beside)
    return library


def _read(
    library: Library,
    targets: Targets,
    settings: Settings,
    screen: Screen,
    *,
    collection: str,
    uploads: Sequence[Upload],
) -> SyncReport:
    """Read refreshed files, uploads and targets, each only once."""
    known = frozenset(library.store.roots.all())
    with screen.indexing() as notify:
        report = library.refresh(notify=notify)
        for name, address in uploads:
            if (name, address) not in known:
                report += library.ingest([Path(address)], collection=name, notify=notify)
        new = tuple(path for path in targets.paths if (collection, str(path)) not in known)
        return report + ingest_targets(
            library,
            replace(targets, paths=new),
            make_fetcher(settings, for_operator=True),
            notify=notify,
            collection=collection,
        )


def _notes(salvaged: Recovery, targets: Targets, aside: Path) -> Iterator[str]:
    if salvaged.pages:
        yield f"{counted(salvaged.pages, 'page')} from the web came over whole."
    if salvaged.lost:
        more = len(salvaged.lost) - NAMED
        named = ", ".join(salvaged.lost[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
        yield f"{counted(len(salvaged.lost), 'page')} from the web must be learned again: {named}."
    if not salvaged.has_pages:
        yield "Pages from the web may be missing; their addresses are lost too: learn them again."
    if not salvaged.has_roots and not targets.addresses:
        yield "Which documents it held cannot be read any more: run `footnote ingest PATH` with yours."
    if not salvaged.has_forgotten:
        yield "What was forgotten below your folders cannot be read any more: forget it again."
    if aside.exists():
        yield f"The old file is {aside} and still holds text of your documents. Delete it when you like."
