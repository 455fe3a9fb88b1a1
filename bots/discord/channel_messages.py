"""A Discord channel as a source: its messages and threads as values, and where in it a message stands. Pure.

Sources: "Message Object", "Message Types", "Channel Types" and "Threads".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from bots.chat.channel_source import DAY, ChannelEntry, ChannelMessage, date_of, person_of
from bots.discord.content import words_of
from bots.discord.manifest import HISTORY, VIEW, channel_permissions, names, server_permissions
from bots.discord.receive import THREAD_STARTER, WRITTEN, plain_text
from bots.discord.route import PLATFORM, Me, said_at
from core.conversation import value

Json = Mapping[str, Any]

OPEN_THREADS = (10, 11)  # of announcements, and others that everyone in the channel may read, "Channel Types"
PRIVATE_THREAD = 12  # "Channel Types"
FORUMS = (15, 16)  # forum and media: they hold threads alone, "Channel Types"
TALKS = (0, 2, 5, 13)  # text, voice, announcements, stage: they hold messages, "Channel Types"
WITH_THREADS = (0, 5, 15, 16)  # text, announcements, forum and media
NEEDED = frozenset({VIEW, HISTORY})


@value
class DiscordPlace:
    """A channel that is read, and as whom."""

    server: str
    channel: str
    name: str  #: "#help"
    is_forum: bool  #: it holds threads alone
    has_threads: bool = True  #: whether threads can be opened in it
    me: Me
    names: Mapping[str, str] = field(
        default_factory=dict
    )  #: of roles and of channels that all may view, by id


def everyones(channel: Json, server: str, roles: Iterable[Json]) -> frozenset[str]:
    """The permissions of the role of all members in a channel."""
    return _permissions(channel, server, roles, {"roles": []}, "")


def mine(channel: Json, server: str, roles: Iterable[Json], member: Json, me: str) -> frozenset[str]:
    """The bot's permissions there, by all its roles."""
    return _permissions(channel, server, roles, member, me)


def _permissions(
    channel: Json, server: str, roles: Iterable[Json], member: Json, user: str
) -> frozenset[str]:
    everywhere = server_permissions({"id": server, "roles": [*roles]}, member)
    return names(channel_permissions({"guild_id": server, **channel}, member, user, everywhere))


def is_written(message: Json) -> bool:
    """True if a person wrote it; not a notice, not a bot, and not a webhook."""
    author = message.get("author") or {}
    is_person = bool(author) and not author.get("bot") and not author.get("system")
    return message["type"] in WRITTEN and is_person and not message.get("webhook_id")


def channel_message(message: Json, place: DiscordPlace, *, title: str = "") -> ChannelMessage | None:
    """None for what no person wrote, and for what says nothing. ``title``: of the post that it begins."""
    if message["type"] == THREAD_STARTER:  # the message that the thread was opened on, in the channel
        message = message.get("referenced_message") or message
    if not is_written(message):
        return None
    author, text = message["author"], plain_text(words_of(message), _names(message, place), place.me)
    files = tuple(str(file.get("filename") or "?") for file in message.get("attachments") or ())
    if not (text or files or title):
        return None
    return ChannelMessage(
        id=message["id"],
        author=person_of(PLATFORM, author["id"]),
        name=_name_of(author),
        said_at=said_at(message["id"]),
        text=f"{title}\n\n{text}".strip(),
        url=f"https://discord.com/channels/{place.server}/{message['channel_id']}/{message['id']}",
        files=files,
        calls_bot=_calls(message, place.me),
    )


def _names(message: Json, place: DiscordPlace) -> Mapping[str, str]:
    return {**place.names, **{user["id"]: _name_of(user) for user in message.get("mentions") or ()}}


def _name_of(user: Json) -> str:
    return str(user.get("global_name") or user.get("username") or user["id"])


def _calls(message: Json, me: Me) -> bool:
    """By a mention of the bot or of its role, or by a reply to it."""
    users = {user["id"] for user in message.get("mentions") or ()}
    answered = (message.get("referenced_message") or {}).get("author") or {}
    return (
        me.user_id in {*users, answered.get("id")}
        or bool(me.role_ids & {*(message.get("mention_roles") or ())})
        or any(f"<@{sign}{me.user_id}>" in str(message.get("content") or "") for sign in ("", "!"))
    )


def channel_entry(message: Json, place: DiscordPlace) -> ChannelEntry:
    """The entry of a message in the channel itself; a thread that was opened on a message has its id."""
    thread = message.get("thread") or {}
    return ChannelEntry(
        id=message["id"],
        said_at=said_at(message["id"]),
        message=channel_message(message, place),
        thread=message["id"] if thread else "",
        is_answered=bool(thread.get("message_count")),
    )


def thread_entry(thread: Json) -> ChannelEntry:
    """The entry of a thread without a message in the channel. "message_count" leaves out the first message."""
    return ChannelEntry(
        id=thread["id"],
        said_at=said_at(thread["id"]),
        thread=thread["id"],
        is_answered=bool(thread.get("message_count")),
    )


def is_open_thread_of(thread: Json, channel: str) -> bool:
    return thread.get("type") in OPEN_THREADS and thread.get("parent_id") == channel


def thread_items(thread: str) -> tuple[str, ...]:
    """The items that a thread that begins or goes changes: its own, and the day on which it began."""
    date = date_of(said_at(thread))
    return (f"{date}/{thread}", f"{date}/{DAY}")


def items_at(messages: Iterable[str], thread: str = "") -> tuple[str, ...]:
    """Where messages stand: in a thread, or in the channel, where a thread may have been opened on each."""
    if thread:
        return thread_items(thread)[:1]
    return tuple(dict.fromkeys(item for each in messages for item in thread_items(each)))
