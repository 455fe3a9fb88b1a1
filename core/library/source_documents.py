"""The documents of sources, by their addresses: which there are, and what a source says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.library.scoping import among_texts
from core.storage.database import Database


@dataclass(frozen=True, slots=True)
class SourceDocuments:
    """Reads and writes the library's tables."""

    database: Database

    def existing(self, collection: str, addresses: Iterable[str]) -> set[str]:
        """Those of these addresses that have a document."""
        condition, wanted = among_texts(self.database.dialect, addresses)
        rows = self.database.rows(
            "SELECT d.address FROM documents d JOIN collections c ON c.number = d.collection"
            f" WHERE c.name = ? AND d.address {condition}",
            (collection, wanted),
        )
        return {str(address) for (address,) in rows}

    def below(self, collection: str, root: str, *, after: str = "", limit: int) -> list[str]:
        """Addresses of the documents of a source in order, from the first behind ``after``."""
        rows = self.database.rows(
            "SELECT d.address FROM documents d JOIN collections c ON c.number = d.collection"
            " WHERE d.root = ? AND d.address > ? AND c.name = ? ORDER BY d.address LIMIT ?",
            (root, after, collection, limit),
        )
        return [str(address) for (address,) in rows]

    def note_change(
        self, collection: str, address: str, *, source: str, url: str | None, changed_at: float | None
    ) -> None:
        """Update what a source says of a document whose content is the same; ``changed_at`` None: as it is stored."""
        with self.database.transaction() as writing:
            writing.execute(
                "UPDATE documents SET source = ?, url = ?, changed_at = coalesce(?, changed_at) WHERE address = ?"
                " AND collection = (SELECT number FROM collections WHERE name = ?)",
                (source, url, changed_at, address, collection),
            )
