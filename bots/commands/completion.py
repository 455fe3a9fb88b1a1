"""``footnote completion``: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

from argparse import Namespace

from shtab import complete

from bots.cli import build_parser
from core.settings import Settings


def run(arguments: Namespace, _settings: Settings) -> int:
    print(complete(build_parser(), arguments.shell))  # noqa: T201 - this is the output
    return 0
