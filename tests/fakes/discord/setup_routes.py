"""The application, its commands, the Gateway's address; servers, channels and people."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from aiohttp import web
from fakes.discord import permissions
from fakes.discord.access import channel_of, guild_of
from fakes.discord.errors import Form, missing_access, unknown
from fakes.discord.payloads import channel_json, guild_head, member_json, role_json, thread_json, user_json
from fakes.discord.rest import Call, Route

if TYPE_CHECKING:
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]

CHAT, USER_MENU, MESSAGE_MENU = 1, 2, 3
MOST_COMMANDS = {CHAT: 100, USER_MENU: 15, MESSAGE_MENU: 15}  # "Application Commands"
SESSIONS_A_DAY = 1000  # "Session Start Limit Object"
COMMAND_NAME = re.compile(r"^[-_'\w]{1,32}$")


async def me(discord: FakeDiscord, call: Call) -> Any:
    return user_json(discord.bot) | {"mfa_enabled": False, "locale": "en-US", "verified": True}


async def application(discord: FakeDiscord, call: Call) -> Any:
    bot = discord.bot
    return {
        "id": str(discord.application_id), "name": bot.name, "icon": None, "description": "", "summary": "",
        "bot_public": True, "bot_require_code_grant": discord.needs_code, "verify_key": "0" * 64, "flags": discord.flags,
        "owner": user_json(discord.owner), "team": None, "bot": user_json(bot), "hook": True,
        "interactions_endpoint_url": discord.interactions_url, "redirect_uris": [],
        "integration_types_config": discord.installs,
    }  # fmt: skip


async def gateway(discord: FakeDiscord, call: Call) -> Any:
    return {"url": discord.gateway_url}


async def gateway_bot(discord: FakeDiscord, call: Call) -> Any:
    left = max(0, SESSIONS_A_DAY - len(discord.gateway.identifies))
    limit = {"total": SESSIONS_A_DAY, "remaining": left, "reset_after": 86_400_000, "max_concurrency": 1}
    return {"url": discord.gateway_url, "shards": 1, "session_start_limit": limit}


async def commands(discord: FakeDiscord, call: Call) -> Any:
    return discord.state.commands.get(_scope(discord, call), [])


async def overwrite_commands(discord: FakeDiscord, call: Call) -> Any:
    scope = _scope(discord, call)
    _check_commands(discord, call.body)
    discord.state.commands[scope] = [_command(discord, one, scope) for one in call.body]
    return discord.state.commands[scope]


async def add_command(discord: FakeDiscord, call: Call) -> Any:
    scope = _scope(discord, call)
    known = discord.state.commands.setdefault(scope, [])
    command = _command(discord, call.body, scope)
    same = (command["name"], command["type"])
    known[:] = [one for one in known if (one["name"], one["type"]) != same] + [command]
    _check_commands(discord, known)
    return command


async def change_application(discord: FakeDiscord, call: Call) -> Any:
    discord.installs = (call.body or {}).get("integration_types_config", discord.installs)
    return await application(discord, call)


async def channel(discord: FakeDiscord, call: Call) -> Any:
    found = channel_of(discord, call)
    return thread_json(found, discord.bot) if found.is_thread else channel_json(found)


async def guild(discord: FakeDiscord, call: Call) -> Any:
    return guild_head(guild_of(discord, call), discord.bot)


async def guilds(discord: FakeDiscord, call: Call) -> Any:
    known = [one for one in discord.state.guilds.values() if one.has_bot][: int(call.query.get("limit", 200))]
    counts = call.query.get("with_counts") == "true"
    return [
        guild_head(one, discord.bot)
        | {"owner": False, "permissions": "0"}
        | ({"approximate_member_count": one.crowd or len(one.members)} if counts else {})
        for one in known
    ]


async def guild_channels(discord: FakeDiscord, call: Call) -> Any:
    """Those that the bot sees ("Permissions, Channel Visibility")."""
    there = guild_of(discord, call).channels.values()
    return [channel_json(one) for one in there if permissions.sees(one, discord.bot)]


async def roles(discord: FakeDiscord, call: Call) -> Any:
    return [role_json(one, discord.bot) for one in guild_of(discord, call).roles.values()]


async def members(discord: FakeDiscord, call: Call) -> Any:
    found = guild_of(discord, call)
    if "guild_members" not in discord.grants:
        raise missing_access()
    after, limit = int(call.query.get("after", 0)), int(call.query.get("limit", 1))
    later = sorted(one for one in found.members if one > after)
    return [member_json(found.members[one]) for one in later[:limit]]


async def member(discord: FakeDiscord, call: Call) -> Any:
    found = guild_of(discord, call).members.get(call.id("user_id"))
    if found is None:
        raise unknown("member")
    return member_json(found)


async def user(discord: FakeDiscord, call: Call) -> Any:
    found = discord.state.users.get(call.id("user_id"))
    if found is None:
        raise unknown("user")
    return user_json(found)


async def leave(discord: FakeDiscord, call: Call) -> None:
    await discord.leave(guild_of(discord, call))


async def download(discord: FakeDiscord, request: web.Request) -> web.Response:
    """A file from the CDN, for anybody who has its address."""
    file = discord.state.attachments.get(int(request.match_info["id"]))
    is_signed = file is not None and request.query.get("ex") == f"{file.signature:x}"
    if file is None or not is_signed or file.filename != request.match_info["name"]:
        return web.Response(status=404)
    discord.downloads.append(file)
    discord.changed()
    return web.Response(body=file.content, content_type=file.content_type)


def _scope(discord: FakeDiscord, call: Call) -> int:
    """The server that commands are for; 0 for everywhere."""
    if call.id("application_id") != discord.application_id:
        raise missing_access()
    return guild_of(discord, call).id if "guild_id" in call.params else 0


def _command(discord: FakeDiscord, sent: Json, scope: int) -> Json:
    defaults: Json = {
        "type": CHAT, "description": "", "options": [], "default_member_permissions": None, "nsfw": False,
        "contexts": None, "integration_types": [0], "name_localizations": None,
        "description_localizations": None, "dm_permission": True,
    }  # fmt: skip
    given = {name: value for name, value in copy.deepcopy(sent).items() if value is not None}
    ids = {
        "id": str(discord.state.clock.snowflake()), "application_id": str(discord.application_id),
        "version": str(discord.state.clock.snowflake()),
    }  # fmt: skip
    return defaults | given | ids | ({"guild_id": str(scope)} if scope else {})


def _check_commands(discord: FakeDiscord, sent: list[Json]) -> None:
    form = Form()
    for index, one in enumerate(sent):
        kind, name = one.get("type", CHAT), one.get("name", "")
        form.length(f"{index}.name", name, 32, least=1)
        if kind == CHAT:
            form.length(f"{index}.description", one.get("description"), 100, least=1)
            if not COMMAND_NAME.match(name) or name != name.lower():
                form.fault(f"{index}.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
        form.length(f"{index}.options", one.get("options"), 25)
        for type_ in one.get("integration_types") or ():
            if str(type_) not in discord.installs:
                form.fault(
                    f"{index}.integration_types", "APPLICATION_COMMAND_INVALID", "Not one of the app's"
                )
    for kind, most in MOST_COMMANDS.items():
        of_kind = [one.get("name") for one in sent if one.get("type", CHAT) == kind]
        if len(of_kind) > most or len(set(of_kind)) != len(of_kind):
            form.fault("commands", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Too many, or names twice")
    form.close()


COMMANDS = "/applications/{application_id}/commands"
GUILD_COMMANDS = "/applications/{application_id}/guilds/{guild_id}/commands"
ROUTES = [
    Route(method="GET", template="/users/@me", run=me),
    Route(method="GET", template="/users/@me/guilds", run=guilds),
    Route(method="DELETE", template="/users/@me/guilds/{guild_id}", run=leave),
    Route(method="GET", template="/users/{user_id}", run=user),
    Route(method="GET", template="/oauth2/applications/@me", run=application),
    Route(method="GET", template="/applications/@me", run=application),
    Route(method="PATCH", template="/applications/@me", run=change_application),
    Route(method="GET", template="/gateway", run=gateway, is_open=True),
    Route(method="GET", template="/gateway/bot", run=gateway_bot),
    *(
        Route(method=method, template=template, run=run)
        for template in (COMMANDS, GUILD_COMMANDS)
        for method, run in (("GET", commands), ("PUT", overwrite_commands), ("POST", add_command))
    ),
    Route(method="GET", template="/channels/{channel_id}", run=channel),
    Route(method="GET", template="/guilds/{guild_id}", run=guild),
    Route(method="GET", template="/guilds/{guild_id}/channels", run=guild_channels),
    Route(method="GET", template="/guilds/{guild_id}/roles", run=roles),
    Route(method="GET", template="/guilds/{guild_id}/members", run=members),
    Route(method="GET", template="/guilds/{guild_id}/members/{user_id}", run=member),
]
