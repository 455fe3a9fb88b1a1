"""Bringing the index in step with the disk and giving it vectors: what comes before an answer.

Everything here blocks except :func:`in_thread` and :class:`BackgroundVectors`.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from bots.chat.texts import counted, nothing_to_read
from core.bootstrap import make_embedder
from core.conversation import value
from core.errors import DocumentError, FetchRefused, FootnoteError, SearchTrouble, SettingsError
from core.library.documents import Document
from core.library.embedding.embedder import Embedder
from core.library.formats.encoding import decode
from core.library.formats.read import SUFFIXES, parse_html, read_document
from core.library.library import DEFAULT_COLLECTION, Library, Notify, Phase
from core.library.roots import is_within
from core.library.sync import Failure, SyncReport, list_files
from core.settings import Settings
from core.web.fetch import HTML_TYPES, GuardedFetcher, Resource

RETRY_AFTER = 3600.0  # seconds before the embedding network is asked for again after it could not be had
GRACE = 3.0  # seconds that work which nobody waits for is given to end; a batch of vectors takes less
GIVEN_UP = "minilm_given_up"  # the library's note of when that was, seconds since the epoch

#: Which loader reads what a server calls by these types; HTML is read as a page.
_SUFFIX_OF_TYPE = {
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
}

T = TypeVar("T")
Work = Phase | Literal["downloading"]
Watch = Callable[[Work, int, int], None]  # what is being done, how much of it, of how much (0: unknown)
Say = Callable[[str], None]


class Stopped(Exception):
    """The work was ended at a sign of progress, because nobody waits for it any more."""


@value
class Targets:
    """What a person named to be read."""

    paths: tuple[Path, ...] = ()  #: absolute
    urls: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """As the library knows them, for a question that stays within them."""
        return (*map(str, self.paths), *self.urls)


def read_targets(named: Sequence[str]) -> Targets:
    """Files, folders and URLs; SettingsError when one does not exist."""
    urls = tuple(name for name in named if "://" in name)
    paths = tuple(Path(name).expanduser() for name in named if "://" not in name)
    for path in paths:
        if not path.exists():
            raise SettingsError(f"{path} does not exist.")
    return Targets(paths=tuple(path.resolve() for path in paths), urls=urls)


def require_documents(library: Library, targets: Targets) -> None:
    """SettingsError for a folder that holds nothing to read, unless it once did and must be brought in step."""
    for path in targets.paths:
        if not list_files([path]) and not _indexed_within(library, path):
            raise SettingsError(nothing_to_read(_as_typed(path), SUFFIXES))


def _as_typed(path: Path) -> Path:
    """The path as a person here would name it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def bring_in_step(
    library: Library, targets: Targets, fetcher: GuardedFetcher, *, notify: Notify
) -> SyncReport:
    """Everything known, and the targets beside it, as they are now; what is known is not taken in twice."""
    report = library.refresh(notify=notify)
    new = [path for path in targets.paths if not _indexed_within(library, path)]
    return report + take_in(library, replace(targets, paths=tuple(new)), fetcher, notify=notify)


def take_in(
    library: Library,
    targets: Targets,
    fetcher: GuardedFetcher,
    *,
    notify: Notify,
    collection: str = DEFAULT_COLLECTION,
) -> SyncReport:
    """Index files, folders and pages, and keep the files and folders in step from then on."""
    report = SyncReport()
    if targets.paths:
        report += library.ingest(targets.paths, collection=collection, notify=notify)
    for url in targets.urls:
        report += _take_page_in(library, url, fetcher, collection)
    return report


def _indexed_within(library: Library, path: Path) -> bool:
    return any(is_within(entry.address, str(path)) for entry in library.store.entries())


def _take_page_in(library: Library, url: str, fetcher: GuardedFetcher, collection: str) -> SyncReport:
    try:
        document = document_of(asyncio.run(fetcher.get_public(url)))
    except (FetchRefused, SearchTrouble, DocumentError) as fault:
        return SyncReport(failed=(Failure(source=url, reason=str(fault)),))
    return library.ingest_page(url, document, collection=collection)


def document_of(resource: Resource) -> Document:
    """What a server sent, read as a page or as a file of its type; DocumentError when it cannot be."""
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


def embedder_of(
    library: Library, settings: Settings, *, insist: bool, say: Say, watch: Watch
) -> Embedder | None:
    """The embedder that this index may be used with. Blocks: it may download.

    Without a network ``auto`` finds none after some seconds; unless someone insists, it then is
    not tried again for RETRY_AFTER. IndexMismatch when the index was built with another model.
    """
    if not insist and was_given_up(library, time.time()):
        return None
    embedder = make_embedder(
        settings, announce=say, progress=lambda done, total: watch("downloading", done, total)
    )
    if embedder is None and settings.embedding_model == "auto":
        library.store.remember(GIVEN_UP, str(time.time()))
    seen_with(library, embedder).check_model()
    return embedder


def seen_with(library: Library, embedder: Embedder | None) -> Library:
    """The same index through another embedder."""
    return Library(store=library.store, open_vectors=lambda: library.vectors, embedder=embedder)


def was_given_up(library: Library, now: float) -> bool:
    """Whether the network could not be had a while ago; a note of a time to come says nothing."""
    since = library.store.recall(GIVEN_UP)
    return since is not None and 0 <= now - float(since) < RETRY_AFTER


async def in_thread(work: Callable[[Watch], T], watch: Watch) -> T:
    """Run blocking work beside the loop. Once nobody waits for it, it ends at its next sign of progress."""
    left = threading.Event()

    def watched(kind: Work, done: int, total: int) -> None:
        if left.is_set():
            raise Stopped
        watch(kind, done, total)

    running = asyncio.ensure_future(asyncio.to_thread(work, watched))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        left.set()
        await asyncio.wait([running], timeout=GRACE)
        raise


class BackgroundVectors:
    """Vectors for whatever has none yet, made beside a conversation that goes on meanwhile.

    The library gets its embedder when every passage has a vector: searched by meaning before,
    the passages that were embedded first would push the others aside.
    """

    def __init__(
        self, library: Library, settings: Settings, say: Say, *, embedder: Embedder | None, may_begin: bool
    ) -> None:
        """``may_begin`` allows to look for an embedder when there is none."""
        self._embedder = embedder
        self._library = library
        self._settings = settings
        self._say = say
        self._may_begin = may_begin
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, unless it is under way."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End it at the next batch; what is made is kept, the rest follows another time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            if self._embedder is None and self._may_begin:
                self._embedder = await in_thread(self._find_embedder, _quiet)
            view = seen_with(self._library, self._embedder)
            made = await in_thread(lambda watch: view.embed_pending(notify=watch), _quiet)
        except FootnoteError as trouble:
            self._say(f"Searching by words alone: {trouble}")
            return
        self._library.embedder = self._embedder
        if made:
            self._say(f"{counted(made, 'passage')} can now be found by meaning too.")

    def _find_embedder(self, watch: Watch) -> Embedder | None:
        return embedder_of(self._library, self._settings, insist=False, say=self._say, watch=watch)


def _quiet(_kind: Work, _done: int, _total: int) -> None:
    return None
