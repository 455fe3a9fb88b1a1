"""``footnote ingest``: index files, folders and pages, or bring them in step."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing

from bots import rebuild
from bots.chat import texts
from bots.indexing import Targets, embedder_of, read_targets, require_documents, take_in
from bots.terminal.screen import Screen
from core.bootstrap import make_fetcher, open_library
from core.errors import IndexDamaged, ModelTrouble, SettingsError
from core.library.data_lock import lock_data_dir
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.sync import SyncReport
from core.settings import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Works in the main thread throughout, so that Ctrl-C ends it at once; what is indexed stays."""
    if not arguments.rebuild and not arguments.targets:
        raise SettingsError("There is nothing to ingest: footnote ingest PATH_OR_URL…")
    targets = read_targets(arguments.targets)
    screen = Screen()
    with lock_data_dir(settings.data_dir, "footnote ingest"):
        report = _rebuild(arguments, targets, settings, screen) if arguments.rebuild else None
        if arguments.rebuild:
            rebuild.begin_anew(settings, screen)
        library = open_library(settings, is_owner=True)
        try:
            report = report or _take_in(library, targets, arguments.collection, settings, screen)
            _tell(report, screen)
            _embed(library, settings, screen)
        finally:
            library.close()
    return 1 if report.failed and not report.added + report.changed + report.skipped else 0


def _rebuild(arguments: Namespace, targets: Targets, settings: Settings, screen: Screen) -> SyncReport:
    """A sound index is built anew where it is; of another what can be had is brought into a new one."""
    collection = arguments.collection or DEFAULT_COLLECTION
    if rebuild.is_called_for(settings.data_dir):
        return rebuild.mend(settings, targets, collection, screen)
    if arguments.targets or arguments.collection:
        raise SettingsError("--rebuild reads everything that is indexed anew; it goes without a PATH.")
    try:
        with (
            closing(open_library(settings, is_owner=True)) as library,
            screen.indexing() as notify,
        ):
            return library.rebuild(notify=notify)
    except IndexDamaged:  # in a way that only shows when it is used
        return rebuild.mend(settings, targets, collection, screen)


def _take_in(
    library: Library, targets: Targets, collection: str | None, settings: Settings, screen: Screen
) -> SyncReport:
    require_documents(library, targets)
    with screen.indexing() as notify:
        return take_in(
            library,
            targets,
            make_fetcher(settings),
            notify=notify,
            collection=collection or DEFAULT_COLLECTION,
        )


def _embed(library: Library, settings: Settings, screen: Screen) -> None:
    """Vectors for what has none; words alone have to do where there is no model."""
    with screen.indexing() as watch:
        library.embedder = embedder_of(library, settings, insist=True, say=screen.note, watch=watch)
    try:
        with screen.indexing() as notify:
            made = library.embed_pending(notify=notify)
    except ModelTrouble as trouble:
        screen.note(f"Searching by words alone: {trouble}")
        return
    if made:
        screen.write(f"{texts.counted(made, 'passage')} indexed by meaning too.")


def _tell(report: SyncReport, screen: Screen) -> None:
    screen.write(texts.synced(report))
    for failure in report.failed:
        screen.write(f"  {failure.source}: {failure.reason}")
