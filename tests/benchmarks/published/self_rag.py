"""Self-RAG over internal documents first, then over the web, three attempts each.

The question is rewritten after every failed attempt, and is itself again when the web begins. An
unsupported answer is written again, a useless one counts as a failed attempt.
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
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
    wording,
)

ATTEMPTS = 3  # with the documents, and as many with the web
WEB_HITS = 4  # DuckDuckGo, as its LangChain tool is set


async def try_again(state: State, runtime: Runtime[Script]) -> State:
    """Another wording; before the web, the first one again."""
    rewritten, attempts = await rewrite(state, runtime), state.get("attempts", 0) + 1
    return (
        {**rewritten, "attempts": attempts} if attempts != ATTEMPTS else {"rewrites": 0, "attempts": attempts}
    )


async def web_search(state: State, runtime: Runtime[Script]) -> State:
    return {"documents": runtime.context.search_web(wording(state, runtime.context), WEB_HITS)}


async def no_result(state: State) -> State:
    return {"draft": None}


def after_grade(state: State) -> Literal["generate", "try_again"]:
    return "generate" if state["documents"] else "try_again"


async def after_generate(
    state: State, runtime: Runtime[Script]
) -> Literal["generate", "try_again", "__end__"]:
    if not await is_grounded(state, runtime.context):
        return "generate"
    return "__end__" if await is_useful(state, runtime.context) else "try_again"


def after_trying(state: State) -> Literal["retrieve", "web_search", "no_result"]:
    if state["attempts"] < ATTEMPTS:
        return "retrieve"
    return "web_search" if state["attempts"] < 2 * ATTEMPTS else "no_result"


def build() -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(State, context_schema=Script)

    graph.add_node("retrieve", retrieve)
    graph.add_node("web_search", web_search)
    graph.add_node("grade", grade)
    graph.add_node("generate", generate)
    graph.add_node("try_again", try_again)
    graph.add_node("no_result", no_result)

    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade")
    graph.add_edge("web_search", "grade")
    graph.add_conditional_edges("grade", after_grade)
    graph.add_conditional_edges("generate", after_generate)
    graph.add_conditional_edges("try_again", after_trying)
    graph.add_edge("no_result", END)

    return graph.compile()
