"""The graph: one LangGraph thread per conversation, one run per turn.

Read top to bottom it is the drawing in the README.
"""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from core.graph import looking, nodes, web_nodes
from core.graph.context import Deps
from core.graph.state import State

Node = Callable[..., Awaitable[State]]

# LangGraph super-steps of one turn. The counters allow 14 over the documents (enter, open, four regrades, a draft
# with its check after two of them, one redraft) and, under never_ask, three web searches of 6 (propose, search, two
# drafts).
RECURSION_LIMIT = 40

NODES: dict[str, Node] = {
    "enter": nodes.enter,
    "open": nodes.open_question,
    "regrade": looking.regrade,
    "converse": nodes.converse,
    "clarify": nodes.clarify,
    "generate": nodes.generate,
    "verify": nodes.verify,
    "propose": web_nodes.propose,
    "web_search": web_nodes.web_search,
    "decline": web_nodes.decline,
    "give_up": web_nodes.give_up,
}


def build_graph(checkpointer: Any = None) -> CompiledStateGraph[State, Deps, State, State]:
    """The compiled graph; without a checkpointer it can be drawn and run, but forgets."""
    graph = StateGraph(State, context_schema=Deps)
    for name, node in NODES.items():
        graph.add_node(name, trace_node(name, node))

    graph.add_edge(START, "enter")
    looked = ["generate", "regrade", "propose", "give_up"]
    graph.add_conditional_edges("enter", nodes.after_enter, ["open", "web_search", "decline", END])
    graph.add_conditional_edges("open", nodes.after_open, ["converse", "clarify", "verify", *looked, END])
    graph.add_conditional_edges("regrade", nodes.after, looked)
    graph.add_edge("generate", "verify")
    graph.add_conditional_edges("verify", nodes.after, [*looked, END])
    graph.add_conditional_edges("propose", nodes.after, ["web_search", END])
    graph.add_conditional_edges("web_search", nodes.after, ["generate", "propose", END])
    for last in ("converse", "clarify", "decline", "give_up"):
        graph.add_edge(last, END)

    return graph.compile(checkpointer=checkpointer)


def trace_node(name: str, node: Node) -> Node:
    """The node, noted in the tracer of its run."""

    async def run(state: State, runtime: Runtime[Deps]) -> State:
        deps, began = runtime.context, perf_counter()
        before = deps.reasoner.usage
        update = await node(state, runtime)
        deps.tracer.ran(name, began, before, deps.reasoner.usage, update)
        return update

    return run
