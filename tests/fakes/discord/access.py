"""What a request names, where the bot may have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.discord import permissions
from fakes.discord.errors import (
    Refused,
    missing_access,
    missing_permissions,
    thread_archived,
    thread_locked,
    unknown,
)

if TYPE_CHECKING:
    from fakes.discord.rest import Call
    from fakes.discord.server import FakeDiscord
    from fakes.discord.state import Channel, Guild, Message


def channel_of(discord: FakeDiscord, call: Call) -> Channel:
    """The channel, where the bot sees it."""
    channel = discord.state.channels.get(call.id("channel_id"))
    if channel is None:
        raise unknown("channel")
    if channel.guild is not None and not channel.guild.has_bot:
        raise missing_access()
    if not permissions.sees(channel, discord.bot):
        raise missing_access()
    return channel


def require(discord: FakeDiscord, channel: Channel, *needed: str) -> None:
    if not permissions.may(channel, discord.bot, *needed):
        raise missing_permissions()


def message_of(discord: FakeDiscord, call: Call) -> Message:
    channel = channel_of(discord, call)
    message = discord.state.message(channel.id, call.id("message_id"))
    if message is None:
        raise unknown("message")
    return message


def own_message_of(discord: FakeDiscord, call: Call) -> Message:
    """A message that the bot wrote, which alone it may edit."""
    message = message_of(discord, call)
    if message.author is not discord.bot:
        raise Refused(403, 50005, "Cannot edit a message authored by another user")
    if message.channel.is_archived:
        raise thread_archived()
    require_unlocked(discord, message.channel)
    return message


def require_unlocked(discord: FakeDiscord, channel: Channel) -> None:
    """In a locked thread only moderators write and edit, "Threads, Locked Threads" (discordjs/discord.js#9216)."""
    if channel.is_locked and not permissions.may(channel, discord.bot, "manage_threads"):
        raise thread_locked()


def guild_of(discord: FakeDiscord, call: Call) -> Guild:
    guild = discord.state.guilds.get(call.id("guild_id"))
    if guild is None:
        raise unknown("guild")
    if not guild.has_bot:
        raise missing_access()
    return guild
