"""``footnote doctor``: what of this installation works, and how to repair the rest. It changes nothing."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from shutil import get_terminal_size

from rich.text import Text

from bots import process
from bots.doctor.checkup import SECRET_NAMES, checks_for, examine
from bots.doctor.findings import (
    Finding,
    State,
    all_work,
    conceal,
    format_lines,
    secrets_in,
    summary,
    to_record,
    tokens_in,
)
from bots.doctor.settings import Configuration, read_configuration
from bots.process import log_to_stderr
from bots.terminal.screen import SafeConsole
from core.settings import Settings

STYLES: dict[State, str] = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "dim"}


def run(arguments: Namespace, _settings: Settings) -> int:
    """Reads the settings itself, as what is wrong with them is a finding too."""
    configuration = read_configuration(os.environ)
    log_to_stderr(configuration.settings, quiet=True)
    return process.run(_examine(arguments, configuration))


async def _examine(arguments: Namespace, configuration: Configuration) -> int:
    console = SafeConsole(highlight=False)
    secrets = [*secrets_in(configuration.values, SECRET_NAMES), *tokens_in(configuration.settings)]
    found: list[Finding] = []
    async for finding in examine(checks_for(arguments.platforms), configuration):
        found.append(conceal(finding, secrets))
        if not arguments.json:
            _show(found[-1], console)
    if arguments.json:
        print(json.dumps(to_record(found)))  # noqa: T201 - this is the output
    else:
        console.print(f"\n{summary(found)}")
    return 0 if all_work(found) else 1


def _show(finding: Finding, console: SafeConsole) -> None:
    width = get_terminal_size().columns if console.is_terminal else None
    for number, each in enumerate(format_lines(finding, width)):
        text = Text(each)
        if number == 0:
            text.stylize(STYLES[finding.state], 0, 1)
        console.print(text, soft_wrap=True)
