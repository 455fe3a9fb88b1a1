"""A command as a client sends it, made from how the bot has registered it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.discord import permissions
from fakes.discord.payloads import member_json, message_json, user_json
from fakes.discord.posting import add_file
from fakes.discord.state import Attachment, Channel, Message, User

if TYPE_CHECKING:
    from fakes.discord.world import World

Json = dict[str, Any]

CHAT, MESSAGE_MENU = 1, 3
SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, NUMBER, ATTACHMENT = (
    1, 2, 3, 4, 5, 6, 7, 8, 10, 11
)  # fmt: skip
PYTHON = {STRING: str, INTEGER: int, BOOLEAN: bool, NUMBER: (int, float)}
STRING_LIMIT = 6000  # characters, "Application Commands, Option Structure"
GUILD, BOT_DM = 0, 1  # contexts


def command_data(
    world: World, channel: Channel, user: User, name: str, options: Json, *, target: Message | None = None
) -> Json:
    """The data of an interaction; asserts that the person is offered the command and may send this."""
    kind = CHAT if target is None else MESSAGE_MENU
    first, *path = name.split(" ") if kind == CHAT else [name]
    command = _offered(world, channel, user, kind, first)
    data: Json = {"id": command["id"], "name": first, "type": kind, "resolved": {}}
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    if target is not None:
        data["target_id"] = str(target.id)
        data["resolved"] = {"messages": {str(target.id): message_json(target)}}
        return data
    declared, place = command["options"], data
    for part in path:
        inner = next((one for one in declared if one["name"] == part and one["type"] <= GROUP), None)
        assert inner is not None, f"/{name} is no command"
        place["options"] = [{"name": part, "type": inner["type"]}]
        place, declared = place["options"][0], inner.get("options", [])
    place["options"] = [_option(world, channel, data["resolved"], one, options) for one in declared]
    place["options"] = [one for one in place["options"] if one is not None]
    unknown = set(options) - {one["name"] for one in declared}
    assert not unknown, f"/{name} has no option {unknown}"
    return data


def _offered(world: World, channel: Channel, user: User, kind: int, name: str) -> Json:
    scopes = [channel.guild.id, 0] if channel.guild else [0]
    found = [
        one
        for scope in scopes
        for one in world.state.commands.get(scope, [])
        if (one["name"], one["type"]) == (name, kind)
    ]
    there = [one["name"] for scope in scopes for one in world.state.commands.get(scope, [])]
    assert found, f"there is no command {name}, only {there}"
    command = found[0]
    contexts = command["contexts"]
    here = GUILD if channel.guild else BOT_DM
    assert contexts is None or here in contexts, f"{name} is not offered here"
    needed_type = 0 if channel.guild is None or channel.guild.has_bot else 1
    assert needed_type in command["integration_types"], f"{name} cannot be brought along"
    assert permissions.sees(channel, user), f"{user.name} does not see {channel.name}"
    needed = ["use_application_commands"]
    assert permissions.may(channel, user, *needed), f"{user.name} may not use commands here"
    required = int(command["default_member_permissions"] or 0)
    powers = permissions.in_channel(channel, user)
    assert powers & required == required, f"{user.name} may not use {name}"
    return command


def _option(world: World, channel: Channel, resolved: Json, declared: Json, given: Json) -> Json | None:
    name, kind = declared["name"], declared["type"]
    if given.get(name) is None:
        assert not declared.get("required"), f"{name} is required"
        return None
    value = given[name]
    if kind in PYTHON:
        assert isinstance(value, PYTHON[kind]), f"{name} takes no {type(value).__name__}"
        _check(declared, value)
    else:
        value = _resolve(world, channel, resolved, kind, value)
    return {"name": name, "type": kind, "value": value}


def _check(declared: Json, value: Any) -> None:
    """What a client does not let a person send."""
    choices = [one["value"] for one in declared.get("choices") or []]
    assert not choices or value in choices, f"{declared['name']} offers only {choices}"
    if declared["type"] == STRING:
        most = declared.get("max_length") or STRING_LIMIT
        assert len(value) <= most, f"{declared['name']} is too long"
        assert len(value) >= (declared.get("min_length") or 0), f"{declared['name']} is too short"


def _resolve(world: World, channel: Channel, resolved: Json, kind: int, value: Any) -> str:
    """The id of what was given, told in full in ``resolved``."""
    if kind == ATTACHMENT:
        file: Attachment = add_file(world, channel.id, *value)  # type: ignore[arg-type]
        resolved.setdefault("attachments", {})[str(file.id)] = file.as_json()
        return str(file.id)
    assert kind in (USER, CHANNEL, ROLE), f"options of type {kind} are not known here"
    if kind == USER:
        resolved.setdefault("users", {})[str(value.id)] = user_json(value)
        if channel.guild is not None:
            member = member_json(channel.guild.members[value.id], with_user=False)
            resolved.setdefault("members", {})[str(value.id)] = member | {"permissions": "0"}
    elif kind == CHANNEL:
        told = {"id": str(value.id), "name": value.name, "type": value.type, "permissions": "0"}
        resolved.setdefault("channels", {})[str(value.id)] = told
    else:
        from fakes.discord.payloads import role_json

        resolved.setdefault("roles", {})[str(value.id)] = role_json(value, world.bot)
    return str(value.id)
