"""``footnote graph``: how a question is answered, as Mermaid text."""

from __future__ import annotations

from argparse import Namespace

from core.graph.graph import build_graph
from core.settings import Settings


def run(_arguments: Namespace, _settings: Settings) -> int:
    print(build_graph().get_graph().draw_mermaid())  # noqa: T201 - this is the output
    return 0
