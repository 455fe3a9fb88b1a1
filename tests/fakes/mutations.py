"""Well-formed JSON made malformed: fields lost, of other types, too deep, too long."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 1e308, "", " ", "\x00", "𐀀" * 50, "A" * 5_000, "../../etc/passwd", "<@U0>", "C0\u202e",
    [], [[]], [None], {}, {"id": None}, {"id": {"id": {"id": []}}}, "NaN", "1e999", "null", "-0",
)  # fmt: skip


def mutated(payload: Any, random: Random, times: int = 3) -> Any:
    """The payload with some of its places changed; the original is left alone."""
    changed = copy.deepcopy(payload)
    for _ in range(random.randint(1, times)):
        places = list(_places(changed))
        if not places:
            return random.choice(STRANGE)
        holder, key = random.choice(places)
        if random.random() < 0.4:
            del holder[key]
        elif random.random() < 0.1:
            holder[key] = {"deep": _deep(60)}
        else:
            holder[key] = copy.deepcopy(random.choice(STRANGE))
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) within a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(items):
        yield value, key
        yield from _places(each)


def _deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value
