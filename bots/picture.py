"""A graph as a picture, drawn here: LangGraph's own PNG would send the graph to a web service."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import atan2, cos, pi, sin

from PIL import Image, ImageDraw, ImageFont

from bots.layout import Point, lay_out

SCALE = 3  # drawn this much larger and then reduced, which smooths every edge
COLUMN, LAYER = 150, 92  # pixels between two nodes
MARGIN = 36  # pixels
BOX = (118, 40)  # pixels, a node's width and height
ARROW = 10  # pixels
STEPS = 24  # straight pieces of a curve between two layers
FONT_SIZE = 16  # pixels

PAPER, INK = "#ffffff", "#1f2937"
FILL, OUTLINE = "#eef2ff", "#6366f1"
END_FILL, END_OUTLINE = "#f3f4f6", "#9ca3af"
ALWAYS, DECIDED, BACK = "#374151", "#94a3b8", "#d97706"
LEGEND = {ALWAYS: "always", DECIDED: "where the evidence decides", BACK: "back, a bounded number of times"}
LEGEND_SIZE = 13  # pixels


def draw(nodes: Sequence[str], edges: Sequence[tuple[str, str, bool]]) -> Image.Image:
    """``edges`` as (source, target, whether a decision chooses it); ``nodes`` in reading order."""
    layout = lay_out(nodes, [(source, target) for source, target, _ in edges])
    width, height = round(layout.columns * COLUMN) + 2 * MARGIN, layout.layers * LAYER + 2 * MARGIN
    image = Image.new("RGB", (width * SCALE, height * SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    rank = {node: number for number, node in enumerate(nodes)}
    for source, target, is_decided in sorted(edges, key=lambda edge: rank[edge[1]] <= rank[edge[0]]):
        if source == target:
            _arrow(pen, _loop(_pixels(layout.places[source])), BACK)
        elif rank[target] < rank[source]:
            _arrow(pen, _upward([_pixels(point) for point in layout.routes[source, target]]), BACK)
        else:
            way = _downward([_pixels(point) for point in layout.routes[source, target]])
            _arrow(pen, way, DECIDED if is_decided else ALWAYS)
    for node, place in layout.places.items():
        _node(pen, node, _pixels(place), is_end=node in (nodes[0], nodes[-1]))
    _legend(pen)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _legend(pen: ImageDraw.ImageDraw) -> None:
    font = ImageFont.load_default(LEGEND_SIZE * SCALE)
    for number, (colour, meaning) in enumerate(LEGEND.items()):
        y = (MARGIN + number * LEGEND_SIZE * 1.7) * SCALE
        pen.line([(MARGIN * SCALE, y), ((MARGIN + 26) * SCALE, y)], fill=colour, width=2 * SCALE)
        pen.text(((MARGIN + 36) * SCALE, y), meaning, font=font, fill=INK, anchor="lm")


def _pixels(place: Point) -> Point:
    x, y = place
    return (x * COLUMN + MARGIN) * SCALE, (y * LAYER + MARGIN + LAYER / 2) * SCALE


def _downward(points: list[Point]) -> list[Point]:
    """From the bottom of the first node to the top of the last."""
    (x0, y0), *between, (x1, y1) = points
    half = BOX[1] / 2 * SCALE
    return _smooth([(x0, y0 + half), *between, (x1, y1 - half)])


def _upward(points: list[Point]) -> list[Point]:
    """Back from the top of the first node to the bottom of the last, aside of the way down."""
    (x0, y0), *between, (x1, y1) = points
    half, aside = BOX[1] / 2 * SCALE, BOX[0] / 3 * SCALE
    if not between:
        between = [((x0 + x1) / 2 + aside * 1.3, (y0 + y1) / 2)]
    return _smooth([(x0 + aside, y0 - half), *between, (x1 + aside, y1 + half)])


def _loop(middle: Point) -> list[Point]:
    """Out of a node's left side and into it again."""
    x, y = middle
    side, reach, rise = x - BOX[0] / 2 * SCALE, 26 * SCALE, 9 * SCALE
    turn = [(side - reach * sin(pi * t / 20), y - rise * cos(pi * t / 20)) for t in range(21)]
    return [(side, y - rise), *turn[1:-1], (side, y + rise)]


def _smooth(points: list[Point]) -> list[Point]:
    """A curve through the points that leaves and arrives upright: x over y as a cubic Hermite spline."""
    steep = [(x1 - x0) / (y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    # The lesser of two slopes, and none at a turn: the curve then never bulges into a node beside it.
    inner = [min(pair, key=abs) if pair[0] * pair[1] > 0 else 0.0 for pair in pairwise(steep)]
    slopes = [0.0, *inner, 0.0]
    curve = [points[0]]
    for ((x0, y0), m0), ((x1, y1), m1) in pairwise(zip(points, slopes, strict=True)):
        for step in range(1, STEPS + 1):
            t, span = step / STEPS, y1 - y0
            bend = t * (1 - t) * (m0 * span * (1 - t) - m1 * span * t)
            curve.append((x0 + (x1 - x0) * t * t * (3 - 2 * t) + bend, y0 + span * t))
    return curve


def _arrow(pen: ImageDraw.ImageDraw, way: list[Point], colour: str) -> None:
    (x0, y0), (x1, y1) = way[-3], way[-1]
    angle = atan2(y1 - y0, x1 - x0)
    length, half = ARROW * SCALE, ARROW / 2.6 * SCALE
    back = (x1 - length * cos(angle), y1 - length * sin(angle))
    aside = (half * sin(angle), -half * cos(angle))
    pen.line([*way[:-2], back], fill=colour, width=round(1.6 * SCALE), joint="curve")
    pen.polygon(
        [(x1, y1), (back[0] + aside[0], back[1] + aside[1]), (back[0] - aside[0], back[1] - aside[1])],
        fill=colour,
    )


def _node(pen: ImageDraw.ImageDraw, name: str, middle: Point, *, is_end: bool) -> None:
    x, y = middle
    w, h = BOX[0] / 2 * SCALE, BOX[1] / 2 * SCALE
    fill, outline = (END_FILL, END_OUTLINE) if is_end else (FILL, OUTLINE)
    radius = h if is_end else 9 * SCALE
    pen.rounded_rectangle(
        (x - w, y - h, x + w, y + h), radius=radius, fill=fill, outline=outline, width=round(1.6 * SCALE)
    )
    font = ImageFont.load_default(FONT_SIZE * SCALE)
    pen.text((x, y), name.strip("_"), font=font, fill=INK, anchor="mm")
