"""Turns and outcomes as plain JSON, for what must be stored outside a conversation's checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from core.conversation import Decision, Errand, Outcome, Question, Turn

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def plain(value: Turn | Errand | Outcome) -> dict[str, Any]:
    """JSON types only; tuples become lists."""
    record = asdict(value)
    if not isinstance(value, Outcome):
        record["kind"] = type(value).__name__
    return cast("dict[str, Any]", _as_json(record))


def turn_from(record: Mapping[str, Any]) -> Turn:
    """A turn written by :func:`plain`; ValueError when it is none."""
    kind = _TURNS.get(str(record.get("kind")))
    if kind is None:
        raise ValueError("this record is of no turn")
    fields = {name: content for name, content in record.items() if name != "kind"}
    return cast("Turn", _reader(kind).validate_python(fields))


def errand_from(record: Mapping[str, Any]) -> Errand:
    fields = {name: content for name, content in record.items() if name != "kind"}
    return cast("Errand", _reader(Errand).validate_python(fields))


def outcome_from(record: Mapping[str, Any]) -> Outcome:
    return cast("Outcome", _reader(Outcome).validate_python(dict(record)))


_TURNS: Mapping[str, type] = {"Question": Question, "Decision": Decision}


@cache
def _reader(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _as_json(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _as_json(value) for key, value in content.items()}
    return [_as_json(value) for value in content] if isinstance(content, list | tuple) else content
