"""Updates the index from the disk and embeds its passages, before a question is answered.

Everything here blocks except :func:`run_in_thread` and :class:`BackgroundVectors`.
"""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from bots.chat.addresses import ADDRESSES, ingest_command
from bots.chat.texts import counted, nothing_to_read
from core.bootstrap import Announce, fetch_reranker, make_embedder
from core.conversation import value
from core.errors import DocumentError, FetchRefused, FootnoteError, SearchTrouble, SettingsError
from core.library.documents import Document
from core.library.embedding.embedder import Embedder
from core.library.formats.encoding import decode
from core.library.formats.read import SUFFIXES, parse_html, read_document
from core.library.indexing import Notify, Phase
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.roots import is_within
from core.library.source_documents import source_of_page
from core.library.sync import Failure, SourceNote, SyncReport, list_files
from core.settings import Settings
from core.sources.kinds import as_typed, source_address
from core.web.fetch import HTML_TYPES, GuardedFetcher, Resource

RETRY_AFTER = 3600.0  # seconds before a failed download of the embedding network is tried again
LOOK_EVERY = 5.0  # seconds between two looks at what another process has embedded
CANCEL_TIMEOUT = 3.0  # seconds that cancelled work gets to end; a batch of vectors takes less
# Under this name the library notes when it failed, in seconds since the epoch.
DOWNLOAD_FAILED = "minilm_given_up"

#: The suffix that chooses a parser, by the content type of a response; HTML is read as a page.
_SUFFIX_OF_TYPE = {
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
}

T = TypeVar("T")


class Cancelled(Exception):
    """Raised inside work in a thread, at its next note of progress after it was cancelled."""


@value
class Targets:
    """The files and addresses that a person named to be indexed."""

    paths: tuple[Path, ...] = ()  #: absolute
    urls: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  #: addresses as they are kept

    @property
    def addresses(self) -> tuple[str, ...]:
        """Paths, URLs and sources as the library stores them, to limit a question to them."""
        return (*map(str, self.paths), *self.urls, *self.sources)


def read_targets(names: Sequence[str], *, follow: bool = False, settings: Settings | None = None) -> Targets:
    """Files, folders, URLs and sources; SettingsError names every path that does not exist.

    ``follow``: URLs are websites, which are sources, not single pages; ``settings`` say which URLs are of sources.
    """
    sources = {
        name: address
        for name in names
        if (address := source_address(name, follow=follow, kinds=ADDRESSES, settings=settings)) is not None
    }
    others = [name for name in names if name not in sources]
    urls = tuple(name for name in others if "://" in name)
    paths = tuple(Path(name).expanduser() for name in others if "://" not in name)
    if not all(map(str.strip, names)):
        raise SettingsError("An empty name stands for nothing; a dot stands for this folder.")
    if closed := [str(path) for path in paths if not _is_open(path)]:
        raise SettingsError(f"{', '.join(closed)} cannot be read: permission denied.")
    if missing := [str(path) for path in paths if not path.exists()]:
        verb = "does" if len(missing) == 1 else "do"
        raise SettingsError(f"{', '.join(missing)} {verb} not exist.")
    absolute = tuple(path.resolve() for path in paths)
    return Targets(paths=absolute, urls=urls, sources=tuple(dict.fromkeys(sources.values())))


def _is_open(path: Path) -> bool:
    try:
        path.exists()
    except PermissionError:  # a folder above it is closed
        return False
    return not path.is_dir() or os.access(path, os.R_OK | os.X_OK)


def require_documents(library: Library, targets: Targets) -> None:
    """SettingsError names every folder without documents, unless some of it is still indexed."""
    listings = {path: list_files([path]) for path in targets.paths}
    empty = [path for path, found in listings.items() if not found.files and not _is_indexed(library, path)]
    if empty:
        here = Path.cwd()
        names = [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in empty]
        notes = [note for path in empty for note in listings[path].notes]
        raise SettingsError(nothing_to_read(", ".join(names), SUFFIXES, notes))


def update_index(
    library: Library, targets: Targets, fetcher: GuardedFetcher, *, notify: Notify
) -> SyncReport:
    """Update everything indexed, and index new targets. SettingsError for a source that was not read yet."""
    for address in targets.sources:
        if not any(is_within(entry.address, address) for entry in library.store.entries()):
            typed = as_typed(address, ADDRESSES)
            raise SettingsError(f"Nothing of {typed} is indexed yet: `{ingest_command(address)}`.")
    report = library.refresh(notify=notify)
    roots = [root for _, root in library.store.roots.all()]
    # What is kept in step with one of these is not new: of a folder, one file alone may have been ingested.
    kept = [path for path in targets.paths if any(is_within(str(path), root) for root in roots)]
    new = [path for path in targets.paths if not (path in kept and _is_indexed(library, path))]
    return report + ingest_targets(library, replace(targets, paths=tuple(new)), fetcher, notify=notify)


def ingest_targets(
    library: Library, targets: Targets, fetcher: GuardedFetcher,
    *, notify: Notify, collection: str = DEFAULT_COLLECTION,
) -> SyncReport:  # fmt: skip
    """Index files, folders and pages, not sources. Files and folders are kept up to date from then on."""
    report = SyncReport()
    if targets.paths:
        report += library.ingest(targets.paths, collection=collection, notify=notify)
    for url in targets.urls:
        report += _ingest_page(library, url, fetcher, collection)
    return report


def _is_indexed(library: Library, path: Path) -> bool:
    return any(is_within(entry.address, str(path)) for entry in library.store.entries())


def _ingest_page(library: Library, url: str, fetcher: GuardedFetcher, collection: str) -> SyncReport:
    if (source := source_of_page(library.store, collection, url)) is not None:
        again = f"is read with {as_typed(source, ADDRESSES)} already: `{ingest_command(source, collection=collection)}`"
        note = SourceNote(source=url, text=f"{again} reads all of that again.")
        return SyncReport(skipped=1, notes=(note,))
    try:
        document = document_of(asyncio.run(fetcher.get_public(url)))
    except (FetchRefused, SearchTrouble, DocumentError) as error:
        return SyncReport(failed=(Failure(source=url, reason=str(error)),))
    notes = (SourceNote(source=url, text=document.unread),) if document.unread else ()
    return library.ingest_page(url, document, collection=collection) + SyncReport(notes=notes)


def document_of(resource: Resource) -> Document:
    """The response of a server, read as a page or as a file of its type; DocumentError when it cannot be."""
    data = resource.data
    if resource.content_type != "application/pdf" and resource.charset:
        data = decode(data, declared=resource.charset).encode()
    if resource.content_type in HTML_TYPES:
        return parse_html(data, url=resource.url)
    with tempfile.TemporaryDirectory() as folder:
        name = Path(resource.url.partition("?")[0]).stem or "page"
        file = Path(folder, name[:100]).with_suffix(_SUFFIX_OF_TYPE[resource.content_type])
        file.write_bytes(data)
        return replace(read_document(file), url=resource.url)


# Vectors


def find_embedder(
    library: Library, settings: Settings, *, insist: bool, announce: Announce, notify: Notify
) -> Embedder | None:
    """The embedder that this index may be used with. Blocks: it may download.

    A failed download takes some seconds, so it is tried again only after RETRY_AFTER, or with ``insist``.
    IndexMismatch when the index was built with another model.
    """
    if not insist and failed_recently(library, time.time()):
        return None
    progress = partial(notify, "downloading")
    try:
        fetch_reranker(settings, announce=announce, progress=progress)
    except SettingsError as failure:
        announce(f"Passages are not ranked anew: {failure}")
    embedder = make_embedder(settings, announce=announce, progress=progress)
    if embedder is None and settings.embedding_model == "auto":
        library.store.set_meta(DOWNLOAD_FAILED, str(time.time()))
    with_embedder(library, embedder).check_model()
    return embedder


def embedder_of_index(
    library: Library, settings: Settings, announce: Announce, notify: Notify
) -> Embedder | None:
    """The embedder of the index's vectors; None where there are none. Blocks."""
    if not library.store.has_vectors():
        return None
    return find_embedder(library, settings, insist=False, announce=announce, notify=notify)


def with_embedder(library: Library, embedder: Embedder | None) -> Library:
    """The same index through another embedder."""
    return Library(store=library.store, open_vectors=lambda: library.vectors, embedder=embedder)


def failed_recently(library: Library, now: float) -> bool:
    """True if the last download failed less than RETRY_AFTER ago; a time in the future is ignored."""
    since = library.store.get_meta(DOWNLOAD_FAILED)
    return since is not None and 0 <= now - float(since) < RETRY_AFTER


async def run_in_thread(work: Callable[[Notify], T], notify: Notify) -> T:
    """Run blocking work in a thread. If this is cancelled, the work ends at its next note of progress."""
    cancelled = threading.Event()

    def notify_or_cancel(phase: Phase, done: int, total: int) -> None:
        if cancelled.is_set():
            raise Cancelled
        notify(phase, done, total)

    running = asyncio.ensure_future(asyncio.to_thread(work, notify_or_cancel))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([running], timeout=CANCEL_TIMEOUT)
        raise


@value
class Watcher:
    """Callbacks for sentences and progress. Both are called from another thread."""

    notify: Notify
    announce: Announce


@dataclass(slots=True, eq=False)
class BackgroundVectors:
    """Embeds the passages that have no vector yet, while a conversation goes on.

    The library gets its embedder when every passage has a vector. Earlier, the passages that were embedded
    first would rank before all others.
    """

    library: Library
    settings: Settings
    announce: Announce
    _: KW_ONLY
    embedder: Embedder | None
    may_find: bool  #: whether to look for an embedder when none is given
    may_embed: bool = True  #: False: another process embeds
    _insists: bool = False
    _watchers: list[Watcher] = field(default_factory=list)
    _task: asyncio.Task[int | FootnoteError] | None = None

    def start(self) -> asyncio.Task[int | FootnoteError]:
        """Begin, unless it is running."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return self._task

    async def stop(self) -> None:
        """End at the next batch; vectors made so far are kept."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def finish(self, watcher: Watcher, *, insist: bool) -> int:
        """Wait until every passage has a vector; returns how many were made. Raises what prevented it.

        With ``insist``, a failed download is tried again. If this is cancelled, the work goes on without it.
        """
        made, self._insists = 0, insist
        self._watchers.append(watcher)
        try:
            while True:
                running = self.start()
                await asyncio.wait([running])
                ended = running.result()
                if isinstance(ended, FootnoteError):
                    raise ended
                made += ended
                if self.embedder is None or not self.library.store.count_pending_vectors():
                    return made
        finally:
            self._watchers.remove(watcher)

    async def _run(self) -> int | FootnoteError:
        """Returns how many vectors were made, or why none can be."""
        try:
            if self.embedder is None and self.may_find:
                self.embedder = await run_in_thread(self._find_embedder, self._notify)
            if self.may_embed:
                view = with_embedder(self.library, self.embedder)
                made = await run_in_thread(lambda notify: view.embed_pending(notify=notify), self._notify)
            else:
                # Wait for the process that embeds; how many were missing.
                count = self.library.store.count_pending_vectors
                made = await asyncio.to_thread(count)
                while await asyncio.to_thread(count):  # noqa: ASYNC110 - the passages are in a database
                    await asyncio.sleep(LOOK_EVERY)
        except FootnoteError as error:
            self.announce(f"Searching by words alone: {error}")
            return error
        self.library.embedder = self.embedder
        if made:
            self.announce(f"{counted(made, 'passage')} can now be found by meaning too.")
        return made

    def _find_embedder(self, notify: Notify) -> Embedder | None:
        insist, self._insists = self._insists, False
        announce = self._tell_all
        return find_embedder(self.library, self.settings, insist=insist, announce=announce, notify=notify)

    def _tell_all(self, sentence: str) -> None:
        self.announce(sentence)
        for watcher in [*self._watchers]:
            watcher.announce(sentence)

    def _notify(self, phase: Phase, done: int, total: int) -> None:
        for watcher in [*self._watchers]:
            watcher.notify(phase, done, total)
