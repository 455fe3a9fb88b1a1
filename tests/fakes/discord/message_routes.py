"""Messages over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord import permissions
from fakes.discord.access import channel_of, message_of, own_message_of, require, require_unlocked
from fakes.discord.errors import Form, Refused, thread_archived
from fakes.discord.events import without_content
from fakes.discord.limits import NONCE
from fakes.discord.payloads import channel_json, message_json
from fakes.discord.posting import change, fill
from fakes.discord.rest import Call, Route
from fakes.discord.state import CHAT_INPUT, CONTEXT_MENU, DEFAULT, REPLY, TYPES, Channel, Message

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]

PAGE = 50  # messages, "Get Channel Messages"
NONCE_WINDOW = 300.0  # seconds in which a nonce is checked: "the past few minutes", "Create Message"
QUOTABLE = (DEFAULT, REPLY, CHAT_INPUT, CONTEXT_MENU)


async def history(discord: FakeDiscord, call: Call) -> Any:
    """Newest first; nothing at all without the right to read what was before."""
    channel = channel_of(discord, call)
    if not permissions.may(channel, discord.bot, "read_message_history"):
        return []
    limit = int(call.query.get("limit", PAGE))
    newest = sorted(
        (one for one in channel.messages.values() if not one.is_deleted), key=lambda one: one.id, reverse=True
    )
    if "before" in call.query:
        found = [one for one in newest if one.id < int(call.query["before"])][:limit]
    elif "after" in call.query:
        found = [one for one in newest if one.id > int(call.query["after"])][-limit:]
    elif "around" in call.query:
        middle = int(call.query["around"])
        older = [one for one in newest if one.id < middle][: limit // 2]
        younger = [one for one in newest if one.id >= middle][-(limit - limit // 2) :]
        found = younger + older
    else:
        found = newest[:limit]
    return [_for_bot(discord, one) for one in found]


async def get(discord: FakeDiscord, call: Call) -> Any:
    message = message_of(discord, call)
    require(discord, message.channel, "read_message_history")
    return _for_bot(discord, message)


async def create(discord: FakeDiscord, call: Call) -> Any:
    channel, body = channel_of(discord, call), call.body or {}
    if channel.type == TYPES["forum"]:
        raise Refused(400, 50008, "Cannot send messages in a non-text channel")
    _may_send(discord, channel, call)
    _check_nonce(body)
    earlier = _of_nonce(discord, channel, body)
    if earlier is not None:
        discord.deduplicated.append(earlier)
        return message_json(earlier)
    message = Message(
        id=discord.state.clock.snowflake(), channel=channel, author=discord.bot,
        created_at=discord.state.clock.iso(),
    )  # fmt: skip
    if body.get("message_reference"):
        refer(discord, message, body["message_reference"])
    fill(discord, message, body, call.files)
    discord.add(message)
    return message_json(message)


async def edit(discord: FakeDiscord, call: Call) -> Any:
    message, body = own_message_of(discord, call), call.body or {}
    if body.get("embeds"):
        require(discord, message.channel, "embed_links")
    change(discord, message, body, call.files)
    discord.events.message(message, "MESSAGE_UPDATE")
    return message_json(message)


async def delete(discord: FakeDiscord, call: Call) -> None:
    message = message_of(discord, call)
    if message.author is not discord.bot:
        require(discord, message.channel, "manage_messages")
    if message.channel.is_archived and message.channel.is_locked:
        raise thread_archived()
    discord.remove(message)


async def typing(discord: FakeDiscord, call: Call) -> None:
    channel = channel_of(discord, call)
    _require_send(discord, channel)
    require_unlocked(discord, channel)
    channel.typings.append(discord.state.clock.now())


async def open_direct(discord: FakeDiscord, call: Call) -> Any:
    user = discord.state.users.get(int((call.body or {}).get("recipient_id", 0)))
    if user is None or user is discord.bot:
        raise Refused(400, 50033, "Invalid Recipient(s)")
    return channel_json(discord.state.direct(discord.bot, user))


def refer(discord: FakeDiscord, message: Message, reference: Json) -> None:
    """Makes a message a reply; one to what is gone is refused, unless it says it may be."""
    if not permissions.may(message.channel, discord.bot, "read_message_history"):
        raise Refused(400, 160002, "Cannot reply without permission to read message history")
    referenced = discord.state.message(message.channel.id, int(reference["message_id"]))
    if referenced is None:
        if reference.get("fail_if_not_exists", True):
            _refuse_reference("REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return
    if referenced.type not in QUOTABLE:
        _refuse_reference("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")
    point_to(message, referenced)


def point_to(message: Message, referenced: Message) -> None:
    message.type, message.referenced = REPLY, referenced
    message.reference = {
        "type": 0, "channel_id": str(referenced.channel.id), "message_id": str(referenced.id)
    }  # fmt: skip
    if message.channel.guild is not None:
        message.reference["guild_id"] = str(message.channel.guild.id)


def _refuse_reference(code: str, text: str) -> None:
    form = Form()
    form.fault("message_reference", code, text)
    form.close()


def _require_send(discord: FakeDiscord, channel: Channel) -> None:
    require(discord, channel, "send_messages_in_threads" if channel.is_thread else "send_messages")


def _may_send(discord: FakeDiscord, channel: Channel, call: Call) -> None:
    _require_send(discord, channel)
    if (call.body or {}).get("embeds"):
        require(discord, channel, "embed_links")
    if call.files:
        require(discord, channel, "attach_files")
    require_unlocked(discord, channel)
    if channel.is_dm and discord.refuses_dms & {one.id for one in channel.recipients}:
        raise Refused(403, 50007, "Cannot send messages to this user")


def _check_nonce(body: Json) -> None:
    form = Form()
    form.length("nonce", str(body.get("nonce") or ""), NONCE)
    form.close()


def _of_nonce(discord: FakeDiscord, channel: Channel, body: Json) -> Message | None:
    """The message that was made of the same nonce in the window, if the request asks for that check."""
    nonce = body.get("nonce")
    if not body.get("enforce_nonce") or nonce in (None, ""):
        return None
    since = discord.state.clock.now() - discord.nonce_window
    for one in reversed(channel.messages.values()):
        if one.author is discord.bot and one.nonce == nonce and one.revisions[0].at >= since:
            return one
    return None


def _for_bot(discord: FakeDiscord, message: Message) -> Json:
    data = message_json(message)
    return data if "message_content" in discord.grants else without_content(discord, message, data)


MESSAGES = "/channels/{channel_id}/messages"
ROUTES = [
    Route(method="GET", template=MESSAGES, run=history),
    Route(method="POST", template=MESSAGES, run=create),
    Route(method="GET", template=f"{MESSAGES}/{{message_id}}", run=get),
    Route(method="PATCH", template=f"{MESSAGES}/{{message_id}}", run=edit),
    Route(method="DELETE", template=f"{MESSAGES}/{{message_id}}", run=delete),
    Route(method="POST", template="/channels/{channel_id}/typing", run=typing),
    Route(method="POST", template="/users/@me/channels", run=open_direct),
]
