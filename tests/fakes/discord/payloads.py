"""State as Discord's JSON."""

from __future__ import annotations

from typing import Any

from fakes.discord import permissions
from fakes.discord.state import HAS_THREAD, TYPES, Channel, Guild, Member, Message, Role, User

Json = dict[str, Any]


def user_json(user: User) -> Json:
    return {
        "id": str(user.id), "username": user.name, "discriminator": "0", "global_name": user.name,
        "avatar": None, "bot": user.is_bot, "system": False, "public_flags": 0, "flags": 0,
    }  # fmt: skip


def role_json(role: Role, bot: User) -> Json:
    data: Json = {
        "id": str(role.id), "name": role.name, "color": 0, "hoist": False, "icon": None,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "unicode_emoji": None, "position": role.position, "permissions": str(role.permissions),
        "managed": role.is_managed, "mentionable": role.is_mentionable, "flags": 0,
    }  # fmt: skip
    return data | ({"tags": {"bot_id": str(bot.id)}} if role.is_managed else {})


def member_json(member: Member, *, with_user: bool = True) -> Json:
    data: Json = {
        "roles": [str(role.id) for role in member.roles], "nick": member.nick, "avatar": None, "banner": None,
        "joined_at": member.joined_at, "premium_since": None, "deaf": False, "mute": False, "flags": 0,
        "pending": False, "communication_disabled_until": None,
    }  # fmt: skip
    return data | ({"user": user_json(member.user)} if with_user else {})


def channel_json(channel: Channel) -> Json:
    if channel.is_dm:
        return {
            "id": str(channel.id), "type": channel.type, "last_message_id": _last(channel), "flags": 0,
            "recipients": [user_json(user) for user in channel.recipients if not user.is_bot],
        }  # fmt: skip
    if channel.is_thread:
        return thread_json(channel)
    assert channel.guild is not None
    data: Json = {
        "id": str(channel.id), "type": channel.type, "guild_id": str(channel.guild.id), "name": channel.name,
        "position": channel.position, "parent_id": None, "nsfw": False, "rate_limit_per_user": 0,
        "topic": None, "last_message_id": _last(channel), "flags": 0,
        "permission_overwrites": [
            {"id": str(who), "type": 0 if who in channel.guild.roles else 1, "allow": str(allow), "deny": str(deny)}
            for who, (allow, deny) in channel.overwrites.items()
        ],
    }  # fmt: skip
    if channel.type == TYPES["forum"]:
        data |= {"available_tags": [], "default_reaction_emoji": None, "default_forum_layout": 0}
    return data


def thread_json(thread: Channel, viewer: User | None = None) -> Json:
    """A thread; with a viewer who is a member of it, as that one gets it."""
    assert thread.guild is not None
    assert thread.parent is not None
    data: Json = {
        "id": str(thread.id), "type": thread.type, "guild_id": str(thread.guild.id), "name": thread.name,
        "parent_id": str(thread.parent.id), "owner_id": str(thread.owner_id), "flags": 0,
        "last_message_id": _last(thread), "rate_limit_per_user": 0,
        "message_count": len([one for one in thread.messages.values() if one.id != thread.id]),
        "total_message_sent": len(thread.messages), "member_count": min(len(thread.thread_members), 50),
        "thread_metadata": {
            "archived": thread.is_archived, "locked": thread.is_locked,
            "archive_timestamp": thread.created_at, "create_timestamp": thread.created_at,
            "auto_archive_duration": thread.archive_after,
            **({"invitable": True} if thread.is_private_thread else {}),
        },
    }  # fmt: skip
    if viewer is not None and viewer.id in thread.thread_members:
        data["member"] = thread_member_json(thread, viewer.id)
    return data


def thread_member_json(thread: Channel, user: int) -> Json:
    joined = thread.thread_members[user]
    return {"id": str(thread.id), "user_id": str(user), "join_timestamp": joined, "flags": 1}


def guild_json(guild: Guild, viewer: User, *, with_members: bool) -> Json:
    """The whole server as GUILD_CREATE brings it; other members only with the intent for them."""
    members = guild.members.values() if with_members else [guild.members[viewer.id]]
    seen = [one for one in guild.threads.values() if not one.is_archived and permissions.sees(one, viewer)]
    return guild_head(guild, viewer) | {
        "joined_at": guild.members[viewer.id].joined_at, "large": False, "unavailable": False,
        "member_count": len(guild.members), "members": [member_json(one) for one in members],
        "channels": [channel_json(one) for one in guild.channels.values()],
        "threads": [thread_json(one, viewer) for one in seen],
        "voice_states": [], "presences": [], "stage_instances": [], "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }  # fmt: skip


def guild_head(guild: Guild, viewer: User) -> Json:
    return {
        "id": str(guild.id), "name": guild.name, "owner_id": str(guild.owner_id), "icon": None,
        "splash": None, "discovery_splash": None, "banner": None, "description": None, "afk_timeout": 300,
        "afk_channel_id": None, "verification_level": 0, "default_message_notifications": 1,
        "explicit_content_filter": 0, "mfa_level": 0, "nsfw_level": 0, "premium_tier": 0, "features": [],
        "premium_subscription_count": 0, "preferred_locale": "en-US", "system_channel_id": None,
        "system_channel_flags": 0, "rules_channel_id": None, "public_updates_channel_id": None,
        "safety_alerts_channel_id": None, "application_id": None, "vanity_url_code": None, "emojis": [],
        "stickers": [], "premium_progress_bar_enabled": False, "max_members": 500_000,
        "roles": [role_json(role, viewer) for role in guild.roles.values()],
    }  # fmt: skip


def message_json(message: Message, *, with_thread: bool = True) -> Json:
    """The message object of the API; events add the server and the member."""
    pings = message.revisions[-1].pings if message.revisions else None
    data: Json = {
        "id": str(message.id), "channel_id": str(message.channel.id), "type": message.type,
        "author": user_json(message.author), "content": message.content, "timestamp": message.created_at,
        "edited_timestamp": message.edited_at, "tts": False, "pinned": False, "flags": message.flags,
        "mention_everyone": bool(pings and pings.everyone),
        "mentions": [user_json(one) for one in message.mentions],
        "mention_roles": list(map(str, sorted(pings.roles))) if pings else [],
        "attachments": [one.as_json() for one in message.attachments], "embeds": message.embeds,
        "components": message.components,
    }  # fmt: skip
    if message.nonce is not None:
        data["nonce"] = message.nonce
    if message.reference is not None:
        data["message_reference"] = message.reference
    if message.snapshots:
        data["message_snapshots"] = message.snapshots
    if message.poll is not None:
        data["poll"] = message.poll
    if "message_id" in (message.reference or {}) and not message.snapshots:
        gone = message.referenced is None or message.referenced.is_deleted
        data["referenced_message"] = None if gone else _quoted(message.referenced)
    if message.thread is not None and with_thread:
        data["flags"] |= HAS_THREAD
        data["thread"] = thread_json(message.thread)
    if message.interaction is not None:
        data |= message.interaction.metadata()
    return data | message.oddities


def _quoted(message: Message | None) -> Json:
    assert message is not None
    quoted = message_json(message, with_thread=False)
    quoted.pop("referenced_message", None)
    return quoted


def _last(channel: Channel) -> str | None:
    return str(max(channel.messages)) if channel.messages else None
