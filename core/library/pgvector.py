"""Dense vectors of passages in PostgreSQL, by its extension pgvector 0.8.

They have half precision: half the room and two thirds of the time, and the same nearest passages. A collection
is compared wholly up to GRAPH_ABOVE vectors; a larger one gets an HNSW graph of its own, so that a search
never goes through vectors of other collections.
"""

import logging
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

from core.conversation import value
from core.errors import IndexMismatch, SettingsError
from core.library.embedding import Vectors
from core.storage.database import among

if TYPE_CHECKING:
    from core.storage.database import Row
    from core.storage.postgres import PostgresDatabase

logger = logging.getLogger(__name__)

GRAPH_ABOVE = 20_000  # vectors of a collection; comparing so many takes about as long as a graph does
BATCH = 250  # vectors of one statement
#: Recall at 60 is .99 over 100,000 clustered vectors of 384 dimensions. A graph may hold vectors that were
#: removed: the scan goes on until it has enough others.
SEARCH: Mapping[str, str] = {
    "hnsw.ef_search": "200",
    "hnsw.iterative_scan": "strict_order",
    "enable_sort": "off",  # else all vectors may be compared, and the nearest sorted out
}
GRAPH_LIMIT = 200  # vectors that a graph is asked for at most; for more, all are compared

_TABLE = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS vectors (
    passage BIGINT PRIMARY KEY, collection BIGINT NOT NULL, embedding halfvec NOT NULL
);
ALTER TABLE vectors ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS vectors_of ON vectors (collection);
"""
_INSERT = """
INSERT INTO vectors SELECT passage, ?, CAST(embedding AS halfvec)
FROM unnest(?::bigint[], ?::text[]) AS new (passage, embedding)
ON CONFLICT (passage) DO UPDATE SET collection = excluded.collection, embedding = excluded.embedding
"""
_GRAPH = "vectors_graph_"  # begins the name of a graph, the number of its collection ends it


@value
class CollectionVectors:
    """The vectors of one collection."""

    collection: int  #: its number
    dimension: int
    has_graph: bool


class PgvectorIndex:
    """The table ``vectors``, made when the first vector is added; safe to share between threads and processes.

    Raises SettingsError when the server has no pgvector, and IndexMismatch when a vector has another
    dimension than those in the index.
    """

    exact_limit = GRAPH_ABOVE

    def __init__(self, database: "PostgresDatabase") -> None:
        self._database = database
        self._is_made = False

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        if not ids:
            return
        written = {int(passage): str(vector) for passage, vector in zip(ids, vectors.tolist(), strict=True)}
        self._make()
        self._parts([collection], vectors.shape[1])
        with self._database.transaction() as writing:
            writing.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO NOTHING", (collection,))
            query = "SELECT number FROM collections WHERE name = ?"
            ((number,),) = writing.execute(query, (collection,)).fetchall()
            for start in range(0, len(written), BATCH):
                batch = list(written)[start : start + BATCH]
                writing.execute(_INSERT, (number, batch, [written[passage] for passage in batch]))

    def remove(self, collection: str, ids: Sequence[str]) -> None:
        condition, wanted = among(self._database.dialect, ids)
        self._delete(collection, f"passage {condition}", wanted)

    def drop(self, collection: str) -> None:
        # Another process may have added documents meanwhile.
        self._delete(collection, "NOT EXISTS (SELECT 1 FROM passages WHERE id = vectors.passage)")

    def _delete(self, collection: str, condition: str, *values: object) -> None:
        if self._exists():
            own = "collection = (SELECT number FROM collections WHERE name = ?)"
            with self._database.transaction() as writing:
                writing.execute(f"DELETE FROM vectors WHERE {own} AND {condition}", (collection, *values))
            self._database.erase_deleted(["vectors"])

    def erase(self) -> None:
        if not self._exists():
            return
        with self._database.transaction() as writing:
            for name in self._graphs():
                writing.execute(f"DROP INDEX {name}")
            writing.execute("TRUNCATE vectors")

    def count(self, collection: str) -> int:
        query = "SELECT count(*) FROM vectors JOIN collections ON collection = number WHERE name = ?"
        return int(self._database.rows(query, (collection,))[0][0]) if self._exists() else 0

    def search(self, vector: Vectors, *, collections: Sequence[str], limit: int) -> list[tuple[str, float]]:
        parts = self._parts(collections, len(vector)) if limit > 0 else []
        graphs = [part for part in parts if part.has_graph and limit <= GRAPH_LIMIT]
        hits = [hit for part in graphs for hit in self._walk(part, vector, limit)]
        if others := [part.collection for part in parts if part not in graphs]:
            hits += self._database.rows(
                "SELECT passage, -(embedding <#> asked) FROM vectors, CAST(? AS halfvec) AS asked"
                " WHERE collection = ANY(CAST(? AS bigint[])) ORDER BY embedding <#> asked, passage LIMIT ?",
                (str(vector.tolist()), others, limit),
            )
        nearest = nlargest(limit, hits, key=lambda hit: (hit[1], -hit[0]))
        return [(str(passage), float(cosine)) for passage, cosine in nearest]

    def _walk(self, part: CollectionVectors, vector: Vectors, limit: int) -> "list[Row]":
        """The nearest passages of one collection, by the graph that is defined in the same words."""
        kind = f"halfvec({part.dimension})"
        distance = f"(embedding::{kind}) <#> CAST(? AS {kind})"
        asked = str(vector.tolist())
        return self._database.rows_with(
            SEARCH,
            f"SELECT passage, -({distance}) FROM vectors WHERE collection = {part.collection}"
            f" ORDER BY {distance} LIMIT ?",
            (asked, asked, limit),
        )

    def similarities(self, vector: Vectors, ids: Mapping[str, Sequence[str]]) -> dict[str, float]:
        wanted = [int(passage) for some in ids.values() for passage in some]
        numbers = [part.collection for part in self._parts(list(ids), len(vector))]
        if not wanted or not numbers:
            return {}
        rows = self._database.rows(
            "SELECT passage, -(embedding <#> CAST(? AS halfvec)) FROM vectors"
            " WHERE passage = ANY(CAST(? AS bigint[])) AND collection = ANY(CAST(? AS bigint[]))",
            (str(vector.tolist()), wanted, numbers),
        )
        return {str(passage): float(cosine) for passage, cosine in rows}

    def build_graphs(self) -> None:
        if not self._exists():
            return
        large = self._database.rows(
            "SELECT collection, min(vector_dims(embedding)) FROM vectors GROUP BY collection HAVING count(*) > ?",
            (GRAPH_ABOVE,),
        )
        for number, dimension in large:
            name = f"{_GRAPH}{number}"
            if name in self._graphs():
                continue
            logger.info("a graph over a collection's vectors is built; until then all of them are compared")
            self._database.maintain(f"DROP INDEX IF EXISTS {name}")  # of an attempt that was cut off
            self._database.maintain(
                f"CREATE INDEX CONCURRENTLY {name} ON vectors"
                f" USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops) WHERE collection = {number}"
            )

    def close(self) -> None:
        """The connections are closed by whoever opened them."""

    def _graphs(self) -> frozenset[str]:
        """The names of those that are whole."""
        rows = self._database.rows(
            "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE indrelid = to_regclass('vectors') AND indisvalid AND starts_with(relname, ?)",
            (_GRAPH,),
        )
        return frozenset(str(name) for (name,) in rows)

    def _parts(self, collections: Sequence[str], dimension: int) -> list[CollectionVectors]:
        """The collections that have vectors. IndexMismatch where these have another dimension."""
        if not self._exists():
            return []
        rows = self._database.rows(
            "SELECT number, vector_dims(embedding), to_regclass(? || number) IS NOT NULL FROM collections"
            " CROSS JOIN LATERAL (SELECT embedding FROM vectors WHERE collection = number LIMIT 1) AS first"
            " WHERE name = ANY(?)",
            (_GRAPH, list(collections)),
        )
        for _, expected, _ in rows:
            if expected != dimension:
                raise IndexMismatch(
                    f"The vectors in the index have {expected} dimensions, but EMBEDDING_MODEL gives {dimension}. "
                    "Run `footnote ingest --rebuild`, or set EMBEDDING_MODEL back."
                )
        return [CollectionVectors(collection=n, dimension=size, has_graph=has) for n, size, has in rows]

    def _exists(self) -> bool:
        if not self._is_made:
            ((self._is_made,),) = self._database.rows("SELECT to_regclass('vectors') IS NOT NULL")
        return self._is_made

    def _make(self) -> None:
        import psycopg

        if self._exists():
            return
        try:
            with self._database.transaction() as writing:
                writing.execute(_TABLE)
        except psycopg.Error as trouble:
            logger.warning("no table for vectors: %s", trouble)
            raise SettingsError(
                "Vectors need pgvector 0.8 or newer in the PostgreSQL of DATABASE_URL: install it there and run"
                " CREATE EXTENSION vector. Until then documents are found by their words alone."
            ) from trouble
