"""``footnote bench``: what the bot is worth, measured. The benchmarks are development: they lie beside the tests."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from core.errors import SettingsError
from core.settings import Settings

TESTS = Path(__file__).resolve().parents[2] / "tests"


def run(arguments: Namespace, _settings: Settings) -> int:
    """SettingsError outside a checkout; exit code 1 when a benchmark failed."""
    if not (TESTS / "benchmarks").is_dir():
        raise SettingsError("The benchmarks come with the repository: run this in a checkout of it.")
    sys.path.insert(0, str(TESTS))
    from benchmarks.command import run as measure

    return int(measure(arguments))
