"""Who may do what, where: Discord's own computation, "Permissions, Permission Hierarchy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.discord.state import Channel, Guild, User

PERMISSIONS = {
    "kick_members": 1 << 1,
    "administrator": 1 << 3,
    "manage_channels": 1 << 4,
    "manage_guild": 1 << 5,
    "add_reactions": 1 << 6,
    "view_channel": 1 << 10,
    "send_messages": 1 << 11,
    "manage_messages": 1 << 13,
    "embed_links": 1 << 14,
    "attach_files": 1 << 15,
    "read_message_history": 1 << 16,
    "mention_everyone": 1 << 17,
    "use_external_emojis": 1 << 18,
    "change_nickname": 1 << 26,
    "manage_roles": 1 << 28,
    "use_application_commands": 1 << 31,
    "manage_threads": 1 << 34,
    "create_public_threads": 1 << 35,
    "create_private_threads": 1 << 36,
    "send_messages_in_threads": 1 << 38,
}
ALL = sum(PERMISSIONS.values())
EVERYBODYS = (
    "add_reactions", "view_channel", "send_messages", "embed_links", "attach_files", "read_message_history",
    "change_nickname", "use_application_commands", "create_public_threads", "send_messages_in_threads",
)  # fmt: skip
#: What the bot was invited with. It may ping everybody, so that a test sees it when it does.
BOTS = (
    "view_channel", "send_messages", "embed_links", "attach_files", "read_message_history",
    "use_application_commands", "create_public_threads", "send_messages_in_threads", "mention_everyone",
)  # fmt: skip


def bits(*names: str) -> int:
    return sum(PERMISSIONS[name] for name in set(names))


def names(value: int) -> list[str]:
    return [name for name, bit in PERMISSIONS.items() if value & bit]


def in_guild(guild: Guild, user: User) -> int:
    """Of all roles together, before any channel's overwrites."""
    if user.id == guild.owner_id:
        return ALL
    member = guild.members[user.id]
    value = 0
    for role in (guild.everyone, *member.roles):
        value |= role.permissions
    return ALL if value & PERMISSIONS["administrator"] else value


def in_channel(channel: Channel, user: User) -> int:
    """Of a member in a channel, or in a thread, which has its parent's; in a direct channel everything."""
    guild = channel.guild
    if guild is None:
        return ALL if user in channel.recipients else 0
    if user.id not in guild.members:
        return 0
    value = in_guild(guild, user)
    if value & PERMISSIONS["administrator"]:
        return value
    overwrites = (channel.parent or channel).overwrites
    member = guild.members[user.id]
    value = _apply(value, [overwrites.get(guild.id)])
    value = _apply(value, [overwrites.get(role.id) for role in member.roles])
    return _apply(value, [overwrites.get(user.id)])


def _apply(value: int, overwrites: list[tuple[int, int] | None]) -> int:
    allowed = denied = 0
    for one in overwrites:
        if one is not None:
            allowed |= one[0]
            denied |= one[1]
    return value & ~denied | allowed


def may(channel: Channel, user: User, *needed: str) -> bool:
    return in_channel(channel, user) & bits(*needed) == bits(*needed)


def sees(channel: Channel, user: User) -> bool:
    """Whether a channel is there for a user; a private thread only for its members and for moderators."""
    if not may(channel, user, "view_channel"):
        return False
    is_hidden = channel.is_private_thread and user.id not in channel.thread_members
    return not is_hidden or may(channel, user, "manage_threads")
