"""Commands that describe Footnote: ``footnote doctor``, ``manifest``, ``graph`` and ``completion``."""

import asyncio
import json
import os
import sys
from argparse import Namespace
from shutil import get_terminal_size

from rich.text import Text

from bots.discord.route import DISCORD
from bots.discord.settings import (
    COMMANDS,
    fetch_application,
    invite_url,
    read_discord_settings,
    register_commands,
)
from bots.doctor import findings
from bots.doctor.checkup import SECRET_NAMES, checks_for, examine
from bots.doctor.settings import read_configuration
from bots.doctor.slack import scopes_needed
from bots.process import log_to_stderr
from bots.slack.settings import manifest as slack_manifest
from bots.terminal.screen import SafeConsole
from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import Settings


async def manifest(arguments: Namespace, settings: Settings) -> int:
    """``footnote manifest``: the manifest of a platform's app, as JSON, which is YAML too."""
    is_discord = arguments.platform == DISCORD
    if is_discord and (arguments.http or arguments.mcp):
        raise SettingsError("--http and --mcp are for Slack; Discord needs no address.")
    if not arguments.sync:
        for option, typed in (("--http", arguments.http), ("--mcp", arguments.mcp)):
            if typed and not (is_address(typed) and typed.startswith("https://")):  # as Slack wants it
                raise SettingsError(f"{option} takes the https address at which Slack reaches this bot.")
        commands = {"commands": [dict(command) for command in COMMANDS]}
        scopes = await asyncio.to_thread(scopes_needed, settings)
        content = (
            commands
            if is_discord
            else slack_manifest(arguments.http or "", arguments.mcp or "", scopes=scopes)
        )
        sys.stdout.write(f"{json.dumps(content, indent=2)}\n")
        return 0
    if not is_discord:
        raise SettingsError("--sync is for Discord; Slack's manifest is pasted.")
    discord = read_discord_settings(os.environ)
    if discord is None:
        raise SettingsError("DISCORD_TOKEN is needed to register the commands.")
    # All registered commands are replaced by these; Discord shows them within seconds.
    application = await fetch_application(discord)
    names = await register_commands(discord, application.id)
    sys.stdout.write(f"Registered {len(names)} commands: {', '.join(names)}.\n")
    sys.stdout.write(f"Invite the bot: {invite_url(application.id)}\n")
    return 0


def graph(_arguments: Namespace, _settings: Settings) -> int:
    """``footnote graph``: how a question is answered, as Mermaid text."""
    from core.graph.graph import build_graph  # a second and a half, which only this command needs

    print(build_graph().get_graph().draw_mermaid())  # noqa: T201 - this is the output
    return 0


def completion(arguments: Namespace, _settings: Settings) -> int:
    """The script for a shell's completion of commands, options and files."""
    from shtab import complete

    from bots.cli import build_parser

    print(complete(build_parser(), arguments.shell))  # noqa: T201 - this is the output
    return 0


STYLES: dict[findings.State, str] = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "dim"}


async def doctor(arguments: Namespace, _settings: Settings) -> int:
    """Examine the installation. Reads the settings itself, as their faults are findings too."""
    configuration = read_configuration(os.environ)
    log_to_stderr(configuration.settings, quiet=True)
    console = SafeConsole(highlight=False)
    secrets = [
        *findings.secrets_in(configuration.values, SECRET_NAMES),
        *findings.tokens_in(configuration.settings),
    ]
    found: list[findings.Finding] = []
    async for finding in examine(checks_for(arguments.platforms), configuration):
        found.append(findings.conceal(finding, secrets))
        if not arguments.json:
            width = get_terminal_size().columns if console.is_terminal else None
            for number, each in enumerate(findings.format_lines(found[-1], width)):
                text = Text(each)
                if number == 0:
                    text.stylize(STYLES[found[-1].state], 0, 1)
                console.print(text, soft_wrap=True)
    if arguments.json:
        print(json.dumps(findings.to_record(found)))  # noqa: T201 - this is the output
    else:
        console.print(f"\n{findings.summary(found)}")
    return 0 if findings.all_work(found) else 1
