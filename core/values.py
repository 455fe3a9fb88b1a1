"""The one decorator of the values that are kept: frozen, slotted, keyword-only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """A dataclass whose sequences are tuples.

    A checkpoint gives every tuple back as a list; here it becomes a tuple again, so that what
    is read equals what was written. On the way there it asks what kind each value is, dataclasses
    among the last; one that goes by the name of a named tuple's method is written alike, and soon.
    """
    cls.__post_init__ = _freeze  # type: ignore[attr-defined]
    cls._asdict = _as_dict  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def _freeze(self: Any) -> None:
    for name in self.__dataclass_fields__:
        content = getattr(self, name)
        if isinstance(content, list):
            object.__setattr__(self, name, tuple(content))


def _as_dict(self: Any) -> dict[str, Any]:
    return {name: getattr(self, name) for name in self.__dataclass_fields__}
