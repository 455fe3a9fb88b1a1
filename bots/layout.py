"""Where the nodes and edges of a small graph stand on a page: layers from top to bottom.

After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures" (1981): an edge that spans layers is cut into short ones by invisible nodes, layers
are ordered by barycentres so that few edges cross, and then everything moves towards its
neighbours as far as there is room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

from core.values import value

SWEEPS = 24  # down and up again; 13 nodes settle after a few
Edge = tuple[str, str]
Point = tuple[float, float]


@value
class Layout:
    """Positions in columns and layers; one column is the least distance of two nodes."""

    places: Mapping[str, Point]  #: the middle of each node
    routes: Mapping[Edge, tuple[Point, ...]]  #: from source to target by way of the invisible nodes
    columns: float
    layers: int


def lay_out(nodes: Sequence[str], edges: Sequence[Edge]) -> Layout:
    """``nodes`` in reading order: an edge against it leads back, and is laid out the other way round."""
    rank = {node: number for number, node in enumerate(nodes)}
    downward = {edge: min(edge, edge[::-1], key=lambda e: rank[e[0]]) for edge in edges if edge[0] != edge[1]}
    layer_of = _layers(nodes, set(downward.values()))
    chains = {edge: _chain(edge, layer_of) for edge in dict.fromkeys(downward.values())}
    layers = _as_layers(nodes, chains, layer_of)
    neighbours = _neighbours(chains.values())
    places = _places(_ordered(layers, neighbours), neighbours)
    routes = {
        edge: tuple(places[node] for node in (chains[down] if edge == down else chains[down][::-1]))
        for edge, down in downward.items()
    }
    columns = max(x for x, _ in places.values())
    return Layout(
        places={node: places[node] for node in nodes}, routes=routes, columns=columns, layers=len(layers)
    )


def _layers(nodes: Sequence[str], edges: set[Edge]) -> dict[str, int]:
    """The longest way from the top; the last node alone at the bottom."""
    layer = dict.fromkeys(nodes, 0)
    for node in nodes:
        above = [layer[source] + 1 for source, target in edges if target == node]
        layer[node] = max(above, default=0)
    layer[nodes[-1]] = max(layer.values())
    return layer


def _chain(edge: Edge, layer_of: Mapping[str, int]) -> list[str]:
    """The edge's ends with an invisible node on every layer between them."""
    source, target = edge
    between = range(layer_of[source] + 1, layer_of[target])
    return [source, *(f"{source}>{target}@{layer}" for layer in between), target]


def _as_layers(
    nodes: Sequence[str], chains: Mapping[Edge, list[str]], layer_of: Mapping[str, int]
) -> list[list[str]]:
    layers: list[list[str]] = [[] for _ in range(max(layer_of.values()) + 1)]
    for node in nodes:
        layers[layer_of[node]].append(node)
    for (source, _), chain in chains.items():
        for step, node in enumerate(chain[1:-1], start=1):
            layers[layer_of[source] + step].append(node)
    return layers


def _neighbours(chains: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for chain in chains:
        for upper, lower in pairwise(chain):
            found[upper].append(lower)
            found[lower].append(upper)
    return found


def _ordered(layers: list[list[str]], neighbours: Mapping[str, list[str]]) -> list[list[str]]:
    """The order within each layer with the fewest crossings that the sweeps come by."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, neighbours)
    down = range(1, len(layers))
    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        for index in down if step == 1 else [i - 1 for i in reversed(down)]:
            _sort(layers[index], layers[index - step], neighbours)
        if (crossings := _crossings(layers, neighbours)) < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _sort(layer: list[str], beside: list[str], neighbours: Mapping[str, list[str]]) -> None:
    at = {node: position for position, node in enumerate(beside)}
    middle = {node: _mean([at[n] for n in neighbours[node] if n in at]) for node in layer}
    layer.sort(key=middle.__getitem__)


def _crossings(layers: list[list[str]], neighbours: Mapping[str, list[str]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        at = {node: position for position, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(at[n] for n in neighbours[node] if n in at)]
        count += sum(right < left for left, right in combinations(ends, 2))
    return count


def _places(layers: list[list[str]], neighbours: Mapping[str, list[str]]) -> dict[str, Point]:
    """Everything moved towards its neighbours, without overtaking and without touching."""
    x = {node: float(i) for layer in layers for i, node in enumerate(layer)}
    for _ in range(SWEEPS):
        for layer in (*layers, *layers[::-1]):
            wanted = [_mean([x[n] for n in neighbours[node]]) for node in layer]
            x.update(zip(layer, _spread(layer, wanted), strict=True))
    left = min(x[node] - _width(node) / 2 for node in x)
    return {node: (x[node] - left, float(y)) for y, layer in enumerate(layers) for node in layer}


def _spread(layer: Sequence[str], wanted: Sequence[float]) -> list[float]:
    """As near as possible to where each wants to be: the mean of pushing rightwards and leftwards."""
    rightwards = _pushed(layer, wanted)
    leftwards = [-x for x in _pushed(layer[::-1], [-x for x in wanted[::-1]])][::-1]
    return [(a + b) / 2 for a, b in zip(rightwards, leftwards, strict=True)]


def _pushed(layer: Sequence[str], wanted: Sequence[float]) -> list[float]:
    placed: list[float] = []
    for index, x in enumerate(wanted):
        if index:
            room = (_width(layer[index - 1]) + _width(layer[index])) / 2
            x = max(x, placed[-1] + room)  # noqa: PLW2901 - where it wants to be becomes where it can be
        placed.append(x)
    return placed


def _width(node: str) -> float:
    """Columns; an invisible node is only a line."""
    return 0.25 if "@" in node else 1.0


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
