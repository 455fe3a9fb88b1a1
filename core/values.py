"""The one decorator of the values that are kept: frozen, slotted, keyword-only."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TypeVar, dataclass_transform

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[Value]) -> type[Value]:
    """A dataclass whose sequences are tuples.

    A checkpoint gives every tuple back as a list; here it becomes a tuple again, so that what
    is read equals what was written.
    """
    cls.__post_init__ = _freeze  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def _freeze(self: object) -> None:
    for each in fields(self):  # type: ignore[arg-type]
        content = getattr(self, each.name)
        if isinstance(content, list):
            object.__setattr__(self, each.name, tuple(content))
