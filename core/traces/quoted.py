"""The documents that posted answers quote, each as it was when its quotes were last found.

It holds no words: the quotes stand in the outcome of the turn, which the queue keeps for as long as a row is here.
"""

from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass

from core.conversation import value
from core.storage.database import AsyncDatabase, Connection, column_names, rows_as

TABLE = """
CREATE TABLE IF NOT EXISTS quoted_documents (
    turn TEXT NOT NULL,
    collection TEXT NOT NULL,     -- as people know it
    address TEXT NOT NULL,        -- empty: the answer quotes no document that is looked at
    source TEXT NOT NULL,
    root TEXT NOT NULL,
    version TEXT NOT NULL,        -- its hash when the quotes were last found; empty: that was not looked at yet
    lost_at REAL,                 -- since when a quote of the answer no longer stands; then it is not looked at again
    PRIMARY KEY (turn, collection, address)
);
"""

_UNKNOWN = (
    "SELECT turn FROM questions WHERE kind = 'question' AND outcome = 'answered' AND asked_at > ?"
    " AND grounding IN ('documents', 'both') AND turn NOT IN (SELECT turn FROM quoted_documents)"
    " AND substr(channel, 1, length(?)) = ? ORDER BY asked_at DESC LIMIT ?"
)
AT_ONCE = 500  # answers


@value
class QuotedDocument:
    """A document with the version in which the quotes of an answer were found."""

    collection: str
    address: str
    source: str
    root: str
    version: str


_COLUMNS = ", ".join(column_names(QuotedDocument))


@dataclass(frozen=True, slots=True)
class QuotedDocuments:
    """Raises StoreUnavailable when nothing can be read or written now."""

    database: AsyncDatabase

    async def unknown(self, platform: str, since: float) -> list[str]:
        """Turns of a platform that answered from documents since then, and are not here yet."""
        prefix = f"{platform}/"
        return [turn for (turn,) in await self.database.rows(_UNKNOWN, (since, prefix, prefix, AT_ONCE))]

    async def put(self, turn: str, documents: Iterable[QuotedDocument]) -> None:
        """The documents in which the quotes of an answer stand now."""
        nothing = QuotedDocument(collection="", address="", source="", root="", version="")
        rows = [(turn, *astuple(each)) for each in dict.fromkeys(documents) or (nothing,)]
        put = f"INSERT INTO quoted_documents (turn, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

        def write() -> None:
            with self.database.database.transaction() as writing:
                writing.execute("DELETE FROM quoted_documents WHERE turn = ?", (turn,))
                writing.executemany(put, rows)

        await self.database.call(write)

    async def documents(self) -> list[QuotedDocument]:
        """Every one that is looked at, in each version that an answer quotes."""
        query = f"SELECT DISTINCT {_COLUMNS} FROM quoted_documents WHERE address <> '' AND lost_at IS NULL"
        return rows_as(QuotedDocument, await self.database.rows(query))

    async def of_turn(self, turn: str) -> list[QuotedDocument]:
        query = f"SELECT {_COLUMNS} FROM quoted_documents WHERE turn = ? AND address <> ''"
        return rows_as(QuotedDocument, await self.database.rows(query, (turn,)))

    async def turns_quoting(self, document: QuotedDocument) -> list[str]:
        """The turns whose answers quote this version of a document."""
        query = (
            "SELECT turn FROM quoted_documents WHERE collection = ? AND address = ? AND version = ?"
            " AND lost_at IS NULL ORDER BY turn DESC"
        )
        values = (document.collection, document.address, document.version)
        return [turn for (turn,) in await self.database.rows(query, values)]

    async def lose(self, turn: str, at: float) -> None:
        """A quote of this answer no longer stands."""
        await self.database.write("UPDATE quoted_documents SET lost_at = ? WHERE turn = ?", (at, turn))

    async def count_lost(self, since: float) -> int:
        query = "SELECT count(DISTINCT turn) FROM quoted_documents WHERE lost_at > ?"
        ((count,),) = await self.database.rows(query, (since,))
        return int(count)

    async def lost_at(self, turn: str) -> float | None:
        """Since when an answer no longer stands; None: it does, as far as is known."""
        query = "SELECT max(lost_at) FROM quoted_documents WHERE turn = ?"
        ((moment,),) = await self.database.rows(query, (turn,))
        return None if moment is None else float(moment)

    async def expire(self, before: float) -> None:
        """Let go of the answers to what was asked before then."""
        query = "DELETE FROM quoted_documents WHERE turn IN (SELECT turn FROM questions WHERE asked_at < ?)"
        await self.database.write(query, (before,))

    async def list_watched(self) -> frozenset[str]:
        """The turns whose outcomes are needed."""
        rows = await self.database.rows("SELECT DISTINCT turn FROM quoted_documents WHERE address <> ''")
        return frozenset(turn for (turn,) in rows)


def forget_quoted(writing: Connection, sources: Collection[str]) -> None:
    """Drop quotes of a forgotten document: nobody needs to hear that they no longer stand."""
    writing.executemany("DELETE FROM quoted_documents WHERE source = ?", [(each,) for each in sources])
