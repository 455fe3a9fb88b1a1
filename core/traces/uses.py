"""How often documents were found and cited, summed up by day as questions are logged.

Nobody is named and nothing quoted; a document that is forgotten takes its sums along, and they are kept as long as
the texts of questions.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.conversation import value
from core.storage.database import Connection, Database
from core.traces.figures import day_of
from core.traces.trace import Trace, unpacked

TABLES = """
CREATE TABLE IF NOT EXISTS document_uses (
    collection TEXT NOT NULL, source TEXT NOT NULL, day TEXT NOT NULL,
    found INTEGER NOT NULL,  -- questions for which a passage of it was found
    cited INTEGER NOT NULL,  -- answers that cite it
    PRIMARY KEY (collection, source, day)
);
"""
_ADD = (
    "INSERT INTO document_uses VALUES (?, ?, ?, 1, ?) ON CONFLICT (collection, source, day) DO UPDATE SET"
    " found = document_uses.found + 1, cited = document_uses.cited + excluded.cited"
)
_BATCH = 1_000  # traces that are read at a time

DocumentKey = tuple[str, str]  # a collection and a source


@value
class DocumentUse:
    """How many questions needed a document."""

    found: int = 0
    cited: int = 0

    def __add__(self, other: DocumentUse) -> DocumentUse:
        return DocumentUse(found=self.found + other.found, cited=self.cited + other.cited)


def count(writing: Connection, trace: Trace, at: float) -> None:
    """Add the documents of one turn that ended at this time."""
    cited = {
        (each.collection, each.source)
        for each in trace.citations
        if each.number and each.origin == "documents"
    }
    found = {(each.collection, each.source) for each in trace.passages if each.origin == "documents"} | cited
    day = day_of(at)
    writing.executemany(_ADD, [(*each, day, int(each in cited)) for each in sorted(found)])


def uses(database: Database, since: str) -> dict[DocumentKey, DocumentUse]:
    """Of every document that was found from this day on, as 2026-03-12. Blocks."""
    rows = database.rows(
        "SELECT collection, source, sum(found), sum(cited) FROM document_uses WHERE day >= ?"
        " GROUP BY collection, source",
        (since,),
    )
    return {
        (collection, source): DocumentUse(found=int(f), cited=int(c)) for collection, source, f, c in rows
    }


def expire(writing: Connection, before: float) -> None:
    writing.execute("DELETE FROM document_uses WHERE day < ?", (day_of(before),))


def forget(writing: Connection, sources: Iterable[str]) -> None:
    writing.executemany("DELETE FROM document_uses WHERE source = ?", [(each,) for each in sources])


def count_kept(database: Connection) -> None:
    """Make the table, from the traces of a log that was written before it."""
    database.execute(TABLES.strip().rstrip(";"))
    last = ""
    while rows := database.execute(
        "SELECT turn, asked_at, content FROM traces WHERE turn > ? ORDER BY turn LIMIT ?", (last, _BATCH)
    ).fetchall():
        last = rows[-1][0]
        for _, at, content in rows:
            if (trace := unpacked(bytes(content))) is not None:
                count(database, trace, at)
