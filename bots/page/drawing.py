"""The way of a turn through the graph, and the time of its steps, as coordinates of SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import hypot

from core.conversation import value
from core.graph.graph import build_graph
from core.traces.trace import Step

START, END = "__start__", "__end__"  # as LangGraph calls them
WIDTH, HEIGHT = 880, 350
NODE_WIDTH, NODE_HEIGHT = 104, 34

#: The centre of each node of the graph that answers. Its ways are those of the graph; where they run was tried by hand.
PLACES: Mapping[str, tuple[int, int]] = {
    START: (24, 130), "enter": (110, 130), "open": (262, 130),
    "converse": (450, 30), "clarify": (590, 30),
    "generate": (450, 130), "verify": (630, 130), END: (856, 130),
    "regrade": (450, 230), "give_up": (770, 230),
    "decline": (262, 320), "web_search": (450, 320), "propose": (630, 320),
}  # fmt: skip

#: How far an edge bends to its left, as a share of its length, where a straight one would cross a node.
BENDS: Mapping[tuple[str, str], float] = {
    ("open", "verify"): 0.24, ("verify", "generate"): 0.18, ("open", "clarify"): 0.1,
    ("open", "give_up"): 0.12, ("propose", "web_search"): 0.14, ("web_search", "propose"): 0.14,
    ("regrade", "generate"): 0.2, ("generate", "regrade"): 0.2, ("enter", "web_search"): 0.12,
    ("open", "propose"): 0.02, ("web_search", "generate"): -0.45, ("converse", END): -0.12,
    ("open", END): 0.3, ("enter", END): 0.33, ("propose", END): -0.2, ("web_search", END): -0.28,
    ("decline", END): -0.18,
}  # fmt: skip


@value
class DrawnNode:
    name: str
    x: float  #: of its left upper corner
    y: float
    visits: str  #: the numbers of its steps, "2, 5"; empty: the turn did not pass it

    @property
    def is_terminal(self) -> bool:
        return self.name in (START, END)

    @property
    def label(self) -> str:
        return self.name.strip("_").replace("_", " ")


@value
class DrawnEdge:
    path: str
    is_lit: bool


@value
class DrawnGraph:
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]  #: the lit ones last, above the others
    way: str  #: the same in words


@value
class TimedStep:
    """A step as a bar on the time of its turn."""

    number: int
    step: Step
    left: float  #: per cent of the turn
    width: float


def draw_graph(steps: Sequence[Step]) -> DrawnGraph:
    names = [step.node for step in steps if step.node in PLACES]
    passed = list(pairwise((START, *names, END))) if names else []
    lit = dict.fromkeys(passed)
    dim = [edge for edge in _edges() if edge not in lit]
    visits = {name: [str(n) for n, each in enumerate(names, start=1) if each == name] for name in PLACES}
    return DrawnGraph(
        nodes=tuple(
            DrawnNode(
                name=name,
                x=x - NODE_WIDTH / 2,
                y=y - NODE_HEIGHT / 2,
                visits=", ".join(visits[name]),
            )
            for name, (x, y) in PLACES.items()
        ),
        edges=tuple(
            DrawnEdge(path=_edge(*edge), is_lit=is_lit)
            for edges, is_lit in ((dim, False), (lit, True))
            for edge in edges
        ),
        way=" → ".join(names),
    )


def time_steps(steps: Sequence[Step]) -> tuple[TimedStep, ...]:
    total = max((step.began_ms + step.ms for step in steps), default=0.0) or 1.0
    return tuple(
        TimedStep(
            number=number,
            step=step,
            left=round(100 * step.began_ms / total, 2),
            width=max(round(100 * step.ms / total, 2), 0.4),
        )
        for number, step in enumerate(steps, start=1)
    )


@cache
def _edges() -> tuple[tuple[str, str], ...]:
    """From each node, where the graph may go on, but for the end."""
    edges = build_graph().get_graph().edges
    return tuple((edge.source, edge.target) for edge in edges if edge.target != END)


def _edge(before: str, after: str) -> str:
    """A curve from the border of one node to that of another."""
    (x1, y1), (x2, y2) = PLACES[before], PLACES[after]
    if before == after:
        left, top = x1 - 22, y1 + NODE_HEIGHT / 2
        return f"M{left},{top} C{left - 6},{top + 30} {left + 50},{top + 30} {left + 44},{top + 3}"
    bend = BENDS.get((before, after), 0.0)
    middle = ((x1 + x2) / 2 + (y2 - y1) * bend, (y1 + y2) / 2 - (x2 - x1) * bend)
    begin, end = _border(before, middle), _border(after, middle)
    return f"M{_point(begin)} Q{_point(middle)} {_point(end)}"


def _border(name: str, towards: tuple[float, float]) -> tuple[float, float]:
    """Where a line from the centre of a node leaves it."""
    x, y = PLACES[name]
    dx, dy = towards[0] - x, towards[1] - y
    if name in (START, END):
        length = hypot(dx, dy) or 1.0
        return x + 9 * dx / length, y + 9 * dy / length
    share = min(
        NODE_WIDTH / 2 / abs(dx) if dx else float("inf"), NODE_HEIGHT / 2 / abs(dy) if dy else float("inf")
    )
    return x + dx * share, y + dy * share


def _point(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
