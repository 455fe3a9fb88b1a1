"""Drawings as coordinates of SVG: the way of a turn through the graph, the time of its steps, and plots by day, as bars
on top of each other and as lines.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from math import floor, hypot, log10

from core.conversation import value
from core.graph.graph import build_graph
from core.traces.trace import Step

START, END = "__start__", "__end__"  # as LangGraph calls them
NODE_WIDTH, NODE_HEIGHT = 104, 34

#: The centre of each node of the graph that answers. Its ways are those of the graph; where they run was tried by hand.
POSITIONS: Mapping[str, tuple[int, int]] = {
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
    names = [step.node for step in steps if step.node in POSITIONS]
    passed = list(pairwise((START, *names, END))) if names else []
    lit = dict.fromkeys(passed)
    dim = [edge for edge in _edges() if edge not in lit]
    visits = {name: [str(n) for n, each in enumerate(names, start=1) if each == name] for name in POSITIONS}
    nodes = tuple(
        DrawnNode(name=name, x=x - NODE_WIDTH / 2, y=y - NODE_HEIGHT / 2, visits=", ".join(visits[name]))
        for name, (x, y) in POSITIONS.items()
    )
    edges = tuple(DrawnEdge(path=_edge(*edge), is_lit=edge in lit) for edge in (*dim, *lit))
    return DrawnGraph(nodes=nodes, edges=edges, way=" → ".join(names))


def time_steps(steps: Sequence[Step]) -> tuple[TimedStep, ...]:
    total = max((step.began_ms + step.ms for step in steps), default=0.0) or 1.0
    return tuple(
        TimedStep(
            number=number, step=step, left=round(100 * step.began_ms / total, 2),
            width=max(round(100 * step.ms / total, 2), 0.4),
        )
        for number, step in enumerate(steps, start=1)
    )  # fmt: skip


@cache
def _edges() -> tuple[tuple[str, str], ...]:
    """The edges of the graph, without those to the end."""
    edges = build_graph().get_graph().edges
    return tuple((edge.source, edge.target) for edge in edges if edge.target != END)


def _edge(before: str, after: str) -> str:
    """A curve from the border of one node to that of another."""
    (x1, y1), (x2, y2) = POSITIONS[before], POSITIONS[after]
    if before == after:
        left, top = x1 - 22, y1 + NODE_HEIGHT / 2
        return f"M{left},{top} C{left - 6},{top + 30} {left + 50},{top + 30} {left + 44},{top + 3}"
    bend = BENDS.get((before, after), 0.0)
    middle = ((x1 + x2) / 2 + (y2 - y1) * bend, (y1 + y2) / 2 - (x2 - x1) * bend)
    begin, end = _border(before, middle), _border(after, middle)
    return f"M{_point(begin)} Q{_point(middle)} {_point(end)}"


def _border(name: str, towards: tuple[float, float]) -> tuple[float, float]:
    """The point where a line from the centre of a node crosses its border."""
    x, y = POSITIONS[name]
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


# Plots by day

WIDTH, HEIGHT = 600, 170
LEFT, TOP, BOTTOM = 56, 10, 22  # the room of the labels
TICKS = 5  # parts of the scale
LABELS = 6  # of the days, at most
BAR_SHARE = 0.8  # of the room of a day


@value
class Series:
    """A number for each day."""

    name: str
    numbers: tuple[float | None, ...]  #: None: there is none, which draws nothing


@value
class Label:
    x: float
    y: float
    text: str


@value
class Bar:
    series: int  #: counts from 1
    x: float
    y: float
    width: float
    height: float
    tip: str


@value
class PlotDay:
    """A day with data: a row of the table beneath a plot, and its link."""

    day: str
    path: str  #: to what is behind it; empty: nothing is
    texts: tuple[str, ...]  #: the number of each series; empty: there is none
    x: float
    width: float
    tip: str


@value
class Plot:
    """A plot, drawn by ``plot.html``; its colours are in the style sheet."""

    id: str  #: one of its own on the page
    title: str
    words: str  #: what it shows, for who does not see it
    names: tuple[str, ...]  #: of the series
    bars: tuple[Bar, ...] = ()
    lines: tuple[str, ...] = ()  #: the path of each series
    rows: tuple[PlotDay, ...]  #: the last one first
    scale: tuple[Label, ...]
    days: tuple[Label, ...]

    @property
    def size(self) -> tuple[int, int]:
        return WIDTH, HEIGHT


def bar_plot(
    name: str, title: str, days: Sequence[str], series: Sequence[Series],
    path_of: Callable[[str], str] | None = None,
) -> Plot:  # fmt: skip
    """A bar for each day, the series on top of each other. ``path_of``: where a day leads."""
    sums = [sum(each.numbers[at] or 0 for each in series) for at in range(len(days))]
    top, room = rounded_up(max(sums, default=0)), _room(days)
    bars: list[Bar] = []
    for at, day in enumerate(days):
        base, x = 0.0, round(LEFT + (at + (1 - BAR_SHARE) / 2) * room, 1)
        for number, each in enumerate(series, start=1):
            if amount := each.numbers[at]:
                y, height = _y(base + amount, top), _y(base, top) - _y(base + amount, top)
                tip = f"{day}, {each.name}: {formatted(amount)}"
                bars.append(Bar(series=number, x=x, y=y, width=round(BAR_SHARE * room, 1),
                                height=round(height, 1), tip=tip))  # fmt: skip
                base += amount
    most = max(zip(sums, days, strict=True), key=lambda pair: pair[0], default=(0, ""))
    words = f"{_span(days)}: {formatted(sum(sums))} in all" + (
        f", the most on {most[1]}: {formatted(most[0])}." if most[0] else "."
    )
    return Plot(
        id=name, title=title, words=words, names=tuple(each.name for each in series), bars=tuple(bars),
        rows=_rows(days, series, "", path_of), scale=_scale(top, ""), days=_days(days),
    )  # fmt: skip


def _rows(
    days: Sequence[str], series: Sequence[Series], unit: str, path_of: Callable[[str], str] | None = None
) -> tuple[PlotDay, ...]:
    rows, width = [], _room(days)
    for at, day in enumerate(days):
        numbers = [each.numbers[at] for each in series]
        if all(number is None for number in numbers):
            continue
        shown = tuple("" if number is None else f"{formatted(number)}{unit}" for number in numbers)
        named = ", ".join(f"{formatted(n)} {each.name}" for each in series if (n := each.numbers[at]))
        rows.append(PlotDay(
            day=day, path=path_of(day) if path_of else "", texts=shown,
            x=round(LEFT + at * width, 1), width=round(width, 1), tip=f"{day}: {named}",
        ))  # fmt: skip
    return tuple(reversed(rows))


def line_plot(name: str, title: str, days: Sequence[str], series: Sequence[Series], unit: str = "") -> Plot:
    """A line for each series, broken where it has no number; a number alone is a dot."""
    top = rounded_up(max((n for each in series for n in each.numbers if n is not None), default=0))
    most = [
        f"{each.name} at most {formatted(max(known))}{unit}"
        for each in series
        if (known := [number for number in each.numbers if number is not None])
    ]
    return Plot(
        id=name, title=title, words=f"{_span(days)}: {', '.join(most) or 'nothing'}.",
        names=tuple(each.name for each in series),
        lines=tuple(_path(each, days, top) for each in series),
        rows=_rows(days, series, unit), scale=_scale(top, unit), days=_days(days),
    )  # fmt: skip


def rounded_up(number: float) -> float:
    """The next of 1, 2, 5, 10, 20 …, as the top of a scale; at least 1."""
    if number <= 0:
        return 1.0
    power = 10.0 ** floor(log10(number))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number * (1 - 1e-9))


def formatted(number: float) -> str:
    """ "12,400", "2.5", "0.004"."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"


def _span(days: Sequence[str]) -> str:
    return f"{days[0]} to {days[-1]}" if days else "No day"


def _room(days: Sequence[str]) -> float:
    """The width of one day."""
    return (WIDTH - LEFT) / max(len(days), 1)


def _y(number: float, top: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - number / top), 1)


def _path(series: Series, days: Sequence[str], top: float) -> str:
    parts: list[str] = []
    numbered = enumerate(series.numbers)
    for is_known, run in groupby(numbered, key=lambda pair: pair[1] is not None):
        points = [f"{LEFT + (at + 0.5) * _room(days):.1f},{_y(n, top)}" for at, n in run if n is not None]
        if is_known:
            parts.append(f"M{points[0]} L{' L'.join(points[1:])}" if points[1:] else f"M{points[0]} m-3,0 h6")
    return " ".join(parts)


def _scale(top: float, unit: str) -> tuple[Label, ...]:
    ticks = int(top) if top in (1, 2) and not unit else TICKS  # nobody asked 0.4 questions
    steps = [top * part / ticks for part in range(ticks + 1)]
    return tuple(Label(x=LEFT - 6, y=_y(step, top), text=f"{formatted(step)}{unit}") for step in steps)


def _days(days: Sequence[str]) -> tuple[Label, ...]:
    every = -(-len(days) // LABELS) or 1
    return tuple(
        Label(x=round(LEFT + (at + 0.5) * _room(days), 1), y=HEIGHT - 6, text=day[5:])
        for at, day in enumerate(days)
        if at % every == 0
    )
