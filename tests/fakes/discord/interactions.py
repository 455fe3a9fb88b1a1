"""One press, command or form, and everything the bot answers to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from fakes.discord import permissions
from fakes.discord.payloads import channel_json, member_json, message_json, user_json
from fakes.discord.state import EPHEMERAL, Channel, Message, Modal, User

Json = dict[str, Any]
Kind = Literal["pending", "failed", "message", "thinking", "deferred", "update", "choices", "modal"]

COMMAND, COMPONENT, SUBMIT = 2, 3, 5
MESSAGE, THINKING, DEFERRED, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
KINDS: dict[int, Kind] = {
    MESSAGE: "message", THINKING: "thinking", DEFERRED: "deferred", UPDATE: "update", CHOICES: "choices",
    MODAL: "modal",
}  # fmt: skip
RESPOND_WITHIN = 3.0  # seconds, "Receiving and Responding"
TOKEN_LIFETIME = 900.0  # seconds, same


@dataclass(kw_only=True, eq=False)
class Interaction:
    id: int
    token: str
    type: int
    user: User
    channel: Channel
    data: Json
    at: float  #: the clock's second at which it was sent
    application_id: int
    message: Message | None = None  #: the one it was pressed on
    response: Json | None = None  #: the first response, as the bot sent it
    responded_at: float = 0.0  #: the clock's second
    original: Message | None = None  #: the message that the response made, or will make when it is thinking
    followups: list[Message] = field(default_factory=list)
    modal: Modal | None = None
    is_failed: bool = False  #: "The application did not respond"

    @property
    def kind(self) -> Kind:
        """What the bot responded first."""
        if self.response is None:
            return "failed" if self.is_failed else "pending"
        return KINDS[self.response["type"]]

    @property
    def messages(self) -> list[Message]:
        """What the bot said to it, the first response and then the follow-ups, as far as it is there."""
        first = [] if self.original is None or self.original.is_loading else [self.original]
        return [one for one in first + self.followups if not one.is_deleted]

    @property
    def text(self) -> str:
        """What the person reads in answer to it."""
        return "\n".join(one.visible for one in self.messages)

    @property
    def is_ephemeral(self) -> bool:
        """Whether there was an answer and nobody else saw it."""
        said = self.messages or ([self.original] if self.original else [])
        return bool(said) and all(one.flags & EPHEMERAL for one in said)

    def metadata(self) -> Json:
        """What a message carries that responds to it."""
        told: Json = {
            "id": str(self.id), "type": self.type, "user": user_json(self.user),
            "authorizing_integration_owners": _owners(self.channel, self.user),
        }  # fmt: skip
        if self.type == COMMAND:
            told |= {"name": self.data["name"], "command_type": self.data["type"]}
        elif self.message is not None:
            told["interacted_message_id"] = str(self.message.id)
        ids = {"application_id": str(self.application_id), "webhook_id": str(self.application_id)}
        return ids | {"interaction_metadata": told}

    def as_json(self, bot: User) -> Json:
        """The payload of INTERACTION_CREATE."""
        where, guild = self.channel, self.channel.guild
        powers = str(permissions.in_channel(where, self.user))
        payload: Json = {
            "id": str(self.id), "application_id": str(self.application_id), "type": self.type,
            "token": self.token, "version": 1, "data": self.data, "channel_id": str(where.id),
            "channel": channel_json(where) | {"permissions": powers}, "locale": "en-US", "entitlements": [],
            "app_permissions": str(permissions.in_channel(where, bot) if is_there(where) else 0),
            "authorizing_integration_owners": _owners(where, self.user), "attachment_size_limit": 10 * 1024**2,
            "context": 1 if guild is None else 0,
        }  # fmt: skip
        if self.message is not None:
            payload["message"] = message_json(self.message)
        if guild is None:
            return payload | {"user": user_json(self.user)}
        member = member_json(guild.members[self.user.id]) | {"permissions": powers}
        head = {"id": str(guild.id), "locale": "en-US", "features": []}
        return payload | {
            "guild_id": str(guild.id), "guild": head, "guild_locale": "en-US", "member": member
        }  # fmt: skip


def is_there(channel: Channel) -> bool:
    """Whether the bot itself is."""
    return channel.guild is None or channel.guild.has_bot


def _owners(channel: Channel, user: User) -> Json:
    """ "Authorizing Integration Owners Object": where the bot is not, the person has brought it along."""
    if not is_there(channel):
        return {"1": str(user.id)}
    return {"0": str(channel.guild.id) if channel.guild else "0"}
