"""The addresses of Slack's channels as sources."""

from __future__ import annotations

from bots.chat.channel_address import channel_addresses
from bots.slack.route import PLATFORM

PREFIX = f"{PLATFORM}:"

ADDRESS = channel_addresses(
    PLATFORM,
    ids=r"(?:(?://)?[TE][A-Z0-9]+/)?[CG][A-Z0-9]+",
    hint="with the id at the end of *About* in the channel's details",
)
