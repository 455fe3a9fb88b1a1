"""The five systems that Footnote's graph unites, each as a graph of its own, run as published.

One model call after another, one relevance call for each passage, and no bound of their own on
their loops but LangGraph's recursion limit, which was 25 when they were written. The graphs are for
measuring beside ours. What keeps a published one from running at all is left out: here web results
can be appended where nothing was retrieved, and a rewrite does not replace what is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph

RECURSION_LIMIT = 25  # super-steps of one run

#: The modules, in the order of the systems.
MODULES: Mapping[str, str] = {
    "combined": "benchmarks.published.combined",
    "crag-any": "benchmarks.published.crag_any",
    "self-rag": "benchmarks.published.self_rag",
    "crag-ratio": "benchmarks.published.crag_ratio",
    "adaptive": "benchmarks.published.adaptive",
}


def build(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    return cast("CompiledStateGraph[Any, Any, Any, Any]", import_module(MODULES[name]).build())
