"""Adaptive RAG over web pages: a router, and a loop that rewrites and retrieves until an answer passes.

Only the router sends a question to the web, whose results take the place of the documents. It never
gives up.
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from benchmarks.fallible import Script
from benchmarks.published.steps import (
    State,
    generate,
    grade,
    is_grounded,
    is_useful,
    retrieve,
    rewrite,
    routes_to_documents,
    wording,
)

WEB_HITS = 3  # Tavily, k = 3


async def route(_state: State, runtime: Runtime[Script]) -> Literal["retrieve", "web_search"]:
    return "retrieve" if await routes_to_documents(runtime.context) else "web_search"


async def web_search(state: State, runtime: Runtime[Script]) -> State:
    return {"documents": runtime.context.search_web(wording(state, runtime.context), WEB_HITS)}


def after_grade(state: State) -> Literal["generate", "rewrite"]:
    return "generate" if state["documents"] else "rewrite"


async def after_generate(state: State, runtime: Runtime[Script]) -> Literal["generate", "rewrite", "__end__"]:
    if not await is_grounded(state, runtime.context):
        return "generate"
    return "__end__" if await is_useful(state, runtime.context) else "rewrite"


def build() -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(State, context_schema=Script)

    graph.add_node("retrieve", retrieve)
    graph.add_node("web_search", web_search)
    graph.add_node("grade", grade)
    graph.add_node("generate", generate)
    graph.add_node("rewrite", rewrite)

    graph.add_conditional_edges(START, route)
    graph.add_edge("retrieve", "grade")
    graph.add_edge("web_search", "generate")
    graph.add_conditional_edges("grade", after_grade)
    graph.add_conditional_edges("generate", after_generate)
    graph.add_edge("rewrite", "retrieve")

    return graph.compile()
