"""Dense vectors of passages, in embedded Chroma, with one Chroma collection for each collection.

Only one process may use the index (:mod:`core.library.data_lock`): Chroma's
readers miss the writes of other processes.
"""

import hashlib
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from pathlib import Path
from typing import Any

from core.errors import IndexMismatch, SettingsError
from core.library import vacuum
from core.library.embedding import Vectors
from core.library.vacuum import DATABASE

logger = logging.getLogger(__name__)

BATCH = 250  # ids of one call; Chroma takes 5,461, but searches wait while it writes
OVERWRITE_BATCH = 20  # ids of one call that overwrites, at 5 ms each: four times the time to add one
LOCK_TIMEOUT = 10.0  # seconds to wait while a search or a write locks Chroma's database
UNUSED = "length.bin"  # lengths of vectors, which a graph of this space does not keep
SYNC_THRESHOLD = 100  # entries in Chroma's queue after which they are written to the graph's file

#: Recall at 60 is .997 over 100,000 clustered vectors of 384 dimensions, against .957 with Chroma's
#: default ef of 100, for .3 ms more a query (tests/benchmarks/embedding.py --vectors). Syncing often
#: saves time: every process that searches adds what is not synced to its graph again.
HNSW = {
    "space": "ip", "ef_construction": 200, "ef_search": 200, "batch_size": 100, "sync_threshold": SYNC_THRESHOLD,
}  # fmt: skip

#: The settings by which Chroma could send or fetch something, or be the client of a server. Chroma
#: would read those that are missing here from the environment and from ``.env``.
CHROMA: dict[str, Any] = {
    "_env_file": None,
    "chroma_api_impl": "chromadb.api.rust.RustBindingsAPI",
    "anonymized_telemetry": False,
    "chroma_otel_granularity": None,
    "migrations": "apply",
}


class ChromaIndex:
    """Vectors by collection and passage id. Opened at its first use; safe to share between threads.

    Raises SettingsError when the folder is damaged and IndexMismatch when a vector has
    another dimension than those in the index.
    """

    exact_limit = 3_000

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._writing = threading.Lock()  # held while writing or vacuuming
        self._client: Any = None  # chromadb's ClientAPI
        self._collections: dict[str, Any] = {}  # chromadb collections by our names

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        if not ids:
            return
        rows = list({passage: row for row, passage in enumerate(ids)}.values())
        with self._writing, self._chroma():
            known = self._find(collection)
            target = known or self._make(collection, vectors.shape[1])
            self._check_dimension(target, vectors.shape[1])
            for batch in _batches(rows):
                target.upsert(ids=[ids[row] for row in batch], embeddings=vectors[batch])
            if known is None:
                _flush(target)  # a new graph's file contains uncleared memory, which may be other vectors

    def read(self, collection: str, ids: Sequence[str]) -> Iterator[tuple[str, Vectors]]:
        """The vectors of these passages; those that have none are left out."""
        with self._chroma():
            target = self._find(collection)
            if target is None:
                return
            for batch in _batches(list(ids)):
                found = target.get(ids=batch, include=["embeddings"])
                yield from zip(found["ids"], found["embeddings"], strict=True)

    def remove(self, collection: str, ids: Sequence[str]) -> None:
        """Remove vectors from Chroma's files too: it only marks them, so noise overwrites them first."""
        with self._writing:
            with self._chroma():
                if target := self._find(collection):
                    for batch in _batches(list(dict.fromkeys(ids)), OVERWRITE_BATCH):
                        target.update(ids=batch, embeddings=_noise(len(batch), target.metadata["dimension"]))
                        target.delete(ids=batch)
                    _flush(target)
                    self._clear_unused()
            self._vacuum()

    def drop(self, collection: str) -> None:
        """Remove a collection and free its disk space."""
        with self._writing:
            with self._chroma(), self._lock:
                if self._find(collection):
                    del self._collections[collection]
                    self._client.delete_collection(_chroma_name(collection))
            self._vacuum()

    def erase(self) -> None:
        with self._lock:
            self.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def count(self, collection: str) -> int:
        with self._chroma():
            target = self._find(collection)
            return int(target.count()) if target else 0

    def search(self, vector: Vectors, *, collections: Sequence[str], limit: int) -> list[tuple[str, float]]:
        hits: list[tuple[str, float]] = []
        with self._chroma():
            for target in self._existing(collections, vector) if limit > 0 else ():
                found = target.query(query_embeddings=[vector], n_results=limit, include=["distances"])
                cosines = (1.0 - distance for distance in found["distances"][0])
                near = list(zip(found["ids"][0], cosines, strict=True))
                if len(near) < min(limit, target.count()):
                    # A graph has parts that no search reaches: hundreds of equal vectors, as of a footer on
                    # every page, are neighbours of one another alone. How many of them a search comes upon
                    # depends on the order in which threads added them. So all are compared.
                    near = list(_compare(target, vector, target.get(include=[])["ids"]).items())
                hits += near
        return nlargest(limit, hits, key=lambda hit: hit[1])

    def similarities(self, vector: Vectors, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
        cosines: dict[str, float] = {}
        with self._chroma():
            for collection, wanted in ids.items():
                for target in self._existing([collection], vector):
                    cosines |= _compare(target, vector, list(dict.fromkeys(wanted)))
        return cosines

    def build_graphs(self) -> None:
        """Do nothing: Chroma builds them as vectors are added."""

    def close(self) -> None:
        with self._lock:
            self._collections.clear()
            if self._client is not None:
                self._client.close()
                self._client = None

    @contextmanager
    def _chroma(self) -> Iterator[None]:
        """Turn Chroma's errors into a sentence."""
        try:
            yield
        except SettingsError:
            raise
        except Exception as trouble:  # Chroma also raises ValueError and AttributeError
            logger.warning("the vector index in %s failed: %s", self._folder, trouble)
            raise SettingsError(
                f"The vector index in {self._folder} is damaged. Run `footnote ingest --rebuild`."
            ) from trouble

    def _existing(self, collections: Sequence[str], vector: Vectors) -> Iterator[Any]:
        for collection in dict.fromkeys(collections):
            if target := self._find(collection):
                self._check_dimension(target, len(vector))
                yield target

    def _find(self, collection: str) -> Any | None:
        """Chroma's collection, None if there is none; an index that was never written is not opened."""
        with self._lock:
            if collection not in self._collections and (self._folder / DATABASE).exists():
                client, name = self._open(), _chroma_name(collection)
                from chromadb.errors import NotFoundError

                try:
                    self._collections[collection] = client.get_collection(name, embedding_function=None)
                except NotFoundError:
                    return None
            return self._collections.get(collection)

    def _make(self, collection: str, dimension: int) -> Any:
        with self._lock:
            self._collections[collection] = self._open().get_or_create_collection(
                _chroma_name(collection),
                metadata={"collection": collection, "dimension": dimension},
                configuration={"hnsw": dict(HNSW)},
                embedding_function=None,
            )
            return self._collections[collection]

    def _open(self) -> Any:
        if self._client is None:
            import chromadb
            from chromadb.api.shared_system_client import SharedSystemClient
            from chromadb.config import Settings

            try:
                self._client = chromadb.PersistentClient(self._folder, settings=Settings(**CHROMA))
            except Exception:
                SharedSystemClient.clear_system_cache()  # which else remembers the failure
                raise
        return self._client

    def _clear_unused(self) -> None:
        """Overwrite what a graph writes of memory that it neither sets nor reads: it may be a copy of a vector."""
        for file in self._folder.glob(f"*/{UNUSED}"):
            with file.open("r+b") as opened:
                opened.write(bytes(file.stat().st_size))

    def _vacuum(self) -> None:
        """Remove what was deleted from the files; SettingsError if something may be left."""
        if not (self._folder / DATABASE).exists():
            return
        command = [sys.executable, "-I", vacuum.__file__, str(self._folder), str(LOCK_TIMEOUT)]
        done = subprocess.run(  # noqa: S603 - runs a file of this package
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            trouble = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
            raise SettingsError(f"What was forgotten may still lie in {self._folder}: {trouble}.")

    def _check_dimension(self, target: Any, dimension: int) -> None:
        expected = target.metadata["dimension"]
        if expected != dimension:
            raise IndexMismatch(
                f"The vectors in {self._folder} have {expected} dimensions, but EMBEDDING_MODEL gives {dimension}. "
                "Run `footnote ingest --rebuild`, or set EMBEDDING_MODEL back."
            )


def _compare(target: Any, vector: Vectors, ids: list[str]) -> dict[str, float]:
    """The exact cosines, by id."""
    cosines: dict[str, float] = {}
    for batch in _batches(ids):
        found = target.get(ids=batch, include=["embeddings"])
        if found["ids"]:
            cosines |= zip(found["ids"], (found["embeddings"] @ vector).tolist(), strict=True)
    return cosines


def _chroma_name(collection: str) -> str:
    """A name that Chroma allows, for a collection with any name."""
    return "c" + hashlib.sha256(collection.encode()).hexdigest()[:32]


def _batches(items: list[Any], size: int = BATCH) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _flush(target: Any) -> None:
    """Make Chroma write its graph and empty its queue, by as many entries as that takes, of unknown ids."""
    target.delete(ids=[f"none/{number}" for number in range(SYNC_THRESHOLD)])


def _noise(count: int, dimension: int) -> Vectors:
    """Random vectors of length one, shape ``(count, dimension)``."""
    import numpy as np

    rows = np.random.default_rng().normal(size=(count, dimension))
    noise: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return noise
