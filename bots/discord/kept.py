"""A small memory of what is newest."""

from __future__ import annotations

from typing import TypeVar

KEPT = 1_000  # threads, commands and interactions that are known of

Kept = TypeVar("Kept")


def keep(known: dict[str, Kept], key: str, new: Kept) -> None:
    """Only the newest are kept."""
    known[key] = new
    if len(known) > KEPT:
        del known[next(iter(known))]
