"""Rights of a query: documents that only some people of a collection may read, as SQL for either database.

What may be read is decided by collection, in every query and before anything stored is shown again. So what some
people may read is in a collection of its own beside the one it was ingested into, its base: one for each set of
readers, whose name nobody can type and nobody sees. Two documents with the same readers are in the same one; a
document whose readers change goes to another one.

A reader is an e-mail address, or ``@`` and a domain for all addresses there.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from core.library.documents import Scope
from core.library.roots import span_below
from core.storage.database import Connection, Database, Dialect, Tables, among, rows_among

#: Spans of addresses as rows of one JSON value, and the texts of such a row. One value for any number of
#: them: SQLite limits the depth of an expression to 1,000.
_SPAN_ROWS: Mapping[Dialect, str] = {
    "sqlite": "json_each(?) span",
    "postgresql": "jsonb_array_elements(CAST(? AS jsonb)) span (value)",
}
_SPAN_FIELD: Mapping[Dialect, str] = {
    "sqlite": "json_extract(span.value, '$[{}]')",
    "postgresql": "(span.value ->> {})",
}


def scope_condition(dialect: Dialect, scope: Scope) -> tuple[str, tuple[object, ...]]:
    """SQL over ``d`` (documents) and ``c`` (collections), and its values. Without collections, nothing fits."""
    one_of, names = among(dialect, sorted(scope.collections), "text")
    condition = f"c.name {one_of}"
    if not scope.addresses:
        return condition, (names,)
    address, begin, end = map(_SPAN_FIELD[dialect].format, range(3))
    within = (
        f"d.id IN (SELECT x.id FROM documents x JOIN {_SPAN_ROWS[dialect]}"
        f" ON x.address = {address} OR (x.address >= {begin} AND x.address < {end}))"
    )
    spans = json.dumps([tuple(span_below(each)) for each in scope.addresses])
    return f"{condition} AND {within}", (names, spans)


READERS_MARK = "\x1f"  # the unit separator, between a base and its readers: names that people choose have printable signs
_READER = re.compile(r"[^@\s]*@[^@\s]+")


def base_of(collection: str) -> str:
    """The collection as people know it."""
    return collection.partition(READERS_MARK)[0]


def is_restricted(collection: str) -> bool:
    """True if only some people of its base may read it."""
    return READERS_MARK in collection


def collection_for(base: str, readers: Collection[str] | None) -> str:
    """The collection of documents that these people may read; None: whoever reads the base."""
    if readers is None:
        return base
    digest = sha256("\n".join(sorted(_whole(readers))).encode()).hexdigest()
    return f"{base}{READERS_MARK}{digest[:32]}"


def bases_of(numbers: Mapping[str, int]) -> dict[int, int]:
    """The collections among these that only some people may read, each with its base, by their numbers."""
    return {
        number: numbers[base_of(name)]
        for name, number in numbers.items()
        if is_restricted(name) and base_of(name) in numbers
    }


def in_family(base: str) -> tuple[str, tuple[object, ...]]:
    """SQL over ``c`` (collections): a collection, or one of those beside it; and its values."""
    beside = base + READERS_MARK
    return "(c.name = ? OR substr(c.name, 1, ?) = ?)", (base, len(beside), beside)


@dataclass(frozen=True, slots=True)
class ReaderSets:
    """The table ``readers``: who may read each of these collections. One that it does not have is read by nobody."""

    database: Database

    def note(self, writing: Connection, collection: str, readers: Collection[str]) -> None:
        """Note readers in the transaction that writes a document; the base is a collection from then on."""
        writing.executemany(
            "INSERT INTO readers (collection, reader) VALUES (?, ?) ON CONFLICT DO NOTHING",
            ((collection, reader) for reader in sorted(_whole(readers))),
        )
        base = base_of(collection)
        writing.execute("INSERT INTO collections (name) VALUES (?) ON CONFLICT DO NOTHING", (base,))

    def open_to(self, addresses: Iterable[str]) -> frozenset[str]:
        """The collections that the owner of these e-mail addresses may read, whatever their base is."""
        known = {each for address in addresses if (each := whole_address(address))}
        if not known:
            return frozenset()
        wanted = sorted(known | {"@" + each.rpartition("@")[2] for each in known})
        query = "SELECT DISTINCT collection FROM readers WHERE reader {}"
        return frozenset(collection for (collection,) in rows_among(self.database, query, wanted))

    def withdrawn(
        self, sources: Iterable[str], behind: Iterable[str], readable: Collection[str]
    ) -> frozenset[str]:
        """The sources among these, cited from the collections ``behind``, that stand in no readable
        collection now.

        A document goes elsewhere when its readers change, so that its collection alone does not say who may read
        it now. Where no document has readers of its own, nothing is looked up: empty.
        """
        asked, bases = frozenset(sources), {base_of(each) for each in behind}
        if not asked or not bases:
            return frozenset()
        names = (name for (name,) in self.database.rows("SELECT name FROM collections"))
        if not any(is_restricted(name) and base_of(name) in bases for name in names):
            return frozenset()
        query = "SELECT d.source, c.name FROM documents d JOIN collections c ON c.number = d.collection"
        rows = rows_among(self.database, f"{query} WHERE d.source {{}}", sorted(asked))
        return asked - {source for source, collection in rows if collection in readable}

    def drop_unused(self) -> None:
        """Forget the readers of collections that have no document any more."""
        Tables(self.database).write(
            "DELETE FROM readers WHERE collection NOT IN (SELECT c.name FROM collections c"
            " WHERE EXISTS (SELECT 1 FROM documents d WHERE d.collection = c.number))"
        )


def whole_address(address: str) -> str:
    """An e-mail address as it is compared; empty if it is none."""
    address = address.strip().lower()
    return address if _READER.fullmatch(address) and not address.startswith("@") else ""


def _whole(readers: Collection[str]) -> set[str]:
    """Readers as they are compared, without what is no address and no domain."""
    return {each for reader in readers if _READER.fullmatch(each := reader.strip().lower())}
