"""The index, read without owning it: what it holds, whether it fits, and whether the disk still agrees."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NoReturn

from bots.chat.texts import counted
from bots.doctor.embedding import embedder_here
from bots.doctor.findings import Finding, failed, ok, told, warning
from bots.doctor.folder import owner_of
from bots.doctor.settings import Installation
from core.errors import SettingsError
from core.library.database import BUSY_TIMEOUT, SCHEMA, Database
from core.library.lexical import LexicalIndex
from core.library.library import Library
from core.library.roots import Roots
from core.library.store import DocumentStore
from core.library.sync import plan_sync, scan
from core.schema import version_in
from core.settings import Settings

NAME = "index"
NAMED = 3  # documents named in one finding
REBUILD = "`footnote ingest --rebuild`"


def examine(installation: Installation) -> list[Finding]:
    settings = installation.settings
    file = settings.data_dir / "library.sqlite"
    if not (file.is_file() and file.stat().st_size):
        return [warning(NAME, "Nothing is indexed yet.", "`footnote ingest PATH`")]
    if 0 < (version_in(file) or 0) < SCHEMA.version:
        return [
            warning(NAME, f"{file} is of an older version.", "`footnote sources` brings it up to this one.")
        ]
    found: list[Finding] = []
    try:
        with _opened(file) as library:
            # One by one, so that what was found before a page that cannot be read is told.
            found.extend(_damage(library, settings.data_dir))
            found.extend(_content(library))
            found.extend(_fit(library, settings))
            found.extend(_out_of_step(library))
    except SettingsError as trouble:
        found.append(told(NAME, trouble, f"See who may read it: `ls -l {file}`"))
    return found


class _ReadOnly(Database):
    """The library's file as it is: nothing is made, and what is not there stays away."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_lock, self._write_lock = threading.Lock(), threading.RLock()
        with self._troubles(), ExitStack() as opened:
            self._writing = self._reading = opened.enter_context(closing(self._connect()))
            self._set_up()
            self._opened = opened.pop_all()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self._file.resolve().as_uri()}?mode=ro",
            uri=True,
            timeout=BUSY_TIMEOUT,
            check_same_thread=False,
            isolation_level=None,
        )


class _ReadOnlyCatalogue(DocumentStore):
    def __init__(self, file: Path) -> None:
        self.database = _ReadOnly(file)
        self.lexical = LexicalIndex(self.database)
        self.roots = Roots(self.database)
        self._rows = self.database.rows


def _no_vectors() -> NoReturn:
    raise AssertionError("Chroma is not opened beside the process that owns it")


@contextmanager
def _opened(file: Path) -> Iterator[Library]:
    with closing(Library(store=_ReadOnlyCatalogue(file), open_vectors=_no_vectors)) as library:
        yield library


def _damage(library: Library, data_dir: Path) -> Iterator[Finding]:
    """Pages that SQLite cannot make sense of, in the library file and beneath the vectors."""
    ((verdict,),) = library.store.database.rows("PRAGMA quick_check(1)")
    if verdict != "ok":
        yield failed(
            NAME,
            f"{data_dir / 'library.sqlite'} is damaged.",
            f"Run {REBUILD} with your documents.",
        )
    if library.store.has_vectors() and not _is_sound(data_dir / "vectors" / "chroma.sqlite3"):
        yield failed(NAME, f"The vector index in {data_dir / 'vectors'} is damaged or gone.", REBUILD)


def _is_sound(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


def _content(library: Library) -> Iterator[Finding]:
    entries = library.store.entries()
    if not entries:
        yield warning(NAME, "Nothing is indexed yet.", "`footnote ingest PATH`")
        return
    passages = sum(entry.passages for entry in entries)
    collections = sorted({entry.collection for entry in entries})
    yield ok(
        NAME,
        f"{counted(len(entries), 'document')} with {counted(passages, 'passage')}"
        f" in {counted(len(collections), 'collection')}: {_some(collections)}.",
    )


def _fit(library: Library, settings: Settings) -> Iterator[Finding]:
    """Whether this EMBEDDING_MODEL may use the index; passages that lack vectors."""
    try:
        library.embedder = embedder_here(settings)
    except SettingsError:
        library.embedder = None  # which the embedding's own check tells
    try:
        library.check_model()
    except SettingsError as mismatch:
        yield told(NAME, mismatch)
        return
    if library.embedder is None and library.store.has_vectors():
        model = library.store.recall("embedding_model")
        yield warning(
            NAME,
            f"It holds vectors of {model}, which are not used now: passages are found by their words alone.",
            "Set EMBEDDING_MODEL back to what it was.",
        )
    pending = library.store.count_pending_vectors()
    if pending and library.embedder is not None:
        owner = owner_of(settings.data_dir)
        yield warning(
            NAME,
            f"{counted(pending, 'passage')} can be found by words alone: they have no vectors yet.",
            f"Wait for {owner}, which makes them."
            if owner
            else "`footnote chat` or `footnote run` makes them.",
        )


def _out_of_step(library: Library) -> Iterator[Finding]:
    """What the next question would find changed; a folder that is gone takes all its documents along."""
    places: dict[str, list[str]] = {}
    for collection, root in library.store.roots.all():
        places.setdefault(collection, []).append(root)
    missing = [root for roots in places.values() for root in roots if not Path(root).exists()]
    if missing:
        yield warning(
            NAME,
            f"Indexed, but not on the disk any more: {_some(missing)}.",
            "Bring it back (is a disk not mounted?), or let it go: `footnote forget PATH`",
        )
    for collection, roots in places.items():
        kept = library.store.roots.kept(collection)
        known = {entry.address: entry for entry in library.store.entries(collection=collection)}
        unreadable = library.store.roots.unreadable(collection)
        plan = plan_sync(scan(roots, kept), known, unreadable, roots, retry=False)
        if gone := [entry.source for entry in plan.gone]:
            yield warning(
                NAME,
                f"{counted(len(gone), 'document')} gone from the disk: {_some(gone)}.",
                "Nothing to do if that was meant: the next question forgets them. Else bring them back.",
            )
        if plan.failed:
            failures = [f"{failure.source} ({failure.reason})" for failure in plan.failed]
            yield warning(
                NAME,
                f"{counted(len(failures), 'file')} cannot be read: {_some(failures)}.",
                "Mend them and run `footnote ingest PATH` again, or leave them out.",
            )


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
