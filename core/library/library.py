"""The library: documents in, passages out. Every method blocks; callers use a thread."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.errors import IndexMismatch, ModelTrouble, NotFound, SettingsError
from core.library.chunking import cut
from core.library.documents import Document, Passage, Retrieval
from core.library.formats import parser_process
from core.library.retriever import Query, Retriever
from core.library.roots import is_within, resolve_name
from core.library.store import DocumentStore, Entry, NewDocument
from core.library.sync import SyncReport, apply_plan, drop_surrogates, plan_sync, resolved, scan
from core.text.characters import whole

if TYPE_CHECKING:
    from core.library.embedding.embedder import Embedder
    from core.library.vectors import VectorIndex

DEFAULT_COLLECTION = "default"
EMBED_BATCH = 128  # passages embedded between two notes of progress

Phase = Literal["reading", "embedding"]
Notify = Callable[[Phase, int, int], None]  # phase, done, of how many

logger = logging.getLogger(__name__)


def _quiet(_phase: Phase, _done: int, _total: int) -> None:
    return None


@dataclass(slots=True)
class Library:
    """The catalogue and, once an embedder was given, the vectors beside it."""

    store: DocumentStore
    open_vectors: Callable[[], VectorIndex]  #: opens the vector index when it is first needed
    embedder: Embedder | None = None
    looked_at: float | None = None  #: when all of it was last in step with the disk, by the steady clock
    _vectors: VectorIndex | None = field(default=None, repr=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _placing: threading.Lock = field(
        default_factory=threading.Lock, repr=False
    )  #: else a new passage's vector is dropped with the old
    _given_up: Embedder | None = field(default=None, repr=False)  #: with which the vectors cannot be used

    @property
    def vectors(self) -> VectorIndex:
        with self._opening:
            if self._vectors is None:
                self._vectors = self.open_vectors()
            return self._vectors

    def close(self) -> None:
        parser_process.close()  # who still waits for a document to be read waits no longer
        if self._vectors is not None:
            self._vectors.close()
        self.store.close()

    # What is in it

    def check_model(self) -> None:
        """IndexMismatch when the index holds vectors of another embedding model."""
        if self.embedder is None:
            return
        model = self.store.recall("embedding_model")
        if model and model != self.embedder.name and self.store.has_vectors():
            raise IndexMismatch(
                f"The index was built with the embedding model {model}, but EMBEDDING_MODEL now means "
                f"{self.embedder.name}. Run `footnote ingest --rebuild` to embed it anew, or set EMBEDDING_MODEL back."
            )

    # Documents in

    def ingest(
        self, paths: Iterable[Path], *, collection: str = DEFAULT_COLLECTION, notify: Notify = _quiet
    ) -> SyncReport:
        """Bring files and folders in step with the disk, and keep them so from then on.

        A path named here is read even if it was forgotten; what was forgotten below it stays so.
        """
        places = [resolved(path) for path in paths]
        roots = self.store.roots
        new = frozenset(places) - roots.kept(collection).roots
        roots.add(collection, places)
        report = self._sync(collection, places, retry=True, notify=notify)
        for place in new:
            if not Path(place).is_dir() and self.store.entry(collection, place) is None:
                roots.drop(collection, place)
        return report

    def refresh(self, *, notify: Notify = _quiet) -> SyncReport:
        """Bring everything ingested from the disk in step with it; what is gone is forgotten until it is back."""
        report = SyncReport()
        for collection, places in self._places().items():
            report += self._sync(collection, places, retry=False, notify=notify)
        self.looked_at = time.monotonic()
        return report

    def _sync(self, collection: str, places: Sequence[str], *, retry: bool, notify: Notify) -> SyncReport:
        listing = scan(places, self.store.roots.kept(collection))
        known = {entry.address: entry for entry in self.store.entries(collection=collection)}
        unreadable = self.store.roots.unreadable(collection)
        return apply_plan(
            plan_sync(listing, known, unreadable, places, retry=retry),
            known,
            self.store,
            collection,
            lambda done, total: notify("reading", done, total),
        )

    def _places(self) -> dict[str, list[str]]:
        places: dict[str, list[str]] = {}
        for collection, root in self.store.roots.all():
            places.setdefault(collection, []).append(root)
        return places

    def ingest_page(
        self, url: str, document: Document, *, collection: str = DEFAULT_COLLECTION
    ) -> SyncReport:
        """Index a fetched page under its address, in place of what it said before."""
        document = drop_surrogates(document)
        digest = hashlib.sha256(document.text.encode()).hexdigest()
        old = self.store.entry(collection, url)
        if old is not None and old.hash == digest:
            return SyncReport(skipped=1)
        self.store.put(
            NewDocument(
                collection=collection,
                address=url,
                root=url,
                source=url,
                title=document.title,
                url=url,
                hash=digest,
                size=len(document.text),
                modified=0,
                pieces=cut(document),
            )
        )
        return SyncReport(changed=1) if old else SyncReport(added=1)

    def rebuild(self, *, notify: Notify = _quiet) -> SyncReport:
        """Read every file again and forget all vectors; pages from the web are kept as they were cut."""
        self.store.forget_vectors()
        self.vectors.erase()
        self._given_up = None
        places = self._places()
        for entry in self.store.entries():
            if any(is_within(entry.address, root) for root in places.get(entry.collection, ())):
                self.store.remove(entry.collection, entry.address)
        self.store.reindex()
        report = SyncReport()
        for collection, roots in places.items():
            report += self._sync(collection, roots, retry=True, notify=notify)
        self.store.remember("embedding_model", "")
        return report

    def forget(self, source: str, *, collection: str | None = None) -> list[Entry]:
        """Remove the documents with this address or source, or below it, until they are ingested by name.

        What a path of this machine means goes before what a document is called. NotFound when
        it is neither.
        """
        meant = resolve_name(source, self._known(collection))
        if not meant:
            self._clear_what_is_left()  # of a forgetting that was cut off
            raise NotFound(f"Nothing is indexed under “{source}”. `footnote sources` lists what is.")
        entries = self.store.entries()
        gone = [e for e in entries if any(e.collection == c and is_within(e.address, p) for c, p in meant)]
        with self.store.transaction():
            for entry in gone:
                self.store.remove(entry.collection, entry.address)
            for named, place in sorted(meant):
                self.store.roots.forget(named, place)
        if gone:
            self.store.overwrite()
        self._clear_what_is_left()
        return gone

    def _clear_what_is_left(self) -> None:
        try:
            self.clear_stale_vectors()
        except SettingsError as trouble:
            logger.warning("vectors of forgotten passages are left: %s", trouble)

    def _known(self, collection: str | None) -> list[tuple[str, str, str]]:
        """(collection, address, source) of documents, of files that could not be read, and of roots."""
        roots = self.store.roots
        return [
            (named, address, source)
            for named, address, source in (
                *((e.collection, e.address, e.source) for e in self.store.entries()),
                *((c, u.address, u.source) for c in self._places() for u in roots.unreadable(c).values()),
                *((c, root, Path(root).name) for c, root in roots.all()),
            )
            if collection in (None, named)
        ]

    # Vectors

    def embed_pending(self, *, notify: Notify = _quiet) -> int:
        """Give every passage that has none its vector; resumable at any point. The number made.

        IndexMismatch when the others were made by another model.
        """
        self.clear_stale_vectors()
        total, done = self.store.count_pending_vectors(), 0
        if self.embedder is None or not total:
            return 0
        self._begin_with(self.embedder)
        while batch := self.store.pending_vectors(limit=EMBED_BATCH):
            vectors = self.embedder.embed_documents([embedded_text(passage) for passage in batch])
            for collection in sorted({passage.collection for passage in batch}):
                rows = [i for i, passage in enumerate(batch) if passage.collection == collection]
                ids = [batch[i].id for i in rows]
                with self._placing:
                    self.vectors.add(collection, ids, vectors[rows])
                    if gone := self.store.mark_embedded(ids):  # removed while their vectors were made
                        self.vectors.remove(collection, gone)
            done += len(batch)
            notify("embedding", done, total)
        return done

    def _begin_with(self, embedder: Embedder) -> None:
        """What an earlier model left behind is erased where nothing is found by it any more."""
        self.check_model()
        if self.store.recall("embedding_model") not in (None, "", embedder.name):
            self.vectors.erase()
        self.store.remember("embedding_model", embedder.name)

    def clear_stale_vectors(self) -> None:
        """Drop the vectors of passages that are gone."""
        for collection, ids in self.store.stale_vectors().items():
            if self.store.recall("embedding_model"):
                with self._placing:
                    if self.store.entries(collection=collection):
                        self.vectors.remove(collection, ids)
                    else:  # which takes a moment, however many there are
                        self.vectors.drop(collection)
            self.store.clear_stale_vectors(ids)

    # Passages out

    def retrieve(self, query: Query) -> Retrieval:
        """By words and by meaning; by words alone where the vectors or their model fail."""
        embedder = self.embedder
        if embedder is not None and embedder is not self._given_up and self.store.is_mostly_embedded():
            try:
                return Retriever(self.store, embedder, self.vectors).retrieve(query)
            except SettingsError as damage:
                self._given_up = embedder
                logger.warning("searching by words alone from now on: %s", damage)
            except ModelTrouble as trouble:
                logger.warning("searching by words alone this time: %s", trouble)
        return Retriever(self.store).retrieve(query)

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosine of each text with the question; SettingsError without an embedder."""
        if self.embedder is None:
            raise SettingsError("There is no embedding model.")
        vector = self.embedder.embed_query(whole(question))
        return [float(cosine) for cosine in self.embedder.embed_documents(texts) @ vector]


def embedded_text(passage: Passage) -> str:
    """What is embedded: the title path, then the passage."""
    return "\n".join((" > ".join(dict.fromkeys((passage.title, *passage.path))), passage.text))
