"""How the addresses of all kinds of sources look: those of core, and the channels of the platforms."""

from __future__ import annotations

from collections.abc import Mapping

from bots.chat.channel_address import channel_addresses
from bots.discord.route import PLATFORM as DISCORD
from bots.slack.route import PLATFORM as SLACK
from core.sources.kinds import KINDS
from core.sources.source import AddressKind

SLACK_CHANNELS = channel_addresses(
    SLACK,
    ids=r"(?:(?://)?[TE][A-Z0-9]+/)?[CG][A-Z0-9]+",
    hint="with the id at the end of *About* in the channel's details",
)
DISCORD_CHANNELS = channel_addresses(
    DISCORD,
    ids=r"(?:(?://)?\d{17,20}/)?\d{17,20}",
    hint="with the id that *Copy Channel ID* gives in its menu (User Settings › Advanced › Developer Mode)",
)
ADDRESSES: Mapping[str, AddressKind] = {**KINDS, SLACK: SLACK_CHANNELS, DISCORD: DISCORD_CHANNELS}
