"""The graph as a picture."""

from __future__ import annotations

from itertools import combinations

from bots.layout import lay_out
from bots.picture import BACK, FILL, PAPER, draw
from core.graph import build_graph


def nodes_and_edges():
    graph = build_graph().get_graph()
    return list(graph.nodes), [(edge.source, edge.target, edge.conditional) for edge in graph.edges]


def test_every_edge_leads_from_its_source_to_its_target_without_overlap_of_nodes():
    nodes, edges = nodes_and_edges()

    layout = lay_out(nodes, [(source, target) for source, target, _ in edges])

    for source, target, _ in edges:
        if source != target:
            route = layout.routes[source, target]
            assert (route[0], route[-1]) == (layout.places[source], layout.places[target])
    for (x1, y1), (x2, y2) in combinations(layout.places.values(), 2):
        assert y1 != y2 or abs(x1 - x2) >= 0.99


def test_start_is_on_top_and_the_end_alone_at_the_bottom():
    nodes, edges = nodes_and_edges()

    places = lay_out(nodes, [(source, target) for source, target, _ in edges]).places

    assert min(y for _, y in places.values()) == places["__start__"][1]
    assert [node for node, (_, y) in places.items() if y == places["__end__"][1]] == ["__end__"]


def test_a_way_back_is_laid_out_beside_the_way_there():
    layout = lay_out(["a", "b"], [("a", "b"), ("b", "a"), ("b", "b")])

    assert layout.routes["b", "a"] == layout.routes["a", "b"][::-1]
    assert layout.places["a"][1] < layout.places["b"][1]


def test_the_picture_shows_nodes_and_ways_back_on_paper():
    image = draw(*nodes_and_edges())

    colours = {colour for _, colour in image.getcolors(maxcolors=1_000_000)}
    as_rgb = [tuple(bytes.fromhex(colour[1:])) for colour in (PAPER, FILL, BACK)]
    assert set(as_rgb) <= colours
    assert image.width > 600
    assert image.height > 600
