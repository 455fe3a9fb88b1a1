"""The content of a Discord message: its text, forwarded messages, polls, embeds and components, as a person reads it and as
a message of a source. Pure.

It reads the JSON of the API, which :func:`json_of` also makes of discord.py's messages. Sources: "Message Object",
"Message Types", "Channel Types" and "Threads".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from bots.chat.channel_source import DAY, ChannelEntry, ChannelMessage, date_of, person_of
from bots.chat.platform import Said
from bots.discord.route import DISCORD, Me, key_of, said_at
from bots.discord.settings import HISTORY, VIEW, channel_permissions, names, server_permissions
from core.conversation import ThreadMessage, value

if TYPE_CHECKING:
    import discord


Json = Mapping[str, Any]

WRITTEN = (0, 19)  # types of what people write: a message and a reply, "Message Types"
THREAD_STARTER = 21  # the type of the notice that a thread begins with, "Message Types"
USER_MENTION, ROLE_MENTION = re.compile(r"<@!?(\d+)>"), re.compile(r"<@&(\d+)>")
CHANNEL_MENTION = re.compile(r"<#(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")
TEXT_DISPLAY = 10  # "Component Types"
_PREVIEWS = ("link", "article", "image", "video", "gifv")  # types of embeds that Discord makes of links


def words_of(message: Json) -> str:
    """All words of a message, its embeds, polls and components included."""
    return "\n".join(filter(None, (str(message.get("content") or ""), beside(message))))


def beside(message: Json) -> str:
    """The texts of a message beside its own: forwarded ones, polls and embeds."""
    return "\n".join(filter(None, map(str.strip, _beside(message))))


def _beside(message: Json) -> Iterator[str]:
    for snapshot in message.get("message_snapshots") or ():
        yield words_of(snapshot.get("message") or {})
    poll = message.get("poll") or {}
    yield str((poll.get("question") or {}).get("text") or "")
    for embed in message.get("embeds") or ():
        url = embed.get("url")
        if embed.get("type") in _PREVIEWS or (url and url in str(message.get("content") or "")):
            continue  # Discord made it of a link in the text
        yield from (str(embed.get(name) or "") for name in ("title", "description"))
        yield from (f"{field.get('name')}: {field.get('value')}" for field in embed.get("fields") or ())
    yield from _components(message.get("components") or ())


def _components(components: Any) -> Iterator[str]:
    for each in components:
        if each.get("type") == TEXT_DISPLAY:
            yield str(each.get("content") or "")
        yield from _components(each.get("components") or ())


def json_of(message: discord.Message | discord.MessageSnapshot) -> Json:
    """The parts that are read here."""
    poll = getattr(message, "poll", None)
    return {
        "content": message.content,
        "message_snapshots": [
            {"message": json_of(each)} for each in getattr(message, "message_snapshots", ())
        ],
        "poll": {"question": {"text": poll.question}} if poll else None,
        "embeds": [embed.to_dict() for embed in message.embeds],
        "components": [component.to_dict() for component in message.components],
    }


def plain_text(text: str, names: Mapping[str, str], me: Me) -> str:
    """The text as its author sees it, without mentions of the bot; ``names`` by id."""
    mine = "|".join((f"<@!?{re.escape(me.user_id)}>", *(f"<@&{re.escape(role)}>" for role in me.role_ids)))
    text = re.sub(rf"^\s*(?:(?:{mine})[,:;]*\s*)+", "", text)
    text = re.sub(rf"[ \t]?(?:{mine})", "", text)
    for pattern, sign in ((USER_MENTION, "@"), (ROLE_MENTION, "@"), (CHANNEL_MENTION, "#")):
        text = pattern.sub(lambda found, sign=sign: sign + names.get(found[1], found[1]), text)  # type: ignore[misc]
    return _EMOJI.sub(r":\1:", text).strip()


def text_of(message: Mapping[str, Any], me: Me) -> str:
    people = message.get("mentions", ())
    names = {str(each["id"]): each.get("global_name") or each["username"] for each in people}
    return plain_text(words_of(message), names, me)


def thread_message(message: Mapping[str, Any], my_user_id: str, *, title: str = "") -> ThreadMessage | None:
    """A message of a thread, or the one it was opened on; None for one of the bot, and for one without words."""
    first = message.get("referenced_message") if message["type"] not in WRITTEN else None
    message = first or message
    author = message["author"]
    text = f"{title}\n{text_of(message, Me(user_id=my_user_id))}".strip()
    if not text or author["id"] == my_user_id:
        return None
    return ThreadMessage(author=author.get("global_name") or author["username"], text=text)


def said(message: Mapping[str, Any], me: Me) -> Said | None:
    """A person's message; of the notice that a thread begins with, the message it was opened on."""
    begins = message["type"] == THREAD_STARTER
    message = message.get("referenced_message") or {} if begins else message
    author = message.get("author") or {}
    if not author or author.get("bot") or message.get("webhook_id"):
        return None
    answered = None if begins else message.get("referenced_message")
    mentioned = {str(user["id"]) for user in message.get("mentions") or ()}
    answers_me = answered is not None and answered["author"]["id"] == me.user_id
    return Said(
        id=message["id"], key=key_of(message["id"]), author=author["id"], text=text_of(message, me),
        said_at=said_at(message["id"]), calls_bot=me.user_id in mentioned and not answers_me,
        begins_thread=begins,
        answers="" if answered is None or answers_me else text_of(answered, me),
    )  # fmt: skip


OPEN_THREADS = (10, 11)  # of announcements, and others that everyone in the channel may read, "Channel Types"
PRIVATE_THREAD = 12  # "Channel Types"
FORUMS = (15, 16)  # forum and media: they hold threads alone, "Channel Types"
TALKS = (0, 2, 5, 13)  # text, voice, announcements, stage: they hold messages, "Channel Types"
WITH_THREADS = (0, 5, 15, 16)  # text, announcements, forum and media
NEEDED = frozenset({VIEW, HISTORY})


@value
class DiscordChannelInfo:
    """A channel that is read, and the bot that reads it."""

    server: str
    channel: str
    name: str  #: "#help"
    is_forum: bool  #: it holds threads alone
    has_threads: bool = True  #: whether threads can be opened in it
    me: Me
    #: Of roles and of channels that all may view, by id.
    names: Mapping[str, str] = field(default_factory=dict)


def permissions_in(
    channel: Json, server: str, roles: Iterable[Json], member: Json | None = None, user: str = ""
) -> frozenset[str]:
    """The permissions of a member in a channel, by all its roles; without one, of the role of all members."""
    member = member or {"roles": []}
    everywhere = server_permissions({"id": server, "roles": [*roles]}, member)
    return names(channel_permissions({"guild_id": server, **channel}, member, user, everywhere))


def is_written(message: Json) -> bool:
    """True if a person wrote it; not a notice, not a bot, and not a webhook."""
    author = message.get("author") or {}
    is_person = bool(author) and not author.get("bot") and not author.get("system")
    return message["type"] in WRITTEN and is_person and not message.get("webhook_id")


def channel_message(message: Json, channel: DiscordChannelInfo, *, title: str = "") -> ChannelMessage | None:
    """A message of a person as a source keeps it; None if it is empty. ``title``: of the post that it begins."""
    if message["type"] == THREAD_STARTER:  # the message that the thread was opened on, in the channel
        message = message.get("referenced_message") or message
    if not is_written(message):
        return None
    author, mentions = message["author"], message.get("mentions") or ()
    names = {**channel.names, **{user["id"]: _name_of(user) for user in mentions}}
    text = plain_text(words_of(message), names, channel.me)
    files = tuple(str(file.get("filename") or "?") for file in message.get("attachments") or ())
    if not (text or files or title):
        return None
    return ChannelMessage(
        id=message["id"],
        author=person_of(DISCORD, author["id"]),
        name=_name_of(author),
        said_at=said_at(message["id"]),
        text=f"{title}\n\n{text}".strip(),
        url=f"https://discord.com/channels/{channel.server}/{message['channel_id']}/{message['id']}",
        files=files,
        calls_bot=_calls(message, channel.me),
    )


def _name_of(user: Json) -> str:
    return str(user.get("global_name") or user.get("username") or user["id"])


def _calls(message: Json, me: Me) -> bool:
    users = {user["id"] for user in message.get("mentions") or ()}
    answered = (message.get("referenced_message") or {}).get("author") or {}
    return (
        me.user_id in {*users, answered.get("id")}
        or bool(me.role_ids & {*(message.get("mention_roles") or ())})
        or any(f"<@{sign}{me.user_id}>" in str(message.get("content") or "") for sign in ("", "!"))
    )


def channel_entry(message: Json, channel: DiscordChannelInfo) -> ChannelEntry:
    """The entry of a message in the channel itself; a thread that was opened on a message has its id."""
    thread = message.get("thread") or {}
    return ChannelEntry(
        id=message["id"], said_at=said_at(message["id"]), message=channel_message(message, channel),
        thread=message["id"] if thread else "", is_answered=bool(thread.get("message_count")),
    )  # fmt: skip


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
    """The items that a new or deleted thread changes: its own, and the day it began on."""
    date = date_of(said_at(thread))
    return (f"{date}/{thread}", f"{date}/{DAY}")


def items_at(messages: Iterable[str], thread: str = "") -> tuple[str, ...]:
    """The items that messages belong to: of their thread, or of the channel and of threads on each."""
    if thread:
        return thread_items(thread)[:1]
    return tuple(dict.fromkeys(item for each in messages for item in thread_items(each)))
