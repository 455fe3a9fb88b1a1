"""The index, opened read-only: what it holds, whether its vectors can be used, and what changed on the disk."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import NoReturn

from bots.chat.texts import counted
from bots.doctor.findings import Finding, failed, from_error, ok, warning
from bots.doctor.models import load_embedder
from bots.doctor.settings import Configuration
from bots.doctor.stores import examine_server, find_owner, query
from core.errors import SettingsError
from core.library.data_lock import refuse_incomplete
from core.library.library import Library
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.library.sync import plan_sync, scan
from core.library.tables import SCHEMA
from core.settings import Settings
from core.storage.database import version_in
from core.storage.sqlite import SqliteDatabase

NAME = "index"
NAMED = 3  # documents named in one finding
REBUILD = "`footnote ingest --rebuild`"


def examine(configuration: Configuration) -> list[Finding]:
    settings = configuration.settings
    if settings.postgres_url is not None:
        return examine_server(NAME, settings.postgres_url)
    try:
        refuse_incomplete(settings.data_dir)
    except SettingsError as error:
        return [from_error(NAME, error)]
    file = settings.data_dir / "library.sqlite"
    if not (file.is_file() and file.stat().st_size):
        return [warning(NAME, "Nothing is indexed yet.", "`footnote ingest PATH`")]
    if 0 < (version_in(file) or 0) < SCHEMA.version:
        return [
            warning(NAME, f"{file} is of an older version.", "`footnote sources` brings it up to this one.")
        ]
    found: list[Finding] = []
    try:
        store = DocumentStore(SqliteDatabase(file, SCHEMA, is_read_only=True))
        with closing(Library(store=store, open_vectors=_refuse_vectors)) as library:
            # One by one: what was found before an unreadable page is kept.
            found.extend(_examine_damage(library, settings.data_dir))
            found.extend(_count_documents(library))
            found.extend(_examine_vectors(library, settings))
            found.extend(_compare_with_disk(library))
    except SettingsError as error:
        found.append(from_error(NAME, error, f"See who may read it: `ls -l {quote(str(file))}`"))
    return found


def _refuse_vectors() -> NoReturn:
    raise AssertionError("Chroma must not be opened while another process may use it")


def _examine_damage(library: Library, data_dir: Path) -> Iterator[Finding]:
    """Corrupt pages in the library's file, or in the one of the vectors."""
    ((verdict,),) = library.store.database.rows("PRAGMA quick_check(1)")
    if verdict != "ok":
        fix = f"Run {REBUILD} with your documents."
        yield failed(NAME, f"{data_dir / 'library.sqlite'} is damaged.", fix)
    if library.store.has_vectors() and not _is_sound(data_dir / "vectors" / "chroma.sqlite3"):
        yield failed(NAME, f"The vector index in {data_dir / 'vectors'} is damaged or gone.", REBUILD)


def _is_sound(file: Path) -> bool:
    try:
        return query(file, "PRAGMA quick_check(1)") == [("ok",)]
    except sqlite3.Error:
        return False


def _count_documents(library: Library) -> Iterator[Finding]:
    entries = library.store.entries()
    if not entries:
        yield warning(NAME, "Nothing is indexed yet.", "`footnote ingest PATH`")
        return
    passages = sum(entry.passages for entry in entries)
    collections = sorted({base_of(entry.collection) for entry in entries})
    yield ok(
        NAME,
        f"{counted(len(entries), 'document')} with {counted(passages, 'passage')}"
        f" in {counted(len(collections), 'collection')}: {_some(collections)}.",
    )


def _examine_vectors(library: Library, settings: Settings) -> Iterator[Finding]:
    """True if they are of this EMBEDDING_MODEL, and how many are missing."""
    try:
        library.embedder = load_embedder(settings)
    except SettingsError:
        library.embedder = None  # reported by the check of the embedding
    try:
        library.check_model()
    except SettingsError as mismatch:
        yield from_error(NAME, mismatch)
        return
    if library.embedder is None and library.store.has_vectors():
        model = library.store.get_meta("embedding_model")
        yield warning(
            NAME,
            f"It holds vectors of {model}, which are not used now: passages are found by their words alone.",
            "Set EMBEDDING_MODEL back to what it was.",
        )
    pending = library.store.count_pending_vectors()
    if pending and library.embedder is not None:
        owner = find_owner(settings.data_dir)
        yield warning(
            NAME,
            f"{counted(pending, 'passage')} can be found by words alone: they have no vectors yet.",
            f"Wait for {owner}, which makes them."
            if owner
            else "`footnote chat` or `footnote run` makes them.",
        )


def _compare_with_disk(library: Library) -> Iterator[Finding]:
    """The files that the next question will update, and those that cannot be read."""
    roots_by_collection: dict[str, list[str]] = {}
    for collection, root in library.store.roots.all():
        roots_by_collection.setdefault(collection, []).append(root)
    missing = [root for roots in roots_by_collection.values() for root in roots if not Path(root).exists()]
    if missing:
        fix = "Bring it back (is a disk not mounted?), or let it go: `footnote forget PATH`"
        yield warning(NAME, f"Indexed, but not on the disk any more: {_some(missing)}.", fix)
    for collection, roots in roots_by_collection.items():
        rules = library.store.roots.rules(collection)
        known = {entry.address: entry for entry in library.store.entries(collection=collection)}
        unreadable = library.store.roots.unreadable(collection)
        plan = plan_sync(scan(roots, rules), known, unreadable, roots, retry=False)
        if gone := [entry.source for entry in plan.gone]:
            fix = "Nothing to do if that was meant: the next question forgets them. Else bring them back."
            yield warning(NAME, f"{counted(len(gone), 'document')} gone from the disk: {_some(gone)}.", fix)
        if plan.failed:
            failures = [f"{failure.source} ({failure.reason})" for failure in plan.failed]
            fix = "Repair them and run `footnote ingest PATH` again, or leave them out."
            yield warning(NAME, f"{counted(len(failures), 'file')} cannot be read: {_some(failures)}.", fix)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
