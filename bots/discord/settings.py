"""The settings for Discord."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import read_env_file

API_URL = "https://discord.com/api/v10"  # "API Reference", the version that discord.py 2.7 speaks

_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The token and address of one bot."""

    token: str = field(repr=False)
    api_url: str = API_URL  #: without a slash at its end


def read_discord_settings(
    environment: Mapping[str, str], env_file: Path | None = Path(".env")
) -> DiscordSettings | None:
    """None if no token is set; SettingsError names every fault, but no token."""
    values = {**read_env_file(env_file), **environment}
    token, address = (values.get(name, "").strip() for name in ("DISCORD_TOKEN", "DISCORD_API_URL"))
    if not token:
        return None
    checks = (
        (token.isascii() and not _SPACE.search(token), "DISCORD_TOKEN has characters that no token has"),
        (not address or is_address(address), "DISCORD_API_URL must be an http or https address"),
        (
            "@" not in address,
            "DISCORD_API_URL must not contain a login: the bot logs in with its token",
        ),
        (
            not address or address.rstrip("/").endswith("/api/v10"),
            "DISCORD_API_URL must end in /api/v10, the supported version",
        ),
    )
    if faults := [sentence for is_met, sentence in checks if not is_met]:
        raise SettingsError("; ".join(faults) + ".")
    return DiscordSettings(token=token, api_url=(address or API_URL).rstrip("/"))
