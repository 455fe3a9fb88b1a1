"""``footnote manifest slack``: the app's manifest, to paste. JSON, which is YAML too."""

from __future__ import annotations

import json
from argparse import Namespace

from bots.slack.manifest import manifest
from core.settings import Settings


def run(_arguments: Namespace, _settings: Settings) -> int:
    print(json.dumps(manifest(), indent=2))  # noqa: T201 - this is the output
    return 0
