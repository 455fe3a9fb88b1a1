"""The library: documents in, passages out. Every method blocks; callers use a thread."""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from core.characters import storable
from core.conversation import Exchange
from core.errors import IndexMismatch, ModelTrouble, NotFound, SettingsError, StoreUnavailable
from core.library.chunking import cut
from core.library.contents import Contents
from core.library.documents import Document, Passage, Retrieval, Scope, embedded_text
from core.library.embedding.embedder import Embedder
from core.library.embedding.reranker import Reranker
from core.library.entries import Entry, NewDocument
from core.library.formats import parser_process
from core.library.indexing import Notify, apply_plan, drop_surrogates
from core.library.readers import base_of
from core.library.retriever import Query, Retriever
from core.library.roots import is_within, resolve_name
from core.library.sameness import QuestionVectors
from core.library.store import MODEL, REFRESHED, DocumentStore
from core.library.sync import SyncReport, plan_sync, resolve_path, scan
from core.library.vectors import DenseIndex, VectorIndex

logger = logging.getLogger(__name__)


DEFAULT_COLLECTION = "default"
NOTE_EVERY = 30.0  # seconds between two notes of when the files were synced
EMBED_BATCH = 128  # passages embedded between two notes of progress


def _do_nothing(*_args: object) -> None:
    return None


@dataclass(slots=True)
class Library:
    """The document store and, with an embedder, the vectors of its passages."""

    store: DocumentStore
    open_vectors: Callable[[], VectorIndex]  #: opens the vector index when it is first needed
    embedder: Embedder | None = None
    reranker: Reranker | None = None  #: of the first passages that are found
    resources: ExitStack = field(default_factory=ExitStack, repr=False)  #: what is closed with it
    on_forget: Callable[[Sequence[str]], None] = _do_nothing  #: called with the sources that are forgotten
    #: When this process last noted that all files were synced, by the monotonic clock.
    _noted_refresh_at: float | None = field(default=None, repr=False)
    #: What is being ingested: a refresh meanwhile would read the same files a second time.
    _ingesting: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _vectors: VectorIndex | None = field(default=None, repr=False)
    _open_lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _questions: QuestionVectors = field(default_factory=QuestionVectors, repr=False)
    #: Without it, the vector of a new passage could be removed with that of the old one.
    _vector_lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    #: What cannot be used together, until another process or this one makes the vectors again.
    _failed: tuple[Embedder, DenseIndex] | None = field(default=None, repr=False)

    @property
    def vectors(self) -> VectorIndex:
        with self._open_lock:
            if self._vectors is None:
                self._vectors = self.open_vectors()
            return self._vectors

    def close(self) -> None:
        parser_process.close()  # ends the wait for documents that are being read
        if self._vectors is not None:
            self._vectors.close()
        self.store.close()
        self.resources.close()

    def check_model(self) -> None:
        """IndexMismatch when the index holds vectors of another embedding model."""
        if self.embedder is None:
            return
        model = self.store.get_meta(MODEL)
        if model and model != self.embedder.name and self.store.has_vectors():
            _refuse(model, self.embedder)

    def ingest(
        self, paths: Iterable[Path], *, collection: str = DEFAULT_COLLECTION, notify: Notify = _do_nothing
    ) -> SyncReport:
        """Sync paths with the disk, now and at every refresh; what is named here is forgotten no more."""
        addresses = [resolve_path(path) for path in paths]
        roots = self.store.roots
        new = frozenset(addresses) - roots.rules(collection).roots
        begun = {(collection, address) for address in addresses} - self._ingesting
        self._ingesting |= begun
        try:
            roots.add(collection, addresses)
            report = self._sync(collection, addresses, retry=True, notify=notify)
        finally:
            self._ingesting -= begun
        for address in new:
            if not Path(address).is_dir() and self.store.entry(collection, address) is None:
                roots.drop(collection, address)
        return report

    def refresh(self, *, notify: Notify = _do_nothing) -> SyncReport:
        """Sync everything that was ingested from the disk; files that are gone are forgotten until they are back."""
        report = SyncReport()
        for collection, roots in self._local_roots().items():
            settled = [root for root in roots if (collection, root) not in self._ingesting]
            report += self._sync(collection, settled, retry=False, notify=notify)
        now = time.monotonic()
        # It is noted for all processes; rarely, as people read it in minutes.
        if self._noted_refresh_at is None or now - self._noted_refresh_at >= NOTE_EVERY:
            self._noted_refresh_at = now
            # The wall clock, since another process reads it, perhaps on another machine.
            self.store.set_meta(REFRESHED, str(time.time()))
        return report

    def refresh_age(self) -> float | None:
        """Seconds since all files were last synced, by whichever process; None if they never were."""
        noted = self.store.get_meta(REFRESHED)
        return None if noted is None else max(0.0, time.time() - float(noted))

    def _sync(self, collection: str, roots: Sequence[str], *, retry: bool, notify: Notify) -> SyncReport:
        listing = scan(roots, self.store.roots.rules(collection))
        known = {entry.address: entry for entry in self.store.files(collection)}
        unreadable = self.store.roots.unreadable(collection)
        plan = plan_sync(listing, known, unreadable, roots, retry=retry)
        return apply_plan(plan, known, self.store, collection, notify)

    def _local_roots(self) -> dict[str, list[str]]:
        """The roots to sync; in PostgreSQL, those on this machine: what was read on another one stays."""
        is_shared = self.store.database.dialect != "sqlite"
        here: dict[str, list[str]] = {}
        for collection, root in self.store.roots.all():
            if not is_shared or Path(root).exists():
                here.setdefault(collection, []).append(root)
        return here

    def ingest_page(
        self, url: str, document: Document, *, collection: str = DEFAULT_COLLECTION
    ) -> SyncReport:
        """Index a fetched page under its URL, in place of its older version."""
        document = drop_surrogates(document)
        digest = hashlib.sha256(document.text.encode()).hexdigest()
        old, now = self.store.entry(collection, url), time.time()
        if old is not None and old.hash == digest:
            self.store.note_visit(old.id, seen_at=now, changed_at=document.changed_at)
            return SyncReport(skipped=1)
        new = NewDocument(
            collection=collection, address=url, root=url, source=url, title=document.title, url=url,
            hash=digest, size=len(document.text), modified=0, pieces=cut(document),
            changed_at=document.changed_at, seen_at=now,
        )  # fmt: skip
        self.store.put(new)
        return SyncReport(changed=1) if old else SyncReport(added=1)

    def rebuild(self, *, notify: Notify = _do_nothing) -> SyncReport:
        """Read every file here again and drop all vectors; pages from the web and files elsewhere stay."""
        self.store.forget_vectors()
        self.vectors.erase()
        local_roots = self._local_roots()
        for entry in self.store.entries():
            if any(is_within(entry.address, root) for root in local_roots.get(entry.collection, ())):
                self.store.remove(entry.collection, entry.address)
        self.store.reindex()
        report = SyncReport()
        for collection, roots in local_roots.items():
            report += self._sync(collection, roots, retry=True, notify=notify)
        self.store.set_meta(MODEL, "")
        return report

    def forget(
        self, source: str, *, collection: str | None = None, labels: Sequence[tuple[str, str, str]] = ()
    ) -> list[Entry]:
        """Remove the documents with this address or source, or below it, until they are ingested by name.

        Of a collection, also those that only some people may read. ``labels``: (collection, address, name) of what
        can be named besides documents. NotFound when nothing is meant, see :func:`resolve_name`.
        """
        meant = resolve_name(source, [*self.list_names(collection), *labels])
        if not meant:
            self._clear_leftovers()  # by a forget that was interrupted
            raise NotFound(f"Nothing is indexed under “{source}”. `footnote sources` lists what is.")

        def is_meant(entry: Entry) -> bool:
            base = base_of(entry.collection)
            return any(base == named and is_within(entry.address, address) for named, address in meant)

        gone = list(filter(is_meant, self.store.entries()))
        with self.store.transaction():
            for entry in gone:
                self.store.remove(entry.collection, entry.address)
            for named, address in sorted(meant):
                self.store.roots.forget(named, address)
        if gone:
            self.store.erase_deleted()
            self.on_forget([entry.source for entry in gone])
        self._clear_leftovers()
        return gone

    def _clear_leftovers(self) -> None:
        try:
            self.clear_stale_vectors()
        except SettingsError as trouble:
            logger.warning("vectors of forgotten passages were not removed: %s", trouble)

    def list_names(self, collection: str | None) -> list[tuple[str, str, str]]:
        """(collection, address, source) of documents, unreadable files and roots."""
        roots = self.store.roots
        found = [(base_of(e.collection), e.address, e.source) for e in self.store.entries()]
        for each in dict.fromkeys(each for each, _ in roots.all()):
            found += ((each, file.address, file.source) for file in roots.unreadable(each).values())
        found += ((each, root, Path(root).name) for each, root in roots.all())
        return [each for each in found if collection is None or base_of(collection) == each[0]]

    def embed_pending(self, *, notify: Notify = _do_nothing) -> int:
        """Make the missing vectors; resumable. How many were made. IndexMismatch beside another model's."""
        self.clear_stale_vectors()
        total, done = self.store.count_pending_vectors(), 0
        if self.embedder is None:
            return 0
        # the model is recorded before its first vector, and no passage uses those of an earlier one
        if total:
            self.check_model()
            if self.store.get_meta(MODEL) not in (None, "", self.embedder.name):
                self.vectors.erase()
            self.store.set_meta(MODEL, self.embedder.name)
        while batch := self.store.pending_vectors(limit=EMBED_BATCH):
            vectors = self.embedder.embed_documents([embedded_text(passage) for passage in batch])
            for collection in sorted({passage.collection for passage in batch}):
                rows = [i for i, passage in enumerate(batch) if passage.collection == collection]
                ids = [batch[i].id for i in rows]
                with self._vector_lock:
                    self.vectors.add(collection, ids, vectors[rows])
                    if gone := self.store.mark_embedded(ids):  # removed meanwhile
                        self.vectors.remove(collection, gone)
            done += len(batch)
            notify("embedding", done, total)
        if self.store.has_vectors():
            self.vectors.build_graphs()
        return done

    def clear_stale_vectors(self) -> None:
        """Remove the vectors of passages that are gone."""
        for collection, ids in self.store.stale_vectors().items():
            if self.store.get_meta(MODEL):
                with self._vector_lock:
                    if self.store.entries(collection=collection):
                        self.vectors.remove(collection, ids)
                    else:  # faster than removing each
                        self.vectors.drop(collection)
            self.store.clear_stale_vectors(ids)

    def retrieve(self, query: Query) -> Retrieval:
        """Search by words and by meaning; by words alone if the vectors or their model fail."""
        embedder = self.embedder
        dense = self.store.dense_index() if embedder is not None else None
        if embedder is not None and dense is not None and (embedder, dense) != self._failed:
            try:
                if dense.model != embedder.name:
                    _refuse(dense.model, embedder)
                retriever = Retriever(self.store, embedder, self.vectors, self._questions, self.reranker)
                return retriever.retrieve(query)
            except StoreUnavailable:
                raise
            except SettingsError as damage:
                self._failed = embedder, dense
                logger.warning("searching by words alone from now on: %s", damage)
            except ModelTrouble as trouble:
                logger.warning("searching by words alone this time: %s", trouble)
        return Retriever(self.store, reranker=self.reranker).retrieve(query)

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosine of each text with the question. SettingsError without an embedder."""
        if self.embedder is None:
            raise SettingsError("There is no embedding model.")
        vector = self.embedder.embed_query(storable(question))
        return [float(cosine) for cosine in self.embedder.embed_documents(texts) @ vector]


def _refuse(model: str, embedder: Embedder) -> NoReturn:
    raise IndexMismatch(
        f"The index was built with the embedding model {model}, but EMBEDDING_MODEL now means {embedder.name}. "
        "Run `footnote ingest --rebuild` to embed it again, or set EMBEDDING_MODEL back."
    )


Refresh = Callable[[Library], Awaitable[None]]  # syncs the index before it is read


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedDocuments:
    """The library as one turn may read it: within a scope; ``within`` narrows that to files, folders or URLs."""

    library: Library
    scope: Scope
    refresh: Refresh | None = None
    #: False: what was found holds what is not used any more, and by now the library has it no longer
    is_current: Callable[[Retrieval], Awaitable[bool]] | None = None

    @property
    def collections(self) -> frozenset[str]:
        return self.scope.collections

    async def retrieve(
        self, query: str, *, limit: int, history: tuple[Exchange, ...] = (), within: tuple[str, ...] = ()
    ) -> Retrieval:
        if self.refresh is not None:
            await self.refresh(self.library)
        request = Query(text=query, scope=self._within(within), history=history, limit=limit)
        found = await asyncio.to_thread(self.library.retrieve, request)
        if self.is_current is not None and not await self.is_current(found):
            found = await asyncio.to_thread(self.library.retrieve, request)
        own = tuple(hit for hit in found.passages if hit.passage.collection in self.collections)
        return found if len(own) == len(found.passages) else replace(found, passages=own)

    def _within(self, addresses: tuple[str, ...]) -> Scope:
        return replace(self.scope, addresses=addresses)

    async def neighbours(
        self, passages: Sequence[Passage], within: tuple[str, ...] = ()
    ) -> Sequence[Passage]:
        ids = [passage.id for passage in passages]
        return await asyncio.to_thread(self.library.store.neighbours, ids, self._within(within))

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        return await asyncio.to_thread(self.library.store.beginning, self._within(within), limit=limit)

    async def contents(
        self, passages: Sequence[Passage], within: tuple[str, ...] = (), *, limit: int
    ) -> Sequence[Contents]:
        ids = [passage.id for passage in passages]
        return await asyncio.to_thread(self.library.store.contents, ids, self._within(within), limit=limit)

    async def reading(self, address: str) -> Sequence[Passage]:
        return await asyncio.to_thread(self.library.store.reading, address, self.scope)
