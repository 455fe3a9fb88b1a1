"""What the app reads of a workspace: conversations, people, groups, files; and reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web
from fakes.slack.state import Conversation, Installation, Message, User
from fakes.slack.web_api import KINDS, Call, Method, Refused, conversation_of, message_of, page, require

if TYPE_CHECKING:
    from fakes.slack.server import FakeSlack

PAGE = 1000  # messages of a thread, "conversations.replies"
HISTORY_PAGE = 100  # messages, "conversations.history"
LIST_PAGE = 100  # conversations or members, "conversations.list"
_KIND_OF_TYPE = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}


async def auth_test(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    bot = installation.bot
    return {
        "url": f"{slack.url}/", "team": slack.state.teams[installation.team], "user": bot.name,
        "team_id": installation.team, "user_id": bot.id, "bot_id": bot.bot_id, "is_enterprise_install": False,
    }  # fmt: skip


async def connections_open(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    return {"url": slack.sockets.ticket()}


async def replies(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """A thread, its first message first on every page that begins it."""
    conversation = conversation_of(slack, call["channel"], installation, "history")
    _require_member(conversation, installation)
    named = conversation.messages.get(call["ts"])
    if named is None or not conversation.thread(named.root):
        raise Refused("thread_not_found")
    first = conversation.messages[named.root]
    thread = [one for one in conversation.thread(named.root) if _is_between(one, call) and one is not first]
    shown, more = page([first, *thread], call, slack.messages_per_call or PAGE, slack.messages_per_call)
    with_metadata = call.is_true("include_all_metadata")
    messages = [
        _standing(conversation, one, with_metadata=with_metadata) | _streaming_state(slack, one)
        for one in shown
    ]
    return {"messages": messages, **more}


def _standing(conversation: Conversation, message: Message, *, with_metadata: bool) -> dict[str, Any]:
    """A message with what it says of its thread, "conversations.history"; of a deleted one that had replies a
    tombstone is left, "message_deleted".
    """
    data = message.as_json(with_metadata=with_metadata)
    if message.is_deleted:
        data = {
            "type": "message", "subtype": "tombstone", "ts": message.ts, "user": "USLACKBOT", "hidden": True,
            "text": "This message was deleted.",
        }  # fmt: skip
    replies = [one for one in conversation.thread(message.ts) if one is not message]
    if replies:
        replied = [one.user for one in replies]
        data |= {
            "thread_ts": message.ts, "reply_count": len(replied), "latest_reply": replies[-1].ts,
            "reply_users": list(dict.fromkeys(replied)), "reply_users_count": len(set(replied)),
        }  # fmt: skip
    return data


def _streaming_state(slack: FakeSlack, message: Message) -> dict[str, str]:
    """Only a message that was streamed has one."""
    if message.takes_chunks is None and not message.stream_until:
        return {}
    return {"streaming_state": "in_progress" if slack.is_streaming(message) else "completed"}


async def history(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """What stands in the channel itself, the newest first."""
    conversation = conversation_of(slack, call["channel"], installation, "history")
    _require_member(conversation, installation)
    standing = [
        one
        for one in sorted(conversation.messages.values(), key=lambda one: float(one.ts), reverse=True)
        if (not one.is_deleted or conversation.thread(one.ts)) and _is_between(one, call)
        if not one.thread_ts or one.subtype == "thread_broadcast"
    ]
    shown, more = page(standing, call, slack.messages_per_call or HISTORY_PAGE, slack.messages_per_call)
    with_metadata = call.is_true("include_all_metadata")
    return {"messages": [_standing(conversation, one, with_metadata=with_metadata) for one in shown], **more}


async def conversation_info(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel"], installation, "read")
    data = conversation.as_json(installation.bot.id)
    if call.is_true("include_num_members"):
        data["num_members"] = len(conversation.members)
    return {"channel": data}


async def members(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    conversation = conversation_of(slack, call["channel"], installation, "read")
    shown, more = page(conversation.members, call, LIST_PAGE)
    return {"members": shown, "response_metadata": more["response_metadata"]}


async def conversation_open(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    if call.get("channel"):
        return {"channel": {"id": conversation_of(slack, call["channel"], installation).id}}
    users = str(call["users"]).split(",")
    require(installation, "im:write" if len(users) == 1 else "mpim:write")
    if any(slack.state.users[user].team != installation.team for user in users if user in slack.state.users):
        raise Refused("user_not_found")
    if not all(user in slack.state.users for user in users):
        raise Refused("user_not_found")
    return {"channel": {"id": slack.state.direct(installation.team, [*users, installation.bot.id]).id}}


async def conversation_list(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """Public ones, and of the others those that the app is in."""
    bot, kinds = installation.bot.id, _kinds(call, installation)
    seen = [one for one in _of_team(slack, installation) if one.kind in kinds]
    return _listed([one for one in seen if not one.is_private or bot in one.members], call, bot)


async def user_conversations(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    """Those that somebody (the app itself, when nobody is named) and the app are in."""
    bot, kinds, user = installation.bot.id, _kinds(call, installation), call.get("user", installation.bot.id)
    seen = [one for one in _of_team(slack, installation) if one.kind in kinds and user in one.members]
    return _listed([one for one in seen if not one.is_private or bot in one.members], call, bot)


async def user_info(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    user = _user(slack, call["user"], installation).as_json()
    if "users:read.email" not in installation.scopes:  # it is left out, and nothing is refused
        user["profile"].pop("email", None)
    return {"user": user}


async def bot_info(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    found = next((user for user in slack.state.users.values() if user.bot_id == call.get("bot")), None)
    if found is None:
        raise Refused("bot_not_found")
    bot = {
        "id": found.bot_id,
        "user_id": found.id,
        "name": found.name,
        "app_id": found.app_id,
        "deleted": False,
    }
    return {"bot": bot}


async def team_info(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    name = slack.state.teams[installation.team]
    return {"team": {"id": installation.team, "name": name, "domain": name}}


async def usergroup_users(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    group = slack.state.usergroups.get(call["usergroup"])
    if group is None or group.team != installation.team:
        raise Refused("no_such_subteam")
    return {"users": group.users}


async def usergroup_list(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    groups = [one for one in slack.state.usergroups.values() if one.team == installation.team]
    return {
        "usergroups": [
            {"id": one.id, "team_id": one.team, "handle": one.handle, "name": one.handle} for one in groups
        ]
    }


async def react(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = message_of(conversation_of(slack, call["channel"], installation), call["timestamp"])
    users = message.reactions.setdefault(call["name"], [])
    if installation.bot.id in users:
        raise Refused("already_reacted")
    users.append(installation.bot.id)
    return {}


async def unreact(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    message = message_of(conversation_of(slack, call["channel"], installation), call["timestamp"])
    users = message.reactions.get(call["name"], [])
    if installation.bot.id not in users:
        raise Refused("no_reaction")
    users.remove(installation.bot.id)
    return {}


async def file_info(slack: FakeSlack, call: Call, installation: Installation) -> dict[str, Any]:
    file = slack.state.files.get(call["file"])
    if file is None or not _may_read(slack, file.channels, installation):
        raise Refused("file_not_found")
    if file.mode == "tombstone":
        raise Refused("file_deleted")
    return {"file": file.as_json()}


async def download(slack: FakeSlack, request: web.Request) -> web.Response:
    """`url_private`. Without the right token Slack answers 200 with its sign-in page, not an error."""
    file = slack.state.files[request.match_info["id"]]
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    installation = slack.state.installations.get(token)
    slack.downloads.append(file.id)
    is_revoked = token in slack.refused_tokens
    is_allowed = installation is not None and not is_revoked and "files:read" in installation.scopes
    if file.mode == "tombstone":
        return web.Response(status=404)
    if installation is None or not is_allowed or not _may_read(slack, file.channels, installation):
        return web.Response(text="<!DOCTYPE html><title>Sign in to Slack</title>", content_type="text/html")
    return web.Response(body=file.content, content_type=file.mimetype)


def _may_read(slack: FakeSlack, channels: list[str], installation: Installation) -> bool:
    shared = [slack.state.conversations[channel] for channel in channels]
    return any(one.team == installation.team and installation.bot.id in one.members for one in shared)


def _is_between(message: Message, call: Call) -> bool:
    oldest, latest = call.get("oldest", "0"), call.get("latest", "9" * 10)
    if message.ts in (oldest, latest):
        return call.is_true("inclusive")
    return float(oldest) < float(message.ts) < float(latest)


def _require_member(conversation: Conversation, installation: Installation) -> None:
    if installation.bot.id not in conversation.members:
        raise Refused("not_in_channel")


def _user(slack: FakeSlack, id: str, installation: Installation) -> User:
    user = slack.state.users.get(id)
    if user is None or user.team != installation.team:
        raise Refused("user_not_found")
    return user


def _of_team(slack: FakeSlack, installation: Installation) -> list[Conversation]:
    return [one for one in slack.state.conversations.values() if one.team == installation.team]


def _kinds(call: Call, installation: Installation) -> set[str]:
    names = str(call.get("types", "public_channel")).split(",")
    if not set(names) <= set(_KIND_OF_TYPE):
        raise Refused("invalid_types")
    kinds = {_KIND_OF_TYPE[name] for name in names}
    for kind in sorted(kinds):
        require(installation, f"{KINDS[kind]}:read")
    return kinds


def _listed(conversations: list[Conversation], call: Call, viewer: str) -> dict[str, Any]:
    shown, more = page(conversations, call, LIST_PAGE)
    return {
        "channels": [one.as_json(viewer) for one in shown],
        "response_metadata": more["response_metadata"],
    }


METHODS = {
    "auth.test": Method(auth_test),
    "apps.connections.open": Method(connections_open, ("connections:write",)),
    "conversations.replies": Method(replies, takes_json=False),
    "conversations.history": Method(history, takes_json=False),
    "conversations.info": Method(conversation_info, takes_json=False),
    "conversations.members": Method(members, takes_json=False),
    "conversations.open": Method(conversation_open),
    "conversations.list": Method(conversation_list, takes_json=False),
    "users.conversations": Method(user_conversations, takes_json=False),
    "users.info": Method(user_info, ("users:read",), takes_json=False),
    "bots.info": Method(bot_info, ("users:read",), takes_json=False),
    "team.info": Method(team_info, ("team:read",), takes_json=False),
    "usergroups.users.list": Method(usergroup_users, ("usergroups:read",), takes_json=False),
    "usergroups.list": Method(usergroup_list, ("usergroups:read",), takes_json=False),
    "reactions.add": Method(react, ("reactions:write",)),
    "reactions.remove": Method(unreact, ("reactions:write",)),
    "files.info": Method(file_info, ("files:read",), takes_json=False),
}
