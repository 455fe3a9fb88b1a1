"""``footnote graph``: how a question is answered, as Mermaid text or as a picture."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from bots.picture import draw
from core.errors import SettingsError
from core.graph import build_graph
from core.settings import Settings


def run(arguments: Namespace, _settings: Settings) -> int:
    graph = build_graph().get_graph()
    if arguments.png is None:
        print(graph.draw_mermaid())  # noqa: T201 - this is the output
        return 0
    edges = [(edge.source, edge.target, edge.conditional) for edge in graph.edges]
    try:
        draw(list(graph.nodes), edges).save(Path(arguments.png), format="PNG")
    except OSError as fault:
        reason = (fault.strerror or "unknown").lower()
        raise SettingsError(f"{arguments.png} cannot be written: {reason}.") from fault
    return 0
