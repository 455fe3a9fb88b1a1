"""What a query reads, as SQL for either database: a scope, or a number of passages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from core.library.documents import Scope
from core.library.roots import span_below
from core.storage.database import Dialect

#: Places as rows of one JSON value, and the texts of such a row. One value for any number of
#: them: SQLite limits the depth of an expression to 1,000.
_PLACES: Mapping[Dialect, str] = {
    "sqlite": "json_each(?) place",
    "postgresql": "jsonb_array_elements(CAST(? AS jsonb)) place (value)",
}
_PLACE: Mapping[Dialect, str] = {
    "sqlite": "json_extract(place.value, '$[{}]')",
    "postgresql": "(place.value ->> {})",
}


def scope_condition(dialect: Dialect, scope: Scope) -> tuple[str, tuple[object, ...]]:
    """SQL over ``d`` (documents) and ``c`` (collections), and its values. Without collections, nothing fits."""
    one_of, names = among_texts(dialect, sorted(scope.collections))
    condition = f"c.name {one_of}"
    if not scope.addresses:
        return condition, (names,)
    place, begin, end = map(_PLACE[dialect].format, range(3))
    within = (
        f"d.id IN (SELECT x.id FROM documents x JOIN {_PLACES[dialect]}"
        f" ON x.address = {place} OR (x.address >= {begin} AND x.address < {end}))"
    )
    places = json.dumps([tuple(span_below(address)) for address in scope.addresses])
    return f"{condition} AND {within}", (names, places)


def among(dialect: Dialect, numbers: Iterable[str | int]) -> tuple[str, object]:
    """SQL after a column that is one of these numbers, and its one value."""
    wanted = [int(number) for number in numbers]
    if dialect == "sqlite":
        return "IN (SELECT value FROM json_each(?))", json.dumps(wanted)
    return "= ANY(CAST(? AS bigint[]))", wanted


def among_texts(dialect: Dialect, texts: Iterable[str]) -> tuple[str, object]:
    """SQL after a column that is one of these texts, and its one value."""
    if dialect == "sqlite":
        return "IN (SELECT value FROM json_each(?))", json.dumps([*texts])
    return "= ANY(CAST(? AS text[]))", [*texts]
