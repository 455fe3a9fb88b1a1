"""Servers, channels, threads and people, as a test sets them up and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.discord.permissions import bits
from fakes.discord.posting import show
from fakes.discord.state import (
    THREAD_CREATED,
    THREAD_STARTER,
    TYPES,
    Channel,
    Guild,
    Member,
    Message,
    Role,
    User,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakes.discord.events import Events
    from fakes.discord.state import State


class World:
    """Changes that the bot is told of, if it is there to be told."""

    state: State
    events: Events
    bot: User
    guild: Guild  #: the server that there is to begin with

    def add_guild(self, name: str) -> Guild:
        """A server that the bot is invited to."""
        guild = self.state.guild(name, self.bot)
        self.events.guild_created(guild)
        return guild

    async def leave(self, guild: Guild) -> None:
        """The bot goes, or is sent away."""
        guild.has_bot = False
        self.events.guild_left(guild)

    async def invite(self, guild: Guild) -> None:
        """The bot comes back."""
        guild.has_bot = True
        self.events.guild_created(guild)

    def add_user(
        self, name: str, *, roles: Sequence[Role] = (), guild: Guild | None = None, is_bot: bool = False
    ) -> User:
        user = User(id=self.state.clock.snowflake(), name=name, is_bot=is_bot)
        self.state.users[user.id] = user
        self.join(user, guild or self.guild, *roles)
        return user

    def join(self, user: User, guild: Guild, *roles: Role) -> None:
        member = Member(user=user, joined_at=self.state.clock.iso(), roles=list(roles))
        guild.members[user.id] = member
        self.events.member_added(guild, member)

    def add_role(
        self, name: str, *permissions: str, guild: Guild | None = None, is_mentionable: bool = False
    ) -> Role:
        guild = guild or self.guild
        role = Role(
            id=self.state.clock.snowflake(), name=name, permissions=bits(*permissions),
            position=len(guild.roles), is_mentionable=is_mentionable,
        )  # fmt: skip
        guild.roles[role.id] = role
        self.events.role(guild, role, "GUILD_ROLE_CREATE")
        return role

    def add_channel(
        self, name: str, *, kind: str = "text", guild: Guild | None = None,
        only_for: Sequence[User | Role] | None = None,
    ) -> Channel:  # fmt: skip
        """A channel that all may see, or ``only_for`` some; name the bot there if it is to see it."""
        guild = guild or self.guild
        channel = Channel(
            id=self.state.clock.snowflake(), type=TYPES[kind], name=name, guild=guild,
            position=len(guild.channels),
        )  # fmt: skip
        if only_for is not None:
            seeing = bits("view_channel")
            channel.overwrites = {guild.id: (0, seeing)} | {one.id: (seeing, 0) for one in only_for}
        guild.channels[channel.id] = self.state.channels[channel.id] = channel
        self.events.channel(channel, "CHANNEL_CREATE")
        return channel

    def open_thread(
        self, channel: Channel, name: str, owner: User, *, starter: Message | None = None,
        kind: int | None = None, archive_after: int = 1440,
    ) -> Channel:  # fmt: skip
        """A thread, from a message or without one; it has the message's id, or one of its own."""
        assert channel.guild is not None, "there are no threads in direct channels"
        thread = Channel(
            id=starter.id if starter else self.state.clock.snowflake(), name=name, guild=channel.guild,
            type=kind or TYPES["public_thread"], parent=channel, owner_id=owner.id,
            created_at=self.state.clock.iso(), archive_after=archive_after,
            thread_members={owner.id: self.state.clock.iso()},
        )  # fmt: skip
        channel.guild.threads[thread.id] = self.state.channels[thread.id] = thread
        self.events.thread(thread, "THREAD_CREATE", is_new=True)
        if starter is not None:
            starter.thread = thread
            self.events.message(starter, "MESSAGE_UPDATE")
            self._announce(thread, thread, owner, starter)
        elif channel.type != TYPES["forum"] and not thread.is_private_thread:
            self._announce(channel, thread, owner, None)
        return thread

    def add_to_thread(self, user: User, thread: Channel) -> None:
        """Adds somebody to a thread; a bot then hears of the thread as of a new one ("Thread Create")."""
        thread.thread_members[user.id] = self.state.clock.iso()
        if user is self.bot:
            self.events.thread(thread, "THREAD_CREATE")

    def archive(self, thread: Channel, *, is_locked: bool = False) -> None:
        thread.is_archived, thread.is_locked = True, is_locked
        self.events.thread(thread, "THREAD_UPDATE")

    def lock(self, thread: Channel) -> None:
        """Closed to all but moderators, and still in the list."""
        thread.is_locked = True
        self.events.thread(thread, "THREAD_UPDATE")

    def unlock(self, thread: Channel) -> None:
        thread.is_archived = thread.is_locked = False
        self.events.thread(thread, "THREAD_UPDATE")

    def delete_channel(self, channel: Channel) -> None:
        """Takes a channel or a thread away, with everything in it."""
        assert channel.guild is not None
        if channel.is_thread:
            self.events.thread_deleted(channel)
            channel.guild.threads.pop(channel.id)
            starter = channel.parent.messages.get(channel.id) if channel.parent else None
            if starter is not None:
                starter.thread = None
        else:
            self.events.channel(channel, "CHANNEL_DELETE")
            channel.guild.channels.pop(channel.id)
        self.state.channels.pop(channel.id)

    def deny(self, channel: Channel, *names: str, who: User | Role | None = None) -> None:
        """Takes rights away in a channel and its threads, from the bot unless told otherwise."""
        self._overwrite(channel, who or self.bot, allow=0, deny=bits(*names))

    def allow(self, channel: Channel, *names: str, who: User | Role | None = None) -> None:
        """Gives rights in a channel and its threads, to the bot unless told otherwise."""
        self._overwrite(channel, who or self.bot, allow=bits(*names), deny=0)
        if "view_channel" in names:
            self.events.threads_synced(channel.parent or channel)

    def deny_everywhere(self, *names: str, guild: Guild | None = None) -> None:
        """Takes rights from everybody's role and from the bot's."""
        guild = guild or self.guild
        for role in (guild.everyone, guild.bot_role):
            role.permissions &= ~bits(*names)
            self.events.role(guild, role, "GUILD_ROLE_UPDATE")

    def allow_everywhere(self, *names: str, guild: Guild | None = None) -> None:
        """Gives rights to the bot's role."""
        guild = guild or self.guild
        guild.bot_role.permissions |= bits(*names)
        self.events.role(guild, guild.bot_role, "GUILD_ROLE_UPDATE")

    def add(self, message: Message) -> None:
        """A message where it belongs: it opens an archived thread again, and its author is in the thread."""
        channel = message.channel
        channel.messages[message.id] = message
        if channel.is_thread:
            if channel.is_archived:
                channel.is_archived = False
                self.events.thread(channel, "THREAD_UPDATE")
            if message.author.id not in channel.thread_members:
                channel.thread_members[message.author.id] = self.state.clock.iso()
                self.events.thread_members(channel, [message.author.id], [])
        self.events.message(message, "MESSAGE_CREATE")

    def remove(self, message: Message) -> None:
        message.is_deleted = True
        self.state.deleted.append(message)
        if message.ephemeral_for is None:
            self.events.message_deleted(message)

    def name_of(self, kind: str, id: int) -> str:
        """What a client shows for an id."""
        if kind == "user":
            return self.state.users[id].name if id in self.state.users else "unknown-user"
        if kind == "channel":
            return self.state.channels[id].name if id in self.state.channels else "unknown"
        roles = [one.roles[id].name for one in self.state.guilds.values() if id in one.roles]
        return roles[0] if roles else "unknown-role"

    def _overwrite(self, channel: Channel, who: User | Role, *, allow: int, deny: int) -> None:
        channel = channel.parent or channel
        allowed, denied = channel.overwrites.get(who.id, (0, 0))
        channel.overwrites[who.id] = allowed & ~deny | allow, denied & ~allow | deny
        self.events.channel(channel, "CHANNEL_UPDATE")

    def _announce(self, where: Channel, thread: Channel, owner: User, starter: Message | None) -> None:
        """The system message with which a thread begins, or that says in the channel that it did."""
        pointed = where if starter is None else starter.channel
        message = Message(
            id=self.state.clock.snowflake(), channel=where, author=owner, created_at=self.state.clock.iso(),
            type=THREAD_CREATED if starter is None else THREAD_STARTER, referenced=starter,
            content=thread.name if starter is None else "",
        )  # fmt: skip
        target = thread.id if starter is None else pointed.id
        assert where.guild is not None
        message.reference = {"type": 0, "channel_id": str(target), "guild_id": str(where.guild.id)}
        if starter is not None:
            message.reference["message_id"] = str(starter.id)
        show(self, message, "create", allowed={})  # type: ignore[arg-type]
        self.add(message)
