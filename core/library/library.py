"""The library: documents in, passages out. Every method blocks; callers use a thread."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.errors import IndexMismatch, NotFound, SettingsError
from core.library.catalogue import INDEX_VERSION, Catalogue, Entry, NewDocument
from core.library.chunk import cut
from core.library.documents import Document, Passage, Retrieval
from core.library.retriever import Query, Retriever
from core.library.sync import Failure, SyncReport, carry_out, is_within, list_files, plan_sync

if TYPE_CHECKING:
    from core.library.embedding import Embedder
    from core.library.vectors import VectorIndex

DEFAULT_COLLECTION = "default"
EMBED_BATCH = 128  # passages embedded between two notes of progress

Phase = Literal["reading", "embedding"]
Notify = Callable[[Phase, int, int], None]  # phase, done, of how many


def _quiet(_phase: Phase, _done: int, _total: int) -> None:
    return None


@dataclass(slots=True)
class Library:
    """The catalogue and, once an embedder was given, the vectors beside it."""

    catalogue: Catalogue
    open_vectors: Callable[[], VectorIndex]  #: opens the vector index when it is first needed
    embedder: Embedder | None = None
    _vectors: VectorIndex | None = field(default=None, repr=False)

    @property
    def vectors(self) -> VectorIndex:
        if self._vectors is None:
            self._vectors = self.open_vectors()
        return self._vectors

    def close(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
        self.catalogue.close()

    # What is in it

    def check_versions(self) -> None:
        """IndexMismatch when the index was built by another chunker or another embedding model."""
        built_with = self.catalogue.recall("index_version")
        if built_with is None:
            self.catalogue.remember("index_version", INDEX_VERSION)
        elif built_with != INDEX_VERSION:
            raise IndexMismatch(
                "The index was built by another version of Footnote. Run `footnote ingest --rebuild` to build it anew."
            )
        model = self.catalogue.recall("embedding_model")
        if self.embedder and model and self.catalogue.has_vectors() and model != self.embedder.name:
            raise IndexMismatch(
                f"The index was built with the embedding model {model}, but EMBEDDING_MODEL now means "
                f"{self.embedder.name}. Run `footnote ingest --rebuild` to embed it anew, or set EMBEDDING_MODEL back."
            )

    def entries(self) -> list[Entry]:
        return self.catalogue.entries()

    # Documents in

    def ingest(
        self, paths: Iterable[Path], *, collection: str = DEFAULT_COLLECTION, notify: Notify = _quiet
    ) -> SyncReport:
        """Bring files and folders in step with the disk, and keep them so from then on."""
        files = list_files(paths)
        roots = [str(path.expanduser().resolve()) for path in paths]
        known = {entry.address: entry for entry in self.catalogue.entries(collection=collection)}
        plan = plan_sync(files, list(known.values()), roots)
        report = carry_out(
            plan, known, self.catalogue, collection, lambda done, total: notify("reading", done, total)
        )
        for root in roots:
            self.catalogue.add_root(collection, root)
        return report

    def refresh(self, *, notify: Notify = _quiet) -> SyncReport:
        """Bring everything ingested from the disk in step with it; what is gone is forgotten."""
        report = SyncReport()
        for collection, root in self.catalogue.roots():
            if Path(root).exists():
                report += self.ingest([Path(root)], collection=collection, notify=notify)
                continue
            for entry in self.catalogue.entries(collection=collection):
                if is_within(entry.address, root):
                    self.catalogue.remove(collection, entry.address)
                    report += SyncReport(removed=1)
            self.catalogue.drop_root(collection, root)
        return report

    def ingest_page(
        self, url: str, document: Document, *, collection: str = DEFAULT_COLLECTION
    ) -> SyncReport:
        """Index a fetched page under its address, in place of what it said before."""
        digest = hashlib.sha256(document.text.encode()).hexdigest()
        known = {entry.address: entry for entry in self.catalogue.entries(collection=collection)}
        old = known.get(url)
        if old is not None and old.hash == digest:
            return SyncReport(skipped=1)
        self.catalogue.put(
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
        entries = self.catalogue.entries()
        report = SyncReport()
        for collection, root in self.catalogue.roots():
            within = [e for e in entries if e.collection == collection and is_within(e.address, root)]
            for entry in within:
                self.catalogue.remove(collection, entry.address)
            if Path(root).exists():
                report += self.ingest([Path(root)], collection=collection, notify=notify)
        self.vectors.erase()
        self.catalogue.forget_vectors()
        self.catalogue.remember("index_version", INDEX_VERSION)
        self.catalogue.remember("embedding_model", "")
        return report

    def forget(self, source: str, *, collection: str | None = None) -> list[Entry]:
        """Remove the documents with this source, address, or folder; NotFound when there are none."""
        address = str(Path(source).expanduser().resolve()) if "://" not in source else source
        gone = [
            entry
            for entry in self.catalogue.entries(collection=collection)
            if entry.source == source or is_within(entry.address, address) or is_within(entry.source, source)
        ]
        if not gone:
            raise NotFound(f"Nothing is indexed under “{source}”. `footnote sources` lists what is.")
        for entry in gone:
            self.catalogue.remove(entry.collection, entry.address)
        self._drop_roots_without_documents()
        self.clear_stale_vectors()
        return gone

    def _drop_roots_without_documents(self) -> None:
        for collection, root in self.catalogue.roots():
            if not any(is_within(e.address, root) for e in self.catalogue.entries(collection=collection)):
                self.catalogue.drop_root(collection, root)

    # Vectors

    def embed_pending(self, *, notify: Notify = _quiet) -> int:
        """Give every passage that has none its vector; resumable at any point. The number made."""
        self.clear_stale_vectors()
        if self.embedder is None:
            return 0
        total, done = self.catalogue.count_pending_vectors(), 0
        if total:
            self.catalogue.remember("embedding_model", self.embedder.name)
        while batch := self.catalogue.pending_vectors(limit=EMBED_BATCH):
            vectors = self.embedder.embed_documents([embedded_text(passage) for passage in batch])
            for collection in sorted({passage.collection for passage in batch}):
                rows = [i for i, passage in enumerate(batch) if passage.collection == collection]
                self.vectors.add(collection, [batch[i].id for i in rows], vectors[rows])
            self.catalogue.mark_embedded(passage.id for passage in batch)
            done += len(batch)
            notify("embedding", done, total)
        return done

    def clear_stale_vectors(self) -> None:
        """Drop the vectors of passages that are gone."""
        for collection, ids in self.catalogue.stale_vectors().items():
            if self.catalogue.recall("embedding_model"):
                self.vectors.remove(collection, ids)
            self.catalogue.clear_stale_vectors(ids)

    # Passages out

    def retrieve(self, query: Query) -> Retrieval:
        uses_vectors = self.embedder is not None and self.catalogue.has_vectors()
        retriever = Retriever(
            self.catalogue, self.embedder if uses_vectors else None, self.vectors if uses_vectors else None
        )
        return retriever.retrieve(query)

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosine of each text with the question; SettingsError without an embedder."""
        if self.embedder is None:
            raise SettingsError("There is no embedding model.")
        return [
            float(cosine)
            for cosine in self.embedder.embed_documents(texts) @ self.embedder.embed_query(question)
        ]


def embedded_text(passage: Passage) -> str:
    """What is embedded: the title path, then the passage."""
    return "\n".join((" > ".join(dict.fromkeys((passage.title, *passage.path))), passage.text))


__all__ = ["DEFAULT_COLLECTION", "Failure", "Library", "Notify", "Phase", "SyncReport", "embedded_text"]
