"""How a message comes into being and changes, whoever writes it, and what people then see of it."""

from __future__ import annotations

import copy
import mimetypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fakes.discord import permissions
from fakes.discord.components import numbered
from fakes.discord.errors import Refused
from fakes.discord.limits import check_message, check_not_empty
from fakes.discord.rendering import Pings, images_of, mentioned, pinged, rendered, texts_of
from fakes.discord.state import (
    COMPONENTS_V2,
    LOADING,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    Action,
    Attachment,
    Message,
    Revision,
)

if TYPE_CHECKING:
    from fakes.discord.rest import Upload
    from fakes.discord.server import FakeDiscord

Json = dict[str, Any]

EVERYTHING = ("users", "roles", "everyone")  # parsed of a message without allowed_mentions
IN_RESPONSES = ("users",)  # parsed of an interaction's response without allowed_mentions
SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2
EDITABLE = SUPPRESS_EMBEDS | COMPONENTS_V2


def fill(discord: FakeDiscord, message: Message, body: Json, files: Mapping[int, Upload]) -> None:
    """A new message with what its author sent; refused when that breaks a limit."""
    _check_rules(discord, body)
    flags = int(body.get("flags") or 0) & SETTABLE
    check_message(body, is_v2=bool(flags & COMPONENTS_V2), files=len(files))
    check_not_empty(body, files=len(files))
    message.flags |= flags
    message.content = body.get("content") or ""
    message.embeds = copy.deepcopy(body.get("embeds") or [])
    message.components = numbered(copy.deepcopy(body.get("components") or []))
    message.attachments = attach(discord, message, body, files)
    message.nonce = body.get("nonce")
    show(discord, message, "create", allowed=body.get("allowed_mentions"))


def change(discord: FakeDiscord, message: Message, body: Json, files: Mapping[int, Upload]) -> None:
    """An edit: what is not in it stays. A message does not lose Components V2 again."""
    _check_rules(discord, body)
    flags = message.flags
    if body.get("flags") is not None:
        flags = flags & ~SUPPRESS_EMBEDS | int(body["flags"]) & EDITABLE
    is_v2 = bool(flags & COMPONENTS_V2)
    after = {"content": message.content, "embeds": message.embeds, "components": message.components}
    after |= {name: body[name] for name in after if name in body}
    check_message(body | after, is_v2=is_v2, files=len(files))
    kept = [one for one in message.attachments if "attachments" not in body or _is_kept(one, body)]
    if not message.is_loading:
        check_not_empty(after, files=len(files) + len(kept))
    message.flags = flags & ~LOADING
    message.content = after["content"] or ""
    message.embeds = copy.deepcopy(after["embeds"] or [])
    message.components = numbered(copy.deepcopy(after["components"] or []))
    message.attachments = kept + attach(discord, message, body, files)
    was_loading, message.edited_at = bool(flags & LOADING), discord.state.clock.iso()
    show(discord, message, "create" if was_loading else "edit", allowed=body.get("allowed_mentions"))


def _check_rules(discord: FakeDiscord, body: Json) -> None:
    """What AutoMod does to a message with a word that is not allowed, "Auto Moderation"."""
    for word, refusal in discord.rules.items():
        said = texts_of(body.get("content") or "", [], body.get("components") or [])
        if word in "\n".join(said):
            raise Refused(refusal.status, refusal.code, refusal.message)


def show(discord: FakeDiscord, message: Message, action: Action, *, allowed: Json | None) -> None:
    """Takes down the state a message is in now, as people see it."""
    files = {one.filename: (one.url, one.content_type) for one in message.attachments}
    visible, links = rendered(message.content, message.embeds, message.components, discord.name_of)
    pings = _pings(message, allowed)
    message.mentions = [discord.state.users[one] for one in sorted(pings.users) if one in discord.state.users]
    message.revisions.append(
        Revision(
            at=discord.state.clock.now(), action=action, content=message.content, embeds=message.embeds,
            components=message.components, flags=message.flags, attachments=list(message.attachments),
            visible=visible, links=links, pings=pings,
            images=images_of(message.embeds, message.components, files, is_v2=message.is_v2),
        )
    )  # fmt: skip
    discord.changed()


def attach(
    discord: FakeDiscord, message: Message, body: Json, files: Mapping[int, Upload]
) -> list[Attachment]:
    described = {
        int(one["id"]): one for one in body.get("attachments") or [] if str(one.get("id", "")).isdigit()
    }
    made = []
    for number, (name, content) in sorted(files.items()):
        told = described.get(number, {})
        made.append(add_file(discord, message.channel.id, told.get("filename") or name, content))
        made[-1].description = told.get("description")
    return made


def add_file(discord: FakeDiscord, channel: int, name: str, content: bytes) -> Attachment:
    number = discord.state.clock.snowflake()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    url = f"{discord.url}/attachments/{channel}/{number}/{name}"
    file = Attachment(id=number, filename=name, content=content, content_type=kind, url=url)
    discord.state.attachments[number] = file
    return file


def _is_kept(attachment: Attachment, body: Json) -> bool:
    return str(attachment.id) in {str(one.get("id")) for one in body["attachments"] or []}


def _pings(message: Message, allowed: Json | None) -> Pings:
    """Whom this state notifies, embeds left out; roles and everybody only where its author may."""
    texts = texts_of(message.content, [], message.components)
    named = mentioned("\n".join(texts))
    default: Sequence[str] = IN_RESPONSES if message.interaction is not None else EVERYTHING
    replied_to = message.referenced.author.id if message.referenced is not None else None
    if replied_to == message.author.id:
        replied_to = None
    pings = pinged(named, allowed, replied_to=replied_to, default=default)
    guild = message.channel.guild
    if guild is None:
        return Pings(users=pings.users & {one.id for one in message.channel.recipients})
    may_all = permissions.may(message.channel, message.author, "mention_everyone")
    roles = {
        one for one in pings.roles if one in guild.roles and (may_all or guild.roles[one].is_mentionable)
    }
    return Pings(
        users=pings.users & set(guild.members), roles=frozenset(roles), everyone=pings.everyone and may_all
    )
