"""discord.py's objects -> the values that are read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bots.chat.said import Attachment
from bots.chat.texts import say_in
from bots.discord.address import DIRECT, TALK, Address, Me
from bots.discord.interactions import Act
from bots.discord.receive import Seen, spoken
from core.text.language import language_of

if TYPE_CHECKING:
    import discord


def seen(message: discord.Message, me: str) -> Seen:
    """A message as it came over the gateway or out of a channel's history."""
    from discord import ChannelType, MessageType, Thread

    channel: Any = message.channel
    is_thread = isinstance(channel, Thread)
    reply = _replied_to(message)
    answers_me = reply is not None and str(reply.author.id) == me
    return Seen(
        id=str(message.id),
        server=str(message.guild.id) if message.guild else DIRECT,
        channel=_channel_of(channel),
        place=str(channel.id),
        is_thread=is_thread,
        takes_threads=channel.type in (ChannelType.text, ChannelType.news),
        author=str(message.author.id),
        is_written=message.type in (MessageType.default, MessageType.reply)
        and not message.author.bot
        and message.webhook_id is None,
        text=message.content,
        names=_names(message),
        answers_me=answers_me,
        answers=_first_of(reply) if reply is not None else None,
        files=tuple(_attachment(file) for file in message.attachments),
        title=channel.name if is_thread and _begins_a_post(message, channel) else "",
        pointed_at=reply.content if reply is not None and not answers_me else "",
    )


def _begins_a_post(message: discord.Message, thread: discord.Thread) -> bool:
    """A post in a forum has the id of its first message; so has a thread, whose first message is elsewhere."""
    from discord import ForumChannel

    return message.id == thread.id and isinstance(thread.parent, ForumChannel)


def _channel_of(place: Any) -> str:
    """Of a thread, the channel it is in; a private thread is kept apart from those who only see its channel."""
    from discord import ChannelType, Thread

    is_open_thread = isinstance(place, Thread) and place.type is not ChannelType.private_thread
    return str(place.parent_id if is_open_thread else place.id)


def _replied_to(message: discord.Message) -> discord.Message | None:
    from discord import Message

    resolved = message.reference.resolved if message.reference else None
    return resolved if isinstance(resolved, Message) else None


def _first_of(reply: discord.Message) -> str:
    """Every message of ours in a channel replies to the one that began the conversation."""
    reference = reply.reference
    return str(reference.message_id if reference and reference.message_id else reply.id)


def _names(message: discord.Message) -> dict[str, str]:
    people = {str(user.id): user.display_name for user in message.mentions}
    roles = {str(role.id): role.name for role in message.role_mentions}
    channels = {str(channel.id): channel.name for channel in message.channel_mentions}
    return people | roles | channels


def _attachment(file: discord.Attachment) -> Attachment:
    return Attachment(
        id=str(file.id), name=file.filename, url=file.url, media_type=file.content_type or "", size=file.size
    )


def act(interaction: discord.Interaction, me: Me) -> Act:
    data: dict[str, Any] = dict(interaction.data or {})
    user: Any = interaction.user
    return Act(
        id=str(interaction.id),
        data=data,
        address=_address(interaction, data, me),
        roles=tuple(str(role.id) for role in getattr(user, "roles", ())),
        target_text=_words_of(_target(data) or {}, me),
        language=str(interaction.locale)[:2],
        files={file["id"]: _given(file) for file in _resolved(data, "attachments").values()},
    )


def _resolved(data: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = (data.get("resolved") or {}).get(kind) or {}
    return found


def _target(data: dict[str, Any]) -> dict[str, Any] | None:
    """The message whose menu was used."""
    found: dict[str, Any] | None = _resolved(data, "messages").get(str(data.get("target_id")))
    return found


def _words_of(message: dict[str, Any], me: Me) -> str:
    names = {
        str(user["id"]): user.get("global_name") or user["username"] for user in message.get("mentions", ())
    }
    return spoken(str(message.get("content") or ""), names, me)


def _given(file: dict[str, Any]) -> Attachment:
    return Attachment(
        id=str(file["id"]),
        name=file["filename"],
        url=file["url"],
        media_type=file.get("content_type") or "",
        size=int(file.get("size") or 0),
    )


def _address(interaction: discord.Interaction, data: dict[str, Any], me: Me) -> Address:
    """Where a press, a form or a command came from."""
    from discord import ChannelType, InteractionType, Thread

    channel: Any = interaction.channel
    server = str(interaction.guild_id) if interaction.guild_id else DIRECT
    is_thread = isinstance(channel, Thread)
    takes_threads = channel is not None and channel.type in (ChannelType.text, ChannelType.news)
    message, target = interaction.message, _target(data)
    address = Address(
        server=server,
        channel=_channel_of(channel) if channel else str(interaction.channel_id),
        thread=str(interaction.channel_id),
        place=str(interaction.channel_id),
        message=str(message.id) if message else str(target["id"]) if target else "",
        user=str(interaction.user.id),
        interaction={"id": str(interaction.id), "token": interaction.token},
    )
    if server == DIRECT:
        address["thread"] = TALK
    elif message is not None and not is_thread:
        address["thread"] = _first_of(message)
    elif target and takes_threads:
        address |= {"thread": str(target["id"]), "opens": _words_of(target, me)}
    if interaction.type is InteractionType.application_command and data.get("name") == "ask":
        question = str(next(each["value"] for each in data["options"] if each["name"] == "question"))
        asks = say_in(language_of(question))
        address["says"] = asks("asks", who=interaction.user.display_name, question=question)
        if takes_threads:
            address |= {"thread": str(interaction.id), "opens": question}
    return address
