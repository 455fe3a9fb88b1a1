"""Measurements of what the bot is worth, each a section of one report."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from bots.eval.sections import Benchmark

#: The benchmarks in the order of the report; each is the module of that name.
BENCHES: tuple[str, ...] = (
    "trips",
    "overhead",
    "extraction",
    "citations",
    "retrieval",
    "confidence",
    "search",
    "indexing",
    "growth",
    "judges",
)


def benchmark(name: str) -> Benchmark:
    """The module, loaded only now: what it measures with is heavy."""
    return cast("Benchmark", import_module(f"{__name__}.{name}"))
