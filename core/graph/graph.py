"""The graph: one LangGraph thread per conversation, one run per turn.

Read top to bottom it is the drawing in the README.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from core.graph import nodes, web_nodes
from core.graph.context import Deps
from core.graph.state import State

# LangGraph super-steps of one turn. The counters allow 12 over the documents (enter, open, two regrades, a draft
# with its check after each, one redraft) and, under never_ask, three web searches of 6 (propose, search, two drafts).
RECURSION_LIMIT = 40


def build_graph(checkpointer: Any = None) -> CompiledStateGraph[State, Deps, State, State]:
    """The compiled graph; without a checkpointer it can be drawn and run, but forgets."""
    graph = StateGraph(State, context_schema=Deps)

    graph.add_node("enter", nodes.enter)
    graph.add_node("open", nodes.open_question)
    graph.add_node("regrade", nodes.regrade)
    graph.add_node("converse", nodes.converse)
    graph.add_node("clarify", nodes.clarify)
    graph.add_node("generate", nodes.generate)
    graph.add_node("verify", nodes.verify)
    graph.add_node("propose", web_nodes.propose)
    graph.add_node("web_search", web_nodes.web_search)
    graph.add_node("decline", web_nodes.decline)
    graph.add_node("give_up", web_nodes.give_up)

    graph.add_edge(START, "enter")
    graph.add_conditional_edges("enter", nodes.after_enter)
    graph.add_conditional_edges("open", nodes.after_open)
    graph.add_conditional_edges("regrade", nodes.after_regrade)
    graph.add_edge("generate", "verify")
    graph.add_conditional_edges("verify", nodes.after_verify)
    graph.add_conditional_edges("propose", web_nodes.after_propose)
    graph.add_conditional_edges("web_search", web_nodes.after_web)
    for last in ("converse", "clarify", "decline", "give_up"):
        graph.add_edge(last, END)

    return graph.compile(checkpointer=checkpointer)
