"""Self-RAG, Corrective RAG and Adaptive RAG in one pipeline over a folder of PDFs.

Any irrelevant passage sends it to the web, as does an answer that is not useful; an unsupported
one is written again. It never gives up.
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
    routes_to_documents,
    wording,
)

WEB_HITS = 4  # DuckDuckGo, as its LangChain tool is set


async def route(_state: State, runtime: Runtime[Script]) -> Literal["retrieve", "web_search"]:
    return "retrieve" if await routes_to_documents(runtime.context) else "web_search"


async def web_search(state: State, runtime: Runtime[Script]) -> State:
    script = runtime.context
    found = script.search_web(wording(state, script), WEB_HITS)
    return {"documents": (*state.get("documents", ()), *found)}


def after_grade(state: State) -> Literal["web_search", "generate"]:
    return "web_search" if state["has_irrelevant"] else "generate"


async def after_generate(
    state: State, runtime: Runtime[Script]
) -> Literal["generate", "web_search", "__end__"]:
    if not await is_grounded(state, runtime.context):
        return "generate"
    return "__end__" if await is_useful(state, runtime.context) else "web_search"


def build() -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(State, context_schema=Script)

    graph.add_node("retrieve", retrieve)
    graph.add_node("grade", grade)
    graph.add_node("web_search", web_search)
    graph.add_node("generate", generate)

    graph.add_conditional_edges(START, route)
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grade)
    graph.add_edge("web_search", "generate")
    graph.add_conditional_edges("generate", after_generate)

    return graph.compile()
