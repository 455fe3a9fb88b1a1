"""``footnote manifest``: what a platform is told of the bot. JSON, which is YAML too."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from bots import process
from bots.discord.commands import COMMANDS, application_of, invite_url, register_commands
from bots.discord.route import PLATFORM as DISCORD
from bots.discord.settings import DiscordSettings, read_discord_settings
from bots.slack.manifest import manifest
from bots.slack.route import PLATFORM as SLACK
from core.errors import SettingsError
from core.settings import Settings


def run(arguments: Namespace, _settings: Settings) -> int:
    if arguments.sync and arguments.platform != DISCORD:
        raise SettingsError("--sync is for Discord; Slack's manifest is pasted.")
    if arguments.sync:
        return process.run(_register(_discord()))
    _print(_MANIFESTS[arguments.platform]())
    return 0


def _commands() -> dict[str, Any]:
    return {"commands": [dict(command) for command in COMMANDS]}


_MANIFESTS: Mapping[str, Callable[[], dict[str, Any]]] = {SLACK: manifest, DISCORD: _commands}


def _discord() -> DiscordSettings:
    settings = read_discord_settings(os.environ)
    if settings is None:
        raise SettingsError("DISCORD_TOKEN is needed to register the commands.")
    return settings


async def _register(settings: DiscordSettings) -> int:
    """Replace the registered commands; Discord shows the new ones within seconds."""
    application = await application_of(settings)
    names = await register_commands(settings, application.id)
    sys.stdout.write(f"Registered {len(names)} commands: {', '.join(names)}.\n")
    sys.stdout.write(f"Invite the bot: {invite_url(application.id)}\n")
    return 0


def _print(told: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(told, indent=2)}\n")
