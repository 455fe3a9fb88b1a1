"""Corrective RAG over web pages: any irrelevant passage sends the rewritten question to the web."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from benchmarks.fallible import Script
from benchmarks.published.steps import State, generate, grade, retrieve, rewrite, wording

WEB_HITS = 4  # DuckDuckGo, as its LangChain tool is set


async def web_search(state: State, runtime: Runtime[Script]) -> State:
    script = runtime.context
    return {"documents": (*state["documents"], *script.search_web(wording(state, script), WEB_HITS))}


def after_grade(state: State) -> Literal["rewrite", "generate"]:
    return "rewrite" if state["has_irrelevant"] else "generate"


def build() -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(State, context_schema=Script)

    graph.add_node("retrieve", retrieve)
    graph.add_node("grade", grade)
    graph.add_node("rewrite", rewrite)
    graph.add_node("web_search", web_search)
    graph.add_node("generate", generate)

    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", after_grade)
    graph.add_edge("rewrite", "web_search")
    graph.add_edge("web_search", "generate")
    graph.add_edge("generate", END)

    return graph.compile()
