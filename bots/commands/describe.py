"""What Footnote prints about itself: ``footnote manifest``, ``footnote graph`` and ``footnote completion``."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace

from bots import process
from bots.discord.commands import COMMANDS, application_of, invite_url, register_commands
from bots.discord.route import PLATFORM as DISCORD
from bots.discord.settings import DiscordSettings, read_discord_settings
from bots.slack.manifest import manifest as slack_manifest
from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import Settings


def manifest(arguments: Namespace, _settings: Settings) -> int:
    """What a platform has to know about the bot: JSON, which is YAML too."""
    is_discord = arguments.platform == DISCORD
    if is_discord and arguments.http:
        raise SettingsError("--http is for Slack; Discord needs no address.")
    if not arguments.sync:
        commands = {"commands": [dict(command) for command in COMMANDS]}
        content = commands if is_discord else slack_manifest(_address(arguments.http))
        sys.stdout.write(f"{json.dumps(content, indent=2)}\n")
        return 0
    if not is_discord:
        raise SettingsError("--sync is for Discord; Slack's manifest is pasted.")
    settings = read_discord_settings(os.environ)
    if settings is None:
        raise SettingsError("DISCORD_TOKEN is needed to register the commands.")
    return process.run(_register(settings))


def _address(typed: str | None) -> str:
    """Slack sends requests to no other than https."""
    if typed and not (is_address(typed) and typed.startswith("https://")):
        raise SettingsError("--http takes the https address at which Slack reaches this bot.")
    return typed or ""


async def _register(settings: DiscordSettings) -> int:
    """Replace all registered commands by these; Discord shows them within seconds."""
    application = await application_of(settings)
    names = await register_commands(settings, application.id)
    sys.stdout.write(f"Registered {len(names)} commands: {', '.join(names)}.\n")
    sys.stdout.write(f"Invite the bot: {invite_url(application.id)}\n")
    return 0


def graph(_arguments: Namespace, _settings: Settings) -> int:
    """How a question is answered, as Mermaid text."""
    from core.graph.graph import build_graph  # a second and a half, which only this command needs

    print(build_graph().get_graph().draw_mermaid())  # noqa: T201 - this is the output
    return 0


def completion(arguments: Namespace, _settings: Settings) -> int:
    """A script with which a shell completes commands, options and files."""
    from shtab import complete

    from bots.cli import build_parser

    print(complete(build_parser(), arguments.shell))  # noqa: T201 - this is the output
    return 0
