"""All kinds of sources that can be read: those of core, and the channels of the platforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bots.discord.route import PLATFORM as DISCORD
from bots.slack.route import PLATFORM as SLACK
from core.sources.kinds import KINDS
from core.sources.source import SourceKind

if TYPE_CHECKING:
    from bots.chat.channels import ChannelStore


def source_kinds(channel_store: ChannelStore | None) -> Mapping[str, SourceKind]:
    """The store says who is served, and who asked not to be read; without it channels are looked up and not read."""
    from bots.discord.channel_source import discord_kind
    from bots.slack.channel_source import slack_kind

    return {**KINDS, SLACK: slack_kind(channel_store), DISCORD: discord_kind(channel_store)}
