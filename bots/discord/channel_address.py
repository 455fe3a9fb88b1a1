"""The addresses of Discord's channels as sources."""

from __future__ import annotations

from bots.chat.channel_address import channel_addresses
from bots.discord.route import PLATFORM

PREFIX = f"{PLATFORM}:"

ADDRESS = channel_addresses(
    PLATFORM,
    ids=r"(?:(?://)?\d{17,20}/)?\d{17,20}",
    hint="with the id that *Copy Channel ID* gives in its menu (User Settings › Advanced › Developer Mode)",
)
