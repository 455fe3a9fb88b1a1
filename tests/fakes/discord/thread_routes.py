"""Threads over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord import permissions
from fakes.discord.access import channel_of, guild_of, message_of, require
from fakes.discord.errors import Refused, missing_permissions
from fakes.discord.limits import check_thread
from fakes.discord.payloads import message_json, thread_json, thread_member_json
from fakes.discord.posting import fill
from fakes.discord.rest import Call, Route
from fakes.discord.state import DEFAULT, TYPES, Channel, Message

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

ARCHIVE_AFTER = (60, 1440, 4320, 10080)  # minutes, "Start Thread from Message"


async def from_message(discord: FakeDiscord, call: Call) -> Any:
    message, body = message_of(discord, call), call.body or {}
    channel = message.channel
    if channel.guild is None or channel.is_thread:
        raise Refused(400, 50024, "Cannot execute action on this channel type")
    require(discord, channel, "create_public_threads")
    check_thread(body.get("name"))
    if message.thread is not None:
        raise Refused(400, 160004, "A thread has already been created for this message")
    thread = discord.open_thread(
        channel, body["name"], discord.bot, starter=message, archive_after=_archive_after(body)
    )
    return thread_json(thread, discord.bot)


async def without_message(discord: FakeDiscord, call: Call) -> Any:
    channel, body = channel_of(discord, call), call.body or {}
    if channel.guild is None or channel.is_thread:
        raise Refused(400, 50024, "Cannot execute action on this channel type")
    check_thread(body.get("name"))
    if channel.type == TYPES["forum"]:
        return _post_in_forum(discord, channel, call)
    kind = body.get("type", TYPES["private_thread"])
    is_private = kind == TYPES["private_thread"]
    require(discord, channel, "create_private_threads" if is_private else "create_public_threads")
    thread = discord.open_thread(
        channel, body["name"], discord.bot, kind=kind, archive_after=_archive_after(body)
    )
    return thread_json(thread, discord.bot)


def _post_in_forum(discord: FakeDiscord, channel: Channel, call: Call) -> Any:
    require(discord, channel, "send_messages")
    thread = discord.open_thread(channel, call.body["name"], discord.bot)
    message = Message(
        id=thread.id, channel=thread, author=discord.bot, created_at=discord.state.clock.iso(), type=DEFAULT
    )
    fill(discord, message, call.body.get("message") or {}, call.files)
    discord.add(message)
    return thread_json(thread, discord.bot) | {"message": message_json(message)}


async def join(discord: FakeDiscord, call: Call) -> None:
    thread = _open_thread_of(discord, call)
    if discord.bot.id not in thread.thread_members:
        thread.thread_members[discord.bot.id] = discord.state.clock.iso()
        discord.events.thread_members(thread, [discord.bot.id], [])


async def leave(discord: FakeDiscord, call: Call) -> None:
    thread = _open_thread_of(discord, call)
    if thread.thread_members.pop(discord.bot.id, None):
        discord.events.thread_members(thread, [], [discord.bot.id])


async def add_member(discord: FakeDiscord, call: Call) -> None:
    thread, user = _open_thread_of(discord, call), call.id("user_id")
    assert thread.guild is not None
    if user not in thread.guild.members:
        raise Refused(404, 10013, "Unknown User")
    if user not in thread.thread_members:
        thread.thread_members[user] = discord.state.clock.iso()
        discord.events.thread_members(thread, [user], [])


async def members(discord: FakeDiscord, call: Call) -> Any:
    thread = channel_of(discord, call)
    return [thread_member_json(thread, user) for user in thread.thread_members]


async def update(discord: FakeDiscord, call: Call) -> Any:
    """Changes a thread: its name, or whether it is archived or locked."""
    thread, body = channel_of(discord, call), call.body or {}
    if not thread.is_thread:
        raise missing_permissions()
    if thread.owner_id != discord.bot.id or thread.is_locked:  # who began it may no longer reopen it
        require(discord, thread, "manage_threads")
    if "name" in body:
        check_thread(body["name"])
        thread.name = body["name"]
    thread.is_archived = body.get("archived", thread.is_archived)
    thread.is_locked = body.get("locked", thread.is_locked)
    discord.events.thread(thread, "THREAD_UPDATE")
    return thread_json(thread, discord.bot)


async def active(discord: FakeDiscord, call: Call) -> Any:
    guild, bot = guild_of(discord, call), discord.bot
    found = [one for one in guild.threads.values() if not one.is_archived and permissions.sees(one, bot)]
    mine = [thread_member_json(one, bot.id) for one in found if bot.id in one.thread_members]
    return {"threads": [thread_json(one, bot) for one in found], "members": mine}


async def archived(discord: FakeDiscord, call: Call) -> Any:
    channel, bot = channel_of(discord, call), discord.bot
    require(discord, channel, "read_message_history")
    threads = channel.guild.threads.values() if channel.guild else []
    found = [
        one for one in threads if one.parent is channel and one.is_archived and not one.is_private_thread
    ]
    found.sort(key=lambda one: one.created_at, reverse=True)  # their "archive_timestamp" here
    found = [one for one in found if one.created_at < call.query.get("before", "~")]
    limit = min(int(call.query.get("limit", 50)), discord.threads_page)
    has_more, found = len(found) > limit, found[:limit]
    mine = [thread_member_json(one, bot.id) for one in found if bot.id in one.thread_members]
    return {"threads": [thread_json(one, bot) for one in found], "members": mine, "has_more": has_more}


def _open_thread_of(discord: FakeDiscord, call: Call) -> Channel:
    thread = channel_of(discord, call)
    if not thread.is_thread:
        raise Refused(400, 50024, "Cannot execute action on this channel type")
    if thread.is_archived:
        raise Refused(400, 50083, "Thread is archived")
    return thread


def _archive_after(body: dict[str, Any]) -> int:
    wanted = int(body.get("auto_archive_duration") or 1440)
    return wanted if wanted in ARCHIVE_AFTER else 1440


CHANNEL = "/channels/{channel_id}"
ROUTES = [
    Route(method="POST", template=f"{CHANNEL}/messages/{{message_id}}/threads", run=from_message),
    Route(method="POST", template=f"{CHANNEL}/threads", run=without_message),
    Route(method="PUT", template=f"{CHANNEL}/thread-members/@me", run=join),
    Route(method="DELETE", template=f"{CHANNEL}/thread-members/@me", run=leave),
    Route(method="GET", template=f"{CHANNEL}/thread-members", run=members),
    Route(method="PUT", template=f"{CHANNEL}/thread-members/{{user_id}}", run=add_member),
    Route(method="PATCH", template=CHANNEL, run=update),
    Route(method="GET", template="/guilds/{guild_id}/threads/active", run=active),
    Route(method="GET", template=f"{CHANNEL}/threads/archived/public", run=archived),
]
