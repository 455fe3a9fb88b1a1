"""The vector index: which passages are near a question in meaning.

Vectors have length one, so the inner product is the cosine. Each collection is searched by itself, so that a
search reads only those that it names. :mod:`core.library.chroma` keeps them beside the files of SQLite,
:mod:`core.library.pgvector` in PostgreSQL.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from core.conversation import value
from core.library.embedding import Vectors


@value
class DenseIndex:
    """The generation of the vectors: another process may have made them again."""

    model: str  #: the name of the embedding model that made them
    generation: int  #: how often all of them were dropped


class VectorIndex(Protocol):
    """Vectors by collection and passage id; safe to share between threads.

    Raises SettingsError when the index cannot be used and IndexMismatch when a vector has
    another dimension than those in it.
    """

    @property
    def exact_limit(self) -> int: ...  #: passages that :meth:`similarities` compares in some milliseconds

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, shape ``(len(ids), dimension)``, in place of those that had the same ids."""

    def remove(self, collection: str, ids: Sequence[str]) -> None:
        """Remove these vectors, from the disk too where that can be; unknown ids are ignored."""

    def drop(self, collection: str) -> None:
        """Remove the vectors of a collection that has no passages."""

    def erase(self) -> None:
        """Remove everything, even if the index cannot be opened."""

    def count(self, collection: str) -> int:
        """The number of a collection's vectors; 0 for an unknown one."""

    def search(self, vector: Vectors, *, collections: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Ids and cosines of the nearest passages, best first; unknown collections are empty."""

    def similarities(self, vector: Vectors, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """The exact cosines of passages given by collection and id; those without a vector are left out."""

    def build_graphs(self) -> None:
        """Build what makes searching large collections fast, after many vectors were added. It may take minutes."""

    def close(self) -> None: ...
