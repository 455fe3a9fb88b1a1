"""What a test asks about what people got to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord.components import buttons
from fakes.discord.state import CHAT_INPUT, CONTEXT_MENU, DEFAULT, REPLY, Channel, Message, User

if TYPE_CHECKING:
    from fakes.discord.gateway import Gateway
    from fakes.discord.interactions import Interaction
    from fakes.discord.rest import Call
    from fakes.discord.state import State


class Transcript:
    state: State
    gateway: Gateway
    bot: User
    requests: list[Call]

    def messages(self, channel: Channel) -> list[Message]:
        """What stands in a channel or a thread, oldest first, system messages left out."""
        shown = [one for one in channel.messages.values() if not one.is_deleted]
        return [one for one in sorted(shown, key=lambda one: one.id) if one.type in _SAID]

    def said(self, channel: Channel | None = None) -> list[Message]:
        """What the bot has said for everybody, there or anywhere, oldest first."""
        channels = [channel] if channel else list(self.state.channels.values())
        found = [one for where in channels for one in self.messages(where) if one.author is self.bot]
        return sorted(found, key=lambda one: one.id)

    def replies(self, message: Message) -> list[Message]:
        """What the bot has said since, in the message's thread and where it stands."""
        places = [message.channel] + ([message.thread] if message.thread else [])
        return [one for where in places for one in self.said(where) if one.id > message.id]

    def thread_of(self, message: Message) -> Channel | None:
        """The thread that began at a message, or the one that it stands in."""
        return message.thread or (message.channel if message.channel.is_thread else None)

    def threads(self, channel: Channel) -> list[Channel]:
        assert channel.guild is not None
        return [one for one in channel.guild.threads.values() if one.parent is channel]

    def dm_of(self, user: User) -> Channel:
        """The direct channel of a person and the bot."""
        return self.state.direct(self.bot, user)

    def ephemerals(self, user: User) -> list[Message]:
        """What only this person sees, oldest first; what is still to come is not among it."""
        mine = [one for one in self.state.ephemerals if one.ephemeral_for is user]
        return [one for one in mine if not one.is_deleted and not one.is_loading]

    def buttons(self, message: Message) -> list[str]:
        """Labels of the buttons that can be pressed."""
        return [str(one.get("label", "")) for one in buttons(message.components) if not one.get("disabled")]

    def rendered(self, message: Message) -> str:
        """The plain text that a reader sees of a message."""
        return message.visible

    def pinging(self) -> list[Message]:
        """Messages of the bot that notified anybody."""
        return [one for one in [*self.said(), *self.state.deleted] if one.author is self.bot and one.pings]

    def count(self, route: str) -> int:
        """How often a route was asked: ``POST /channels/{channel_id}/messages``."""
        return sum(1 for one in self.requests if one.route == route)

    def events_of(self, name: str) -> list[dict[str, Any]]:
        """The data of every event of this name that was sent, oldest first."""
        return [data for sent, data in self.gateway.sent if sent == name]

    def interactions(self) -> list[Interaction]:
        return list(self.state.interactions.values())


_SAID = (DEFAULT, REPLY, CHAT_INPUT, CONTEXT_MENU)
