"""What Discord tells the bot of what happens, in the words of "Gateway Events"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord import permissions
from fakes.discord.payloads import (
    channel_json,
    guild_json,
    member_json,
    message_json,
    role_json,
    thread_json,
    thread_member_json,
    user_json,
)
from fakes.discord.state import EPHEMERAL, Channel, Guild, Member, Message, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakes.discord.gateway import Session
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]


class Events:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord

    def ready(self, session: Session) -> None:
        """READY with servers still to come, then each of them."""
        discord = self.discord
        guilds = [one for one in discord.state.guilds.values() if one.has_bot]
        ready: Json = {
            "v": 10, "user": user_json(discord.bot), "session_id": session.id, "session_type": "normal",
            "resume_gateway_url": discord.gateway_url, "shard": [0, 1], "private_channels": [],
            "guilds": [{"id": str(one.id), "unavailable": True} for one in guilds],
            "application": {"id": str(discord.application_id), "flags": discord.flags},
        }  # fmt: skip
        discord.gateway.dispatch("READY", lambda _: ready, only=session)
        for guild in guilds:
            self.guild_created(guild, only=session)

    def guild_created(self, guild: Guild, only: Session | None = None) -> None:
        def make(session: Session) -> Json:
            with_members = session.may_know("guild_members")
            return guild_json(guild, self.discord.bot, with_members=with_members)

        self.discord.gateway.dispatch("GUILD_CREATE", make, "guilds", only=only)

    def guild_left(self, guild: Guild) -> None:
        self.discord.gateway.dispatch("GUILD_DELETE", lambda _: {"id": str(guild.id)}, "guilds")

    def members_chunk(self, session: Session, asked: Json) -> None:
        guild = self.discord.state.guilds[int(asked["guild_id"])]
        data = {
            "guild_id": str(guild.id), "members": [member_json(one) for one in guild.members.values()],
            "chunk_index": 0, "chunk_count": 1, "nonce": asked.get("nonce"),
        }  # fmt: skip
        self.discord.gateway.dispatch("GUILD_MEMBERS_CHUNK", lambda _: data, only=session)

    def member_added(self, guild: Guild, member: Member) -> None:
        data = member_json(member) | {"guild_id": str(guild.id)}
        if guild.has_bot:
            self.discord.gateway.dispatch("GUILD_MEMBER_ADD", lambda _: data, "guild_members")

    def role(self, guild: Guild, role: Role, name: str) -> None:
        """``GUILD_ROLE_CREATE`` or ``GUILD_ROLE_UPDATE``."""
        data = {"guild_id": str(guild.id), "role": role_json(role, self.discord.bot)}
        if guild.has_bot:
            self.discord.gateway.dispatch(name, lambda _: data, "guilds")

    def channel(self, channel: Channel, name: str) -> None:
        """``CHANNEL_CREATE``, ``CHANNEL_UPDATE`` or ``CHANNEL_DELETE``; hidden ones too, as bots get them."""
        if channel.guild is not None and channel.guild.has_bot:
            self.discord.gateway.dispatch(name, lambda _: channel_json(channel), "guilds")

    def thread(self, thread: Channel, name: str, *, is_new: bool = False) -> None:
        """``THREAD_CREATE`` or ``THREAD_UPDATE``."""
        data = thread_json(thread, self.discord.bot) | ({"newly_created": True} if is_new else {})
        if self._reaches(thread):
            self.discord.gateway.dispatch(name, lambda _: data, "guilds")

    def thread_deleted(self, thread: Channel) -> None:
        names = ("id", "guild_id", "parent_id", "type")
        data = {name: value for name, value in thread_json(thread).items() if name in names}
        if self._reaches(thread):
            self.discord.gateway.dispatch("THREAD_DELETE", lambda _: data, "guilds")

    def threads_synced(self, channel: Channel) -> None:
        """The threads of a channel that the bot came to see."""
        assert channel.guild is not None
        threads = [
            one for one in channel.guild.threads.values() if one.parent is channel and not one.is_archived
        ]
        bot = self.discord.bot
        data = {
            "guild_id": str(channel.guild.id), "channel_ids": [str(channel.id)],
            "threads": [thread_json(one) for one in threads],
            "members": [thread_member_json(one, bot.id) for one in threads if bot.id in one.thread_members],
        }  # fmt: skip
        self.discord.gateway.dispatch("THREAD_LIST_SYNC", lambda _: data, "guilds")

    def thread_members(self, thread: Channel, added: list[int], removed: list[int]) -> None:
        assert thread.guild is not None
        data = {
            "id": str(thread.id), "guild_id": str(thread.guild.id),
            "member_count": min(len(thread.thread_members), 50),
            "added_members": [thread_member_json(thread, one) for one in added],
            "removed_member_ids": list(map(str, removed)),
        }  # fmt: skip
        is_about_bot = self.discord.bot.id in [*added, *removed]
        intents = ("guilds",) if is_about_bot else ("guilds", "guild_members")
        if self._reaches(thread):
            self.discord.gateway.dispatch("THREAD_MEMBERS_UPDATE", lambda _: data, *intents)

    def message(self, message: Message, name: str) -> None:
        """``MESSAGE_CREATE`` or ``MESSAGE_UPDATE``; empty of content where the bot has no right to it."""
        guild = message.channel.guild
        if message.flags & EPHEMERAL or not self._reaches(message.channel):
            return
        more: Json = {} if guild is None else {"guild_id": str(guild.id)}
        if guild is not None and message.author.id in guild.members:
            more["member"] = member_json(guild.members[message.author.id], with_user=False)

        def make(session: Session) -> Json:
            data = message_json(message) | more
            if not self.discord.resolves_replies:
                data.pop("referenced_message", None)
            return (
                data if session.may_know("message_content") else without_content(self.discord, message, data)
            )

        self.discord.gateway.dispatch(name, make, _intent(message.channel))

    def message_deleted(self, message: Message) -> None:
        guild = message.channel.guild
        data = {"id": str(message.id), "channel_id": str(message.channel.id)}
        data |= {"guild_id": str(guild.id)} if guild else {}
        if self._reaches(message.channel):
            self.discord.gateway.dispatch("MESSAGE_DELETE", lambda _: data, _intent(message.channel))

    def messages_deleted(self, channel: Channel, messages: Sequence[Message]) -> None:
        """``MESSAGE_DELETE_BULK``."""
        assert channel.guild is not None
        data = {
            "ids": [str(each.id) for each in messages],
            "channel_id": str(channel.id), "guild_id": str(channel.guild.id),
        }  # fmt: skip
        if self._reaches(channel):
            self.discord.gateway.dispatch("MESSAGE_DELETE_BULK", lambda _: data, _intent(channel))

    def interaction(self, data: Json) -> None:
        self.discord.gateway.dispatch("INTERACTION_CREATE", lambda _: data)

    def _reaches(self, channel: Channel) -> bool:
        """Whether the bot hears of what happens there."""
        bot = self.discord.bot
        return (channel.guild is None or channel.guild.has_bot) and permissions.sees(channel, bot)


def without_content(discord: FakeDiscord, message: Message, data: Json) -> Json:
    """A message as a bot without the Message Content intent gets it, "Message Content Intent"."""
    is_free = message.author is discord.bot or message.channel.is_dm or discord.bot in message.mentions
    if is_free:
        return data
    bare = data | {"content": "", "attachments": [], "embeds": [], "components": []}
    bare = {name: value for name, value in bare.items() if name not in ("poll", "message_snapshots")}
    referenced = message.referenced
    if referenced is not None and data.get("referenced_message"):
        bare["referenced_message"] = without_content(discord, referenced, data["referenced_message"])
    return bare


def _intent(channel: Channel) -> str:
    return "direct_messages" if channel.guild is None else "guild_messages"
